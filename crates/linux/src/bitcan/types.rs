//! What goes to the tester, what comes from it, and what can be wrong.

use frame::{Frame, Nanos};

/// Where the module makes its device.
pub const DEVICE: &str = "/dev/bitcan-tester";
/// The most buses that there are.
pub const BUSES: u8 = 8;

/// A frame to send.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Timed {
    /// When it is ready, ns after the start; one at a time this is ignored.
    pub at: Nanos,
    /// On which bus.
    pub bus: u8,
    /// What.
    pub frame: Frame,
}

/// What happened on a bus.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    /// A frame ended well.
    Frame(Frame),
    /// An error frame ended.
    ErrorFrame,
    /// A node's receive FIFO lost a frame.
    Overrun,
    /// A node went bus-off.
    BusOff,
}

/// What happened, where and when.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stamp {
    /// End of frame, ns; when it happened, for other events.
    pub end: Nanos,
    /// From start of frame to end of frame, without intermission, ns.
    pub duration: u32,
    /// On which bus.
    pub bus: u8,
    /// Who: 0 the tester, else the interface's number modulo 65536.
    pub node: u16,
    /// What.
    pub event: Event,
}

/// How the frames are sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// Each at its time, in order, or as soon as the bus is free after it.
    Schedule,
    /// The next one when one of the same number by another node ended on this bus, or on
    /// timeout.
    OneAtATime {
        /// Where frames come back.
        return_bus: u8,
    },
}

/// How far it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Progress {
    /// It has come to its end.
    pub done: bool,
    /// When the start took effect, ns.
    pub started: Nanos,
    /// Frames whose transmission ended well.
    pub sent: u64,
    /// One at a time: frames given up.
    pub timeouts: u64,
    /// Stamps taken.
    pub stamps: u64,
    /// Stamps for which there was no room.
    pub stamps_lost: u64,
}

/// Why there is no tester.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The module is not there.
    #[error(
        "there is no {DEVICE}: load the bit-timed bus (`modprobe bitcan`, kmod/bitcan; \
         `cangate lab exec --bench timed` boots a guest that has it)"
    )]
    Missing,
    /// Somebody else is using it.
    #[error("{DEVICE} is in use by another process, and there is one tester: wait for its end")]
    Busy,
    /// Not for everybody.
    #[error("{DEVICE} cannot be opened without root")]
    Forbidden,
    /// Another version of the module, or a broken one.
    #[error("{DEVICE}: {0}; cangate and the module do not fit: build both from one checkout")]
    Misfit(String),
    /// More than fits.
    #[error("{DEVICE}: {0}")]
    TooMuch(String),
    /// The system says something else.
    #[error("{DEVICE}: {what}: {source}")]
    System {
        /// What was tried.
        what: &'static str,
        /// What was said.
        source: std::io::Error,
    },
}

/// Why a mapped controller cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum ControllerError {
    /// The device is not there.
    #[error(
        "there is no {0}: load the bit-timed bus (`modprobe bitcan`, kmod/bitcan) and make the controller \
         (`echo add NAME bus=N model=mapped > /dev/bitcan` makes /dev/bitcan-NAME)"
    )]
    Missing(String),
    /// Somebody has it.
    #[error("{0} is in use by another process, and one at a time can drive it: end that one first")]
    Busy(String),
    /// The system says something else.
    #[error("{path}: {what}: {source}")]
    System {
        /// The device.
        path: String,
        /// What was tried.
        what: &'static str,
        /// What was said.
        source: std::io::Error,
    },
}
