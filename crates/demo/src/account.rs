//! The account of a log that is replayed.

use port::log::loss_words;
use std::collections::BTreeMap;

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// The account of a log that was read.
#[derive(Clone, Debug, Default, serde::Serialize)]
pub struct LogAccount {
    /// Lines that are frames.
    pub frames: u64,
    /// Frames that no bus here can carry, by reason.
    #[serde(rename = "not_replayed")]
    pub left_out: BTreeMap<String, u64>,
    /// Lines that are not frames.
    pub bad_lines: u64,
    /// The first of these lines, with the reason.
    pub first_bad: Vec<String>,
    /// Frames that are not in the log because its recorder lost them, as the log states.
    pub missing: u64,
    /// Records that are not CAN frames, by the name of their group.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub not_frames: BTreeMap<String, u64>,
    /// Answers for which the replay waited, and which came.
    #[serde(skip_serializing_if = "is_zero")]
    pub answers: u64,
    /// Time stamps that were earlier than that of the line above.
    pub backwards: u64,
    /// Interfaces, in the order of the buses to which they were assigned.
    pub interfaces: Vec<String>,
}

impl LogAccount {
    /// Returns sentences for people on the frames that were not replayed because the log does not
    /// have them, or has something else in their place.
    #[must_use]
    pub fn absent(&self) -> Vec<String> {
        let all = self.not_frames.iter();
        let others = all.map(|(name, records)| {
            format!("Left out: {records} records of {name} are not classic or FD frames.")
        });
        let lost = loss_words(self.missing).map(|words| format!("Not replayed: {words}."));
        others.chain(lost).collect()
    }
}
