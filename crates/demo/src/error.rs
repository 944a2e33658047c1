//! The errors of a demo.

use port::log::LogError;
use std::io;
use std::path::PathBuf;

/// The reason why a demo did not run to its end, or why its numbers did not add up.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The gateway file has more routes than results can number.
    #[error("{file}: the demo supports at most {most} routes; remove routes")]
    TooManyRoutes {
        /// The gateway file.
        file: String,
        /// The maximum number of routes.
        most: usize,
    },
    /// A port of the gateway file is not on the embedded bus.
    #[error(
        "the demo runs on the embedded bus, but port `{port}` is of kind \"{kind}\": give it \
         `kind = \"bus\"`, or use `cangate run`"
    )]
    NotABus {
        /// The port's name.
        port: String,
        /// The port's kind.
        kind: &'static str,
    },
    /// A port of the gateway file injects faults.
    #[error(
        "the demo compares every frame with what the buses saw, and injects no faults: leave out \
         [ports.{0}.faults], or use `cangate run`"
    )]
    Faults(String),
    /// The routes cannot be compiled; the text names the route.
    #[error("{0}")]
    Routes(String),
    /// The buses, the gateway or the traffic cannot be made, or stopped working.
    #[error("the simulation cannot continue")]
    Scene(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The log cannot be opened.
    #[error("cannot read {path}", path = .path.display())]
    ReadLog {
        /// The path of the log.
        path: PathBuf,
        /// The operating system's error.
        #[source]
        source: io::Error,
    },
    /// A line of the log is not a frame, and [`crate::TesterInput::Log`] is strict.
    #[error("{0}\nwithout --strict such lines are left out and counted")]
    BadLine(LogError),
    /// The log cannot be read to its end.
    #[error(transparent)]
    Log(LogError),
    /// The folder, or a file in it, cannot be created.
    #[error("cannot write {path}", path = .path.display())]
    Write {
        /// The path of the folder or file.
        path: PathBuf,
        /// The operating system's error.
        #[source]
        source: io::Error,
    },
    /// The log of the frames that the gateway sent cannot be written.
    #[error("cannot write outgoing.log; is the disk full?")]
    OutgoingLog(#[source] io::Error),
    /// The report cannot be written.
    #[error(transparent)]
    Report(#[from] report::run::Error),
    /// The buses never became idle.
    #[error(
        "the buses never became idle, so the demo ended the run: routes of the gateway file form a \
         loop (through two ports on one bus, for example): remove a route, or let it take fewer \
         frames; `hop_limit` does not end a loop over a bus, because a frame does not carry the \
         number of gateways that it has passed there"
    )]
    Circle,
    /// The log has no frame.
    #[error("the log contains no frame")]
    EmptyLog,
    /// The sums are wrong; each wrong sum is on a line of its own.
    #[error("frames are not accounted for, which is a mistake in cangate; please report it:\n{0}")]
    Unaccounted(String),
}

impl Error {
    /// Wraps an error of the simulation.
    pub(crate) fn scene(error: impl std::error::Error + Send + Sync + 'static) -> Self {
        Self::Scene(Box::new(error))
    }

    /// Returns whether the input was wrong, rather than its processing.
    #[must_use]
    pub fn is_input(&self) -> bool {
        match self {
            Self::TooManyRoutes { .. }
            | Self::NotABus { .. }
            | Self::Faults(_)
            | Self::Routes(_)
            | Self::ReadLog { .. }
            | Self::BadLine(_)
            | Self::Log(LogError::Unknown { .. } | LogError::Lost { .. })
            | Self::Circle
            | Self::EmptyLog => true,
            Self::Scene(_)
            | Self::Log(_)
            | Self::Write { .. }
            | Self::OutgoingLog(_)
            | Self::Report(_)
            | Self::Unaccounted(_) => false,
        }
    }
}
