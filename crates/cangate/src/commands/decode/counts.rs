//! Counts of the frames of a log by what became of them.

use capture::FoundMessage;
use frame::FrameRef;
use std::collections::BTreeSet;

/// The most IDs that are told apart. Few logs have more than some hundred; a damaged one can have
/// 2^29.
const MOST_IDS: usize = 10_000;

/// The counts. Each frame is in one of `decoded`, `not_selected`, `remote`, `errors` and `unknown`.
#[derive(Default)]
pub(super) struct DecodeCounts {
    decoded: u64,
    /// Frames of messages that are not selected.
    not_selected: u64,
    remote: u64,
    errors: u64,
    unknown: u64,
    /// IDs that are not in the database, at most [`MOST_IDS`].
    unknown_ids: BTreeSet<u32>,
    /// Signals that a frame was too short for.
    pub(super) too_short: u64,
}

impl DecodeCounts {
    /// Counts a frame; returns the index of its message if its signals can be decoded.
    pub(super) fn add(&mut self, frame: FrameRef<'_>, found: &FoundMessage) -> Option<usize> {
        let id = frame.id();
        if id.is_err() {
            self.errors += 1;
            return None;
        }
        match found {
            FoundMessage::Unknown => {
                self.unknown += 1;
                if self.unknown_ids.len() < MOST_IDS {
                    self.unknown_ids.insert(id.raw());
                }
                None
            }
            FoundMessage::NotSelected => {
                self.not_selected += 1;
                None
            }
            FoundMessage::Selected(_) if id.is_rtr() => {
                self.remote += 1;
                None
            }
            FoundMessage::Selected(number) => {
                self.decoded += 1;
                Some(*number)
            }
        }
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
            MOST_IDS => format!("{MOST_IDS} or more IDs that are"),
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
        let all = self.decoded + self.not_selected + self.remote + self.errors + self.unknown;
        let not_selected = match self.not_selected {
            0 => String::new(),
            frames => format!(", {frames} not selected"),
        };
        format!(
            "{name}: {} of {all} frames decoded{not_selected}\n",
            self.decoded
        )
    }
}
