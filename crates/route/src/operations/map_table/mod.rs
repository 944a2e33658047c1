//! Maps IDs by a table.

#[cfg(feature = "config")]
mod toml;

use super::apply::ApplyOperation;
#[cfg(feature = "config")]
use super::cangw::{CanGw, RulePart};
use super::draft::FrameDraft;
use super::operation::Operation;
use crate::StopReason;
use alloc::{boxed::Box, format, string::String, vec::Vec};
use frame::{CanId, Kind};

/// Maps IDs by a table that acts at once: each ID is looked up once, so that two IDs can be
/// exchanged. IDs that are not in the table stay the same. The RTR flag is kept; error frames are
/// left alone. An XL frame is looked up by its priority, as an SFF ID, and cannot become EFF.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct MapTable {
    /// The blocks of the table, in any order; no ID is in two of them.
    pub blocks: Vec<MappedBlock>,
}

/// A block of IDs of one format, and its new place.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct MappedBlock {
    /// Whether the IDs are EFF, else SFF.
    pub from_eff: bool,
    /// First number of the block.
    pub first: u32,
    /// Last number of the block.
    pub last: u32,
    /// Whether the new IDs are EFF, else SFF.
    pub to_eff: bool,
    /// The new number of the first one.
    pub to: u32,
}

/// The largest number of blocks.
pub const MOST_BLOCKS: usize = 4096;

const fn highest(eff: bool) -> u32 {
    if eff {
        CanId::EFF_MASK
    } else {
        CanId::SFF_MASK
    }
}

impl MappedBlock {
    /// Returns whether two blocks have an ID in common.
    const fn meets(&self, other: &Self) -> bool {
        self.from_eff == other.from_eff && self.first <= other.last && other.first <= self.last
    }
}

impl MapTable {
    /// Returns the blocks in the order in which they are looked up.
    fn sorted(&self) -> Vec<MappedBlock> {
        let mut blocks = self.blocks.clone();
        blocks.sort_by_key(|block| (block.from_eff, block.first));
        blocks
    }
}

impl Operation for MapTable {
    const NAME: &'static str = "map";
    type Compiled = Box<[MappedBlock]>;

    fn check(&self, _: usize, report: &mut dyn FnMut(String)) {
        if self.blocks.len() > MOST_BLOCKS {
            report(format!(
                "maps {} blocks of IDs; the maximum is {MOST_BLOCKS}",
                self.blocks.len()
            ));
            return;
        }
        for block in &self.blocks {
            let MappedBlock {
                from_eff,
                first,
                last,
                to_eff,
                to,
            } = *block;
            let end = last
                .checked_sub(first)
                .and_then(|more| to.checked_add(more));
            if last > highest(from_eff) || end.is_none_or(|end| end > highest(to_eff)) {
                report(format!(
                    "maps the IDs {first:X} to {last:X} to {to:X}, which goes beyond the highest ID"
                ));
            }
        }
        for pair in self.sorted().windows(2) {
            if let [a, b] = pair
                && a.meets(b)
            {
                report(format!("maps the ID {:X} twice", b.first));
            }
        }
    }

    fn compile(&self) -> Box<[MappedBlock]> {
        self.sorted().into()
    }

    fn id_bits(&self) -> Option<(u32, u32)> {
        None
    }
}

impl ApplyOperation for Box<[MappedBlock]> {
    fn is_header_only(&self) -> bool {
        true
    }

    fn apply(&self, draft: &mut FrameDraft<'_>) -> Result<(), StopReason> {
        let Some(number) = draft.number() else {
            return Ok(());
        };
        let eff = draft.kind != Kind::Xl && draft.id().is_eff();
        // The last block that does not begin above the ID is the only one that can have it.
        let after = self.partition_point(|block| (block.from_eff, block.first) <= (eff, number));
        let Some(block) = after.checked_sub(1).and_then(|at| self.get(at)) else {
            return Ok(());
        };
        if block.from_eff != eff || number > block.last {
            return Ok(());
        }
        if draft.kind == Kind::Xl && block.to_eff {
            return Err(StopReason::IdRange);
        }
        draft.set_number(block.to.checked_add(number - block.first), block.to_eff)
    }
}

#[cfg(feature = "config")]
impl CanGw for MapTable {
    fn rule_part(&self) -> Result<RulePart, String> {
        Err("it maps IDs by a table".into())
    }
}
