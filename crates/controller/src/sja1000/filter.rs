//! Acceptance filters (data sheet, section 6.4.15).
//!
//! In single filter mode, 32 bits of code and 32 of mask are compared with the first bits of a
//! frame: for EFF the 29 bits of the ID and RTR; for SFF the 11 bits of the ID, RTR and the first
//! two bytes of the payload. The same registers serve both formats, so a filter for one format also
//! lets frames of the other format pass that have the same bits.

use crate::AcceptanceRule;
use frame::CanId;

/// Contents of the acceptance registers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct AcceptanceFilter {
    pub(super) code: [u8; 4],
    /// 1: the bit is not compared.
    pub(super) mask: [u8; 4],
}

/// Accepts all frames.
pub(super) const ALL: AcceptanceFilter = AcceptanceFilter {
    code: [0; 4],
    mask: [0xFF; 4],
};

/// Returns the narrowest register contents that let all frames pass that match any of the filters.
pub(super) fn compute(filters: &[AcceptanceRule]) -> AcceptanceFilter {
    let mut all: Option<(u32, u32)> = None;
    for filter in filters {
        let [sff, eff] = formats(filter);
        for (code, compared) in [sff, eff].into_iter().flatten() {
            all = Some(match all {
                None => (code, compared),
                // The common part of two filters: bits that both compare and that are equal.
                Some((other, both)) => (other, both & compared & !(other ^ code)),
            });
        }
    }
    match all {
        None => ALL,
        Some((code, compared)) => AcceptanceFilter {
            code: (code & compared).to_be_bytes(),
            mask: (!compared).to_be_bytes(),
        },
    }
}

/// Returns code and compared bits for SFF and for EFF frames, each if the filter lets any frame of
/// that format pass.
fn formats(filter: &AcceptanceRule) -> [Option<(u32, u32)>; 2] {
    let of =
        |format: u32| filter.mask & CanId::EFF_FLAG == 0 || filter.id & CanId::EFF_FLAG == format;
    let bit = |word: u32, flag: u32| u32::from(word & flag != 0);
    let sff = |word: u32| (word & CanId::SFF_MASK) << 21 | bit(word, CanId::RTR_FLAG) << 20;
    let eff = |word: u32| (word & CanId::EFF_MASK) << 3 | bit(word, CanId::RTR_FLAG) << 2;
    // An SFF ID has none of the upper 18 bits: a filter that requires one lets no SFF frame pass.
    let upper = CanId::EFF_MASK & !CanId::SFF_MASK;
    let no_sff = filter.id & filter.mask & upper != 0;
    [
        (of(0) && !no_sff).then(|| (sff(filter.id), sff(filter.mask))),
        of(CanId::EFF_FLAG).then(|| (eff(filter.id), eff(filter.mask))),
    ]
}
