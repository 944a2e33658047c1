//! Frames that are handed in before they are ready.

use alloc::collections::BinaryHeap;
use alloc::vec::Vec;
use core::cmp::Reverse;
use frame::{Frame, Nanos};

/// A frame for later.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LaterFrame {
    pub(crate) at: Nanos,
    pub(crate) node: usize,
    pub(crate) tag: u64,
    pub(crate) frame: Frame,
}

/// Frames for later, by time and then by the order in which they were handed in. The heap holds
/// small keys; the frames stay in their slots.
#[derive(Debug, Default)]
pub(crate) struct FrameSchedule {
    heap: BinaryHeap<Reverse<(Nanos, u64, u32)>>,
    slots: Vec<LaterFrame>,
    vacant: Vec<u32>,
    order: u64,
}

impl FrameSchedule {
    /// Adds a frame; returns false if no slot is left (four thousand million frames).
    pub(crate) fn add(&mut self, later: LaterFrame) -> bool {
        let slot = match self.vacant.pop() {
            Some(slot) => {
                self.slots[slot as usize] = later;
                slot
            }
            None => {
                let Ok(slot) = u32::try_from(self.slots.len()) else {
                    return false;
                };
                self.slots.push(later);
                slot
            }
        };
        self.heap.push(Reverse((later.at, self.order, slot)));
        self.order += 1;
        true
    }

    /// Returns the time at which the next frame is due.
    #[inline]
    pub(crate) fn due(&self) -> Option<Nanos> {
        self.heap.peek().map(|k| k.0.0)
    }

    /// Removes and returns the next frame.
    pub(crate) fn pop(&mut self) -> Option<LaterFrame> {
        let Reverse((_, _, slot)) = self.heap.pop()?;
        self.vacant.push(slot);
        self.slots.get(slot as usize).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use frame::CanId;

    #[test]
    fn by_time_then_as_handed_in_whatever_place_is_used_again() {
        let mut schedule = FrameSchedule::default();
        let frame = Frame::classic(CanId::from_raw(1), &[]).unwrap();
        let add = |schedule: &mut FrameSchedule, at, tag| {
            schedule.add(LaterFrame {
                at,
                node: 0,
                tag,
                frame,
            })
        };
        for tag in 0..4 {
            assert!(add(&mut schedule, 1, tag));
        }
        for tag in 0..4 {
            assert_eq!(schedule.pop().map(|l| l.tag), Some(tag));
        }
        // The slots become free in one order and are used again in another.
        for tag in 10..14 {
            assert!(add(&mut schedule, 5, tag));
        }
        assert!(add(&mut schedule, 4, 99));
        assert_eq!(schedule.due(), Some(4));
        let order: Vec<u64> = core::iter::from_fn(|| schedule.pop().map(|l| l.tag)).collect();
        assert_eq!(order, [99, 10, 11, 12, 13]);
        assert_eq!(schedule.slots.len(), 5, "places are used again");
    }
}
