//! Error frames as SocketCAN has them: what a controller reports to its program.

use bus::{ErrorKind, ErrorState};
use frame::Frame;
use frame::error_frame::{class, controller, of, place, protocol};

/// The states of a node, which are those of both counters.
const WARNING: u8 = controller::RX_WARNING | controller::TX_WARNING;
const PASSIVE: u8 = controller::RX_PASSIVE | controller::TX_PASSIVE;

/// Returns the report of an error that a node has detected in a frame.
pub(super) fn detected_error(kind: ErrorKind, is_sender: bool) -> Option<Frame> {
    let mut data = [0; 8];
    let (class, kind, at) = match kind {
        ErrorKind::Bit => (class::PROTOCOL, protocol::BIT, 0),
        ErrorKind::Stuff => (class::PROTOCOL, protocol::STUFF, 0),
        ErrorKind::Form => (class::PROTOCOL, protocol::FORM, 0),
        ErrorKind::Crc => (class::PROTOCOL, 0, place::CRC),
        ErrorKind::Ack => (class::NO_ACK | class::PROTOCOL, 0, place::ACK),
    };
    data[2] = if is_sender {
        kind | protocol::SENDING
    } else {
        kind
    };
    data[3] = at;
    of(class | class::BUS_ERROR, data)
}

/// Returns the report of a change of a node's error state.
pub(super) fn change_of_state(before: ErrorState, now: ErrorState) -> Option<Frame> {
    let mut data = [0; 8];
    let class = match (before, now) {
        (_, ErrorState::BusOff) => class::BUS_OFF,
        (ErrorState::BusOff, _) => class::RESTARTED,
        _ => class::CONTROLLER,
    };
    data[1] = match now {
        ErrorState::Active => controller::ACTIVE,
        ErrorState::Warning => WARNING,
        ErrorState::Passive => PASSIVE,
        ErrorState::BusOff => 0,
    };
    of(class, data)
}
