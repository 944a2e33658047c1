//! Output files and folders: a command creates or refuses them before it runs anything.

use crate::Failure;
use std::fs::{self, OpenOptions};
use std::io::ErrorKind;
use std::path::Path;

/// Checks that a file of this name can be written. Creates its folder if that is missing.
///
/// # Errors
/// The path is a folder, the file's folder cannot be created, or nothing can be written there.
pub fn file(path: &Path) -> Result<(), Failure> {
    if path.is_dir() {
        return Err(Failure::Run(format!(
            "cannot write {}: it is a folder; name a file in it",
            path.display()
        )));
    }
    let parent = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty());
    // A device or a pipe is written to as it is.
    if path.exists() && !path.is_file() {
        return Ok(());
    }
    folder(parent.unwrap_or_else(|| Path::new(".")))
}

/// Creates a folder and its parents if they are missing, and checks that files can be written in
/// it.
///
/// # Errors
/// The folder cannot be created, a file has its name, or nothing can be written there.
pub fn folder(path: &Path) -> Result<(), Failure> {
    let refused = |verb: &str, error: &std::io::Error| {
        Failure::Run(format!(
            "cannot {verb} the folder {}: {}",
            path.display(),
            why(error)
        ))
    };
    fs::create_dir_all(path).map_err(|error| refused("make", &error))?;
    let trial = path.join(format!(".cangate-{}", std::process::id()));
    let made = OpenOptions::new().write(true).create_new(true).open(&trial);
    match made {
        Ok(_) => fs::remove_file(&trial).map_err(|error| refused("write into", &error)),
        // Another process is making the same check.
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(refused("write into", &error)),
    }
}

/// Returns the message of the operating system, or a clearer one where that would mislead.
fn why(error: &std::io::Error) -> String {
    match error.kind() {
        ErrorKind::AlreadyExists | ErrorKind::NotADirectory => {
            "a file has this name or that of a folder above".to_owned()
        }
        _ => error.to_string(),
    }
}
