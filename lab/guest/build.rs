//! Puts the sources of the kernel modules and of QEMU's plugins into the program, which builds them
//! wherever it is installed.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let root = PathBuf::from(std::env::var("CARGO_MANIFEST_DIR")?);
    let modules = ["bitcan", "canchar", "nesting", "shmcan", "vfcan"];
    list(&root.join("../../kmod"), &modules, "kmod.rs")?;
    list(&root, &["plugin"], "plugin.rs")
}

/// Writes a list of the files in these folders, with their names below `sources`, as Rust.
fn list(sources: &Path, folders: &[&str], into: &str) -> Result<(), Box<dyn std::error::Error>> {
    let sources = sources.canonicalize()?;
    let mut files = Vec::new();
    for folder in folders {
        let folder = sources.join(folder);
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
    fs::write(PathBuf::from(std::env::var("OUT_DIR")?).join(into), text)?;
    Ok(())
}

/// The files that a build in a guest's tree reads; the folders `host` and `test` are for others.
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
