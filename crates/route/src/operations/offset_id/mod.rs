//! Adds to the number of the ID.

#[cfg(feature = "config")]
mod toml;

use super::apply::ApplyOperation;
use super::bpf::{BpfInstruction, BpfProgram};
#[cfg(feature = "config")]
use super::cangw::{CanGw, RulePart};
use super::draft::FrameDraft;
use super::operation::Operation;
use crate::StopReason;
use alloc::{format, string::String};
use frame::{CanId, Kind};

/// Adds to the number of the ID. A result outside the frame's format (11 bits for SFF and XL, 29
/// for EFF) stops the route: with wrapping, the frame would get an ID of a completely different
/// priority. Error frames have no ID and are left alone.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct OffsetId {
    /// The value that is added.
    pub by: i64,
}

impl Operation for OffsetId {
    const NAME: &'static str = "offset_id";
    type Compiled = Self;

    fn check(&self, _: usize, report: &mut dyn FnMut(String)) {
        if self.by.unsigned_abs() > u64::from(CanId::EFF_MASK) {
            report(format!(
                "adds {} to the ID, but the highest ID is {:X}",
                self.by,
                CanId::EFF_MASK
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
        program.push(BpfInstruction::OffsetId(self.by));
        Ok(())
    }
}

impl ApplyOperation for OffsetId {
    fn is_header_only(&self) -> bool {
        true
    }

    fn apply(&self, draft: &mut FrameDraft<'_>) -> Result<(), StopReason> {
        let Some(old) = draft.number() else {
            return Ok(());
        };
        let new = i64::from(old)
            .checked_add(self.by)
            .and_then(|new| u32::try_from(new).ok());
        let eff = draft.kind != Kind::Xl && draft.id().is_eff();
        draft.set_number(new, eff)
    }
}

#[cfg(feature = "config")]
impl CanGw for OffsetId {
    fn rule_part(&self) -> Result<RulePart, String> {
        Err("it adds to the ID".into())
    }
}
