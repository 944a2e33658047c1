//! Copies and moves of payload bytes.

use super::Work;

/// Copies or moves payload bytes; the two places may overlap.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CopyBytes {
    pub(super) from: u16,
    pub(super) to: u16,
    pub(super) count: u16,
    pub(super) clear: bool,
}

impl CopyBytes {
    pub(super) fn apply(self, work: &mut Work<'_>) {
        let (from, to) = (usize::from(self.from), usize::from(self.to));
        let size = work.data.len();
        // What lies outside the buffer is neither read nor written.
        let count = usize::from(self.count)
            .min(size.saturating_sub(from))
            .min(size.saturating_sub(to));
        if count == 0 {
            return;
        }
        work.data.copy_within(from..from + count, to);
        if self.clear {
            for at in from..from + count {
                let written = at >= to && at < to + count;
                if !written && let Some(byte) = work.data.get_mut(at) {
                    *byte = 0;
                }
            }
        }
    }
}
