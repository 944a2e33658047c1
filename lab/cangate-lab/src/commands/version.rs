//! `cangate lab --version --verbose`: the version, and the licence of every part.

use console::Failure;
use std::io::Write;

/// Prints it.
pub(crate) fn run() -> Result<(), Failure> {
    let text = format!(
        "\
cangate-lab {version}
licence: Apache-2.0 OR MIT (LICENSE-APACHE, LICENSE-MIT), except the part below

embedded source text: kmod/bitcan, kmod/canchar, kmod/nesting, kmod/shmcan, kmod/vfcan
  licence:  GPL-2.0 (LICENSE-GPL-2.0)
  use:      kernel modules, which the lab builds for its guests
",
        version = env!("CARGO_PKG_VERSION"),
    );
    std::io::stdout().write_all(text.as_bytes())?;
    Ok(())
}
