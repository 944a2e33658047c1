//! Puts the sources of the kernel modules into the program, which builds them for the guest's
//! kernel wherever it is installed.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let root = PathBuf::from(std::env::var("CARGO_MANIFEST_DIR")?);
    let sources = root.join("../../kmod").canonicalize()?;
    let mut files = Vec::new();
    for module in ["bitcan", "canchar", "nesting", "shmcan", "vfcan"] {
        let folder = sources.join(module);
        println!("cargo:rerun-if-changed={}", folder.display());
        find(&folder, &mut files)?;
    }
    files.sort();
    let mut text = "&[\n".to_owned();
    for path in files {
        let name = path.strip_prefix(&sources)?.to_string_lossy().into_owned();
        writeln!(
            text,
            "    ({name:?}, include_bytes!({:?})),",
            path.to_string_lossy()
        )?;
    }
    text.push_str("]\n");
    let out = PathBuf::from(std::env::var("OUT_DIR")?).join("kmod.rs");
    fs::write(out, text)?;
    Ok(())
}

/// The files that the kernel's build reads; the folders `host` and `test` are for others.
fn find(folder: &Path, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let extension = path.extension().unwrap_or_default();
        if path.is_dir() && name != "host" && name != "test" {
            find(&path, files)?;
        } else if path.is_file()
            && (["Kbuild", "Makefile"].contains(&name.as_str())
                || ((extension == "c" || extension == "h") && !name.ends_with(".mod.c")))
        {
            files.push(path);
        }
    }
    Ok(())
}
