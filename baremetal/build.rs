//! The image's place in memory is the linker's business.

use std::env;

fn main() {
    println!("cargo:rerun-if-changed=src/machine/image.ld");
    let is = |key: &str, value: &str| env::var(key).is_ok_and(|is| is == value);
    if is("CARGO_CFG_TARGET_OS", "none") && is("CARGO_CFG_TARGET_ARCH", "x86_64") {
        let folder = env::var("CARGO_MANIFEST_DIR").unwrap_or_default();
        println!("cargo:rustc-link-arg-bins=-T{folder}/src/machine/image.ld");
        // At a fixed address: nobody is there who would relocate it.
        println!("cargo:rustc-link-arg-bins=--no-pie");
    }
}
