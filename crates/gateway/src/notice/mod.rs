//! What a gateway says while it runs.
//!
//! The gateway prints nothing. It hands each [`Notice`] to a [`Listener`] of the caller, with the
//! time at which it happened, at most five at once and then one a second for each port and event.
//! What was left out is counted, and the last of it is said in the end.

mod limit;
mod outbox;
mod voice;
mod words;

pub(crate) use outbox::Outbox;
pub(crate) use voice::Voice;

use crate::run::{Reason, RouteChanges, RouteLine};
use engine::LinkState;
use serde::Serialize;
use std::time::SystemTime;

/// Hears what the gateway says, on its control thread. It must not wait: signals, clients of the
/// control socket and reloads wait for it. Frames do not.
pub type Listener<'l> = dyn Fn(&Said) + 'l;

/// Something that was said.
#[derive(Clone, PartialEq, Debug)]
pub struct Said {
    /// When it happened.
    pub at: SystemTime,
    /// What.
    pub notice: Notice,
    /// So many of the same port and event came before it and were not said.
    pub more: u64,
}

impl Said {
    fn new(at: SystemTime, notice: Notice) -> Self {
        Self {
            at,
            notice,
            more: 0,
        }
    }
}

/// How much it matters.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Level {
    /// Something was asked for and is not done.
    Error,
    /// Frames are or may be lost, or something is not as it should be.
    Warning,
    /// The course of things.
    Info,
    /// For those who want to know more.
    Detail,
}

/// A port that is ready.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct ReadyPort {
    /// Its name.
    pub name: String,
    /// What it is, in words.
    pub words: String,
    /// Its Linux interface, where it has one.
    pub interface: Option<String>,
    /// Only routes in the kernel use it: this process has not opened it.
    pub in_kernel: bool,
}

/// Who says how an interface takes part in its bus.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LinkSource {
    /// The port's socket: its errors and the controller's error frames.
    Socket,
    /// The kernel, over rtnetlink.
    Netlink,
}

/// One thing that a gateway says. In JSON, the key `event` has the variant's name.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Notice {
    /// Ports are open and routes are in force.
    Ready {
        /// The process.
        pid: u32,
        /// The control socket.
        control: Option<String>,
        /// Where its metrics are: a URL.
        #[serde(skip_serializing_if = "Option::is_none")]
        metrics: Option<String>,
        /// All ports, in the order of the file.
        ports: Vec<ReadyPort>,
        /// All routes with their data paths.
        routes: Vec<RouteLine>,
    },
    /// A port's interface changed how it takes part in its bus.
    Link {
        /// The port.
        port: String,
        /// Its interface.
        interface: Option<String>,
        /// How it was.
        before: LinkState,
        /// How it is.
        now: LinkState,
        /// Who says so.
        source: LinkSource,
    },
    /// A port is out of service; the others go on.
    PortFailed {
        /// The port.
        port: String,
        /// What happened, with its causes.
        why: String,
    },
    /// A port that was out of service tries again by itself.
    PortRecovered {
        /// The port.
        port: String,
    },
    /// Frames were lost when a port was closed.
    FramesLost {
        /// The port.
        port: String,
        /// How many; unknown where the port failed at it.
        frames: Option<u64>,
        /// Why.
        why: String,
    },
    /// Routes were put into a data path of the kernel.
    OffloadTaken {
        /// The data path.
        data_path: String,
        /// How many routes run there.
        routes: usize,
        /// What was done, in words.
        words: String,
    },
    /// Something changed in a data path of the kernel: an interface came, routes were exchanged.
    OffloadChanged {
        /// The data path.
        data_path: String,
        /// How many routes run there.
        routes: usize,
        /// What was done, in words.
        words: String,
    },
    /// No route runs in a data path of the kernel any more.
    OffloadGivenUp {
        /// The data path.
        data_path: String,
        /// Why.
        why: String,
    },
    /// A data path of the kernel is not as it should be.
    OffloadFailed {
        /// The data path.
        data_path: String,
        /// Why, with its causes.
        why: String,
    },
    /// Somebody else had taken routes out of the kernel, and they are back.
    OffloadRestored {
        /// The data path.
        data_path: String,
        /// How many rules of can-gw, or interfaces' programs of BPF.
        restored: usize,
        /// How long they were away at most, ms.
        within_ms: u64,
    },
    /// Routes in the kernel wait for interfaces that are not there.
    InterfacesMissing {
        /// Their names.
        interfaces: Vec<String>,
    },
    /// A new configuration is in force.
    Reloaded {
        /// Routes now in force.
        routes: usize,
        /// Those of them that had their names before and continue their counters.
        continued: usize,
        /// Ports that stayed open.
        kept: Vec<String>,
        /// Ports that were opened.
        opened: Vec<String>,
        /// Ports that were closed.
        closed: Vec<String>,
        /// What it changed among routes.
        changes: RouteChanges,
        /// What went not quite as it was meant to.
        remarks: Vec<String>,
    },
    /// A new configuration was not taken over.
    NotReloaded {
        /// Why, with its causes.
        why: String,
        /// Everything runs on as before. If false, the routes of this process are the new ones, and
        /// those of the kernel are not there.
        as_before: bool,
    },
    /// The worker has real-time priority.
    Realtime {
        /// SCHED_FIFO priority.
        priority: u8,
    },
    /// The worker has no real-time priority.
    NotRealtime {
        /// The one that was asked for.
        priority: u8,
        /// Why not.
        why: String,
    },
    /// Memory is not locked.
    NotLocked {
        /// Why not, and what to do.
        why: String,
    },
    /// There is no control socket.
    NoControl {
        /// Why not.
        why: String,
    },
    /// The service manager does not know what the gateway does.
    NotTold {
        /// Why not.
        why: String,
    },
    /// Waiting failed; it is tried again.
    WaitFailed {
        /// Waiting for what.
        what: &'static str,
        /// What the operating system said.
        why: String,
    },
    /// What ports have to say at the start besides what they are: that a named pipe has no partner
    /// yet.
    PortRemarks {
        /// Sentences, each with its port's name in front.
        remarks: Vec<String>,
    },
    /// The gateway begins to end.
    Ending {
        /// Why.
        reason: Reason,
    },
}

impl Notice {
    /// All that [`Notice::event`] can be.
    pub const EVENTS: [&str; 21] = [
        "ready",
        "link",
        "port_failed",
        "port_recovered",
        "frames_lost",
        "offload_taken",
        "offload_changed",
        "offload_given_up",
        "offload_failed",
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

    /// Its name, which is its `event` in JSON. It never changes: programs read it.
    #[must_use]
    pub const fn event(&self) -> &'static str {
        match self {
            Self::Ready { .. } => "ready",
            Self::Link { .. } => "link",
            Self::PortFailed { .. } => "port_failed",
            Self::PortRecovered { .. } => "port_recovered",
            Self::FramesLost { .. } => "frames_lost",
            Self::OffloadTaken { .. } => "offload_taken",
            Self::OffloadChanged { .. } => "offload_changed",
            Self::OffloadGivenUp { .. } => "offload_given_up",
            Self::OffloadFailed { .. } => "offload_failed",
            Self::OffloadRestored { .. } => "offload_restored",
            Self::InterfacesMissing { .. } => "interfaces_missing",
            Self::Reloaded { .. } => "reloaded",
            Self::NotReloaded { .. } => "not_reloaded",
            Self::Realtime { .. } => "realtime",
            Self::NotRealtime { .. } => "not_realtime",
            Self::NotLocked { .. } => "not_locked",
            Self::NoControl { .. } => "no_control",
            Self::NotTold { .. } => "not_told",
            Self::WaitFailed { .. } => "wait_failed",
            Self::PortRemarks { .. } => "port_remarks",
            Self::Ending { .. } => "ending",
        }
    }

    /// The port, or the data path, of which it speaks; empty where it speaks of the whole gateway.
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
            | Self::OffloadRestored { data_path, .. } => data_path,
            _ => "",
        }
    }

    /// How much it matters.
    #[must_use]
    pub const fn level(&self) -> Level {
        match self {
            Self::PortFailed { .. } | Self::OffloadFailed { .. } | Self::NotReloaded { .. } => {
                Level::Error
            }
            Self::Link { now, .. } => match now {
                LinkState::Up => Level::Info,
                _ => Level::Warning,
            },
            Self::FramesLost { .. }
            | Self::OffloadRestored { .. }
            | Self::InterfacesMissing { .. }
            | Self::NotRealtime { .. }
            | Self::NotLocked { .. }
            | Self::NoControl { .. }
            | Self::NotTold { .. }
            | Self::WaitFailed { .. }
            | Self::PortRemarks { .. } => Level::Warning,
            Self::Reloaded { remarks, .. } => {
                if remarks.is_empty() {
                    Level::Info
                } else {
                    Level::Warning
                }
            }
            Self::Ready { .. }
            | Self::PortRecovered { .. }
            | Self::OffloadTaken { .. }
            | Self::OffloadGivenUp { .. }
            | Self::Ending { .. } => Level::Info,
            Self::OffloadChanged { .. } | Self::Realtime { .. } => Level::Detail,
        }
    }
}

#[cfg(test)]
mod tests;
