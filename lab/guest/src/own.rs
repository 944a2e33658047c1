//! The two programs that every guest gets: the laboratory's own, which is the agent, and the
//! gateway under test.

use crate::error::Error;
use sha2::{Digest, Sha256};
use std::fs;
use std::path::{Path, PathBuf};

/// The name of the gateway's program: in the folder of the laboratory's program, in PATH and in
/// guests.
pub(crate) const GATEWAY: &str = "cangate";
/// The name of the laboratory's program in guests.
pub(crate) const AGENT: &str = "cangate-lab";

/// A program that guests get.
#[derive(Clone, Debug)]
pub(crate) struct GuestProgram {
    /// The program's path.
    pub(crate) path: PathBuf,
    /// The start of its SHA-256, in hexadecimal.
    pub(crate) hash: String,
}

impl GuestProgram {
    fn read(path: PathBuf) -> Result<Self, Error> {
        let bytes = fs::read(&path).map_err(Error::file("read", &path))?;
        let hash = hash(&[&bytes]);
        Ok(Self { path, hash })
    }
}

/// The programs that guests get.
#[derive(Clone, Debug)]
pub(crate) struct GuestPrograms {
    /// The program that runs: `cangate-lab`.
    pub(crate) agent: GuestProgram,
    /// The gateway under test: a `cangate`.
    pub(crate) gateway: GuestProgram,
}

impl GuestPrograms {
    /// Reads both programs. `gateway` is the path that the user gave; without it, the gateway is
    /// the program in the folder of the one that runs, else the one in PATH.
    pub(crate) fn find(gateway: Option<&Path>) -> Result<Self, Error> {
        // Not /proc/self/exe: if the program was rebuilt since, an error should name it, rather
        // than run it by chance.
        let own = std::env::current_exe().map_err(Error::file("find", Path::new(AGENT)))?;
        let path = match gateway {
            Some(path) => path.to_path_buf(),
            None => beside(&own)
                .or_else(in_path)
                .ok_or_else(|| Error::NoGateway {
                    folder: own.parent().unwrap_or(Path::new("/")).to_path_buf(),
                })?,
        };
        Ok(Self {
            agent: GuestProgram::read(own)?,
            gateway: GuestProgram::read(path)?,
        })
    }

    /// Returns both hashes, in an order that never changes.
    pub(crate) fn hashes(&self) -> [&str; 2] {
        [&self.agent.hash, &self.gateway.hash]
    }
}

fn beside(own: &Path) -> Option<PathBuf> {
    Some(own.with_file_name(GATEWAY)).filter(|path| path.is_file())
}

fn in_path() -> Option<PathBuf> {
    let folders = std::env::var_os("PATH")?;
    std::env::split_paths(&folders)
        .map(|folder| folder.join(GATEWAY))
        .find(|path| path.is_file())
}

/// Returns the first 16 digits of the SHA-256 of these parts, each with its length.
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
    fn a_gateway_that_is_named_is_the_one_under_test() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("other-build");
        let error = GuestPrograms::find(Some(&path)).unwrap_err().to_string();
        assert!(error.contains("other-build"), "{error}");
        fs::write(&path, "a program").unwrap();
        let found = GuestPrograms::find(Some(&path)).unwrap();
        assert_eq!(found.gateway.path, path);
        assert_eq!(found.gateway.hash, hash(&[b"a program"]));
        assert_ne!(found.hashes()[0], found.hashes()[1]);
    }

    #[test]
    fn a_hash_depends_on_where_parts_end() {
        assert_ne!(hash(&[b"ab", b"c"]), hash(&[b"a", b"bc"]));
        assert_eq!(hash(&[b"ab"]), hash(&[b"ab"]));
        assert_eq!(hash(&[]).len(), 16);
    }
}
