//! Statistics of a bus: counts, and the time spent in each kind of interval.

use frame::Nanos;

/// Counts of a bus and how its time was spent, from 0 to [`BusStats::elapsed`]. The times tile:
/// their sum is the elapsed time, exactly.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct BusStats {
    /// Frames sent and acknowledged; the same bits from two nodes at once are one.
    pub frames: u64,
    /// Attempts that were destroyed by an error.
    pub errors: u64,
    /// Time in frames that succeeded or are under way, start of frame to end of frame, ns.
    pub frame_time: Nanos,
    /// Time in attempts that failed, from the start of frame to the end of the error delimiter, ns.
    pub error_time: Nanos,
    /// Time in intermissions, ns.
    pub intermission_time: Nanos,
    /// Time idle only because all nodes with something to send are in suspend transmission, ns.
    pub suspend_time: Nanos,
    /// Time idle with nothing to send, ns.
    pub idle_time: Nanos,
}

impl BusStats {
    /// Returns the sum of all times, ns.
    #[must_use]
    pub const fn elapsed(&self) -> Nanos {
        self.busy() + self.suspend_time + self.idle_time
    }

    /// Returns the time in which no frame could start, ns: frames, errors, intermissions.
    #[must_use]
    pub const fn busy(&self) -> Nanos {
        self.frame_time + self.error_time + self.intermission_time
    }

    /// Returns the bus load, 0 to 1: the busy share of the elapsed time, intermissions included, as
    /// bus monitors count it; 0 where no time has passed.
    #[must_use]
    pub fn load(&self) -> f64 {
        match self.elapsed() {
            0 => 0.0,
            t => self.busy() as f64 / t as f64,
        }
    }

    /// Returns the increase since an earlier snapshot, for the load over time.
    #[must_use]
    pub const fn since(&self, earlier: &Self) -> Self {
        Self {
            frames: self.frames - earlier.frames,
            errors: self.errors - earlier.errors,
            frame_time: self.frame_time - earlier.frame_time,
            error_time: self.error_time - earlier.error_time,
            intermission_time: self.intermission_time - earlier.intermission_time,
            suspend_time: self.suspend_time - earlier.suspend_time,
            idle_time: self.idle_time - earlier.idle_time,
        }
    }
}
