//! Application of the XOR checksum to a frame.

use super::XorSum;
use crate::StopReason;
use crate::operations::{apply::ApplyOperation, draft::FrameDraft};

impl ApplyOperation for XorSum {
    /// Applies the checksum. The order does not matter to XOR: a sum that runs downwards is the
    /// same.
    fn apply(&self, draft: &mut FrameDraft<'_>) -> Result<(), StopReason> {
        draft.check_len()?;
        let Some((from, to, result)) = self.indices().resolve(draft) else {
            return Ok(());
        };
        let bytes = draft.data.get(from.min(to)..=from.max(to)).unwrap_or(&[]);
        let value = bytes.iter().fold(self.init, |value, byte| value ^ byte);
        if let Some(place) = draft.data.get_mut(result) {
            *place = value;
        }
        Ok(())
    }
}
