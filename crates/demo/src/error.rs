//! The errors of a demo.

use port::PortError;
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
    /// A port of the gateway file needs real time.
    #[error(
        "the demo runs in bus time, but port `{port}` of kind \"{kind}\" reads its input in real \
         time: replay a log by --log, or use `cangate run --simulate`"
    )]
    RealTime {
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
    /// A port of the gateway file cannot be opened.
    #[error("a port cannot be opened")]
    Port(#[source] PortError),
    /// A log that should be repeated is not a file.
    #[error("{} is not a file, so it cannot be read again: leave --loop out", .0.display())]
    NoFile(PathBuf),
    /// A line of the log at which the replay should wait is not valid; its place, and the reason.
    #[error("{0}: {1}")]
    Script(String, String),
    /// An interface of the log is on no bus.
    #[error(
        "{place}: no bus and no port of the gateway file is named {interface} (buses: {buses}): \
         `--map {interface}={}` puts its frames on that bus, `--map {interface}=` leaves them out",
        buses.split(',').next().unwrap_or("BUS")
    )]
    UnknownInterface {
        /// The place in the log.
        place: String,
        /// The interface.
        interface: String,
        /// The buses of the gateway file.
        buses: String,
    },
    /// An answer for which the replay waited did not come in time.
    #[error("{place}: no answer to `{wait}` came from the gateway on bus {bus}")]
    NoAnswer {
        /// The place in the log.
        place: String,
        /// The line.
        wait: String,
        /// The bus.
        bus: String,
    },
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
            | Self::RealTime { .. }
            | Self::NoFile(_)
            | Self::Script(..)
            | Self::UnknownInterface { .. }
            | Self::Faults(_)
            | Self::Routes(_)
            | Self::ReadLog { .. }
            | Self::BadLine(_)
            | Self::Log(LogError::Unknown { .. } | LogError::Lost { .. })
            | Self::Circle
            | Self::EmptyLog => true,
            Self::Scene(_)
            | Self::Port(_)
            | Self::NoAnswer { .. }
            | Self::Log(_)
            | Self::Write { .. }
            | Self::OutgoingLog(_)
            | Self::Report(_)
            | Self::Unaccounted(_) => false,
        }
    }
}
