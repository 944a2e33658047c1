//! The process's end of the receive queue. All values that the driver writes are validated.

use super::SLOTS;
use super::area::{FRAME_FD, FRAME_SENT, MappedArea, at, both, first, second};
use crate::can::layout::{CLASSIC_SIZE, FD_SIZE};

/// The position up to which a process has read its receive queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReceiveQueue {
    /// Number of frames taken out of the queue.
    tail: u32,
    /// The driver's counts when they were last taken.
    lost: u32,
    overruns: u32,
}

/// The content of a slot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SlotContents<'a> {
    /// Time at which the driver took the frame out of the controller, ns of `CLOCK_REALTIME`.
    pub time: u64,
    /// Whether a file of this device sent the frame.
    pub sent: bool,
    /// Number of frames that this file lost just before this one, as reported by the driver.
    pub lost_before: u32,
    /// The frame in SocketCAN's layout, 16 or 72 bytes; the bytes may not be a valid frame.
    pub bytes: &'a [u8],
}

/// The losses for lack of room.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LostFrames {
    /// Frames that were lost in the queue.
    pub queue: u32,
    /// How often the controller's own FIFO had no room; the number of lost frames is unknown.
    pub controller: u32,
}

/// The driver reports more frames than the queue has slots. Only this process writes the other end:
/// nothing in the queue can be trusted, and it was emptied.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ImpossibleCount;

impl ReceiveQueue {
    /// Starts at the queue's beginning: for a file that has just been opened.
    pub fn from_start<A: MappedArea + ?Sized>(area: &A) -> Self {
        Self {
            tail: 0,
            lost: 0,
            overruns: first(area.get(at::OVERRUNS)),
        }
    }

    /// Starts at the present end: frames in the queue are left out, and earlier losses are not
    /// counted.
    pub fn from_now<A: MappedArea + ?Sized>(area: &A) -> Self {
        let queue = Self {
            tail: second(area.get(at::RX_HEAD)),
            lost: first(area.get(at::RX_LOST)),
            overruns: first(area.get(at::OVERRUNS)),
        };
        queue.release(area);
        queue
    }

    /// Returns the number of frames in the queue.
    ///
    /// # Errors
    /// [`ImpossibleCount`]
    #[inline]
    pub fn waiting<A: MappedArea + ?Sized>(&mut self, area: &A) -> Result<u32, ImpossibleCount> {
        let head = second(area.get(at::RX_HEAD));
        let waiting = head.wrapping_sub(self.tail);
        if waiting > SLOTS {
            self.tail = head;
            self.release(area);
            return Err(ImpossibleCount);
        }
        Ok(waiting)
    }

    /// Copies the oldest of the [waiting](Self::waiting) frames. Its slot is free after
    /// [`release`](Self::release).
    #[inline]
    pub fn take<'a, A: MappedArea + ?Sized>(
        &mut self,
        area: &A,
        bytes: &'a mut [u8; FD_SIZE],
    ) -> SlotContents<'a> {
        let slot = at::rx(self.tail);
        let word = area.get(slot + at::FLAGS);
        let flags = first(word);
        let size = if flags & FRAME_FD == 0 {
            CLASSIC_SIZE
        } else {
            FD_SIZE
        };
        let words = bytes.as_chunks_mut().0.iter_mut().take(size / 8);
        for (i, word) in words.enumerate() {
            *word = area.get(slot + at::FRAME + 8 * i).to_ne_bytes();
        }
        let time = area.get(slot);
        self.tail = self.tail.wrapping_add(1);
        SlotContents {
            time,
            sent: flags & FRAME_SENT != 0,
            lost_before: second(word),
            bytes: bytes.get(..size).unwrap_or_default(),
        }
    }

    /// Notifies the driver that the slots of all frames that were taken are free.
    #[inline]
    pub fn release<A: MappedArea + ?Sized>(&self, area: &A) {
        area.set(at::RX_TAIL, both(self.tail, 0));
    }

    /// Returns the losses that have not been [taken](Self::take_lost) yet.
    pub fn lost<A: MappedArea + ?Sized>(&self, area: &A) -> LostFrames {
        LostFrames {
            queue: first(area.get(at::RX_LOST)).wrapping_sub(self.lost),
            controller: first(area.get(at::OVERRUNS)).wrapping_sub(self.overruns),
        }
    }

    /// Returns the same losses and counts them as taken.
    pub fn take_lost<A: MappedArea + ?Sized>(&mut self, area: &A) -> LostFrames {
        let lost = self.lost(area);
        self.lost = self.lost.wrapping_add(lost.queue);
        self.overruns = self.overruns.wrapping_add(lost.controller);
        lost
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chardev::AREA;
    use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

    struct TestMemory(Vec<AtomicU64>);

    impl MappedArea for TestMemory {
        fn get(&self, at: usize) -> u64 {
            self.0[at / 8].load(SeqCst)
        }

        fn set(&self, at: usize, word: u64) {
            self.0[at / 8].store(word, SeqCst);
        }
    }

    #[test]
    fn frames_come_with_what_was_lost_before_them() {
        let area = TestMemory((0..AREA / 8).map(|_| AtomicU64::new(0)).collect());
        // The counts wrap round.
        area.set(at::RX_HEAD, both(1, u32::MAX));
        area.set(at::RX_LOST, both(u32::MAX, 0));
        area.set(at::OVERRUNS, both(4, 0));
        let mut queue = ReceiveQueue::from_now(&area);
        assert_eq!(queue.waiting(&area), Ok(0));
        assert_eq!(first(area.get(at::RX_TAIL)), u32::MAX);
        let slot = at::rx(u32::MAX);
        area.set(slot, 99);
        area.set(slot + at::FLAGS, both(FRAME_SENT, 3));
        area.set(slot + at::FRAME, both(0x123, 1));
        area.set(at::rx(0) + at::FLAGS, both(FRAME_FD, 0));
        area.set(at::RX_HEAD, both(1, 1));
        area.set(at::RX_LOST, both(2, 0));
        area.set(at::OVERRUNS, both(5, 0));
        assert_eq!(queue.waiting(&area), Ok(2));
        let mut bytes = [0; FD_SIZE];
        let one = queue.take(&area, &mut bytes);
        assert_eq!(
            (one.time, one.sent, one.lost_before, one.bytes.len()),
            (99, true, 3, 16)
        );
        assert_eq!(one.bytes[..4], 0x123_u32.to_ne_bytes());
        let one = queue.take(&area, &mut bytes);
        assert_eq!((one.sent, one.bytes.len()), (false, 72));
        assert_eq!(first(area.get(at::RX_TAIL)), u32::MAX, "still theirs");
        queue.release(&area);
        assert_eq!(first(area.get(at::RX_TAIL)), 1);
        let lost = LostFrames {
            queue: 3,
            controller: 1,
        };
        assert_eq!(queue.lost(&area), lost);
        assert_eq!(queue.take_lost(&area), lost);
        assert_eq!(queue.lost(&area), LostFrames::default());
        area.set(at::RX_HEAD, both(1, 66));
        assert_eq!(queue.waiting(&area), Err(ImpossibleCount));
        assert_eq!(queue.waiting(&area), Ok(0));
    }
}
