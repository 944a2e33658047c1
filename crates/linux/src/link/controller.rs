//! The data that a CAN driver reports about its controller (`uapi/linux/can/netlink.h`).

use crate::netlink::{inner, number};
use frame::ErrorState;
use frame::wire::BitRate;

pub(super) const IFLA_CAN_BITTIMING: u16 = 1;
pub(super) const IFLA_CAN_BITTIMING_CONST: u16 = 2;
const IFLA_CAN_STATE: u16 = 4;
const IFLA_CAN_BERR_COUNTER: u16 = 8;
pub(super) const IFLA_CAN_DATA_BITTIMING: u16 = 9;
pub(super) const IFLA_CAN_DATA_BITTIMING_CONST: u16 = 10;

/// A controller's present error counters: `struct can_berr_counter`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ErrorCounters {
    /// TEC.
    pub transmit: u16,
    /// REC.
    pub receive: u16,
}

/// Returns the error counters, where the driver reports them.
pub(super) fn error_counters(data: &[u8]) -> Option<ErrorCounters> {
    let value = inner(data, IFLA_CAN_BERR_COUNTER)?;
    let [t0, t1, r0, r1] = *value.first_chunk()?;
    Some(ErrorCounters {
        transmit: u16::from_ne_bytes([t0, t1]),
        receive: u16::from_ne_bytes([r0, r1]),
    })
}

/// A controller's counts since its interface was created: `struct can_device_stats`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ControllerCounters {
    /// Errors on the bus, where the driver reports each of them.
    pub bus_errors: u32,
    /// Times that it became error-passive.
    pub error_passive: u32,
    /// Times that it went bus-off.
    pub bus_off: u32,
    /// Arbitrations lost, where the driver reports each of them.
    pub arbitration_lost: u32,
    /// Times that it was restarted after bus-off.
    pub restarts: u32,
}

impl ControllerCounters {
    /// Parses the structure: six words, the second of which (error-warning) is not used here.
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        let word = |index: usize| number(bytes.get(index * size_of::<u32>()..)?);
        Some(Self {
            bus_errors: word(0)?,
            error_passive: word(2)?,
            bus_off: word(3)?,
            arbitration_lost: word(4)?,
            restarts: word(5)?,
        })
    }

    /// Returns the counts since the counters had the values of `base`.
    #[must_use]
    pub const fn since(&self, base: &Self) -> Self {
        Self {
            bus_errors: self.bus_errors.wrapping_sub(base.bus_errors),
            error_passive: self.error_passive.wrapping_sub(base.error_passive),
            bus_off: self.bus_off.wrapping_sub(base.bus_off),
            arbitration_lost: self.arbitration_lost.wrapping_sub(base.arbitration_lost),
            restarts: self.restarts.wrapping_sub(base.restarts),
        }
    }
}

/// The state of a controller: `enum can_state`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ControllerState {
    /// Switched on, with this error state.
    Started(ErrorState),
    /// Switched off.
    Stopped,
    /// Asleep.
    Sleeping,
}

/// Returns the bit rates and the error state. Parsing ends at malformed data.
pub(super) fn controller(data: &[u8]) -> (Option<BitRate>, Option<ControllerState>) {
    // `bitrate` is the first member of `struct can_bittiming`.
    let rate = |kind| inner(data, kind).and_then(number);
    let nominal = rate(IFLA_CAN_BITTIMING);
    let fast = rate(IFLA_CAN_DATA_BITTIMING).filter(|&rate| rate > 0);
    let bit_rate = nominal.and_then(|nominal| BitRate::new(nominal, fast).ok());
    (bit_rate, rate(IFLA_CAN_STATE).and_then(state))
}

fn state(number: u32) -> Option<ControllerState> {
    match number {
        4 => Some(ControllerState::Stopped),
        5 => Some(ControllerState::Sleeping),
        _ => ErrorState::from_number(number).map(ControllerState::Started),
    }
}
