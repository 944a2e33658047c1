//! The length of ISO FD frames.

use super::tables::{CRC_17, CRC_21, CrcByByte, STUFF, STUFFED_AFTER_BRS, StuffState, filler};
use super::{INTERMISSION_BITS, TRAILER_BITS, WireLength, eff_parts};
use crate::{Header, dlc};

/// ESI and DLC, with which the data phase begins.
pub(super) const HEADER_BITS_IN_DATA_PHASE: u32 = 5;
/// Bits of the header with an SFF identifier, from the start of frame to the last bit of the DLC.
pub(super) const SFF_BITS: u32 = 22;
/// Bits of the header with an EFF identifier.
pub(super) const EFF_BITS: u32 = 41;
/// Stuff count with parity.
const STUFF_COUNT_BITS: u32 = 4;
pub(super) const DELIMITER_BITS: u32 = 1;
/// The longest payload that has the shorter CRC.
const CRC_17_MAX: usize = 16;

pub(super) fn length(header: &Header, data: &[u8]) -> WireLength {
    let esi_dlc = u64::from(header.is_esi()) << 4 | u64::from(header.dlc() & 15);
    // RRS dominant, FDF recessive, res dominant, BRS. The start of frame is the zero above the
    // identifier.
    let control = 1 << 7 | u64::from(header.is_brs()) << 5 | esi_dlc;
    if header.id().is_eff() {
        let (high, low) = eff_parts(header);
        // SRR and IDE are recessive.
        let bits = high << 29 | 0b11 << 27 | low << 9 | control;
        with_crc::<EFF_BITS, 6>(bits, header.is_brs(), data)
    } else {
        // IDE, dominant, is between RRS and FDF.
        let bits = u64::from(header.id().number()) << 10 | control;
        with_crc::<SFF_BITS, 3>(bits, header.is_brs(), data)
    }
}

fn with_crc<const BITS: u32, const BYTES: usize>(
    header: u64,
    brs: bool,
    data: &[u8],
) -> WireLength {
    if data.len() <= CRC_17_MAX {
        sum::<BITS, BYTES, 17>(&CRC_17, header, brs, data)
    } else {
        sum::<BITS, BYTES, 21>(&CRC_21, header, brs, data)
    }
}

/// `BITS` bits of header are padded to `BYTES` bytes.
fn sum<const BITS: u32, const BYTES: usize, const WIDTH: u32>(
    table: &CrcByByte<WIDTH>,
    header: u64,
    brs: bool,
    data: &[u8],
) -> WireLength {
    let fill = BYTES as u32 * 8 - BITS;
    let filled = header | filler(fill) << BITS;
    let mut bits = StuffedBits::new(table);
    for i in (0..BYTES).rev() {
        bits.push((filled >> (8 * i)) as u8);
    }
    bits.waiting -= fill;
    let stuffed_in_header = bits.stuffed;

    for byte in data {
        bits.make_room();
        bits.push(*byte);
    }
    let padded = dlc::fd_padded(data.len());
    for _ in data.len()..padded {
        bits.make_room();
        bits.push(0);
    }
    let last = match data.last() {
        _ if padded > data.len() => false,
        Some(byte) => byte & 1 != 0,
        None => header & 1 != 0,
    };
    let (stuffed, crc) = bits.finish(last);

    let crc_bits = crc_field_bits(WIDTH);
    let data_bits = 8 * padded as u32;
    let all =
        BITS + data_bits + crc_bits + DELIMITER_BITS + TRAILER_BITS + INTERMISSION_BITS + stuffed;
    let data_phase = if brs {
        // Of the stuff bits in the header, only those after BRS have the data bit rate.
        let late = u32::from(STUFFED_AFTER_BRS[(header & 31) as usize]);
        HEADER_BITS_IN_DATA_PHASE + data_bits + crc_bits + (stuffed + late - stuffed_in_header)
    } else {
        0
    };
    WireLength {
        bits: all as u16,
        stuff_bits: stuffed as u16,
        data_phase_bits: data_phase as u16,
        crc,
    }
}

/// Returns the number of bits of stuff count, CRC and fixed stuff bits: one before the first and
/// one after each fourth bit.
const fn crc_field_bits(width: u32) -> u32 {
    let bits = STUFF_COUNT_BITS + width;
    bits + 1 + bits / 4
}

/// Returns [`crc_field_bits`] for a payload of this many bytes.
pub(super) const fn crc_field_bits_for(bytes: usize) -> u32 {
    crc_field_bits(if bytes <= CRC_17_MAX { 17 } else { 21 })
}

/// Bits with their stuff bits, as input of the CRC, which covers both.
struct StuffedBits<'t, const WIDTH: u32> {
    table: &'t CrcByByte<WIDTH>,
    state: StuffState,
    stuffed: u32,
    crc: u32,
    /// Bits that have not been included in the CRC yet: the low `waiting` ones.
    bits: u64,
    waiting: u32,
}

impl<'t, const WIDTH: u32> StuffedBits<'t, WIDTH> {
    fn new(table: &'t CrcByByte<WIDTH>) -> Self {
        Self {
            table,
            state: StuffState::IDLE,
            stuffed: 0,
            // Not zero, so that leading zeros count (ISO 11898-1, CRC field).
            crc: 1 << (WIDTH - 1),
            bits: 0,
            waiting: 0,
        }
    }

    /// Adds eight bits. At most 54 may wait.
    #[inline(always)]
    fn push(&mut self, byte: u8) {
        let step = STUFF.step(self.state, byte);
        self.state = step.next();
        self.stuffed += step.stuffed();
        self.bits = self.bits << (8 + step.stuffed()) | step.out();
        self.waiting += 8 + step.stuffed();
    }

    /// Reduces the number of waiting bits to fewer than 32, if it was less than 64.
    #[inline(always)]
    fn make_room(&mut self) {
        if self.waiting >= 32 {
            self.waiting -= 32;
            self.crc = self
                .table
                .word(self.crc, (self.bits >> self.waiting) as u32);
        }
    }

    /// Finishes after the last bit of data, which was `last`; returns the number of stuff bits and
    /// the CRC.
    fn finish(mut self, last: bool) -> (u32, u32) {
        // A fixed stuff bit follows, so there is no dynamic one before it.
        if self.state.after_stuff_bit(last) {
            self.stuffed -= 1;
            self.bits >>= 1;
            self.waiting -= 1;
        }
        self.make_room();
        self.bits = self.bits << STUFF_COUNT_BITS | u64::from(stuff_count(self.stuffed));
        self.waiting += STUFF_COUNT_BITS;
        self.make_room();
        let mut crc = self.crc;
        while self.waiting > 0 {
            let count = self.waiting.min(8);
            self.waiting -= count;
            let bits = (self.bits >> self.waiting) as u32 & 0xFF;
            crc = self.table.bits(crc, bits, count);
        }
        (self.stuffed, crc)
    }
}

/// Returns the number of stuff bits modulo 8, in Gray code, and a bit that makes the number of ones
/// even (ISO 11898-1, CRC field, stuff count).
const fn stuff_count(stuffed: u32) -> u32 {
    let n = stuffed & 7;
    let gray = n ^ n >> 1;
    gray << 1 | gray.count_ones() & 1
}
