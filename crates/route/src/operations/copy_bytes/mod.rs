//! Copies and moves payload bytes.

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

/// Copies payload bytes as they are at this point; ranges may overlap. The length does not change;
/// bytes past it are part of the buffer, as in can-gw. Bytes outside the buffer of the current
/// frame (8, 64 or 2048 bytes) are neither read nor written.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct CopyBytes {
    /// First byte to read.
    pub from: u16,
    /// First byte to write.
    pub to: u16,
    /// Number of bytes.
    pub count: u16,
    /// Write zeros to the bytes that were read and were not overwritten: a move.
    pub clear: bool,
}

impl Operation for CopyBytes {
    const NAME: &'static str = "copy_bytes";
    type Compiled = Self;

    fn check(&self, longest: usize, report: &mut dyn FnMut(String)) {
        let Self {
            from, to, count, ..
        } = self;
        if self.reach() > longest {
            report(format!(
                "copies {count} bytes from {from} to {to}, but the longest payload has \
                 {longest} bytes"
            ));
        }
    }

    fn compile(&self) -> Self {
        *self
    }

    fn reach(&self) -> usize {
        usize::from(self.from.max(self.to)) + usize::from(self.count)
    }

    fn to_bpf(&self, program: &mut BpfProgram) -> Result<(), String> {
        let Self {
            from,
            to,
            count,
            clear,
        } = *self;
        program.push(BpfInstruction::Copy {
            from,
            to,
            count,
            clear,
        });
        Ok(())
    }
}

impl ApplyOperation for CopyBytes {
    fn apply(&self, draft: &mut FrameDraft<'_>) -> Result<(), StopReason> {
        let (from, to) = (usize::from(self.from), usize::from(self.to));
        let size = draft.data.len();
        // Bytes outside the buffer are neither read nor written.
        let count = usize::from(self.count)
            .min(size.saturating_sub(from))
            .min(size.saturating_sub(to));
        if count == 0 {
            return Ok(());
        }
        draft.data.copy_within(from..from + count, to);
        if self.clear {
            for at in from..from + count {
                let written = at >= to && at < to + count;
                if !written && let Some(byte) = draft.data.get_mut(at) {
                    *byte = 0;
                }
            }
        }
        Ok(())
    }
}

#[cfg(feature = "config")]
impl CanGw for CopyBytes {
    fn rule_part(&self) -> Result<RulePart, String> {
        Err("it copies or moves bytes".into())
    }
}
