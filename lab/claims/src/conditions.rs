//! The conditions on which a verdict depends.

use crate::claim::{ClaimJudgement, Verdict};

/// Conditions that must all hold.
#[derive(Default)]
pub(crate) struct Conditions(Vec<(bool, String)>);

impl Conditions {
    /// Adds one; `text` states the finding, as part of a sentence.
    pub(crate) fn add(&mut self, holds: bool, text: impl Into<String>) {
        self.0.push((holds, text.into()));
    }

    /// Returns whether all conditions hold.
    pub(crate) fn hold(&self) -> bool {
        self.0.iter().all(|c| c.0)
    }

    /// Returns the verdict, with the conditions that hold, or else those that do not; `remark` is
    /// added at the end, if it is not empty.
    pub(crate) fn judge(self, measured: String, remark: &str) -> ClaimJudgement {
        let failed: Vec<_> = self.0.iter().filter(|c| !c.0).collect();
        let (verdict, output) = if failed.is_empty() {
            (Verdict::Reproduced, self.0.iter().collect())
        } else {
            (Verdict::Differs, failed)
        };
        let output: Vec<_> = output.iter().map(|c| c.1.as_str()).collect();
        let mut why = output.join("; ");
        if !remark.is_empty() {
            why.push_str("; ");
            why.push_str(remark);
        }
        why.push('.');
        let mut letters = why.chars();
        if let Some(first) = letters.next() {
            why = first.to_uppercase().chain(letters).collect();
        }
        ClaimJudgement {
            verdict,
            measured,
            why,
        }
    }
}
