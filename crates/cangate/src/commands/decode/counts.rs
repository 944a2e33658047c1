//! Counts of the frames of a log by what became of them.

use frame::FrameRef;
use signals::MessageDefinition;
use std::collections::BTreeSet;

/// The counts. Each frame is in one of `decoded`, `remote`, `errors` and `unknown`.
#[derive(Default)]
pub(super) struct DecodeCounts {
    decoded: u64,
    remote: u64,
    errors: u64,
    unknown: u64,
    /// IDs that are not in the database.
    unknown_ids: BTreeSet<u32>,
    /// Signals that a frame was too short for.
    pub(super) too_short: u64,
}

impl DecodeCounts {
    /// Counts a frame; returns its message if its signals can be decoded.
    pub(super) fn add<'a>(
        &mut self,
        frame: FrameRef<'_>,
        message: Option<&'a MessageDefinition>,
    ) -> Option<&'a MessageDefinition> {
        let id = frame.id();
        if id.is_err() {
            self.errors += 1;
            return None;
        }
        let Some(message) = message else {
            self.unknown += 1;
            self.unknown_ids.insert(id.raw());
            return None;
        };
        if id.is_rtr() {
            self.remote += 1;
            return None;
        }
        self.decoded += 1;
        Some(message)
    }

    /// Returns a sentence for each kind of frame and signal that was not decoded. `missing` is the
    /// number of frames that the log itself states to be lost.
    pub(super) fn remarks(&self, missing: u64) -> Vec<String> {
        let frames = |count, kind: &str| match count {
            1 => format!("1 {kind}frame"),
            _ => format!("{count} {kind}frames"),
        };
        let ids = match self.unknown_ids.len() {
            1 => "1 ID that is".to_owned(),
            ids => format!("{ids} IDs that are"),
        };
        let values = match self.too_short {
            1 => "1 value is absent because its frame is".to_owned(),
            values => format!("{values} values are absent because their frames are"),
        };
        [
            (
                self.unknown,
                format!(
                    "not decoded: {} with {ids} not in the database",
                    frames(self.unknown, "")
                ),
            ),
            (
                self.remote,
                format!("not decoded: {}", frames(self.remote, "remote ")),
            ),
            (
                self.errors,
                format!("not decoded: {}", frames(self.errors, "error ")),
            ),
            (
                missing,
                format!("the recorder of the log lost {}", frames(missing, "")),
            ),
            (self.too_short, format!("{values} too short")),
        ]
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(_, words)| words)
        .collect()
    }

    /// Returns the sum of all frames, as a line.
    pub(super) fn summary(&self, name: &str) -> String {
        let all = self.decoded + self.remote + self.errors + self.unknown;
        format!("{name}: {} of {all} frames decoded\n", self.decoded)
    }
}
