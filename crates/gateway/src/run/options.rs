//! How to run, and what a run was.

use crate::service::Service;
use crate::stats::Stats;
use serde::Serialize;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// How to run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Options {
    /// The control socket; none where nobody is to ask.
    pub control: Option<PathBuf>,
    /// Go on without the control socket, with a warning, where the operating system does not
    /// allow it: nobody asked for this one.
    pub control_optional: bool,
    /// Where metrics are served by HTTP; none where nobody is to ask.
    pub metrics: Option<SocketAddr>,
    /// SCHED_FIFO priority of the worker, 1 to 99; `None` for ordinary scheduling.
    pub realtime: Option<u8>,
    /// Lock the memory that the process uses, and the code through which frames pass.
    pub lock_memory: bool,
    /// Act on SIGHUP (reload), SIGTERM and SIGINT (orderly end). They belong to the whole
    /// process, so only one run in a process may have them.
    pub signals: bool,
    /// The service manager that is told when the gateway is ready, reloads, lives and ends; none
    /// where nobody is to know.
    pub service: Option<Service>,
    /// How long an orderly end may take to send what ports hold, and how long the ports that a
    /// reload removes may take for that, all together.
    pub drain: Duration,
    /// End when all of these ports have no more input (logs at their end) and nothing is held.
    /// With none, a gateway runs until it is told to end.
    pub until_end: Vec<String>,
}

impl Default for Options {
    /// Neither socket nor signals nor privileges; one second to send what is held.
    fn default() -> Self {
        Self {
            control: None,
            control_optional: false,
            metrics: None,
            realtime: None,
            lock_memory: false,
            signals: false,
            service: None,
            drain: Duration::from_secs(1),
            until_end: Vec::new(),
        }
    }
}

/// Why a run ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// SIGTERM or SIGINT.
    Signal,
    /// A client of the control socket asked for it.
    Request,
    /// The inputs of [`Options::until_end`] have ended and everything that was held is sent.
    Finished,
    /// Nothing can come in any more, because ports failed; or nothing can go out, and the run was
    /// to end with [`Options::until_end`].
    Failed,
}

/// What a run was.
#[derive(Clone, PartialEq, Debug)]
pub struct Summary {
    /// The last counters; nothing is held any more.
    pub stats: Stats,
    /// What ports had to say besides, with their names.
    pub remarks: Vec<String>,
    /// Why it ended.
    pub reason: Reason,
    /// How long it ran.
    pub ran: Duration,
}
