//! Input, output and errors of the tester.

use frame::{Frame, Nanos};

/// The path at which the module creates its device.
pub const DEVICE: &str = "/dev/bitcan-tester";
/// The largest number of buses.
pub const BUSES: u8 = 8;

/// A frame to send.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TimedFrame {
    /// Time at which the frame is ready, ns after the start; ignored in one-at-a-time mode.
    pub at: Nanos,
    /// The bus.
    pub bus: u8,
    /// The frame.
    pub frame: Frame,
}

/// An event on a bus.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BitcanEvent {
    /// A frame ended successfully.
    Frame(Frame),
    /// An error frame ended.
    ErrorFrame,
    /// A node's receive FIFO lost a frame.
    Overrun,
    /// A node went bus-off.
    BusOff,
}

/// An event with its place and time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BitcanStamp {
    /// Time of the end of frame, ns; for other events, the time of the event.
    pub end: Nanos,
    /// Duration from start of frame to end of frame, without intermission, ns.
    pub duration: u32,
    /// The bus.
    pub bus: u8,
    /// The node: 0 the tester, else the interface's index modulo 65536.
    pub node: u16,
    /// The event.
    pub event: BitcanEvent,
}

/// The mode in which the frames are sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SendMode {
    /// Each frame is sent at its time, in order, or as soon as the bus is free after it.
    Schedule,
    /// The next frame is sent when one of the same number by another node ended on this bus, or on
    /// timeout.
    OneAtATime {
        /// The bus on which frames come back.
        return_bus: u8,
    },
}

/// The progress of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TesterProgress {
    /// Whether the run has ended.
    pub done: bool,
    /// Time at which the start took effect, ns.
    pub started: Nanos,
    /// Frames whose transmission ended successfully.
    pub sent: u64,
    /// Frames given up, in one-at-a-time mode.
    pub timeouts: u64,
    /// Stamps taken.
    pub stamps: u64,
    /// Stamps for which there was no room.
    pub stamps_lost: u64,
}

/// The reason why the tester cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The module is not loaded.
    #[error(
        "there is no {DEVICE}: load the bit-timed bus (`modprobe bitcan`, kmod/bitcan; \
         `cangate lab exec --bench timed` boots a guest that has it)"
    )]
    Missing,
    /// Another process is using the tester.
    #[error(
        "{DEVICE} is in use by another process, and only one can use it: wait until that one \
             ends"
    )]
    Busy,
    /// The process lacks the permission.
    #[error("{DEVICE} cannot be opened without root")]
    Forbidden,
    /// The module has another version, or is broken.
    #[error("{DEVICE}: {0}; cangate and the module do not fit: build both from one checkout")]
    Misfit(String),
    /// More than the tester has room for.
    #[error("{DEVICE}: {0}")]
    TooMuch(String),
    /// Another error of the system.
    #[error("{DEVICE}: {what}: {source}")]
    System {
        /// The operation that failed.
        what: &'static str,
        /// The system's error.
        source: std::io::Error,
    },
}

/// The reason why a mapped controller cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ControllerError {
    /// The device does not exist.
    #[error(
        "there is no {0}: load the bit-timed bus (`modprobe bitcan`, kmod/bitcan) and make the controller \
         (`echo add NAME bus=N model=mapped > /dev/bitcan` makes /dev/bitcan-NAME)"
    )]
    Missing(String),
    /// Another process has the controller.
    #[error("{0} is in use by another process: end that one first")]
    Busy(String),
    /// Another error of the system.
    #[error("{path}: {what}: {source}")]
    System {
        /// The device.
        path: String,
        /// The operation that failed.
        what: &'static str,
        /// The system's error.
        source: std::io::Error,
    },
}
