//! The errors of an experiment in the guest.

use super::balance::CountImbalance;
use super::counts::CountsError;
use crate::conflict::Conflict;
use crate::under_test::GatewayError;
use guest::program::{EndedProgram, ProgramError};
use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// The reason why an experiment gave no result. Its text is reported to the host.
#[derive(Debug, thiserror::Error)]
pub enum MeasureError {
    /// The task is not an experiment.
    #[error("the guest's task is not an experiment")]
    Task(#[from] serde_json::Error),
    /// The gateway cannot be set up with these settings.
    #[error(transparent)]
    Gateway(#[from] GatewayError),
    /// The gateway and the task do not fit.
    #[error(transparent)]
    Conflict(#[from] Conflict),
    /// A program of the guest failed.
    #[error(transparent)]
    Program(#[from] ProgramError),
    /// A file could not be read or written.
    #[error("cannot {verb} {}", path.display())]
    File {
        /// `read`, `write`, …
        verb: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// An inner machine does not respond as requested.
    #[error(transparent)]
    Inner(#[from] guest::inner::InnerError),
    /// The gateway ended on its own.
    #[error("the gateway ended early: {0}")]
    GatewayEnded(EndedProgram),
    /// The gateway does not answer.
    #[error("the gateway does not answer within {} s", .0.as_secs())]
    GatewaySilent(Duration),
    /// The gateway's control socket does not work.
    #[error("cannot ask the gateway by its control socket")]
    Control(#[source] io::Error),
    /// The load ended on its own.
    #[error("the load ended early: {0}")]
    LoadEnded(EndedProgram),
    /// A thread of the kernel is missing.
    #[error("the kernel has no thread {0}")]
    NoThread(&'static str),
    /// There is no interrupt thread whose priority could be raised.
    #[error("no interrupt thread belongs to {0}, so that its priority cannot be raised")]
    NoInterruptThread(&'static str),
    /// The gateway's counters cannot be read.
    #[error(transparent)]
    Counts(#[from] CountsError),
    /// The number of rules or routes differs from the number added.
    #[error("the gateway has {there} {what}, and {given} were added")]
    Missing {
        /// Rules or routes.
        what: &'static str,
        /// The number found.
        there: usize,
        /// The number given.
        given: usize,
    },
    /// The bit rates of the experiment are not possible.
    #[error("the buses cannot have these bit rates")]
    BitRate(#[from] frame::wire::RateError),
    /// The tester could not begin.
    #[error("the tester: {0}")]
    Tester(#[from] tester::Error),
    /// The tester's run ended early.
    #[error("the tester: {0}")]
    Run(String),
    /// The frames before the measurement did not come through.
    #[error("while warming up: {0}")]
    WarmUp(String),
    /// Round trips are missing.
    #[error("only {made} of {asked} round trips were completed")]
    RoundTrips {
        /// The number requested.
        asked: u32,
        /// The number in the file.
        made: usize,
    },
    /// The file of round trips cannot be read.
    #[error(transparent)]
    Trips(#[from] probe::results::ReadError),
    /// The sums do not add up.
    #[error(transparent)]
    Imbalance(#[from] CountImbalance),
    /// The host cannot read the counts of the gateway's machine, or that machine cannot write them.
    #[error("the counts of the gateway's machine cannot be written or read")]
    PartCounts(#[source] serde_json::Error),
    /// The machines of the experiment cannot wait for one another.
    #[error(transparent)]
    Signal(#[from] super::apart::SignalError),
    /// The results cannot be written.
    #[error(transparent)]
    Results(#[from] probe::results::WriteError),
    /// The host does not accept the results.
    #[error("the host does not accept the results")]
    Host(#[source] io::Error),
}
