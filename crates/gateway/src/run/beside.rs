//! Files that a gateway file names, read from where they are.

use crate::config::LARGEST_DATABASE;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

/// Returns a function that reads the files that a gateway file names. A relative path starts at the
/// gateway file's folder; at the working directory, if the gateway file was not read from a file.
/// At most one byte more than [`LARGEST_DATABASE`] is read.
pub fn files_beside(file: Option<&Path>) -> impl Fn(&Path) -> io::Result<Vec<u8>> + use<> {
    let folder = file.and_then(Path::parent).map(PathBuf::from);
    let folder = folder.unwrap_or_default();
    move |path| {
        let path = folder.join(path);
        // Opening a pipe would wait for its writer.
        let metadata = std::fs::metadata(&path)?;
        if !metadata.is_file() {
            return Err(io::Error::other("it is not a regular file"));
        }
        let mut bytes = Vec::new();
        File::open(&path)?
            .take(LARGEST_DATABASE as u64 + 1)
            .read_to_end(&mut bytes)?;
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_relative_path_starts_at_the_folder_of_the_gateway_file() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("x.dbc"), "text").unwrap();
        let read = files_beside(Some(&folder.path().join("gateway.toml")));
        assert_eq!(read(Path::new("x.dbc")).unwrap(), b"text");
        assert_eq!(read(&folder.path().join("x.dbc")).unwrap(), b"text");
        let absent = read(Path::new("y.dbc")).unwrap_err();
        assert_eq!(absent.kind(), io::ErrorKind::NotFound);
        let error = read(Path::new(".")).unwrap_err();
        assert_eq!(error.to_string(), "it is not a regular file");
    }
}
