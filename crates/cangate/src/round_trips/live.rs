//! The progress of a master, for a display during the run.

use super::RoundTrip;
use frame::Nanos;
use std::sync::atomic::{AtomicU64, Ordering};

/// The progress of a master, for a display: written by the master's thread, read by another.
#[derive(Debug, Default)]
pub(crate) struct LiveCounts {
    answered: AtomicU64,
    lost: AtomicU64,
    sum: AtomicU64,
    min: AtomicU64,
    max: AtomicU64,
    last: AtomicU64,
}

impl LiveCounts {
    pub(crate) fn add(&self, trip: &RoundTrip) {
        let Some(duration) = trip.duration() else {
            self.lost.fetch_add(1, Ordering::Relaxed);
            return;
        };
        // Only one thread writes.
        if self.answered.load(Ordering::Relaxed) == 0 {
            self.min.store(duration, Ordering::Relaxed);
        } else {
            self.min.fetch_min(duration, Ordering::Relaxed);
        }
        self.max.fetch_max(duration, Ordering::Relaxed);
        self.last.store(duration, Ordering::Relaxed);
        self.sum.fetch_add(duration, Ordering::Relaxed);
        self.answered.fetch_add(1, Ordering::Release);
    }

    /// Returns the number of round trips with an answer.
    #[must_use]
    pub(crate) fn answered(&self) -> u64 {
        self.answered.load(Ordering::Acquire)
    }

    /// Returns the number of round trips without an answer.
    #[must_use]
    pub(crate) fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }

    /// Returns the shortest, the last, the mean and the longest duration so far, ns; 0 if there are
    /// none.
    #[must_use]
    pub(crate) fn figures(&self) -> [Nanos; 4] {
        let answered = self.answered();
        let of = |value: &AtomicU64| value.load(Ordering::Relaxed);
        let mean = of(&self.sum).checked_div(answered).unwrap_or(0);
        [of(&self.min), of(&self.last), mean, of(&self.max)]
    }
}
