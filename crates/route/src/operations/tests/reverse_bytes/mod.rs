//! Reverses the payload: an operation that can-gw and BPF do not have.

#[cfg(feature = "config")]
mod toml;

use crate::StopReason;
use crate::operations::apply::ApplyOperation;
#[cfg(feature = "config")]
use crate::operations::cangw::CanGw;
use crate::operations::draft::FrameDraft;
use crate::operations::operation::Operation;
use alloc::{format, string::String};

/// Reverses the payload.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ReverseBytes {
    /// Number of bytes, from the first one.
    pub count: u16,
}

impl Operation for ReverseBytes {
    const NAME: &'static str = "reverse_bytes";
    type Compiled = Self;

    fn check(&self, longest: usize, report: &mut dyn FnMut(String)) {
        if usize::from(self.count) > longest {
            report(format!("reverses {} bytes of {longest}", self.count));
        }
    }

    fn compile(&self) -> Self {
        *self
    }
}

impl ApplyOperation for ReverseBytes {
    fn apply(&self, draft: &mut FrameDraft<'_>) -> Result<(), StopReason> {
        draft.check_len()?;
        let count = self.count.min(draft.len);
        if let Some(bytes) = draft.data.get_mut(..usize::from(count)) {
            bytes.reverse();
        }
        Ok(())
    }
}

#[cfg(feature = "config")]
impl CanGw for ReverseBytes {}
