//! ID filters in one common form: `(raw & mask) == value`, of which any one of a list must match.
//!
//! Ranges become aligned blocks, inverted filters become the blocks around them, and error filters
//! become one entry for each bit. Bits that the class already determines (EFF, error) are removed
//! from the mask, so that filters which differ only there share a group.

use crate::{IdFilter, IdSet, match_key::KeyClass};
use frame::CanId;

const EFF: u32 = CanId::EFF_FLAG;
const RTR: u32 = CanId::RTR_FLAG;
const ERR: u32 = CanId::ERR_FLAG;

/// Returns the mask as the kernel interprets it together with the ID (`net/can/af_can.c`,
/// `can_rcv_list_find`): an SFF filter that asks for the format compares no number bits above 11.
pub(crate) const fn kernel_mask(id: u32, mask: u32) -> u32 {
    if mask & EFF != 0 && id & EFF == 0 {
        mask & (CanId::SFF_MASK | EFF | RTR)
    } else {
        mask
    }
}

/// Calls `each(mask, value)` for every block of IDs that the filter matches among frames of this
/// class. The blocks of one filter do not overlap, except those of error filters.
pub fn blocks(filter: &IdFilter, class: KeyClass, each: &mut impl FnMut(u32, u32)) {
    match filter.set {
        IdSet::Range { eff, first, last } => {
            let max = if eff {
                CanId::EFF_MASK
            } else {
                CanId::SFF_MASK
            };
            if first > last
                || last > max
                || (class != KeyClass::Err && (class == KeyClass::Eff) != eff)
            {
                return;
            }
            // Non-error SFF frames can carry stray bits above 11, which are not part of the number.
            // An error frame's number has 29 bits in either format.
            let (high, flag) = match (class, eff) {
                (KeyClass::Err, true) => (EFF, EFF),
                (KeyClass::Err, false) => (EFF | (CanId::EFF_MASK & !max), 0),
                _ => (0, 0),
            };
            let mut block = |low: u32, bits: u32| each((max & !bits) | high, low | flag);
            if filter.inverted {
                if first > 0 {
                    aligned(0, first - 1, &mut block);
                }
                if last < max {
                    aligned(last + 1, max, &mut block);
                }
            } else {
                aligned(first, last, &mut block);
            }
        }
        IdSet::Masked { mask, .. } if mask & ERR != 0 => {
            // An error filter matches if any of the mask's bits is set. The check at compile time
            // has made sure that it is not inverted.
            if class == KeyClass::Err {
                for bit in (0..29).map(|n| 1_u32 << n).filter(|bit| mask & bit != 0) {
                    each(bit, bit);
                }
            }
        }
        IdSet::Masked { id, mask } => {
            let mask = kernel_mask(id, mask);
            let value = id & mask;
            let (known, fixed) = match class {
                KeyClass::Sff => (EFF | ERR, 0),
                KeyClass::Eff => (EFF | ERR, EFF),
                KeyClass::Err => (ERR, ERR),
            };
            // Compare the bits that the class already determines.
            let agrees = (value ^ fixed) & mask & known == 0;
            let open = mask & !known;
            match (filter.inverted, agrees) {
                (false, true) => each(open, value & open),
                (false, false) => {}
                (true, false) => each(0, 0),
                (true, true) => {
                    // One block for each bit: all bits above it equal, that bit different. The
                    // blocks are disjoint, and together they are everything except the value.
                    let mut above = 0;
                    for bit in (0..32)
                        .rev()
                        .map(|n| 1_u32 << n)
                        .filter(|bit| open & bit != 0)
                    {
                        each(above | bit, (value & above) | (!value & bit));
                        above |= bit;
                    }
                }
            }
        }
    }
}

/// Splits `first..=last` into the fewest blocks of `2^n` numbers that start at a multiple of their
/// size. Calls `each` with the start and the size minus one of each block. There are at most `2 *
/// bits - 2` blocks.
fn aligned(first: u32, last: u32, each: &mut impl FnMut(u32, u32)) {
    let mut low = u64::from(first);
    let end = u64::from(last) + 1;
    while low < end {
        let mut size = 1_u64 << low.trailing_zeros().min(32);
        while low + size > end {
            size /= 2;
        }
        each(low as u32, (size - 1) as u32);
        low += size;
    }
}
