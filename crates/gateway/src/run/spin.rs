//! How long the worker goes on without waiting, while a port is up that is not to be waited for.
//!
//! An ordinary thread may do so for ever: the scheduler gives others their share. A thread with
//! real-time priority keeps its processor from everybody:
//!
//! * from this program's own control thread, where there is no other processor, so that nothing but
//!   the power switch would end it;
//! * from the kernel's `ksoftirqd`, to which the kernel leaves received frames when there is much
//!   to do, so that the frames for which the worker looks would not come as long as it looks;
//! * and the kernel would stop it for 50 ms of each second (`kernel.sched_rt_runtime_us`).
//!
//! So with real-time priority the worker steps back by itself: after 19 ms it waits for 1 ms in
//! all, that is for as much as the kernel would take by default. It waits as for any port: a frame
//! wakes it up at once.

use frame::Nanos;
use linux::schedule;
use std::time::Duration;

/// How long it goes on, and for how long it waits then, ns. The waiting is long enough for
/// `ksoftirqd` to finish and sleep again on a slow processor: with 50 µs after 950 µs it did not,
/// and every frame was late.
const SPIN: Nanos = 19_000_000;
const WAIT: Nanos = 1_000_000;

pub(crate) struct Spin {
    /// Others need to be given time.
    steps_back: bool,
    /// Since when it has not waited.
    since: Nanos,
    /// Still to be waited.
    owed: Nanos,
}

impl Spin {
    /// For the calling thread, with the priority that it has.
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

    /// May the worker go on without waiting?
    pub(crate) fn goes_on(&mut self, now: Nanos) -> bool {
        if !self.steps_back {
            return true;
        }
        if self.owed == 0 && now.saturating_sub(self.since) >= SPIN {
            // The first time, too: whoever starts gives the others a moment.
            self.owed = WAIT;
        }
        self.owed == 0
    }

    /// The longest that it is to wait now.
    pub(crate) const fn wait(&self) -> Duration {
        Duration::from_nanos(self.owed)
    }

    /// It has waited, whatever for.
    pub(crate) fn waited(&mut self, from: Nanos, until: Nanos) {
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
        let mut spin = Spin::new(false);
        assert!((0..100).all(|second| spin.goes_on(second * 1_000_000_000)));
    }

    /// Frames that come while it waits end the waiting, not what is still to be waited.
    #[test]
    fn a_twentieth_of_the_time_is_for_others() {
        let mut spin = Spin::new(true);
        let start = 1_000_000_000;
        assert!(!spin.goes_on(start));
        spin.waited(start, start + WAIT);
        let start = start + WAIT;
        assert!(spin.goes_on(start + SPIN - 1));
        assert!(!spin.goes_on(start + SPIN));
        assert_eq!(spin.wait(), Duration::from_nanos(WAIT));
        spin.waited(start + SPIN, start + SPIN + 400_000);
        assert!(!spin.goes_on(start + SPIN + 450_000));
        assert_eq!(spin.wait(), Duration::from_micros(600));
        spin.waited(start + SPIN + 450_000, start + SPIN + 2_000_000);
        assert!(spin.goes_on(start + SPIN + 2_000_000));
        assert!(spin.goes_on(start + 2 * SPIN));
        assert!(!spin.goes_on(start + 2 * SPIN + 2_000_000));
    }
}
