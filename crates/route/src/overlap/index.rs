//! Index of routes by the frames that they take.

use super::block::FrameBlock;
use crate::PortId;
use alloc::vec::Vec;
use core::ops::Range;

/// A block, and the route that takes it at this port.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct BlockEntry {
    port: PortId,
    block: FrameBlock,
    route: u32,
}

/// Blocks of routes, sorted, so that the blocks which intersect a given one are found without a
/// scan of all of them: there is one look-up for each different mask.
pub(super) struct BlockIndex {
    entries: Vec<BlockEntry>,
    /// The range of the entries of each port and mask, sorted by port.
    groups: Vec<(PortId, u64, Range<usize>)>,
}

impl BlockIndex {
    /// Builds the index from (port, block, route).
    pub(super) fn new(all: impl Iterator<Item = (PortId, FrameBlock, u32)>) -> Self {
        let entry = |(port, block, route)| BlockEntry { port, block, route };
        let mut entries: Vec<BlockEntry> = all.map(entry).collect();
        entries.sort_unstable();
        let mut groups: Vec<(PortId, u64, Range<usize>)> = Vec::new();
        for (at, entry) in entries.iter().enumerate() {
            match groups.last_mut() {
                Some((port, mask, range)) if (*port, *mask) == (entry.port, entry.block.mask) => {
                    range.end = at + 1;
                }
                _ => groups.push((entry.port, entry.block.mask, at..at + 1)),
            }
        }
        Self { entries, groups }
    }

    /// Calls `each` for the blocks of this port that have frames in common with `block`, until
    /// `each` returns `false`. Each block that is examined costs a step; the search ends when no
    /// steps are left.
    pub(super) fn meeting(
        &self,
        port: PortId,
        block: FrameBlock,
        steps: &mut usize,
        each: &mut dyn FnMut(FrameBlock, usize) -> bool,
    ) {
        let first = self.groups.partition_point(|(of, ..)| *of < port);
        let groups = self.groups.iter().skip(first);
        for (_, mask, range) in groups.take_while(|(of, ..)| *of == port) {
            let Some(group) = self.entries.get(range.clone()) else {
                continue;
            };
            let known = if mask & !block.mask == 0 {
                let value = block.value & mask;
                let start = group.partition_point(|entry| entry.block.value < value);
                let end = group.partition_point(|entry| entry.block.value <= value);
                group.get(start..end).unwrap_or_default()
            } else {
                group
            };
            for entry in known {
                let Some(left) = steps.checked_sub(1) else {
                    return;
                };
                *steps = left;
                if entry.block.and(block).is_some() && !each(entry.block, entry.route as usize) {
                    return;
                }
            }
        }
    }
}
