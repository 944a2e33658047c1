//! `cangate --version --verbose`: the version, the licence of every part, and what is built in.

use crate::failure::Failure;
use crate::kinds::kinds;
use clap::error::ErrorKind;
use std::ffi::OsString;
use std::io::Write;

/// The compiler of the embedded BPF object; `cargo xtask bpf` checks the object against it.
const CLANG: &str = include_str!("../../../offload/bpf/clang-version").trim_ascii();

/// The data paths of this build, as `offload` in a gateway file names them.
const OFFLOAD: [&str; 4] = ["none", "can-gw", "bpf", "auto"];

/// Did parsing end at `--version`, with `--verbose` beside it? clap ends at `--version` and does
/// not read what comes after it.
pub(crate) fn is_asked(end: &clap::Error, words: impl Iterator<Item = OsString>) -> bool {
    end.kind() == ErrorKind::DisplayVersion
        && words
            .skip(1)
            .take_while(|word| word != "--")
            .any(|word| word == "--verbose")
}

/// Prints it.
pub(crate) fn run() -> Result<(), Failure> {
    std::io::stdout().write_all(text().as_bytes())?;
    Ok(())
}

fn text() -> String {
    // As `kind` in a gateway file names them.
    let kinds: Vec<&str> = kinds().keywords().collect();
    format!(
        "\
cangate {version}
licence: Apache-2.0 OR MIT (LICENSE-APACHE, LICENSE-MIT), except the two parts below

embedded BPF object: crates/offload/bpf/gateway.bpf.o
  licence:  GPL-2.0 (LICENSE-GPL-2.0)
  source:   crates/offload/bpf
  compiler: clang {CLANG}
  use:      a separate program, which cangate loads into the kernel for offload = \"bpf\"

embedded source text: kmod/bitcan, kmod/canchar, kmod/nesting, kmod/shmcan, kmod/vfcan
  licence:  GPL-2.0 (LICENSE-GPL-2.0)
  use:      a kernel module, which `cangate lab` builds for its guests

features
  ports:   {ports}
  offload: {offload}
",
        version = env!("CARGO_PKG_VERSION"),
        ports = kinds.join(", "),
        offload = OFFLOAD.join(", "),
    )
}
