//! The options and the summary of a run.

use crate::service::ServiceContext;
use crate::stats::GatewayStats;
use serde::Serialize;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// The options of a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RunSettings {
    /// The path of the control socket; `None` for a run without one.
    pub control: Option<PathBuf>,
    /// Whether to go on without the control socket, with a warning, if the operating system does
    /// not allow it: the user did not request this socket.
    pub control_optional: bool,
    /// The address at which metrics are served by HTTP; `None` if they are not served.
    pub metrics: Option<SocketAddr>,
    /// SCHED_FIFO priority of the worker, 1 to 99; `None` for ordinary scheduling.
    pub realtime: Option<u8>,
    /// Whether to lock the memory that the process uses, and the code through which frames pass.
    pub lock_memory: bool,
    /// Whether to act on SIGHUP (reload), SIGTERM and SIGINT (orderly end). Signals belong to the
    /// whole process, so only one run in a process may handle them.
    pub signals: bool,
    /// The service manager that is notified when the gateway is ready, reloads, is alive and ends;
    /// `None` if there is none.
    pub service: Option<ServiceContext>,
    /// The time that an orderly end may take to send the frames that ports hold, and that the ports
    /// which a reload removes may take for that, all together.
    pub drain: Duration,
    /// The ports at whose common end of input the run ends: when all of them have no more input
    /// (logs at their end) and no frame is held. If empty, a gateway runs until an end is
    /// requested.
    pub until_end: Vec<String>,
}

impl Default for RunSettings {
    /// Returns options with neither socket nor signals nor privileges, and with one second to send
    /// the frames that are held.
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

/// The reason why a run ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EndReason {
    /// SIGTERM or SIGINT.
    Signal,
    /// A client of the control socket requested it.
    Request,
    /// The inputs of [`RunSettings::until_end`] have ended and every frame that was held is sent.
    Finished,
    /// No frame can come in any more, because ports failed; or no frame can go out, and the run
    /// should end with [`RunSettings::until_end`].
    Failed,
}

/// The summary of a run.
#[derive(Clone, PartialEq, Debug)]
pub struct RunSummary {
    /// The final counters; no frame is held any more.
    pub stats: GatewayStats,
    /// Further remarks of ports, with their names.
    pub remarks: Vec<String>,
    /// The reason why it ended.
    pub reason: EndReason,
    /// The duration of the run.
    pub ran: Duration,
}
