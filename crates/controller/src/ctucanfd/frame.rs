//! Frames in the format of the core's buffers (data sheet, section 3.3): format word, ID, two words
//! of time stamp, payload in little-endian words.

use super::registers::RX_DATA;
use crate::Registers;
use frame::{CanId, FrameRef, Header, Kind, dlc, flags};

const RTR: u32 = 1 << 5;
const IDE: u32 = 1 << 6;
const FDF: u32 = 1 << 7;
const BRS: u32 = 1 << 9;
const ESI: u32 = 1 << 10;

/// Words of a frame after its first one: ID and time stamp, without payload.
const HEAD: u32 = 3;
/// Offset of the payload, bytes.
const PAYLOAD: u32 = 0x10;

/// The result of reading from the FIFO.
pub(super) enum FifoRead {
    /// A frame, and its time stamp.
    Frame(Header, u64),
    /// Words that are not a valid frame.
    Garbage,
    /// The FIFO was empty.
    Nothing,
}

/// Takes the oldest frame out of the FIFO.
pub(super) fn read(registers: &mut impl Registers, payload: &mut [u8; dlc::FD_MAX]) -> FifoRead {
    let format = registers.read32(RX_DATA);
    let words = format >> 11 & 0x1F;
    if words == 0 {
        return FifoRead::Nothing;
    }
    let mut next = |n: u32| {
        if n < words {
            registers.read32(RX_DATA)
        } else {
            0
        }
    };
    let identifier = next(0);
    let stamp = u64::from(next(1)) | u64::from(next(2)) << 32;
    let mut bytes = payload.chunks_exact_mut(4);
    for n in HEAD..words {
        let word = next(n);
        if let Some(bytes) = bytes.next() {
            bytes.copy_from_slice(&word.to_le_bytes());
        }
    }
    let Some(header) = header(format, identifier) else {
        return FifoRead::Garbage;
    };
    let room = words.saturating_sub(HEAD) as usize * 4;
    if words < HEAD || header.data_len() > room {
        return FifoRead::Garbage;
    }
    FifoRead::Frame(header, stamp)
}

fn header(format: u32, identifier: u32) -> Option<Header> {
    let mut id = if format & IDE != 0 {
        identifier & CanId::EFF_MASK | CanId::EFF_FLAG
    } else {
        identifier >> 18 & CanId::SFF_MASK
    };
    let code = (format & 0xF) as u8;
    if format & FDF != 0 {
        let mut bits = 0;
        if format & BRS != 0 {
            bits |= flags::BRS;
        }
        if format & ESI != 0 {
            bits |= flags::ESI;
        }
        let header = Header::new(Kind::Fd, CanId::from_raw(id), dlc::fd_len(code).into());
        return Some(header.ok()?.with_flags(bits));
    }
    if format & RTR != 0 {
        id |= CanId::RTR_FLAG;
    }
    let len = usize::from(code).min(dlc::CLASSIC_MAX);
    let header = Header::new(Kind::Classic, CanId::from_raw(id), len);
    Some(header.ok()?.with_len8_dlc(code))
}

/// Writes a classic or FD frame into the transmit buffer at `buffer`.
pub(super) fn write(registers: &mut impl Registers, buffer: u32, frame: FrameRef<'_>) {
    let (header, id) = (frame.header(), frame.id());
    let mut format = u32::from(header.dlc()) & 0xF;
    let identifier = if id.is_eff() {
        format |= IDE;
        id.number()
    } else {
        id.number() << 18
    };
    if frame.kind() == Kind::Fd {
        format |= FDF;
        if header.is_brs() {
            format |= BRS;
        }
        if header.is_esi() {
            format |= ESI;
        }
    } else if id.is_rtr() {
        format |= RTR;
    }
    registers.write32(buffer, format);
    registers.write32(buffer + 4, identifier);
    // The bytes between the frame's length and the length of its DLC are sent as zeros.
    let padded = match frame.kind() {
        Kind::Fd => dlc::fd_padded(frame.len()),
        _ => frame.data().len(),
    };
    let mut bytes = frame.data().iter().copied().chain(core::iter::repeat(0));
    for n in 0..padded.div_ceil(4) {
        let mut word = [0; 4];
        for to in &mut word {
            *to = bytes.next().unwrap_or(0);
        }
        let at = buffer + PAYLOAD + n as u32 * 4;
        registers.write32(at, u32::from_le_bytes(word));
    }
}
