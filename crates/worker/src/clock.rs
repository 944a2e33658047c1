//! The run time's clock.

use frame::Nanos;
use rustix::time::{ClockId, clock_gettime};
use std::time::{Duration, SystemTime};

/// Nanoseconds since the Unix epoch: the wall clock at the start, advanced by the monotonic clock.
/// So time stamps can be compared with other logs, and a step of the wall clock neither stops a
/// rate limit nor floods it.
#[derive(Clone, Copy, Debug)]
pub struct WallClock {
    /// The monotonic clock at the start.
    start: Nanos,
    epoch: Nanos,
}

impl Default for WallClock {
    fn default() -> Self {
        Self::new()
    }
}

impl WallClock {
    /// Reads both clocks.
    pub fn new() -> Self {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        Self {
            start: monotonic(),
            epoch: nanos(since.unwrap_or_default()),
        }
    }

    /// Returns the time, ns since the Unix epoch.
    #[inline]
    pub fn now(&self) -> Nanos {
        self.epoch.saturating_add(self.elapsed())
    }

    /// Returns the time since the start.
    pub fn running(&self) -> Duration {
        Duration::from_nanos(self.elapsed())
    }

    #[inline]
    fn elapsed(&self) -> Nanos {
        monotonic().saturating_sub(self.start)
    }
}

/// Reads the monotonic clock as one number: the arithmetic of [`std::time::Instant`] doubles the
/// instructions, and this read is between a frame and its step.
#[inline]
fn monotonic() -> Nanos {
    let time = clock_gettime(ClockId::Monotonic);
    // The clock starts at the machine's start and never runs back: neither part is negative.
    (time.tv_sec as Nanos)
        .wrapping_mul(1_000_000_000)
        .wrapping_add(time.tv_nsec as Nanos)
}

fn nanos(time: Duration) -> Nanos {
    Nanos::try_from(time.as_nanos()).unwrap_or(Nanos::MAX)
}
