//! The greatest length of FD frames.

use super::header::HeaderBits;
use super::run::BitRun;
use super::{FrameBits, TRAILER};
use crate::FrameShape;
use alloc::vec;
use alloc::vec::Vec;
use frame::dlc;

/// The longest payload that has the CRC of 17 bits.
const CRC_17_MAX: usize = 16;
const STUFF_COUNT_BITS: u32 = 4;
const DELIMITER: u32 = 1;

/// Returns the greatest length, and a payload that has it.
///
/// Dynamic stuff bits end with the payload, and the CRC field has fixed ones, so the length depends
/// only on the runs of equal bits up to there: the greatest number of stuff bits over all payloads
/// is that of the best path through the states of a run, bit by bit. All stuff bits of the payload
/// have the same bit rate, so the most bits take the most time.
pub(super) fn greatest(shape: &FrameShape) -> (FrameBits, [u8; dlc::FD_MAX]) {
    let header = HeaderBits::from_header(shape.header());
    let payload_bits = shape.wire_len() * 8;
    let mut run = BitRun::IDLE;
    let mut stuffed = (0, 0);
    for (i, bit) in header.iter().enumerate() {
        let (next, stuff) = run.push(bit);
        run = next;
        // None after the last bit before the CRC field: a fixed stuff bit follows there.
        let last = payload_bits == 0 && i + 1 == header.count as usize;
        if stuff && !last {
            if (i as u32) < header.nominal {
                stuffed.0 += 1;
            } else {
                stuffed.1 += 1;
            }
        }
    }
    let (most, payload) = payload(shape, run, payload_bits);
    let width = if shape.wire_len() <= CRC_17_MAX {
        17
    } else {
        21
    };
    let crc = STUFF_COUNT_BITS + width;
    let fast = (header.count - header.nominal) + stuffed.1 + payload_bits as u32 + most;
    let crc_field = crc + 1 + crc / 4;
    let mut bits = FrameBits {
        nominal: header.nominal + stuffed.0 + DELIMITER + TRAILER,
        data: fast + crc_field,
    };
    if !shape.header().is_brs() {
        bits = FrameBits {
            nominal: bits.nominal + bits.data,
            data: 0,
        };
    }
    (bits, payload)
}

/// Returns the greatest number of stuff bits in the payload, and a payload that has them.
fn payload(shape: &FrameShape, start: BitRun, bits: usize) -> (u32, [u8; dlc::FD_MAX]) {
    // For each bit and each state, the greatest number of stuff bits up to there, and the step by
    // which it was reached.
    let mut most: [Option<u32>; BitRun::COUNT] = [None; BitRun::COUNT];
    most[start.index()] = Some(0);
    let mut ways: Vec<[(u8, bool); BitRun::COUNT]> = vec![[(0, false); BitRun::COUNT]; bits];
    for (i, way) in ways.iter_mut().enumerate() {
        let mut next: [Option<u32>; BitRun::COUNT] = [None; BitRun::COUNT];
        for (state, had) in most.iter().enumerate() {
            let Some(had) = *had else { continue };
            for bit in [false, true] {
                if shape.bit(i).is_some_and(|known| known != bit) {
                    continue;
                }
                let (to, stuff) = BitRun::from_index(state).push(bit);
                let now = had + u32::from(stuff && i + 1 < bits);
                if next[to.index()].is_none_or(|best| best < now) {
                    next[to.index()] = Some(now);
                    way[to.index()] = (state as u8, bit);
                }
            }
        }
        most = next;
    }
    let best = (0..BitRun::COUNT)
        .max_by_key(|&state| most[state])
        .unwrap_or(0);
    let mut payload = [0; dlc::FD_MAX];
    let mut state = best;
    for (i, way) in ways.iter().enumerate().rev() {
        let (from, bit) = way[state];
        payload[i / 8] |= u8::from(bit) << (7 - i % 8);
        state = usize::from(from);
    }
    (most[best].unwrap_or(0), payload)
}
