//! What a driver of CAN says of its controller (`uapi/linux/can/netlink.h`).

use crate::netlink::{inner, number};
use frame::wire::BitRate;

const IFLA_CAN_BITTIMING: u16 = 1;
const IFLA_CAN_STATE: u16 = 4;
const IFLA_CAN_DATA_BITTIMING: u16 = 9;

/// `enum can_state`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ControllerState {
    /// TEC and REC below 96.
    ErrorActive,
    /// One of them at 96 or more.
    ErrorWarning,
    /// One of them at 128 or more.
    ErrorPassive,
    /// TEC above 255: it takes no part.
    BusOff,
    /// Switched off.
    Stopped,
    /// Asleep.
    Sleeping,
}

/// The bit rates and the error state. What is malformed ends it.
pub(super) fn controller(data: &[u8]) -> (Option<BitRate>, Option<ControllerState>) {
    // `bitrate` is the first member of `struct can_bittiming`.
    let rate = |kind| inner(data, kind).and_then(number);
    let nominal = rate(IFLA_CAN_BITTIMING);
    let fast = rate(IFLA_CAN_DATA_BITTIMING).filter(|&rate| rate > 0);
    let bit_rate = nominal.and_then(|nominal| BitRate::new(nominal, fast).ok());
    (bit_rate, rate(IFLA_CAN_STATE).and_then(state))
}

fn state(number: u32) -> Option<ControllerState> {
    use ControllerState::{BusOff, ErrorActive, ErrorPassive, ErrorWarning, Sleeping, Stopped};
    [
        ErrorActive,
        ErrorWarning,
        ErrorPassive,
        BusOff,
        Stopped,
        Sleeping,
    ]
    .get(number as usize)
    .copied()
}
