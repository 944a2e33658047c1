//! Why a demo did not come to its end.

use port::log::LogError;
use std::io;
use std::path::PathBuf;

/// Why a demo did not come to its end, or did not add up.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The gateway file has more routes than results can number.
    #[error("{file}: the demo numbers at most {most} routes")]
    TooManyRoutes {
        /// The gateway file.
        file: String,
        /// How many there may be.
        most: usize,
    },
    /// A port of the gateway file is not on the embedded bus.
    #[error(
        "the demo runs on the embedded bus, but port `{port}` is of kind \"{kind}\": give it \
         `kind = \"bus\"`, or use `cangate run`"
    )]
    NotABus {
        /// Its name.
        port: String,
        /// What it is.
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
    #[error("the simulation cannot go on")]
    Scene(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The log cannot be opened.
    #[error("cannot read {path}", path = .path.display())]
    ReadLog {
        /// Which.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// A line of the log is no frame, and [`crate::Input::Log`] is strict.
    #[error("{0}\nwithout --strict such lines are left out and counted")]
    BadLine(LogError),
    /// The log cannot be read to its end.
    #[error(transparent)]
    Log(LogError),
    /// The folder, or a file in it, cannot be made.
    #[error("cannot write {path}", path = .path.display())]
    Write {
        /// Which.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// What the gateway sent cannot be written.
    #[error("cannot write outgoing.log; is there room?")]
    OutgoingLog(#[source] io::Error),
    /// The report cannot be written.
    #[error(transparent)]
    Report(#[from] report::run::Error),
    /// The buses never came to rest.
    #[error(
        "the buses never came to rest, so the run was ended: the gateway file has routes that lead \
         in a circle (two ports on one bus, for example); `hop_limit` cannot end it, because a frame \
         on a bus does not tell how many gateways it has passed"
    )]
    Circle,
    /// The log has no frame.
    #[error("there is no frame in the log")]
    EmptyLog,
    /// The sums are wrong; each is named in a line.
    #[error("frames are not accounted for, which is a mistake in cangate; please report it:\n{0}")]
    Unaccounted(String),
}

impl Error {
    /// The simulation's own error.
    pub(crate) fn scene(error: impl std::error::Error + Send + Sync + 'static) -> Self {
        Self::Scene(Box::new(error))
    }

    /// Is what was given wrong, rather than what was done with it?
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
