//! Frames of character devices that wait for those of interfaces.
//!
//! A device's frames are available immediately; those of interfaces come with their block, a
//! quarter of a second later. So the former wait until the latter have come, and both are written
//! into the file in the order of their stamps.

use crate::chunk::RecordedFrame;
use frame::Nanos;
use frame::text::Direction;
use linux::can::layout::FD_SIZE;
use std::collections::VecDeque;
use std::time::Duration;

/// Time for which frames are gathered before they are passed on together: one chunk for each would
/// be too many.
const PACE: Duration = Duration::from_millis(100);
/// Maximum number of frames that may wait.
const MOST: usize = 1 << 16;

/// A frame that waits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct HeldFrame {
    /// Time at which it was taken, since the start.
    pub(super) came: Duration,
    pub(super) stamp: Nanos,
    /// Its device, as an index into the names.
    pub(super) interface: u16,
    pub(super) direction: Option<Direction>,
    /// Number of frames that are missing just before it.
    pub(super) lost: u64,
    /// Number of `bytes` that belong to the frame.
    pub(super) len: usize,
    pub(super) bytes: [u8; FD_SIZE],
}

impl HeldFrame {
    pub(super) fn record(&self) -> RecordedFrame<'_> {
        RecordedFrame {
            stamp: self.stamp,
            interface: self.interface,
            direction: self.direction,
            bytes: self.bytes.get(..self.len).unwrap_or(&self.bytes),
        }
    }
}

/// The waiting frames, in the order of the stamps; the frames of one device keep their order.
#[derive(Debug)]
pub(super) struct StampOrder {
    frames: VecDeque<HeldFrame>,
    /// Time during which a frame can be preceded by a later one with an earlier stamp.
    hold: Duration,
}

impl StampOrder {
    pub(super) const fn new(hold: Duration) -> Self {
        Self {
            frames: VecDeque::new(),
            hold,
        }
    }

    /// Adds a frame.
    pub(super) fn push(&mut self, new: HeldFrame) {
        let earlier = |held: &HeldFrame| held.stamp <= new.stamp || held.interface == new.interface;
        let behind = self.frames.iter().rev().position(earlier);
        let at = self.frames.len() - behind.unwrap_or(self.frames.len());
        self.frames.insert(at, new);
    }

    /// Returns the next frame, if it precedes a frame of an interface with this stamp.
    #[inline]
    pub(super) fn before(&mut self, stamp: Nanos) -> Option<HeldFrame> {
        self.frames.front().filter(|held| held.stamp <= stamp)?;
        self.frames.pop_front()
    }

    /// Passes on all frames that no later frame can precede, if it is time for that.
    pub(super) fn release(&mut self, now: Duration, take: &mut dyn FnMut(&HeldFrame)) {
        if self.deadline().is_none_or(|due| now < due) && self.frames.len() < MOST {
            return;
        }
        while let Some(held) = self.frames.front() {
            if now < held.came + self.hold && self.frames.len() < MOST {
                return;
            }
            take(held);
            self.frames.pop_front();
        }
    }

    /// Passes on all frames.
    pub(super) fn release_all(&mut self, take: &mut dyn FnMut(&HeldFrame)) {
        self.frames.iter().for_each(take);
        self.frames.clear();
    }

    /// Returns the time at which [`release`](Self::release) is due.
    pub(super) fn deadline(&self) -> Option<Duration> {
        Some(self.frames.front()?.came + self.hold + PACE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const HOLD: Duration = Duration::from_millis(300);

    fn held(came: u64, stamp: Nanos, interface: u16) -> HeldFrame {
        HeldFrame {
            came: Duration::from_millis(came),
            stamp,
            interface,
            direction: None,
            lost: 0,
            len: 16,
            bytes: [0; FD_SIZE],
        }
    }

    fn stamps(waiting: &mut StampOrder, now: u64) -> Vec<Nanos> {
        let mut got = Vec::new();
        waiting.release(Duration::from_millis(now), &mut |held| got.push(held.stamp));
        got
    }

    #[test]
    fn frames_wait_for_those_of_interfaces_and_no_longer() {
        let mut waiting = StampOrder::new(HOLD);
        waiting.push(held(0, 10, 0));
        waiting.push(held(50, 30, 0));
        waiting.push(held(50, 20, 1));
        waiting.push(held(390, 40, 1));
        assert_eq!(waiting.before(9), None);
        assert_eq!(waiting.before(10).map(|held| held.stamp), Some(10));
        assert_eq!(waiting.before(10), None);
        assert_eq!(waiting.deadline(), Some(Duration::from_millis(450)));
        assert!(stamps(&mut waiting, 449).is_empty());
        assert_eq!(stamps(&mut waiting, 450), [20, 30]);
        assert_eq!(stamps(&mut waiting, 790), [40]);
        assert_eq!(waiting.deadline(), None);
    }

    #[test]
    fn a_clock_that_was_set_back_changes_no_device_s_order() {
        let mut waiting = StampOrder::new(HOLD);
        for (stamp, interface) in [(100, 0), (90, 1), (50, 0), (60, 1)] {
            waiting.push(held(0, stamp, interface));
        }
        let mut got = Vec::new();
        waiting.release_all(&mut |held| got.push((held.interface, held.stamp)));
        assert_eq!(got, [(1, 90), (0, 100), (0, 50), (1, 60)]);
    }

    #[test]
    fn no_more_wait_than_there_may() {
        let mut waiting = StampOrder::new(HOLD);
        for n in 0..MOST as u64 + 7 {
            waiting.push(held(0, n, 0));
        }
        assert_eq!(stamps(&mut waiting, 0).len(), 8);
    }

    proptest! {
        /// Devices and a ring that lags behind them: every frame comes out once, in the order of
        /// the stamps.
        #[test]
        fn the_order_is_that_of_the_stamps(
            frames in prop::collection::vec((0_u16..4, 1_u64..40), 1..300), lag in 1_usize..30,
        ) {
            let mut waiting = StampOrder::new(HOLD);
            let (mut now, mut out) = (0, Vec::new());
            let mut ring: Vec<(u64, Nanos)> = Vec::new();
            let all: Vec<_> = frames.iter().map(|(place, gap)| { now += gap; (*place, now) }).collect();
            let take_ring = |ring: &mut Vec<(u64, Nanos)>, waiting: &mut StampOrder, out: &mut Vec<Nanos>| {
                for (_, stamp) in ring.drain(..) {
                    while let Some(held) = waiting.before(stamp) {
                        out.push(held.stamp);
                    }
                    out.push(stamp);
                }
            };
            for (number, (place, ms)) in all.iter().enumerate() {
                // The kernel hands over a block when it is full, or at most 250 ms after its first
                // frame.
                if ring.first().is_some_and(|(first, _)| ms - first > 250) || ring.len() >= lag {
                    take_ring(&mut ring, &mut waiting, &mut out);
                }
                waiting.release(Duration::from_millis(*ms), &mut |held| out.push(held.stamp));
                let stamp = (ms << 10) + number as u64;
                if *place == 0 {
                    ring.push((*ms, stamp));
                } else {
                    waiting.push(held(*ms, stamp, *place));
                }
            }
            take_ring(&mut ring, &mut waiting, &mut out);
            waiting.release_all(&mut |held| out.push(held.stamp));
            let expected: Vec<_> = all.iter().enumerate().map(|(n, (_, ms))| (ms << 10) + n as u64).collect();
            prop_assert_eq!(out, expected);
        }
    }
}
