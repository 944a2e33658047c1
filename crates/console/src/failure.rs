//! Why a command did not do what was asked, in words for the one who asked.

use linux::with_causes;
use std::fmt;
use std::io::Write as _;
use std::process::ExitCode;

/// Why a command did not do what was asked.
#[derive(Clone, Debug)]
pub enum Failure {
    /// What was given is wrong; exit status 2.
    Input(String),
    /// A file that was given has mistakes, with their places, as [`config::render`] gives them:
    /// each begins with `error: ` itself. Exit status 2.
    Mistakes(String),
    /// It could not be done; exit status 1.
    Run(String),
    /// It was done, and ended otherwise than it should; a status of its own.
    Ended {
        /// The exit status.
        status: u8,
        /// Why, in words.
        text: String,
    },
    /// The one who reads our output went away; not worth a word. Exit status [`Failure::CLOSED`].
    Silent,
    /// A program that was run for the user ended with this status, which is ours too.
    Status(u8),
}

impl Failure {
    /// The exit status where standard output was closed before everything was written.
    pub const CLOSED: u8 = 4;

    /// What was given is wrong.
    pub fn input(text: impl fmt::Display) -> Self {
        Self::Input(text.to_string())
    }

    /// It could not be done; causes are added.
    pub fn run(error: impl std::error::Error) -> Self {
        Self::Run(with_causes(&error))
    }

    /// A file could not be read or written.
    pub fn file(verb: &str, path: &std::path::Path, error: &std::io::Error) -> Self {
        let advice = match error.kind() {
            std::io::ErrorKind::NotFound => "; is the name right?",
            std::io::ErrorKind::PermissionDenied => "; may you do that there?",
            std::io::ErrorKind::StorageFull => "; make room and try again",
            _ => "",
        };
        let text = format!("cannot {verb} {}: {error}{advice}", path.display());
        // What is to be read was given; what is to be written was asked for.
        if verb == "read" {
            Self::Input(text)
        } else {
            Self::Run(text)
        }
    }
}

impl From<std::io::Error> for Failure {
    /// For writing to standard output.
    fn from(error: std::io::Error) -> Self {
        if error.kind() == std::io::ErrorKind::BrokenPipe {
            Self::Silent
        } else {
            Self::Run(format!("cannot write to standard output: {error}"))
        }
    }
}

/// Prints why a command failed, and gives its exit status.
pub fn exit_code(done: Result<(), Failure>) -> ExitCode {
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure::Silent) => ExitCode::from(Failure::CLOSED),
        Err(Failure::Status(status)) => ExitCode::from(status),
        Err(Failure::Ended { status, text }) => {
            say(&format!("error: {}", text.trim_end()));
            ExitCode::from(status)
        }
        Err(Failure::Mistakes(text)) => {
            say(text.trim_end());
            ExitCode::from(2)
        }
        Err(Failure::Input(text)) => {
            say(&format!("error: {}", text.trim_end()));
            ExitCode::from(2)
        }
        Err(Failure::Run(text)) => {
            say(&format!("error: {}", text.trim_end()));
            ExitCode::from(1)
        }
    }
}

/// Writes a line to standard error. A failure to write is ignored: the exit status reports the
/// rest.
pub fn say(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}
