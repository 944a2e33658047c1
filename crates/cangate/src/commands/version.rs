//! `cangate --version --verbose`: the version, the licence of every part, and the built-in
//! features.

use super::features::FEATURES;
use crate::kinds::kinds;
use console::Failure;
use std::io::Write;

/// The compiler of the embedded BPF object; `cargo xtask bpf` checks the object against it.
const CLANG: &str = include_str!("../../../offload/bpf/clang-version").trim_ascii();

/// The data paths of this build, by their names for `offload` in a gateway file.
const OFFLOAD: [&str; 4] = ["none", "can-gw", "bpf", "auto"];

/// Prints the version information.
pub(crate) fn run() -> Result<(), Failure> {
    std::io::stdout().write_all(text().as_bytes())?;
    Ok(())
}

fn text() -> String {
    // The names for `kind` in a gateway file.
    let kinds: Vec<&str> = kinds().keywords().collect();
    let others = FEATURES.iter().filter(|feature| feature.is_built_in);
    let others: Vec<&str> = others.map(|feature| feature.name).collect();
    format!(
        "\
cangate {version}
licence: Apache-2.0 OR MIT (LICENSE-APACHE, LICENSE-MIT), except the part below

embedded BPF object: crates/offload/bpf/gateway.bpf.o
  licence:  GPL-2.0 (LICENSE-GPL-2.0)
  source:   crates/offload/bpf
  compiler: clang {CLANG}
  use:      a separate program, which cangate loads into the kernel for offload = \"bpf\"

features
  ports:   {ports}
  offload: {offload}
  others:  {others}
",
        version = env!("CARGO_PKG_VERSION"),
        ports = kinds.join(", "),
        offload = OFFLOAD.join(", "),
        others = others.join(", "),
    )
}
