//! Passes the linker scripts that set the image's address.

use std::{env, fs};

fn main() {
    println!("cargo:rerun-if-changed=src/machine/image.ld");
    let is = |key: &str, value: &str| env::var(key).is_ok_and(|is| is == value);
    if is("CARGO_CFG_TARGET_OS", "none") && is("CARGO_CFG_TARGET_ARCH", "x86_64") {
        let folder = env::var("CARGO_MANIFEST_DIR").unwrap_or_default();
        println!("cargo:rustc-link-arg-bins=-T{folder}/src/machine/image.ld");
        // At a fixed address: there is no loader that would relocate the image.
        println!("cargo:rustc-link-arg-bins=--no-pie");
    }
    if is("CARGO_CFG_TARGET_OS", "none") && is("CARGO_CFG_TARGET_ARCH", "arm") {
        // cortex-m-rt's script needs the size of the memory: that of a medium Cortex-M4.
        let out = env::var("OUT_DIR").unwrap_or_default();
        let memory = "MEMORY\n{\n  FLASH : ORIGIN = 0x00000000, LENGTH = 512K\n  \
                      RAM : ORIGIN = 0x20000000, LENGTH = 256K\n}\n";
        if let Err(error) = fs::write(format!("{out}/memory.x"), memory) {
            println!("cargo:warning=cannot write memory.x: {error}");
        }
        println!("cargo:rustc-link-search={out}");
        println!("cargo:rustc-link-arg-bins=-Tlink.x");
    }
}
