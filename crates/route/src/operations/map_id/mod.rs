//! Moves a block of IDs.

#[cfg(feature = "config")]
mod toml;

use super::apply::ApplyOperation;
use super::bpf::{BpfInstruction, BpfProgram};
#[cfg(feature = "config")]
use super::cangw::{CanGw, RulePart};
use super::draft::FrameDraft;
use super::operation::Operation;
use crate::StopReason;
use alloc::{
    format,
    string::{String, ToString},
};
use frame::{CanId, Kind};

/// Moves a block of IDs: number `from + i` becomes `to + i` for `i < count`; other numbers stay the
/// same. A result that does not fit into the format stops the route. The RTR flag is kept; error
/// frames are left alone. An XL frame cannot become EFF.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct MapId {
    /// First number of the block.
    pub from: u32,
    /// First number of the destination block.
    pub to: u32,
    /// Number of IDs.
    pub count: u32,
    /// The new frame format; `None` keeps the frame's.
    pub eff: Option<bool>,
}

impl Operation for MapId {
    const NAME: &'static str = "map_id";
    type Compiled = Self;

    fn check(&self, _: usize, report: &mut dyn FnMut(String)) {
        let Self {
            from,
            to,
            count,
            eff,
        } = *self;
        let fits = |first: u32, max: u32| {
            count
                .checked_sub(1)
                .and_then(|more| first.checked_add(more))
                .is_some_and(|last| last <= max)
        };
        let max = match eff {
            Some(false) => CanId::SFF_MASK,
            _ => CanId::EFF_MASK,
        };
        if count == 0 {
            report("maps a block of no IDs: its count must be at least 1".to_string());
        } else if !fits(from, CanId::EFF_MASK) || !fits(to, max) {
            report(format!(
                "maps {count} IDs from {from:X} to {to:X}, which goes beyond the highest ID"
            ));
        }
    }

    fn compile(&self) -> Self {
        *self
    }

    fn id_bits(&self) -> Option<(u32, u32)> {
        None
    }

    fn to_bpf(&self, program: &mut BpfProgram) -> Result<(), String> {
        let Self {
            from,
            to,
            count,
            eff,
        } = *self;
        program.push(BpfInstruction::MapId {
            from,
            to,
            count,
            eff,
        });
        Ok(())
    }
}

impl ApplyOperation for MapId {
    fn is_header_only(&self) -> bool {
        true
    }

    fn apply(&self, draft: &mut FrameDraft<'_>) -> Result<(), StopReason> {
        let Some(place) = draft.number().and_then(|old| old.checked_sub(self.from)) else {
            return Ok(());
        };
        if place >= self.count {
            return Ok(());
        }
        let eff = match (draft.kind, self.eff) {
            (Kind::Xl, Some(true)) => return Err(StopReason::IdRange),
            (Kind::Xl, _) => false,
            (_, Some(eff)) => eff,
            (_, None) => draft.id().is_eff(),
        };
        draft.set_number(self.to.checked_add(place), eff)
    }
}

#[cfg(feature = "config")]
impl CanGw for MapId {
    fn rule_part(&self) -> Result<RulePart, String> {
        Err("it maps IDs".into())
    }
}
