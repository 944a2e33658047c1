//! The times at which a message is due.

use super::definition::SendTiming;
use frame::Nanos;

/// The state of a message's timing.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MessageTimer {
    timing: SendTiming,
    /// The next time of the cycle.
    next_cycle: Option<Nanos>,
    /// The time of the last frame.
    last_sent: Option<Nanos>,
    /// Signals have other values than in the last frame, and that makes a frame due.
    is_changed: bool,
    /// A request waits for a frame.
    is_requested: bool,
}

impl MessageTimer {
    pub(crate) fn new(timing: SendTiming, start: Nanos) -> Self {
        Self {
            timing,
            next_cycle: timing.cycle.map(|cycle| start.saturating_add(cycle)),
            last_sent: None,
            is_changed: false,
            is_requested: false,
        }
    }

    /// Notes whether signals have other values than in the last frame.
    pub(crate) fn set_changed(&mut self, is_changed: bool) {
        self.is_changed = is_changed;
    }

    /// Notes a request.
    pub(crate) fn request(&mut self) {
        self.is_requested = true;
    }

    /// Returns whether a change or a request waits for a frame.
    pub(crate) fn is_waiting(&self) -> bool {
        self.is_changed || self.is_requested
    }

    /// Drops the change or the request that waits.
    pub(crate) fn cancel(&mut self) {
        self.is_changed = false;
        self.is_requested = false;
    }

    /// Returns the earliest time of the next frame by the least distance.
    fn earliest(&self) -> Nanos {
        self.last_sent
            .map_or(0, |last| last.saturating_add(self.timing.min_distance))
    }

    /// Returns the time at which a frame is due, as far as it is known.
    pub(crate) fn due(&self) -> Option<Nanos> {
        if self.is_waiting() {
            return Some(self.earliest());
        }
        Some(self.next_cycle?.max(self.earliest()))
    }

    /// Returns the number of cycles whose time has come, and moves on to the next one.
    pub(crate) fn take_cycles(&mut self, now: Nanos) -> u64 {
        let (Some(next), Some(cycle)) = (self.next_cycle, self.timing.cycle) else {
            return 0;
        };
        if now < next {
            return 0;
        }
        let passed = (now - next) / cycle.max(1) + 1;
        self.next_cycle = Some(next.saturating_add(passed.saturating_mul(cycle)));
        passed
    }

    /// Notes a frame.
    pub(crate) fn note_sent(&mut self, now: Nanos) {
        self.last_sent = Some(now);
        self.cancel();
    }
}
