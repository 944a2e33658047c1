//! Sentences for users, of which only the latest are kept.

use std::collections::VecDeque;

/// Number of sentences that are kept.
const KEPT: usize = 8;

/// The latest sentences; the same sentence again is kept once.
#[derive(Debug, Default)]
pub(super) struct LatestRemarks(VecDeque<String>);

impl LatestRemarks {
    pub(super) fn push(&mut self, remark: String) {
        if self.0.contains(&remark) {
            return;
        }
        if self.0.len() == KEPT {
            self.0.pop_front();
        }
        self.0.push_back(remark);
    }

    pub(super) fn list(&self) -> Vec<String> {
        self.0.iter().cloned().collect()
    }
}
