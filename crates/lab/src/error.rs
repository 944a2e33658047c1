//! Why the lab could not do what was asked, in words for the one who asked.

use std::io;
use std::path::{Path, PathBuf};

/// Why the lab could not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// What was asked for is not there or makes no sense; says what would.
    #[error("{0}")]
    Asked(String),
    /// A program of the host is missing.
    #[error("the lab needs `{tool}` {why}, and it is not there; {advice}")]
    Tool {
        /// Which program.
        tool: &'static str,
        /// What for.
        why: &'static str,
        /// How to get it.
        advice: &'static str,
    },
    /// A program of the host failed.
    #[error("{what} failed{advice}\n{tail}")]
    Command {
        /// What it was to do.
        what: String,
        /// What to do about it; empty, or beginning with a separator.
        advice: &'static str,
        /// The end of what it said.
        tail: String,
    },
    /// A file could not be read or written.
    #[error("cannot {verb} {}: {source}{}", path.display(), advice(source))]
    File {
        /// `read`, `write`, …
        verb: &'static str,
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A program for the guest needs a library that is not on the host.
    #[error(
        "{} needs the shared library {library}, which is in none of the folders where the loader looks; \
         install it, name its folder in LD_LIBRARY_PATH, or link the program statically",
        file.display()
    )]
    Library {
        /// The program.
        file: PathBuf,
        /// The library's name.
        library: String,
    },
}

impl Error {
    /// For `map_err`: a file could not be read or written.
    pub(crate) fn file(verb: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_path_buf();
        move |source| Self::File { verb, path, source }
    }
}

fn advice(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::StorageFull => {
            "; make room and give the same command again, it goes on where it stopped"
        }
        io::ErrorKind::PermissionDenied => {
            "; may you do that there? --cache chooses another folder"
        }
        _ => "",
    }
}

/// The last lines of a text: at most `lines`, at most `bytes`.
pub(crate) fn tail(text: &[u8], lines: usize, bytes: usize) -> String {
    let text = &text[text.len().saturating_sub(bytes)..];
    let text = String::from_utf8_lossy(text);
    let all: Vec<&str> = text.lines().collect();
    all[all.len().saturating_sub(lines)..].join("\n")
}
