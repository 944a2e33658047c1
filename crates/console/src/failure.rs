//! Reasons for which a command failed, as messages for the user.

use linux::with_causes;
use std::fmt;
use std::io::Write as _;
use std::process::ExitCode;

/// The reason for which a command failed.
#[derive(Clone, Debug)]
pub enum Failure {
    /// The input is wrong; exit status 2.
    Input(String),
    /// An input file has mistakes; the text contains them with their places, as [`config::render`]
    /// formats them, and each mistake begins with `error: `. Exit status 2.
    Mistakes(String),
    /// The command could not be carried out; exit status 1.
    Run(String),
    /// The command ran and ended otherwise than it should; it has an exit status of its own.
    Ended {
        /// The exit status.
        status: u8,
        /// The reason, as a message.
        text: String,
    },
    /// The reader of standard output closed it, which is not worth a message. Exit status
    /// [`Failure::CLOSED`].
    Silent,
    /// A program that was run for the user ended with this status, which the command returns too.
    Status(u8),
}

impl Failure {
    /// The exit status where standard output was closed before everything was written.
    pub const CLOSED: u8 = 4;

    /// Returns a [`Failure::Input`] with this text.
    pub fn input(text: impl fmt::Display) -> Self {
        Self::Input(text.to_string())
    }

    /// Returns a [`Failure::Run`] with the error and its causes as text.
    pub fn run(error: impl std::error::Error) -> Self {
        Self::Run(with_causes(&error))
    }

    /// Returns the failure for a file that could not be read or written.
    pub fn file(verb: &str, path: &std::path::Path, error: &std::io::Error) -> Self {
        let advice = match error.kind() {
            std::io::ErrorKind::NotFound => "; is the name right?",
            std::io::ErrorKind::PermissionDenied => "; do you have permission?",
            std::io::ErrorKind::StorageFull => "; make room and try again",
            _ => "",
        };
        let text = format!("cannot {verb} {}: {error}{advice}", path.display());
        // The user supplied a file that the command reads, but only asked for one that it writes.
        if verb == "read" {
            Self::Input(text)
        } else {
            Self::Run(text)
        }
    }
}

impl From<std::io::Error> for Failure {
    /// Converts an error of writing to standard output.
    fn from(error: std::io::Error) -> Self {
        if error.kind() == std::io::ErrorKind::BrokenPipe {
            Self::Silent
        } else {
            Self::Run(format!("cannot write to standard output: {error}"))
        }
    }
}

/// Prints why a command failed, and returns its exit status.
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
