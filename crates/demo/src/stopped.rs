//! The reasons for which frames of a route were not sent, as one list.

use engine::TxCounters;
use probe::{FrameRecord, Status};
use serde::{Serialize, Serializer};

/// A reason for which a frame of a route was not sent. One entry of [`StoppedCopies::REASONS`]
/// gives its number, its key in JSON, its column and its words on the page.
pub struct StopColumn {
    /// The key in JSON.
    pub key: &'static str,
    /// The head of its column.
    pub head: &'static str,
    /// The status of its records; `None` for all records that have no other reason.
    pub(crate) status: Option<Status>,
    /// The ports' own counter of such copies, if they have one.
    pub(crate) counter: Option<fn(&TxCounters) -> u64>,
}

impl StopColumn {
    const fn new(key: &'static str, head: &'static str, status: Status) -> Self {
        Self {
            key,
            head,
            status: Some(status),
            counter: None,
        }
    }

    const fn counted(mut self, counter: fn(&TxCounters) -> u64) -> Self {
        self.counter = Some(counter);
        self
    }

    /// Returns a phrase that follows the number.
    #[must_use]
    pub fn words(&self) -> &'static str {
        self.status
            .map_or("hop limit, length, ID, undeliverable, lost", Status::as_str)
    }
}

/// Frames and copies of a route that were not sent, by reason.
#[derive(Clone, Copy, Default)]
pub struct StoppedCopies(pub [u64; Self::REASONS.len()]);

impl StoppedCopies {
    /// The reasons, in the order of JSON, of columns and of the page.
    pub const REASONS: &'static [StopColumn] = &[
        StopColumn::new("dropped_by_rule", "rule", Status::DroppedByRule),
        StopColumn::new("dropped_by_rate", "rate", Status::DroppedByRate),
        StopColumn::new("refused", "full", Status::Refused),
        StopColumn::new("displaced", "displaced", Status::Displaced).counted(|tx| tx.displaced),
        StopColumn::new("expired", "expired", Status::Expired).counted(|tx| tx.expired),
        StopColumn::new("waiting", "waiting", Status::Waiting).counted(|tx| tx.held),
        StopColumn {
            key: "other",
            head: "other",
            status: None,
            counter: None,
        },
    ];

    /// Counts records of one route. Those that were delivered are not included.
    pub(crate) fn count<'r>(records: impl Iterator<Item = &'r FrameRecord>) -> Self {
        let mut all = Self::default();
        for record in records.filter(|record| record.status != Status::Delivered) {
            // The last reason is that of all others.
            let is = |reason: &StopColumn| reason.status.is_none_or(|is| is == record.status);
            let reason = Self::REASONS.iter().position(is);
            if let Some(number) = reason.and_then(|at| all.0.get_mut(at)) {
                *number += 1;
            }
        }
        all
    }

    /// Returns the number for the reason with this index.
    #[must_use]
    pub fn at(&self, reason: usize) -> u64 {
        self.0.get(reason).copied().unwrap_or(0)
    }

    /// Returns each reason with its number.
    pub fn iter(&self) -> impl Iterator<Item = (&'static StopColumn, u64)> + use<> {
        Self::REASONS.iter().zip(self.0)
    }
}

/// Writes the numbers with their keys.
impl Serialize for StoppedCopies {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter().map(|(reason, number)| (reason.key, number)))
    }
}
