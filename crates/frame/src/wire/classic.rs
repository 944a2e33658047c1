//! The length of classic frames.

use super::tables::{CRC_15, STUFF, StuffState, filler};
use super::{INTERMISSION_BITS, TRAILER_BITS, WireLength, eff_parts};
use crate::Header;

const CRC_BITS: u32 = 15;
const DELIMITER_BITS: u32 = 1;
/// Bits of the header with an SFF identifier, from the start of frame to the last bit of the DLC.
pub(super) const SFF_BITS: u32 = 19;
/// Bits of the header with an EFF identifier.
pub(super) const EFF_BITS: u32 = 39;
/// Bits after the data: CRC, delimiter, acknowledge, end of frame, intermission.
pub(super) const TAIL_BITS: u32 = CRC_BITS + DELIMITER_BITS + TRAILER_BITS + INTERMISSION_BITS;

pub(super) fn length(header: &Header, data: &[u8]) -> WireLength {
    let control = u64::from(header.is_rtr()) << 6 | u64::from(header.dlc() & 15);
    // The start of frame is the zero above the identifier.
    if header.id().is_eff() {
        let (high, low) = eff_parts(header);
        // SRR and IDE are recessive.
        sum::<EFF_BITS, 5>(high << 27 | 0b11 << 25 | low << 7 | control, data)
    } else {
        sum::<SFF_BITS, 3>(u64::from(header.id().number()) << 7 | control, data)
    }
}

/// `BITS` bits of header are padded to `BYTES` bytes.
#[inline(always)]
fn sum<const BITS: u32, const BYTES: usize>(header: u64, data: &[u8]) -> WireLength {
    let fill = BYTES as u32 * 8 - BITS;
    let filled = header | filler(fill) << BITS;
    let mut state = StuffState::IDLE;
    let mut stuffed = 0;
    let mut take = |byte: u8| {
        let step = STUFF.step(state, byte);
        stuffed += step.stuffed();
        state = step.next();
    };
    // The CRC begins with 0, so zeros in front of the header change nothing.
    let mut crc = 0;
    for i in (0..BYTES).rev() {
        let byte = (header >> (8 * i)) as u8;
        crc = CRC_15.bits(crc, u32::from(byte), 8);
        take((filled >> (8 * i)) as u8);
    }
    for byte in data {
        crc = CRC_15.bits(crc, u32::from(*byte), 8);
        take(*byte);
    }
    // The sixteenth bit is the inverse of the last one and so causes no stuff bit.
    let last = crc << 1 | (!crc & 1);
    take((last >> 8) as u8);
    take(last as u8);

    let bits = BITS + 8 * data.len() as u32 + TAIL_BITS + stuffed;
    WireLength {
        bits: bits as u16,
        stuff_bits: stuffed as u16,
        data_phase_bits: 0,
        crc,
    }
}
