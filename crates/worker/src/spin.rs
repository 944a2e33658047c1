//! The time for which the worker goes on without waiting, while a port is up that cannot be waited
//! for.
//!
//! An ordinary thread may do so without limit: the scheduler gives other threads their share. A
//! thread with real-time priority keeps all other threads from its processor:
//!
//! * this program's own control thread, if there is no other processor, so that only the power
//!   switch could end the program;
//! * the kernel's `ksoftirqd`, to which the kernel leaves received frames under high load, so that
//!   the frames for which the worker looks would not arrive as long as it looks;
//! * and the kernel would stop the thread for 50 ms of each second (`kernel.sched_rt_runtime_us`).
//!
//! So with real-time priority the worker yields on its own: after 19 ms it waits for 1 ms in total,
//! the same share that the kernel would take by default. It waits as for any port: a frame wakes it
//! up at once.

use frame::Nanos;
use linux::schedule;
use std::time::Duration;

/// The time for which it goes on, and the time for which it waits then, ns. The wait is long enough
/// for `ksoftirqd` to finish and sleep again on a slow processor: with 50 µs after 950 µs it did
/// not, and every frame was late.
const SPIN: Nanos = 19_000_000;
const WAIT: Nanos = 1_000_000;

pub(crate) struct WorkerSpin {
    /// Whether other threads must be given time.
    steps_back: bool,
    /// The time since which it has not waited.
    since: Nanos,
    /// The remaining time to wait.
    owed: Nanos,
}

impl WorkerSpin {
    /// Creates the state for the calling thread, with the priority that it has.
    pub(crate) fn of_this_thread() -> Self {
        Self::new(schedule::is_realtime())
    }

    const fn new(steps_back: bool) -> Self {
        Self {
            steps_back,
            since: 0,
            owed: 0,
        }
    }

    /// Returns whether the worker may go on without waiting.
    pub(crate) fn may_continue(&mut self, now: Nanos) -> bool {
        if !self.steps_back {
            return true;
        }
        if self.owed == 0 && now.saturating_sub(self.since) >= SPIN {
            // At the start, too: a worker that starts gives the other threads a moment.
            self.owed = WAIT;
        }
        self.owed == 0
    }

    /// Returns the longest time that it must wait now.
    pub(crate) const fn wait_time(&self) -> Duration {
        Duration::from_nanos(self.owed)
    }

    /// Records that it has waited, for whatever reason.
    pub(crate) fn record_wait(&mut self, from: Nanos, until: Nanos) {
        self.owed = self.owed.saturating_sub(until.saturating_sub(from));
        if self.owed == 0 {
            self.since = until;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_priority_it_never_waits() {
        let mut spin = WorkerSpin::new(false);
        assert!((0..100).all(|second| spin.may_continue(second * 1_000_000_000)));
    }

    /// Frames that come during the wait interrupt it, but do not reduce the remaining time.
    #[test]
    fn a_twentieth_of_the_time_is_for_others() {
        let mut spin = WorkerSpin::new(true);
        let start = 1_000_000_000;
        assert!(!spin.may_continue(start));
        spin.record_wait(start, start + WAIT);
        let start = start + WAIT;
        assert!(spin.may_continue(start + SPIN - 1));
        assert!(!spin.may_continue(start + SPIN));
        assert_eq!(spin.wait_time(), Duration::from_nanos(WAIT));
        spin.record_wait(start + SPIN, start + SPIN + 400_000);
        assert!(!spin.may_continue(start + SPIN + 450_000));
        assert_eq!(spin.wait_time(), Duration::from_micros(600));
        spin.record_wait(start + SPIN + 450_000, start + SPIN + 2_000_000);
        assert!(spin.may_continue(start + SPIN + 2_000_000));
        assert!(spin.may_continue(start + 2 * SPIN));
        assert!(!spin.may_continue(start + 2 * SPIN + 2_000_000));
    }
}
