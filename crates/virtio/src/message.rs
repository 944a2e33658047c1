//! Contents of the queues: virtio 1.4 §5.19.6, `include/uapi/linux/virtio_can.h`. Little endian.

use frame::{CanId, Frame, FrameRef, Kind, dlc, flags};

/// Virtio's device number.
pub const DEVICE_ID: u32 = 36;
/// Number of queues: of frames to the bus, of frames from the bus, of commands.
pub const QUEUES: usize = 3;
/// Index of the queue of frames to the bus.
pub const TX: usize = 0;
/// Index of the queue of frames from the bus.
pub const RX: usize = 1;
/// Index of the queue of commands.
pub const CONTROL: usize = 2;

/// Feature bits.
pub mod feature {
    /// Classic frames.
    pub const CLASSIC: u64 = 1 << 0;
    /// FD frames.
    pub const FD: u64 = 1 << 1;
    /// Remote frames.
    pub const RTR: u64 = 1 << 2;
    /// A frame is acknowledged only after it was on the bus.
    pub const LATE_TX_ACK: u64 = 1 << 3;
}

/// Bytes of the configuration: `le16 status`.
pub const CONFIG_SIZE: usize = 2;
/// The bit of `status`: the controller is bus-off.
pub const STATUS_BUS_OFF: u16 = 1;

/// A frame from the machine.
pub const MESSAGE_TX: u16 = 0x0001;
/// A frame to the machine.
pub const MESSAGE_RX: u16 = 0x0101;
/// Command: take part in the bus from now on.
pub const MESSAGE_START: u16 = 0x0201;
/// Command: take part no longer.
pub const MESSAGE_STOP: u16 = 0x0202;

/// The frame was sent, or the command executed.
pub const RESULT_OK: u8 = 0;
/// The frame was not sent, or the command not executed.
pub const RESULT_NOT_OK: u8 = 1;

/// 29-bit identifier.
pub const FLAG_EXTENDED: u32 = 0x8000;
/// CAN FD.
pub const FLAG_FD: u32 = 0x4000;
/// Remote frame.
pub const FLAG_RTR: u32 = 0x2000;

/// Bytes before the payload.
pub const HEADER: usize = 16;
/// Bytes of the longest message.
pub const LONGEST: usize = HEADER + dlc::FD_MAX;

/// Reason why bytes of a transmit queue are not a valid frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum NoFrame {
    /// Shorter than a header, or than the payload that the header specifies.
    #[error("a message of {0} bytes is too short")]
    Short(usize),
    /// Another type of message.
    #[error("message type {0:#06x} is not a frame to send")]
    Type(u16),
    /// A kind of frame that was not negotiated, unknown flags, or flags that exclude each other.
    #[error("flags {0:#x} were not negotiated")]
    Flags(u32),
    /// Above 0x7FF without [`FLAG_EXTENDED`], or above 0x1FFF_FFFF.
    #[error("{0:#x} is not a valid identifier of this kind")]
    Id(u32),
    /// No payload of this kind has this length.
    #[error("no frame of this kind has {0} bytes")]
    Length(u16),
}

fn le16(bytes: &[u8], at: usize) -> u16 {
    let found = bytes.get(at..at + 2).and_then(|two| two.try_into().ok());
    u16::from_le_bytes(found.unwrap_or_default())
}

fn le32(bytes: &[u8], at: usize) -> u32 {
    let found = bytes.get(at..at + 4).and_then(|four| four.try_into().ok());
    u32::from_le_bytes(found.unwrap_or_default())
}

/// Decodes a frame that a machine sends. FD frames get BRS if `brs`.
///
/// # Errors
/// [`NoFrame`].
pub fn decode(bytes: &[u8], features: u64, brs: bool) -> Result<Frame, NoFrame> {
    if bytes.len() < HEADER {
        return Err(NoFrame::Short(bytes.len()));
    }
    let kind = le16(bytes, 0);
    if kind != MESSAGE_TX {
        return Err(NoFrame::Type(kind));
    }
    let (length, set, number) = (le16(bytes, 2), le32(bytes, 8), le32(bytes, 12));
    let (eff, fd, rtr) = (
        set & FLAG_EXTENDED != 0,
        set & FLAG_FD != 0,
        set & FLAG_RTR != 0,
    );
    let agreed = |bit: u64| features & bit != 0;
    let known = set & !(FLAG_EXTENDED | FLAG_FD | FLAG_RTR) == 0;
    let kind_agreed = if fd {
        agreed(feature::FD)
    } else {
        agreed(feature::CLASSIC)
    };
    if !known || !kind_agreed || (rtr && (fd || !agreed(feature::RTR))) {
        return Err(NoFrame::Flags(set));
    }
    let id = if eff {
        CanId::eff(number)
    } else {
        CanId::sff(number)
    };
    let id = id.map_err(|_| NoFrame::Id(number))?;
    let len = usize::from(length);
    let longest = if fd { dlc::FD_MAX } else { dlc::CLASSIC_MAX };
    if len > longest || (fd && dlc::fd_padded(len) != len) {
        return Err(NoFrame::Length(length));
    }
    if rtr {
        return Frame::remote(id, len).map_err(|_| NoFrame::Length(length));
    }
    let data = bytes.get(HEADER..HEADER + len);
    let data = data.ok_or(NoFrame::Short(bytes.len()))?;
    let made = if fd {
        Frame::fd(id, if brs { flags::BRS } else { 0 }, data)
    } else {
        Frame::classic(id, data)
    };
    made.map_err(|_| NoFrame::Length(length))
}

/// Returns whether a frame can be passed to a machine with these features.
#[must_use]
pub fn carries(frame: &FrameRef<'_>, features: u64) -> bool {
    let id = frame.id();
    let agreed = match frame.kind() {
        Kind::Classic => feature::CLASSIC,
        Kind::Fd => feature::FD,
        Kind::Xl => return false,
    };
    let rtr = !id.is_rtr() || features & feature::RTR != 0;
    !id.is_err() && features & agreed != 0 && rtr
}

/// Writes the message of a frame from the bus, for which [`carries`] has returned true, and returns
/// its size in bytes.
pub fn encode(frame: &FrameRef<'_>, bytes: &mut [u8; LONGEST]) -> usize {
    let id = frame.id();
    let mut set = 0;
    for (bit, flag) in [
        (id.is_eff(), FLAG_EXTENDED),
        (frame.kind() == Kind::Fd, FLAG_FD),
        (id.is_rtr(), FLAG_RTR),
    ] {
        set |= if bit { flag } else { 0 };
    }
    let data = frame.data();
    let data = data.get(..data.len().min(dlc::FD_MAX)).unwrap_or_default();
    // A remote frame has no payload but a length. Linux's driver drops a message that is shorter
    // than its length field requires (`virtio_can_read_rx_queue` in drivers/net/can/virtio_can.c),
    // without counting it: so the message contains as many zero bytes.
    let length = if id.is_rtr() {
        frame.len().min(dlc::CLASSIC_MAX)
    } else {
        data.len()
    };
    bytes[..HEADER].fill(0);
    bytes[..2].copy_from_slice(&MESSAGE_RX.to_le_bytes());
    bytes[2..4].copy_from_slice(&(length as u16).to_le_bytes());
    bytes[8..12].copy_from_slice(&set.to_le_bytes());
    bytes[12..HEADER].copy_from_slice(&id.number().to_le_bytes());
    let payload = &mut bytes[HEADER..HEADER + length];
    payload.fill(0);
    if !id.is_rtr() {
        payload.copy_from_slice(data);
    }
    HEADER + length
}

/// Returns the type of a message, of the control queue or any other.
#[must_use]
pub fn kind(bytes: &[u8]) -> u16 {
    le16(bytes, 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ALL: u64 = feature::CLASSIC | feature::FD | feature::RTR;

    fn message(kind: u16, length: u16, set: u32, id: u32, data: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        bytes.extend(kind.to_le_bytes());
        bytes.extend(length.to_le_bytes());
        bytes.extend([0; 4]);
        bytes.extend(set.to_le_bytes());
        bytes.extend(id.to_le_bytes());
        bytes.extend(data);
        bytes
    }

    #[test]
    fn frames_of_every_kind_are_read() {
        let read = |bytes: &[u8]| decode(bytes, ALL, true).map(|frame| frame.to_string());
        let text = |length, set, id, data| read(&message(MESSAGE_TX, length, set, id, data));
        assert_eq!(text(2, 0, 0x123, &[1, 2]).unwrap(), "123#0102");
        assert_eq!(text(0, FLAG_EXTENDED, 0x123, &[]).unwrap(), "00000123#");
        // A remote frame has no payload, whatever its length field is.
        assert_eq!(text(5, FLAG_RTR, 0x7FF, &[]).unwrap(), "7FF#R5");
        let fd = text(12, FLAG_FD, 1, &[7; 12]).unwrap();
        // BRS, because the device's owner requested it.
        assert_eq!(fd, "001##1070707070707070707070707");
    }

    #[test]
    fn what_is_no_frame_is_named() {
        let read = |length, set, id, data| {
            decode(&message(MESSAGE_TX, length, set, id, data), ALL, false).unwrap_err()
        };
        assert_eq!(decode(&[1, 0, 0], ALL, false), Err(NoFrame::Short(3)));
        assert_eq!(read(8, 0, 1, &[0; 7]), NoFrame::Short(23));
        assert_eq!(read(9, 0, 1, &[0; 9]), NoFrame::Length(9));
        assert_eq!(read(9, FLAG_FD, 1, &[0; 9]), NoFrame::Length(9));
        assert_eq!(read(65, FLAG_FD, 1, &[0; 65]), NoFrame::Length(65));
        assert_eq!(read(0, 0, 0x800, &[]), NoFrame::Id(0x800));
        assert_eq!(read(0, FLAG_EXTENDED, 1 << 29, &[]), NoFrame::Id(1 << 29));
        assert_eq!(
            read(0, FLAG_FD | FLAG_RTR, 1, &[]),
            NoFrame::Flags(FLAG_FD | FLAG_RTR)
        );
        assert_eq!(read(0, 1, 1, &[]), NoFrame::Flags(1));
        let start = message(MESSAGE_START, 0, 0, 0, &[]);
        assert_eq!(
            decode(&start, ALL, false),
            Err(NoFrame::Type(MESSAGE_START))
        );
        // Neither FD nor remote frames were negotiated.
        let classic = |set| {
            decode(
                &message(MESSAGE_TX, 0, set, 1, &[]),
                feature::CLASSIC,
                false,
            )
        };
        assert_eq!(classic(FLAG_FD), Err(NoFrame::Flags(FLAG_FD)));
        assert_eq!(classic(FLAG_RTR), Err(NoFrame::Flags(FLAG_RTR)));
        assert!(classic(0).is_ok());
    }

    proptest! {
        /// Any bytes are decoded as a valid frame or an error.
        #[test]
        fn any_bytes_are_read(bytes in proptest::collection::vec(any::<u8>(), 0..100), brs: bool) {
            if let Ok(frame) = decode(&bytes, ALL, brs) {
                prop_assert!(carries(&frame.view(), ALL));
                prop_assert!(usize::from(le16(&bytes, 2)) == frame.len());
            }
        }

        /// A message from one machine equals the message to another machine, except for its type.
        #[test]
        fn what_is_sent_is_received(
            eff: bool, fd: bool, rtr: bool, id in 0_u32..0x800, len in 0_usize..=8, byte: u8
        ) {
            let rtr = rtr && !fd;
            let mut set = 0;
            for (bit, flag) in [(eff, FLAG_EXTENDED), (fd, FLAG_FD), (rtr, FLAG_RTR)] {
                set |= if bit { flag } else { 0 };
            }
            let data = vec![byte; if rtr { 0 } else { len }];
            let sent = message(MESSAGE_TX, len as u16, set, id, &data);
            let frame = decode(&sent, ALL, false).unwrap();
            let mut bytes = [0xAA; LONGEST];
            let size = encode(&frame.view(), &mut bytes);
            // A remote frame has as many bytes as its length field specifies, all 0.
            let data = if rtr { vec![0; len] } else { data };
            prop_assert_eq!(&bytes[..size], message(MESSAGE_RX, len as u16, set, id, &data));
        }
    }
}
