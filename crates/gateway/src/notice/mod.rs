//! The messages of a running gateway.
//!
//! The gateway prints nothing. It passes each [`Notice`] to a [`Listener`] of the caller, with the
//! time at which it happened: at most five at once and then one a second for each port and event.
//! Notices that were left out are counted, and the last of them is passed on in the end.

mod limit;
mod outbox;
mod sender;
mod words;

pub(crate) use outbox::NoticeOutbox;
pub(crate) use sender::NoticeSender;

use crate::run::{EndReason, RouteChanges, RouteLine};
use engine::LinkState;
use serde::Serialize;
use std::time::SystemTime;

/// A callback that receives the notices of the gateway, on its control thread. It must not wait:
/// signals, clients of the control socket and reloads wait for it. Frames do not.
pub type Listener<'l> = dyn Fn(&LoggedNotice) + 'l;

/// A notice, with its time.
#[derive(Clone, PartialEq, Debug)]
pub struct LoggedNotice {
    /// The time at which it happened.
    pub at: SystemTime,
    /// The notice.
    pub notice: Notice,
    /// The number of notices of the same port and event that came before it and were left out.
    pub more: u64,
}

impl LoggedNotice {
    fn new(at: SystemTime, notice: Notice) -> Self {
        Self {
            at,
            notice,
            more: 0,
        }
    }
}

/// The severity of a notice.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum NoticeLevel {
    /// A requested action was not done.
    Error,
    /// Frames are or may be lost, or something is not as it should be.
    Warning,
    /// Normal operation.
    Info,
    /// Details for readers who want to know more.
    Detail,
}

/// A port that is ready.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct ReadyPort {
    /// Its name.
    pub name: String,
    /// Its description in words.
    pub words: String,
    /// Its Linux interface, where it has one.
    pub interface: Option<String>,
    /// Whether only routes in the kernel use it: this process has not opened it.
    pub in_kernel: bool,
}

/// The source of a report on the state of an interface.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LinkSource {
    /// The port's socket: its errors and the controller's error frames.
    Socket,
    /// The kernel, over rtnetlink.
    Netlink,
}

/// A message of the gateway. In JSON, the key `event` has the variant's name.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Notice {
    /// Ports are open and routes are in force.
    Ready {
        /// The process id.
        pid: u32,
        /// The control socket.
        control: Option<String>,
        /// The URL of its metrics.
        #[serde(skip_serializing_if = "Option::is_none")]
        metrics: Option<String>,
        /// All ports, in the order of the file.
        ports: Vec<ReadyPort>,
        /// The names of those that are not up yet: their interface is down or absent, or their
        /// other side is not there.
        not_up: Vec<String>,
        /// All routes with their data paths.
        routes: Vec<RouteLine>,
    },
    /// All ports are up; when the gateway was ready, some were not.
    PortsUp {
        /// The names of the ports that were not.
        ports: Vec<String>,
    },
    /// The state of a port's interface on its bus has changed.
    Link {
        /// The port.
        port: String,
        /// Its interface.
        interface: Option<String>,
        /// The state before.
        before: LinkState,
        /// The state now.
        now: LinkState,
        /// The source of the report.
        source: LinkSource,
    },
    /// A port is out of service; the other ports continue.
    PortFailed {
        /// The port.
        port: String,
        /// The error, with its causes.
        why: String,
    },
    /// A port that was out of service tries again on its own.
    PortRecovered {
        /// The port.
        port: String,
    },
    /// Frames were lost when a port was closed.
    FramesLost {
        /// The port.
        port: String,
        /// The number of frames; unknown if the port failed while it was closed.
        frames: Option<u64>,
        /// The reason.
        why: String,
    },
    /// Routes were put into a data path of the kernel.
    OffloadTaken {
        /// The data path.
        data_path: String,
        /// The number of routes that run there.
        routes: usize,
        /// The changes that were made, in words.
        words: String,
    },
    /// A data path of the kernel has changed: an interface appeared, or routes were exchanged.
    OffloadChanged {
        /// The data path.
        data_path: String,
        /// The number of routes that run there.
        routes: usize,
        /// The changes that were made, in words.
        words: String,
    },
    /// No route runs in a data path of the kernel any more.
    OffloadGivenUp {
        /// The data path.
        data_path: String,
        /// The reason.
        why: String,
    },
    /// A data path of the kernel is not as it should be.
    OffloadFailed {
        /// The data path.
        data_path: String,
        /// The reason, with its causes.
        why: String,
    },
    /// A data path cannot run routes any more between the interfaces that exist now: they run in
    /// another one.
    RoutesMoved {
        /// The data path that they left.
        data_path: String,
        /// The reason, with its causes.
        why: String,
        /// Their names.
        routes: Vec<String>,
        /// Remarks on steps that did not go quite as intended.
        remarks: Vec<String>,
    },
    /// Another process had removed routes from the kernel, and the gateway has put them back.
    OffloadRestored {
        /// The data path.
        data_path: String,
        /// The number of rules of can-gw, or of interfaces whose BPF programs were put back.
        restored: usize,
        /// The longest time for which they can have been missing, ms.
        within_ms: u64,
    },
    /// Routes in the kernel wait for interfaces that do not exist.
    InterfacesMissing {
        /// Their names.
        interfaces: Vec<String>,
    },
    /// A new configuration is in force.
    Reloaded {
        /// Routes now in force.
        routes: usize,
        /// The number of these routes that had their names before and continue their counters.
        continued: usize,
        /// Ports that stayed open.
        kept: Vec<String>,
        /// Ports that were opened.
        opened: Vec<String>,
        /// Ports that were closed.
        closed: Vec<String>,
        /// The changes among the routes.
        changes: RouteChanges,
        /// Remarks on steps that did not go quite as intended.
        remarks: Vec<String>,
    },
    /// A new configuration was not applied.
    NotReloaded {
        /// The reason, with its causes.
        why: String,
        /// Whether everything continues as before. If false, the routes of this process are the new
        /// ones, and those of the kernel are missing.
        as_before: bool,
    },
    /// The worker has real-time priority.
    Realtime {
        /// SCHED_FIFO priority.
        priority: u8,
    },
    /// The worker has no real-time priority.
    NotRealtime {
        /// The requested priority.
        priority: u8,
        /// The reason.
        why: String,
    },
    /// Memory is not locked.
    NotLocked {
        /// The reason, and a remedy.
        why: String,
    },
    /// There is no control socket.
    NoControl {
        /// The reason.
        why: String,
    },
    /// The service manager could not be notified of the gateway's state.
    #[serde(rename = "not_told")]
    NotNotified {
        /// The reason.
        why: String,
    },
    /// A wait failed; it is tried again.
    WaitFailed {
        /// The events that the thread waited for.
        what: &'static str,
        /// The operating system's error.
        why: String,
    },
    /// Remarks of ports at the start, in addition to their descriptions: for example, that a named
    /// pipe has no partner yet.
    PortRemarks {
        /// Sentences, each with the port's name in front.
        remarks: Vec<String>,
    },
    /// The gateway starts to shut down.
    Ending {
        /// The reason.
        reason: EndReason,
    },
}

impl Notice {
    /// All values of [`Notice::event`].
    pub const EVENTS: [&str; 23] = [
        "ready",
        "ports_up",
        "link",
        "port_failed",
        "port_recovered",
        "frames_lost",
        "offload_taken",
        "offload_changed",
        "offload_given_up",
        "offload_failed",
        "routes_moved",
        "offload_restored",
        "interfaces_missing",
        "reloaded",
        "not_reloaded",
        "realtime",
        "not_realtime",
        "not_locked",
        "no_control",
        "not_told",
        "wait_failed",
        "port_remarks",
        "ending",
    ];

    /// Returns its name, which is its `event` in JSON. It never changes: programs read it.
    #[must_use]
    pub const fn event(&self) -> &'static str {
        match self {
            Self::Ready { .. } => "ready",
            Self::PortsUp { .. } => "ports_up",
            Self::Link { .. } => "link",
            Self::PortFailed { .. } => "port_failed",
            Self::PortRecovered { .. } => "port_recovered",
            Self::FramesLost { .. } => "frames_lost",
            Self::OffloadTaken { .. } => "offload_taken",
            Self::OffloadChanged { .. } => "offload_changed",
            Self::OffloadGivenUp { .. } => "offload_given_up",
            Self::OffloadFailed { .. } => "offload_failed",
            Self::RoutesMoved { .. } => "routes_moved",
            Self::OffloadRestored { .. } => "offload_restored",
            Self::InterfacesMissing { .. } => "interfaces_missing",
            Self::Reloaded { .. } => "reloaded",
            Self::NotReloaded { .. } => "not_reloaded",
            Self::Realtime { .. } => "realtime",
            Self::NotRealtime { .. } => "not_realtime",
            Self::NotLocked { .. } => "not_locked",
            Self::NoControl { .. } => "no_control",
            Self::NotNotified { .. } => "not_told",
            Self::WaitFailed { .. } => "wait_failed",
            Self::PortRemarks { .. } => "port_remarks",
            Self::Ending { .. } => "ending",
        }
    }

    /// Returns the port, or the data path, that it concerns; an empty string if it concerns the
    /// whole gateway.
    #[must_use]
    pub fn about(&self) -> &str {
        match self {
            Self::Link { port, .. }
            | Self::PortFailed { port, .. }
            | Self::PortRecovered { port }
            | Self::FramesLost { port, .. } => port,
            Self::OffloadTaken { data_path, .. }
            | Self::OffloadChanged { data_path, .. }
            | Self::OffloadGivenUp { data_path, .. }
            | Self::OffloadFailed { data_path, .. }
            | Self::RoutesMoved { data_path, .. }
            | Self::OffloadRestored { data_path, .. } => data_path,
            _ => "",
        }
    }

    /// Returns its severity.
    #[must_use]
    pub const fn level(&self) -> NoticeLevel {
        match self {
            Self::PortFailed { .. } | Self::OffloadFailed { .. } | Self::NotReloaded { .. } => {
                NoticeLevel::Error
            }
            Self::Link { now, .. } => match now {
                LinkState::Up => NoticeLevel::Info,
                _ => NoticeLevel::Warning,
            },
            Self::FramesLost { .. }
            | Self::RoutesMoved { .. }
            | Self::OffloadRestored { .. }
            | Self::InterfacesMissing { .. }
            | Self::NotRealtime { .. }
            | Self::NotLocked { .. }
            | Self::NoControl { .. }
            | Self::NotNotified { .. }
            | Self::WaitFailed { .. }
            | Self::PortRemarks { .. } => NoticeLevel::Warning,
            Self::Reloaded { remarks, .. } => {
                if remarks.is_empty() {
                    NoticeLevel::Info
                } else {
                    NoticeLevel::Warning
                }
            }
            Self::Ready { .. }
            | Self::PortsUp { .. }
            | Self::PortRecovered { .. }
            | Self::OffloadTaken { .. }
            | Self::OffloadGivenUp { .. }
            | Self::Ending { .. } => NoticeLevel::Info,
            Self::OffloadChanged { .. } | Self::Realtime { .. } => NoticeLevel::Detail,
        }
    }
}

#[cfg(test)]
mod tests;
