//! Error frames in the format of SocketCAN's drivers (`uapi/linux/can/error.h`): what a controller
//! reports to its program. They are never on a bus.

use crate::{CanId, Frame};

/// Classes: bits of the ID.
pub mod class {
    /// Arbitration lost; byte 0 is the bit.
    pub const LOST_ARBITRATION: u32 = 0x002;
    /// The state of the controller has changed: [`super::controller`].
    pub const CONTROLLER: u32 = 0x004;
    /// An error in a frame: [`super::protocol`], [`super::place`].
    pub const PROTOCOL: u32 = 0x008;
    /// No node acknowledged the frame.
    pub const NO_ACK: u32 = 0x020;
    /// The controller is bus-off.
    pub const BUS_OFF: u32 = 0x040;
    /// An error on the bus.
    pub const BUS_ERROR: u32 = 0x080;
    /// The controller was restarted after bus-off.
    pub const RESTARTED: u32 = 0x100;
    /// The error counters are in bytes 6 (TEC) and 7 (REC).
    pub const COUNTERS: u32 = 0x200;
}

/// Byte 1 of [`class::CONTROLLER`].
pub mod controller {
    /// Received frames were lost.
    pub const RX_OVERFLOW: u8 = 0x01;
    /// The receive counter is at the warning limit.
    pub const RX_WARNING: u8 = 0x04;
    /// The transmit counter is at the warning limit.
    pub const TX_WARNING: u8 = 0x08;
    /// The receive counter makes the node error-passive.
    pub const RX_PASSIVE: u8 = 0x10;
    /// The transmit counter makes the node error-passive.
    pub const TX_PASSIVE: u8 = 0x20;
    /// The node is error-active again.
    pub const ACTIVE: u8 = 0x40;
}

/// Byte 2 of [`class::PROTOCOL`].
pub mod protocol {
    /// Bit error.
    pub const BIT: u8 = 0x01;
    /// Form error.
    pub const FORM: u8 = 0x02;
    /// Stuff error.
    pub const STUFF: u8 = 0x04;
    /// The controller was sending.
    pub const SENDING: u8 = 0x80;
}

/// Byte 3 of [`class::PROTOCOL`].
pub mod place {
    /// The CRC sequence.
    pub const CRC: u8 = 0x08;
    /// The acknowledge slot.
    pub const ACK: u8 = 0x19;
}

/// Returns the error frame of these classes. There is one for all of them: the `Option` is that of
/// the length of `data`, which always fits.
#[must_use]
pub fn of(class: u32, data: [u8; 8]) -> Option<Frame> {
    Frame::classic(CanId::from_raw(CanId::ERR_FLAG | class), &data).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_frame_has_its_classes_and_bytes() {
        let frame = of(
            class::PROTOCOL | class::BUS_ERROR,
            [0, 0, protocol::BIT, 0, 0, 0, 0, 0],
        );
        let frame = frame.unwrap();
        assert!(frame.id().is_err());
        assert_eq!(frame.id().raw(), 0x2000_0088);
        assert_eq!(frame.data(), [0, 0, 1, 0, 0, 0, 0, 0]);
    }
}
