//! The common part of checksums over a range of the payload.

use super::draft::FrameDraft;
use alloc::{format, string::String};

/// The bytes that a sum covers, and the position of the result. Negative indices count from the end
/// of the payload: −1 is the last byte. If `from` is above `to`, the sum runs downwards.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ByteIndices {
    /// First byte of the sum.
    pub from: i16,
    /// Last byte of the sum.
    pub to: i16,
    /// Position of the result.
    pub result: i16,
}

impl ByteIndices {
    const fn all(self) -> [i16; 3] {
        [self.from, self.to, self.result]
    }

    /// Checks the bounds of `cgw_chk_csum_parms` in `net/can/gw.c`.
    pub(super) fn check(self, which: &str, longest: usize, report: &mut dyn FnMut(String)) {
        for index in self.all() {
            let size = usize::from(index.unsigned_abs());
            if size > longest || (index > 0 && size == longest) {
                report(format!(
                    "{which}: index {index} lies outside the longest payload, {longest} bytes"
                ));
            }
        }
    }

    /// Returns the number of payload bytes, from either end, that the indices need.
    pub(super) fn reach(self) -> usize {
        let need = |index: i16| usize::from(index.unsigned_abs()) + usize::from(index >= 0);
        self.all().into_iter().map(need).max().unwrap_or(0)
    }

    /// Returns the positions in the current frame; `None` if one of them is outside its buffer, in
    /// which case the frame stays as it is.
    pub(super) fn resolve(self, draft: &FrameDraft<'_>) -> Option<(usize, usize, usize)> {
        Some((
            draft.index(self.from)?,
            draft.index(self.to)?,
            draft.index(self.result)?,
        ))
    }
}
