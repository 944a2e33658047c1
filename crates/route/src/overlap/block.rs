//! Sets of frames by kind and by bits of the ID.

pub(super) use crate::block::FrameBlock;
use crate::filter::blocks;
use crate::match_key::KeyClass;
use crate::{Route, TriState};
use alloc::vec::Vec;
use frame::CanId;

const EFF: u64 = CanId::EFF_FLAG as u64;
const RTR: u64 = CanId::RTR_FLAG as u64;
const ERR: u64 = CanId::ERR_FLAG as u64;
/// Above SocketCAN's 32 bits: set for FD frames.
const FD: u64 = 1 << 32;
/// Set for XL frames, regardless of [`FD`].
const XL: u64 = 1 << 33;

impl FrameBlock {
    /// Returns whether such a frame can exist. Only classic frames have the RTR flag, and an XL
    /// frame has no flag at all.
    pub(crate) fn can_exist(self) -> bool {
        let of_kind = |mask, value| self.and(Self { mask, value }).is_some();
        of_kind(FD | XL, 0) || of_kind(FD | XL | RTR, FD) || of_kind(XL | EFF | RTR | ERR, XL)
    }

    /// Returns the ID of one of these frames, flags included.
    pub(crate) fn example(self) -> u32 {
        (self.value & self.mask) as u32
    }
}

/// Adds the frames that a route takes, as determined by kind, flags and ID; payloads and lengths
/// are not considered.
pub(super) fn taken_by(route: &Route, all: &mut Vec<FrameBlock>) {
    let flags = flags(route);
    let ids = &route.matching.ids;
    let mut add = |block: FrameBlock| {
        let with_flags = flags.iter().filter_map(|flags| block.and(*flags));
        all.extend(with_flags.filter(|block| block.can_exist()));
    };
    if ids.is_empty() {
        add(FrameBlock { mask: 0, value: 0 });
    }
    for class in KeyClass::ALL {
        let (mask, value) = match class {
            KeyClass::Sff => (EFF | ERR, 0),
            KeyClass::Eff => (EFF | ERR, EFF),
            KeyClass::Err => (ERR, ERR),
        };
        let class_block = FrameBlock { mask, value };
        for filter in ids {
            blocks(filter, class, &mut |mask, value| {
                let (mask, value) = (u64::from(mask), u64::from(value & mask));
                if let Some(block) = class_block.and(FrameBlock { mask, value }) {
                    add(block);
                }
            });
        }
    }
}

/// Returns the conditions of a route on kinds, RTR and errors.
fn flags(route: &Route) -> Vec<FrameBlock> {
    let matching = &route.matching;
    let kinds = matching.kinds;
    let kinds: &[(u64, u64)] = match (kinds.classic, kinds.fd, kinds.xl) {
        (true, true, true) | (false, false, false) => &[(0, 0)],
        (true, true, false) => &[(XL, 0)],
        (true, false, false) => &[(FD | XL, 0)],
        (false, true, false) => &[(FD | XL, FD)],
        (false, false, true) => &[(XL, XL)],
        (true, false, true) => &[(FD | XL, 0), (XL, XL)],
        (false, true, true) => &[(FD | XL, FD), (XL, XL)],
    };
    let flag = |wanted, flag| match wanted {
        TriState::Either => (0, 0),
        TriState::Yes => (flag, flag),
        TriState::No => (flag, 0),
    };
    let (rtr, err) = (flag(matching.rtr, RTR), flag(matching.err, ERR));
    let with_flags = kinds.iter().map(|(mask, value)| FrameBlock {
        mask: mask | rtr.0 | err.0,
        value: value | rtr.1 | err.1,
    });
    with_flags.collect()
}
