//! Files with secrets: read only if others cannot read them, and never shown.

use crate::datagram::psk::SharedKey;
use std::fs::{File, Metadata};
use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// The longest file that is read, bytes: a list of authorities may have some hundred thousand.
const LONGEST: u64 = 1 << 20;

/// Reads a file that may be public.
///
/// # Errors
/// A description with the path.
pub fn read_file(path: &Path) -> Result<Vec<u8>, String> {
    let (file, _) = open(path)?;
    read(path, file)
}

/// Opens a file. Opening a pipe would wait for its writer.
fn open(path: &Path) -> Result<(File, Metadata), String> {
    let about = std::fs::metadata(path).map_err(|error| unreadable(path, &error))?;
    if !about.is_file() {
        return Err(format!("{} is not a file", path.display()));
    }
    let file = File::open(path).map_err(|error| unreadable(path, &error))?;
    // Of the file that is open: the path may lead to another one meanwhile.
    let about = file.metadata().map_err(|error| unreadable(path, &error))?;
    Ok((file, about))
}

/// Reads a file with a secret.
///
/// # Errors
/// A description with the path and what to do: others can read or change the file, too.
pub fn read_secret(path: &Path) -> Result<Vec<u8>, String> {
    let (file, about) = open(path)?;
    if about.mode() & 0o027 != 0 {
        return Err(format!(
            "{0} is a secret, and others can read or change it (mode {1:03o}): chmod 600 {0}",
            path.display(),
            about.mode() & 0o777
        ));
    }
    read(path, file)
}

/// Reads a pre-shared key: hex digits, as `openssl rand -hex 32` writes them.
///
/// # Errors
/// A description with the path. It has no part of the key.
pub fn read_key(path: &Path) -> Result<SharedKey, String> {
    let bytes = read_secret(path)?;
    let text = String::from_utf8_lossy(&bytes);
    let key = hex(text.trim()).and_then(SharedKey::new);
    key.ok_or_else(|| {
        format!(
            "{0} is not a pre-shared key of {1} to {2} bytes in hex digits: openssl rand -hex 32 > {0}",
            path.display(),
            SharedKey::LEAST,
            SharedKey::MOST
        )
    })
}

fn hex(text: &str) -> Option<Vec<u8>> {
    let is_hex = text.bytes().all(|digit| digit.is_ascii_hexdigit());
    if !is_hex || !text.len().is_multiple_of(2) {
        return None;
    }
    let pairs = (0..text.len()).step_by(2);
    pairs
        .map(|at| u8::from_str_radix(&text[at..at + 2], 16).ok())
        .collect()
}

fn read(path: &Path, file: File) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    file.take(LONGEST + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| unreadable(path, &error))?;
    if bytes.len() as u64 > LONGEST {
        let path = path.display();
        return Err(format!("{path} has more than {LONGEST} bytes"));
    }
    Ok(bytes)
}

fn unreadable(path: &Path, error: &std::io::Error) -> String {
    format!("cannot read {}: {error}", path.display())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn secrets_that_others_can_read_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("v1.psk");
        let key = "00112233445566778899aabbccddeeff";
        fs::write(&path, format!("{key}\n")).unwrap();
        for (mode, is_good) in [
            (0o600, true),
            (0o400, true),
            (0o640, true),
            (0o644, false),
            (0o660, false),
            (0o602, false),
        ] {
            fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            let read = read_key(&path);
            assert_eq!(read.is_ok(), is_good, "{mode:o}: {read:?}");
            if let Err(error) = read {
                assert!(error.contains("chmod 600"), "{error}");
            }
        }
    }

    #[test]
    fn what_is_no_key_is_not_shown() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("v1.psk");
        for text in ["", "a secret", "0011", "001122334455667788990011223344556"] {
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
            let error = read_key(&path).unwrap_err();
            assert!(error.contains("openssl rand -hex 32"), "{error}");
            assert!(text.is_empty() || !error.contains(text), "{error}");
        }
        let error = read_key(Path::new("/nowhere/key")).unwrap_err();
        assert!(error.contains("/nowhere/key"), "{error}");
        // A pipe would be waited for, a device may never end, and a part would pass for the whole.
        for no_file in [Path::new("/dev/zero"), folder.path()] {
            let error = read_file(no_file).unwrap_err();
            assert!(error.contains("is not a file"), "{error}");
        }
        fs::write(&path, vec![b'\n'; LONGEST as usize + 1]).unwrap();
        let error = read_file(&path).unwrap_err();
        assert!(error.contains("more than"), "{error}");
    }
}
