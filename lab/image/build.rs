//! Embeds the sources of the image in the program, which can then build it wherever it is
//! installed.

use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

/// The packages that an image is made of, by their folders.
const PACKAGES: [&str; 9] = [
    "baremetal",
    "crates/bus",
    // Not in the image, but a feature of `route` names it.
    "crates/config",
    "crates/controller",
    "crates/e2e",
    "crates/engine",
    "crates/frame",
    "crates/route",
    "crates/signals",
];

fn main() -> Result<(), Box<dyn Error>> {
    let here = PathBuf::from(std::env::var("CARGO_MANIFEST_DIR")?);
    let root = here.join("../..").canonicalize()?;
    let mut files = vec![root.join("Cargo.toml"), root.join("Cargo.lock")];
    for package in PACKAGES {
        let folder = root.join(package);
        for name in ["Cargo.toml", "build.rs"] {
            let file = folder.join(name);
            if file.exists() {
                files.push(file);
            }
        }
        find(&folder.join("src"), &mut files)?;
        println!("cargo:rerun-if-changed={}", folder.join("src").display());
    }
    files.sort();
    let mut text = "&[\n".to_owned();
    for path in files {
        println!("cargo:rerun-if-changed={}", path.display());
        let name = path.strip_prefix(&root)?.to_string_lossy().into_owned();
        let place = path.to_string_lossy();
        writeln!(text, "    ({name:?}, include_str!({place:?})),")?;
    }
    text.push_str("]\n");
    let out = PathBuf::from(std::env::var("OUT_DIR")?).join("sources.rs");
    fs::write(out, text)?;
    Ok(())
}

fn find(folder: &Path, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            find(&path, files)?;
        } else if path.extension().is_some_and(|e| e == "rs" || e == "ld") {
            files.push(path);
        }
    }
    Ok(())
}
