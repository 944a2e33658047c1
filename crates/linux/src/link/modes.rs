//! The modes of a controller, and its present settings (`uapi/linux/can/netlink.h`).

use super::controller::{
    IFLA_CAN_BITTIMING, IFLA_CAN_BITTIMING_CONST, IFLA_CAN_DATA_BITTIMING,
    IFLA_CAN_DATA_BITTIMING_CONST,
};
use super::timing::BitTiming;
use crate::netlink::{inner, number};

pub(super) const IFLA_CAN_CTRLMODE: u16 = 5;
pub(super) const IFLA_CAN_TDC: u16 = 16;
pub(super) const IFLA_CAN_TDC_TDCV: u16 = 7;
pub(super) const IFLA_CAN_TDC_TDCO: u16 = 8;
pub(super) const IFLA_CAN_TDC_TDCF: u16 = 9;
/// `CAN_CTRLMODE_TDC_AUTO` and `CAN_CTRLMODE_TDC_MANUAL`.
pub(super) const TDC_AUTO: u32 = 0x200;
pub(super) const TDC_MANUAL: u32 = 0x400;
pub(super) const IFLA_CAN_TERMINATION: u16 = 11;

/// A mode of a controller: `CAN_CTRLMODE_…`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum ControlMode {
    /// It receives what it sends.
    Loopback,
    /// It sends nothing, not even acknowledgements.
    ListenOnly,
    /// It samples each bit three times.
    TripleSampling,
    /// It tries each frame once.
    OneShot,
    /// It reports each error on the bus.
    BusErrors,
    /// It does not need an acknowledgement.
    PresumeAck,
    /// It uses the FD format from before ISO 11898-1:2015.
    NonIso,
    /// It passes on DLC 9 to 15 of classic frames.
    Len8Dlc,
}

impl ControlMode {
    /// All modes, in the order of their flags.
    pub const ALL: [Self; 8] = [
        Self::Loopback,
        Self::ListenOnly,
        Self::TripleSampling,
        Self::OneShot,
        Self::BusErrors,
        Self::PresumeAck,
        Self::NonIso,
        Self::Len8Dlc,
    ];

    /// Returns a state of it in the words of `ip link`.
    pub(super) fn words(self, on: bool) -> String {
        format!("{} {}", self.kernel().1, if on { "on" } else { "off" })
    }

    /// Returns the kernel's flag, and the word of `ip link`.
    pub(super) const fn kernel(self) -> (u32, &'static str) {
        match self {
            Self::Loopback => (0x01, "loopback"),
            Self::ListenOnly => (0x02, "listen-only"),
            Self::TripleSampling => (0x04, "triple-sampling"),
            Self::OneShot => (0x08, "one-shot"),
            Self::BusErrors => (0x10, "berr-reporting"),
            Self::PresumeAck => (0x40, "presume-ack"),
            Self::NonIso => (0x80, "fd-non-iso"),
            Self::Len8Dlc => (0x100, "cc-len8-dlc"),
        }
    }
}

/// The settings of a controller as its driver reports them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PresentSettings {
    /// The flags of its modes.
    pub(super) flags: u32,
    /// The bit timing of both phases.
    pub(super) timing: [BitTiming; 2],
    /// The termination, ohms, where it can be switched.
    pub(super) termination: Option<u16>,
    /// The compensation of the transmitter's delay, where it is on, in periods of the controller's
    /// clock: the delay (set or measured), the offset, the filter's width.
    pub(super) delay: [Option<u32>; 3],
}

impl PresentSettings {
    /// Reads them from `IFLA_INFO_DATA`. What is missing or malformed is left out.
    pub(super) fn read(data: &[u8]) -> Self {
        // `struct can_ctrlmode`: the mask, which is 0 here, then the flags.
        let flags = inner(data, IFLA_CAN_CTRLMODE).and_then(|value| number(value.get(4..)?));
        let termination = inner(data, IFLA_CAN_TERMINATION);
        let termination = termination.and_then(|value| value.first_chunk().copied());
        let delay = |kind| inner(inner(data, IFLA_CAN_TDC)?, kind).and_then(number);
        Self {
            flags: flags.unwrap_or(0),
            timing: [
                (IFLA_CAN_BITTIMING, IFLA_CAN_BITTIMING_CONST),
                (IFLA_CAN_DATA_BITTIMING, IFLA_CAN_DATA_BITTIMING_CONST),
            ]
            .map(|kinds| BitTiming::read(data, kinds)),
            termination: termination.map(u16::from_ne_bytes),
            delay: [IFLA_CAN_TDC_TDCV, IFLA_CAN_TDC_TDCO, IFLA_CAN_TDC_TDCF].map(delay),
        }
    }

    /// Returns the sample points of both phases, thousandths of a bit; `None`: not known.
    pub(super) fn sample_points(&self) -> [Option<u32>; 2] {
        self.timing
            .map(|timing| Some(timing.sample_point).filter(|&at| at > 0))
    }

    /// Returns whether the controller is in this mode.
    #[must_use]
    pub const fn has(&self, mode: ControlMode) -> bool {
        self.flags & mode.kernel().0 != 0
    }
}
