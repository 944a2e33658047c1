//! The greatest length of classic frames.

use super::header::HeaderBits;
use super::run::BitRun;
use super::{FrameBits, TRAILER};
use crate::FrameShape;
use alloc::vec;
use alloc::vec::Vec;
use frame::dlc;

const CRC_BITS: u32 = 15;
const CRCS: usize = 1 << CRC_BITS;
const POLYNOMIAL: u16 = 0x4599;
const DELIMITER: u32 = 1;

/// For each CRC and each state of a run, the greatest number of stuff bits with which it is
/// reached, plus one; 0 where it is not reached.
type Layer = Vec<u8>;

const fn place(crc: u16, run: BitRun) -> usize {
    (crc as usize) << 3 | run.index()
}

/// Returns the CRC after one further bit (ISO 11898-1, CRC field).
const fn crc_bit(crc: u16, bit: bool) -> u16 {
    let shifted = crc << 1 & 0x7FFF;
    if (crc >> 14 != 0) != bit {
        shifted ^ POLYNOMIAL
    } else {
        shifted
    }
}

/// Returns the CRC before the last bit, which was `bit`: the last term of the polynomial is set, so
/// the lowest bit of the CRC shows whether it was subtracted.
const fn crc_before(crc: u16, bit: bool) -> u16 {
    let subtracted = crc & 1 != 0;
    let shifted = if subtracted { crc ^ POLYNOMIAL } else { crc };
    shifted >> 1 | ((subtracted != bit) as u16) << 14
}

/// Returns the number of stuff bits among the bits of a CRC, and after the last one.
fn tail(crc: u16, mut run: BitRun) -> u8 {
    let mut stuffed = 0;
    for i in (0..CRC_BITS).rev() {
        let (next, stuff) = run.push(crc >> i & 1 != 0);
        run = next;
        stuffed += u8::from(stuff);
    }
    stuffed
}

/// The greatest number of stuff bits that [`tail`] can return: 15 bits after a run of four.
const LONGEST_TAIL: u8 = 4;

/// The possible results of a free payload of one length from one state of a run: the same for all
/// identifiers.
pub(super) struct FreePayload {
    bytes: usize,
    start: BitRun,
    /// The CRC that the payload adds, the state of the run after it, and its stuff bits; the best
    /// first, and only those that can be best with some CRC before them.
    ends: Vec<(u16, BitRun, u8)>,
}

/// The length of a frame up to its payload.
struct HeaderLength {
    run: BitRun,
    crc: u16,
    stuffed: u32,
    bits: u32,
}

impl HeaderLength {
    fn from_shape(shape: &FrameShape) -> Self {
        let header = HeaderBits::from_header(shape.header());
        let (mut run, mut crc, mut stuffed) = (BitRun::IDLE, 0, 0);
        for bit in header.iter() {
            let (next, stuff) = run.push(bit);
            run = next;
            stuffed += u32::from(stuff);
            crc = crc_bit(crc, bit);
        }
        Self {
            run,
            crc,
            stuffed,
            bits: header.count,
        }
    }

    /// Returns the CRC of the header followed by `bits` zeros.
    fn crc_after(&self, bits: usize) -> u16 {
        (0..bits).fold(self.crc, |crc, _| crc_bit(crc, false))
    }
}

/// Returns the layer after one further bit of payload.
fn step(layer: &Layer, bit: Option<bool>) -> Layer {
    let mut next = vec![0; CRCS * BitRun::COUNT];
    let steps: [[(BitRun, bool); 2]; BitRun::COUNT] = core::array::from_fn(|run| {
        let run = BitRun::from_index(run);
        [run.push(false), run.push(true)]
    });
    for (crc, had) in (0_u16..).zip(layer.chunks_exact(BitRun::COUNT)) {
        for value in [false, true] {
            if bit.is_some_and(|known| known != value) {
                continue;
            }
            let to = crc_bit(crc, value);
            for (run, &had) in had.iter().enumerate() {
                if had == 0 {
                    continue;
                }
                let (run, stuff) = steps[run][usize::from(value)];
                let now = had + u8::from(stuff);
                if let Some(best) = next.get_mut(place(to, run)) {
                    *best = now.max(*best);
                }
            }
        }
    }
    next
}

fn layer_at(start: BitRun) -> Layer {
    let mut layer = vec![0; CRCS * BitRun::COUNT];
    if let Some(first) = layer.get_mut(place(0, start)) {
        *first = 1;
    }
    layer
}

/// Returns the ends of a layer that can be best: no other has more than [`LONGEST_TAIL`] stuff bits
/// above them.
fn ends(layer: &Layer) -> Vec<(u16, BitRun, u8)> {
    let most = layer.iter().copied().max().unwrap_or(0);
    let enough = most.saturating_sub(LONGEST_TAIL).max(1);
    let all = layer.iter().enumerate();
    let mut ends: Vec<(u16, BitRun, u8)> = all
        .filter(|&(_, &had)| had >= enough)
        .map(|(at, &had)| ((at >> 3) as u16, BitRun::from_index(at & 7), had - 1))
        .collect();
    ends.sort_by_key(|&(_, _, stuffed)| core::cmp::Reverse(stuffed));
    ends
}

/// Returns the best end with this CRC in front: the number of stuff bits with those of the CRC, and
/// the end.
fn best(ends: &[(u16, BitRun, u8)], crc: u16) -> (u32, Option<(u16, BitRun)>) {
    let mut best = (0, None);
    for &(added, run, stuffed) in ends {
        if u32::from(stuffed + LONGEST_TAIL) <= best.0 && best.1.is_some() {
            break;
        }
        let all = u32::from(stuffed + tail(crc ^ added, run));
        if all > best.0 || best.1.is_none() {
            best = (all, Some((added, run)));
        }
    }
    best
}

impl FreePayload {
    fn new(bytes: usize, start: BitRun) -> Self {
        let mut layer = layer_at(start);
        for _ in 0..bytes * 8 {
            layer = step(&layer, None);
        }
        Self {
            bytes,
            start,
            ends: ends(&layer),
        }
    }
}

/// Returns the greatest length over all payloads.
///
/// The stuff bits of a classic frame continue into the CRC, so a payload is judged by both. Bit by
/// bit, the greatest number of stuff bits is kept for each pair of CRC and run that a payload can
/// lead to: 2^15 · 8 states, on which everything that follows depends, and on nothing else. The CRC
/// is linear: the CRC of header and payload is that of the header followed by zeros, XOR that of
/// the payload alone. So the results of the payload are computed once for a length and a run that
/// the header ends with, and kept in `kept`.
pub(super) fn greatest(shape: &FrameShape, kept: &mut Vec<FreePayload>) -> FrameBits {
    let start = HeaderLength::from_shape(shape);
    let bits = shape.wire_len() * 8;
    let crc = start.crc_after(bits);
    let stuffed = if shape.is_free() {
        let known = |free: &FreePayload| free.bytes * 8 == bits && free.start == start.run;
        let at = kept.iter().position(known).unwrap_or_else(|| {
            kept.push(FreePayload::new(shape.wire_len(), start.run));
            kept.len() - 1
        });
        kept.get(at).map_or(0, |free| best(&free.ends, crc).0)
    } else {
        let mut layer = layer_at(start.run);
        for i in 0..bits {
            layer = step(&layer, shape.bit(i));
        }
        best(&ends(&layer), crc).0
    };
    length(&start, bits, stuffed)
}

fn length(start: &HeaderLength, payload_bits: usize, stuffed: u32) -> FrameBits {
    FrameBits {
        nominal: start.bits
            + start.stuffed
            + payload_bits as u32
            + stuffed
            + CRC_BITS
            + DELIMITER
            + TRAILER,
        data: 0,
    }
}

/// Returns a payload that has the greatest length. It keeps the layers that [`greatest`] drops, 256
/// KiB for each bit.
pub(super) fn payload(shape: &FrameShape) -> [u8; dlc::FD_MAX] {
    let start = HeaderLength::from_shape(shape);
    let bits = shape.wire_len() * 8;
    let mut layers = vec![layer_at(start.run)];
    for i in 0..bits {
        let Some(last) = layers.last() else { break };
        layers.push(step(last, shape.bit(i)));
    }
    let mut payload = [0; dlc::FD_MAX];
    let Some(last) = layers.pop() else {
        return payload;
    };
    let (_, Some((mut crc, mut run))) = best(&ends(&last), start.crc_after(bits)) else {
        return payload;
    };
    let at = |layer: &Layer, crc, run| layer.get(place(crc, run)).copied().unwrap_or(0);
    let mut had = at(&last, crc, run);
    for (i, layer) in layers.iter().enumerate().rev() {
        // Backwards: the bit and the state from which this one was reached with this number of
        // stuff bits.
        let ways = [false, true].into_iter().flat_map(|bit| {
            let states = (0..BitRun::COUNT).map(BitRun::from_index);
            states.map(move |from| (bit, from))
        });
        let mut fitting = ways.filter(|&(bit, from)| {
            let (to, stuff) = from.push(bit);
            let before = at(layer, crc_before(crc, bit), from);
            to == run
                && before > 0
                && before + u8::from(stuff) == had
                && shape.bit(i).is_none_or(|known| known == bit)
        });
        let Some((bit, from)) = fitting.next() else {
            break;
        };
        payload[i / 8] |= u8::from(bit) << (7 - i % 8);
        crc = crc_before(crc, bit);
        run = from;
        had = at(layer, crc, run);
    }
    payload
}
