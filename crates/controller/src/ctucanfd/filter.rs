//! Acceptance filters (data sheet, section 3.1, FILTER_A_MASK and following).
//!
//! Each of the filters A, B and C compares the 29 bits of an ID under a mask, for any of four types
//! of frames. The ID of an SFF frame is in the upper 11 of these bits. RTR is not compared.

use crate::AcceptanceRule;
use frame::CanId;

/// Number of the core's filters that are used.
const SLOTS: usize = 3;

/// The registers of one filter.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct FilterSlot {
    pub(super) mask: u32,
    pub(super) value: u32,
    /// The frame types that it compares: SFF classic, EFF classic, SFF FD, EFF FD; four bits.
    pub(super) sorts: u32,
}

const SFF: u32 = 0b0101;
const EFF: u32 = 0b1010;

/// Returns the narrowest slots that let all frames pass that match any of the filters; `None` if no
/// filter is needed.
pub(super) fn compute(filters: &[AcceptanceRule]) -> Option<[FilterSlot; SLOTS]> {
    if filters.is_empty() {
        return None;
    }
    let mut slots = [FilterSlot::default(); SLOTS];
    let mut used = 0;
    for new in filters.iter().flat_map(split).flatten() {
        match slots.get_mut(used) {
            Some(free) => {
                *free = new;
                used += 1;
            }
            // No slot is free: the last one lets frames of both filters pass.
            None => {
                if let Some(last) = slots.last_mut() {
                    *last = both(*last, new);
                }
            }
        }
    }
    Some(slots)
}

/// Returns the slots of a filter: one for each format, because their IDs are in different bits.
fn split(filter: &AcceptanceRule) -> [Option<FilterSlot>; 2] {
    let format =
        |flag: u32| filter.mask & CanId::EFF_FLAG == 0 || filter.id & CanId::EFF_FLAG == flag;
    let upper = CanId::EFF_MASK & !CanId::SFF_MASK;
    let no_sff = filter.id & filter.mask & upper != 0;
    let slot = |sorts, shift: u32, bits: u32| FilterSlot {
        mask: (filter.mask & bits) << shift,
        value: (filter.id & filter.mask & bits) << shift,
        sorts,
    };
    [
        (format(0) && !no_sff).then(|| slot(SFF, 18, CanId::SFF_MASK)),
        format(CanId::EFF_FLAG).then(|| slot(EFF, 0, CanId::EFF_MASK)),
    ]
}

fn both(a: FilterSlot, b: FilterSlot) -> FilterSlot {
    let mask = a.mask & b.mask & !(a.value ^ b.value);
    FilterSlot {
        mask,
        value: a.value & mask,
        sorts: a.sorts | b.sorts,
    }
}
