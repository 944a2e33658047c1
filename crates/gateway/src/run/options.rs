//! The options and the summary of a run.

use crate::config::ProcessOptions;
use crate::service::ServiceContext;
use crate::stats::GatewayStats;
use serde::Serialize;
use std::path::PathBuf;
use std::time::Duration;

/// The time that an orderly end may take to send the frames that ports hold, and that the ports
/// which a reload removes may take for that, all together.
pub(super) const DRAIN_TIMEOUT: Duration = Duration::from_secs(1);

/// The options of a run, whatever its plan comes from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RunSettings {
    /// The path of the control socket; `None` for a run without one.
    pub control: Option<PathBuf>,
    /// The options of the gateway file. A control socket that it does not name is not required: if
    /// the operating system does not allow the socket, the run goes on with a warning.
    pub process: ProcessOptions,
    /// Whether to act on SIGHUP (reload), SIGTERM and SIGINT (orderly end). Signals belong to the
    /// whole process, so only one run in a process may handle them.
    pub signals: bool,
    /// The service manager that is notified when the gateway is ready, reloads, is alive and ends;
    /// `None` if there is none.
    pub service: Option<ServiceContext>,
    /// The ports at whose common end of input the run ends: when all of them have no more input
    /// (logs at their end) and no frame is held. If empty, a gateway runs until an end is
    /// requested.
    pub until_end: Vec<String>,
}

impl Default for RunSettings {
    /// Returns options with neither socket nor signals nor privileges.
    fn default() -> Self {
        Self {
            control: None,
            process: ProcessOptions {
                realtime: None,
                lock_memory: false,
                ..ProcessOptions::default()
            },
            signals: false,
            service: None,
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
