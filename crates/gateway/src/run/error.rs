//! The errors of a gateway's start, reload and end.

use crate::control::SocketError;
use crate::metrics::MetricsError;
use engine::{EngineError, PortError};
use offload::{DataPath, with_causes};
use route::CompileError;
use std::fmt;
use std::io;
use std::path::PathBuf;

/// The reason why a gateway did not start, or did not end as it should.
#[derive(thiserror::Error, Debug)]
pub enum RunError {
    /// The run should end with the inputs that have an end, and there is none.
    #[error("--until-end needs a port that reads a log or another input with an end: leave it out")]
    NoEnd,
    /// The file cannot be simulated.
    #[error("{0}")]
    Simulation(String),
    /// A log that another port needs would be emptied.
    #[error(transparent)]
    Overwritten(#[from] OverwrittenFile),
    /// The routing table refuses the routes.
    #[error(transparent)]
    Routes(#[from] RoutesError),
    /// Ports cannot be opened.
    #[error(transparent)]
    Ports(#[from] OpenErrors),
    /// Ports, table and routes do not belong together.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// Routes cannot be put into the kernel.
    #[error("{}", with_causes(.0))]
    Kernel(#[source] KernelError),
    /// Ports cannot begin to write.
    #[error(transparent)]
    Start(#[from] StartError),
    /// The control socket cannot be claimed.
    #[error(transparent)]
    Control(#[from] SocketError),
    /// The metrics cannot be served.
    #[error(transparent)]
    Metrics(#[from] MetricsError),
    /// The operating system reported an error.
    #[error("{doing} failed ({source})")]
    Os {
        /// The operation that failed.
        doing: &'static str,
        /// The operating system's error.
        source: io::Error,
    },
    /// A mistake in cangate ended the worker.
    #[error("the worker stopped because of a mistake in cangate; please report its output")]
    WorkerDied,
}

/// The reason why a running gateway did not apply a new configuration. Except for
/// [`ReloadError::KernelLate`], everything continues as before.
#[derive(thiserror::Error, Debug)]
pub enum ReloadError {
    /// The configuration cannot be read.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The routing table refuses the routes.
    #[error(transparent)]
    Routes(#[from] RoutesError),
    /// New ports cannot be opened.
    #[error(transparent)]
    Ports(#[from] OpenErrors),
    /// Ports, table and routes do not belong together.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// Routes cannot be put into the kernel.
    #[error("{}", with_causes(.0))]
    Kernel(#[source] KernelError),
    /// New ports cannot begin to write.
    #[error(transparent)]
    Start(#[from] StartError),
    /// Routes could not be put into the kernel after those of this process had been exchanged.
    #[error(
        "this process runs the new routes, but the kernel's routes are missing: {}",
        with_causes(.0)
    )]
    KernelLate(#[source] KernelError),
    /// The worker has ended.
    #[error("the gateway is about to end")]
    Ending,
}

/// An error between a gateway's routes and the kernel.
#[derive(Debug, thiserror::Error)]
pub enum KernelError {
    /// A data path failed.
    #[error(transparent)]
    Path(#[from] offload::Error),
    /// One data path could not take the new routes, and another one could not be set back to the
    /// former routes.
    #[error("{}; and {path} could not be set back: {}", with_causes(.first), with_causes(.source))]
    NotSetBack {
        /// The reason why the new routes could not be taken.
        first: Box<offload::Error>,
        /// The data path that could not be set back.
        path: DataPath,
        /// The reason why not.
        source: Box<offload::Error>,
    },
}

/// The reason why open ports cannot begin to write.
#[derive(thiserror::Error, Debug)]
pub enum StartError {
    /// A log that another port needs would be emptied.
    #[error(transparent)]
    Overwritten(#[from] OverwrittenFile),
    /// A file cannot be emptied.
    #[error(transparent)]
    Ports(#[from] OpenErrors),
}

/// The reason why a configuration cannot be read (again).
#[derive(thiserror::Error, Debug)]
pub enum LoadError {
    /// There is no file.
    #[error(
        "the configuration came from standard input, which cannot be read again: start the \
         gateway with a file"
    )]
    NoFile,
    /// The operating system reported an error.
    #[error("cannot read {path}: {source}")]
    Read {
        /// The file.
        path: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
    /// The file is a pipe or a device: reading it again could wait for ever, or return something
    /// else.
    #[error(
        "{path} is not a regular file, so it is not read again: start the gateway with a regular file"
    )]
    NoRegularFile {
        /// The file.
        path: PathBuf,
    },
    /// The file is not UTF-8.
    #[error("cannot read {path}: byte {at} is not UTF-8; is this a text file?")]
    NotText {
        /// The file.
        path: PathBuf,
        /// The index of the first byte that is not.
        at: usize,
    },
    /// The text is wrong: the mistakes, each with its place, formatted for people.
    #[error("{0}")]
    Wrong(String),
    /// A log that another port needs would be emptied.
    #[error(transparent)]
    Overwritten(#[from] OverwrittenFile),
}

/// The error that a port would write, and so empty, a file that another port reads or writes.
#[derive(thiserror::Error, Clone, PartialEq, Eq, Debug)]
#[error(
    "port {port}: {path} is the file that is {used} by port {other}, and would be emptied: write \
     to another one"
)]
pub struct OverwrittenFile {
    /// The port that would write.
    pub port: String,
    /// The file, as this port names it.
    pub path: PathBuf,
    /// The port that needs the file.
    pub other: String,
    /// The use of the file: "read" or "written".
    pub used: &'static str,
}

/// All errors of the routing table's compilation, one per line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RoutesError(pub Vec<CompileError>);

impl fmt::Display for RoutesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        lines(f, self.0.iter().map(ToString::to_string))
    }
}

impl std::error::Error for RoutesError {}

/// All ports that cannot be opened, one per line, each with its cause.
#[derive(Debug)]
pub struct OpenErrors(pub Vec<PortError>);

impl fmt::Display for OpenErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let with_cause = |error: &PortError| match &error.source {
            Some(cause) => format!("{error} ({cause})"),
            None => error.to_string(),
        };
        lines(f, self.0.iter().map(with_cause))
    }
}

impl std::error::Error for OpenErrors {}

fn lines(f: &mut fmt::Formatter<'_>, all: impl Iterator<Item = String>) -> fmt::Result {
    for (i, line) in all.enumerate() {
        if i > 0 {
            f.write_str("\n")?;
        }
        f.write_str(&line)?;
    }
    Ok(())
}
