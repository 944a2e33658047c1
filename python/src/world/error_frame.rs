//! Error frames as SocketCAN has them: what a controller reports to its program.

use bus::{ErrorKind, ErrorState};
use frame::{CanId, Frame};

/// Classes of `uapi/linux/can/error.h`.
mod class {
    pub(super) const CONTROLLER: u32 = 0x04;
    pub(super) const PROTOCOL: u32 = 0x08;
    pub(super) const ACK: u32 = 0x20;
    pub(super) const BUS_OFF: u32 = 0x40;
    pub(super) const BUS_ERROR: u32 = 0x80;
    pub(super) const RESTARTED: u32 = 0x100;
}

/// Byte 1: the controller's state. Each has a bit for receiving and one for transmitting, and a
/// node's state is that of both counters.
mod controller {
    pub(super) const WARNING: u8 = 0x04 | 0x08;
    pub(super) const PASSIVE: u8 = 0x10 | 0x20;
    pub(super) const ACTIVE: u8 = 0x40;
}

/// Byte 2: the type of the error, and whether this controller was sending.
mod protocol {
    pub(super) const BIT: u8 = 0x01;
    pub(super) const FORM: u8 = 0x02;
    pub(super) const STUFF: u8 = 0x04;
    pub(super) const SENDING: u8 = 0x80;
}

/// Byte 3: the place of a checksum, and that of the acknowledge slot.
const CRC_SEQUENCE: u8 = 0x08;
const ACK_SLOT: u8 = 0x19;

fn frame(class: u32, data: [u8; 8]) -> Option<Frame> {
    Frame::classic(CanId::from_raw(CanId::ERR_FLAG | class), &data).ok()
}

/// Returns the report of an error that a node has detected in a frame.
pub(super) fn detected_error(kind: ErrorKind, is_sender: bool) -> Option<Frame> {
    let mut data = [0; 8];
    let (class, kind, place) = match kind {
        ErrorKind::Bit => (class::PROTOCOL, protocol::BIT, 0),
        ErrorKind::Stuff => (class::PROTOCOL, protocol::STUFF, 0),
        ErrorKind::Form => (class::PROTOCOL, protocol::FORM, 0),
        ErrorKind::Crc => (class::PROTOCOL, 0, CRC_SEQUENCE),
        ErrorKind::Ack => (class::ACK | class::PROTOCOL, 0, ACK_SLOT),
    };
    data[2] = if is_sender {
        kind | protocol::SENDING
    } else {
        kind
    };
    data[3] = place;
    frame(class | class::BUS_ERROR, data)
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
        ErrorState::Warning => controller::WARNING,
        ErrorState::Passive => controller::PASSIVE,
        ErrorState::BusOff => 0,
    };
    frame(class, data)
}
