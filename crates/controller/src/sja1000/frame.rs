//! Frames in the format of the chip's buffers (data sheet, sections 6.4.13 and 6.4.14): frame
//! information, two bytes of SFF ID or four of EFF ID, then the payload.

use super::registers::{FRAME, INFO_EFF, INFO_RTR};
use crate::Registers;
use frame::{CanId, FrameRef, Header, Kind};

/// Bytes of the longest payload.
pub(super) const PAYLOAD: usize = 8;

/// Reads the oldest frame of the receive FIFO; it stays there.
pub(super) fn read(registers: &mut impl Registers, payload: &mut [u8; PAYLOAD]) -> Header {
    let info = registers.read8(FRAME);
    let mut next = |offset: u32| u32::from(registers.read8(FRAME + offset));
    let (id, first) = if info & INFO_EFF != 0 {
        let id = next(1) << 21 | next(2) << 13 | next(3) << 5 | next(4) >> 3;
        (id | CanId::EFF_FLAG, 5)
    } else {
        (next(1) << 3 | next(2) >> 5, 3)
    };
    let rtr = info & INFO_RTR != 0;
    let id = CanId::from_raw(if rtr { id | CanId::RTR_FLAG } else { id });
    // DLCs above 8 mean 8 bytes (ISO 11898-1, table of DLC values).
    let dlc = info & 0x0F;
    let len = usize::from(dlc).min(PAYLOAD);
    if !rtr {
        for (byte, offset) in payload.iter_mut().take(len).zip(first..) {
            *byte = registers.read8(FRAME + offset);
        }
    }
    Header::new(Kind::Classic, id, len)
        .unwrap_or_default()
        .with_len8_dlc(dlc)
}

/// Writes a classic data or remote frame into the transmit buffer.
pub(super) fn write(registers: &mut impl Registers, frame: FrameRef<'_>) {
    let id = frame.id();
    let number = id.number();
    // A DLC has four bits.
    let mut info = (frame.header().dlc() & 0x0F) as u8;
    if id.is_rtr() {
        info |= INFO_RTR;
    }
    let first = if id.is_eff() {
        let [a, b, c, d] = (number << 3).to_be_bytes();
        registers.write8(FRAME, info | INFO_EFF);
        for (byte, offset) in [a, b, c, d].into_iter().zip(1..) {
            registers.write8(FRAME + offset, byte);
        }
        5
    } else {
        let [_, _, a, b] = (number << 5).to_be_bytes();
        registers.write8(FRAME, info);
        registers.write8(FRAME + 1, a);
        registers.write8(FRAME + 2, b);
        3
    };
    for (byte, offset) in frame.data().iter().zip(first..) {
        registers.write8(FRAME + offset, *byte);
    }
}
