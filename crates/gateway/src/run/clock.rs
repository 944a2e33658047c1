//! The run time's clock.

use frame::Nanos;
use std::time::{Duration, Instant, SystemTime};

/// Nanoseconds since the Unix epoch by the wall clock of the start, moved on by the monotonic
/// clock: stamps can be compared with other logs, and a step of the wall clock neither stops nor
/// floods a rate limit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    start: Instant,
    epoch: Nanos,
}

impl Clock {
    pub(crate) fn new() -> Self {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        Self {
            start: Instant::now(),
            epoch: nanos(since.unwrap_or_default()),
        }
    }

    pub(crate) fn now(&self) -> Nanos {
        self.epoch.saturating_add(nanos(self.start.elapsed()))
    }

    pub(crate) fn running(&self) -> Duration {
        self.start.elapsed()
    }
}

fn nanos(time: Duration) -> Nanos {
    Nanos::try_from(time.as_nanos()).unwrap_or(Nanos::MAX)
}
