//! The program that runs: it goes into every guest as the agent.

use crate::error::Error;
use sha2::{Digest, Sha256};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The program that runs.
#[derive(Debug)]
pub(crate) struct Program {
    /// Where it is.
    pub(crate) path: PathBuf,
    /// The start of its SHA-256, in hexadecimal.
    pub(crate) hash: String,
}

/// The program that runs, looked at once.
pub(crate) fn program() -> Result<&'static Program, Error> {
    static PROGRAM: OnceLock<Program> = OnceLock::new();
    if let Some(program) = PROGRAM.get() {
        return Ok(program);
    }
    // Not /proc/self/exe itself: a program that was built anew since is better named in an error
    // than run by chance.
    let path = std::env::current_exe().map_err(Error::file("find", Path::new("cangate")))?;
    let bytes = fs::read(&path).map_err(Error::file("read", &path))?;
    let hash = hash(&[&bytes]);
    Ok(PROGRAM.get_or_init(|| Program { path, hash }))
}

/// The first 16 digits of the SHA-256 of these, each with its length.
pub(crate) fn hash(parts: &[&[u8]]) -> String {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update((part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    hasher
        .finalize()
        .iter()
        .take(8)
        .map(|b| format!("{b:02x}"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_depends_on_where_parts_end() {
        assert_ne!(hash(&[b"ab", b"c"]), hash(&[b"a", b"bc"]));
        assert_eq!(hash(&[b"ab"]), hash(&[b"ab"]));
        assert_eq!(hash(&[]).len(), 16);
    }
}
