//! Sets of frames, as precisely as the search for circles distinguishes them: by kind and by bits
//! of the ID.

use crate::Route;
pub(super) use crate::block::FrameBlock;
use crate::filter::blocks;
use crate::match_key::sorts;
use crate::match_key::{KeyClass, sort};
use alloc::vec::Vec;
use frame::CanId;

/// Maximum number of blocks of IDs that one place of the search distinguishes. Where a route would
/// need more, the search assumes that the route sees all its IDs.
pub(super) const BLOCKS: usize = 256;

/// Frames, as precisely as the search distinguishes them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct FrameSet {
    /// Their kinds, as bits of [`sort`]. The RTR flag is part of the blocks.
    pub(super) kinds: u8,
    pub(super) ids: Vec<FrameBlock>,
}

/// Kinds of frame without RTR and errors: error frames are never sent.
const KINDS: [(u8, u8); 3] = [
    (sort::CLASSIC | sort::CLASSIC_RTR, sort::CLASSIC),
    (sort::FD, sort::FD),
    (sort::XL, sort::XL),
];

/// Returns the frames that a route takes, by ID and kind.
pub(super) fn taken_by(route: &Route) -> FrameSet {
    let sorts = sorts(route);
    let kinds = KINDS
        .iter()
        .filter(|(any, _)| sorts & any != 0)
        .fold(0, |kinds, (_, kind)| kinds | kind);
    // Remote frames are classic frames; RTR is one of the flags in the ID.
    let remote = match sorts & (sort::CLASSIC | sort::CLASSIC_RTR) {
        sort::CLASSIC => Some(0),
        sort::CLASSIC_RTR => Some(CanId::RTR_FLAG),
        _ => None,
    };
    let mut ids = Vec::new();
    for (class, flags) in [(KeyClass::Sff, 0), (KeyClass::Eff, CanId::EFF_FLAG)] {
        let mut add = |mask: u32, value: u32| {
            let mut block = FrameBlock {
                mask: u64::from(mask | CanId::EFF_FLAG | CanId::ERR_FLAG),
                value: u64::from(value | flags),
            };
            if let Some(flag) = remote {
                let one = FrameBlock {
                    mask: u64::from(CanId::RTR_FLAG),
                    value: u64::from(flag),
                };
                match block.and(one) {
                    Some(both) => block = both,
                    None => return,
                }
            }
            ids.push(block);
        };
        if route.matching.ids.is_empty() {
            add(0, 0);
        }
        for id in &route.matching.ids {
            blocks(id, class, &mut add);
        }
    }
    FrameSet { kinds, ids }
}

/// Returns the frames that result when a route changes `frames`.
pub(super) fn changed(route: &Route, mut frames: FrameSet) -> FrameSet {
    for action in &route.actions {
        match action.id_bits() {
            Some((and, xor)) => {
                for block in &mut frames.ids {
                    *block = FrameBlock {
                        mask: u64::from(!and) | (block.mask & u64::from(and)),
                        value: (block.value & u64::from(and))
                            ^ (u64::from(xor) & (u64::from(!and) | block.mask)),
                    };
                }
            }
            None => {
                frames.ids = alloc::vec![FrameBlock {
                    mask: u64::from(CanId::ERR_FLAG),
                    value: 0,
                }];
            }
        }
    }
    let mut kept: Vec<FrameBlock> = Vec::new();
    for block in frames.ids {
        // An error frame is not sent.
        let error = block.mask & block.value & u64::from(CanId::ERR_FLAG) != 0;
        if !error && !kept.contains(&block) {
            kept.push(block);
        }
    }
    frames.ids = kept;
    frames
}

/// Returns the frames that are in both sets.
pub(super) fn both(a: &FrameSet, b: &FrameSet) -> FrameSet {
    let mut ids: Vec<FrameBlock> = Vec::new();
    for one in &a.ids {
        for block in b.ids.iter().filter_map(|other| one.and(*other)) {
            if !ids.iter().any(|all| all.covers(block)) {
                ids.push(block);
            }
        }
        if ids.len() > BLOCKS {
            return FrameSet {
                kinds: a.kinds & b.kinds,
                ids: b.ids.clone(),
            };
        }
    }
    FrameSet {
        kinds: a.kinds & b.kinds,
        ids,
    }
}

/// Returns whether `all` contains every frame of `some`.
pub(super) fn has_all(all: &FrameSet, some: &FrameSet) -> bool {
    some.kinds & !all.kinds == 0
        && some
            .ids
            .iter()
            .all(|block| all.ids.iter().any(|all| all.covers(*block)))
}
