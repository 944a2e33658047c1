//! The frames that wait for their time.

use frame::{FrameRef, Header, Nanos};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The place of a frame in the order of its sender: the number of its datagram, then its place in
/// it.
pub(super) type SenderOrder = (u64, u64);

#[derive(Clone, Debug, Default)]
struct WaitingSlot {
    header: Header,
    data: Vec<u8>,
    /// It arrived after its time.
    late: bool,
    /// The caller's.
    mark: u64,
}

/// A frame that waits, without its content.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct WaitingFrame {
    pub(super) stamp: Nanos,
    pub(super) order: SenderOrder,
    pub(super) late: bool,
    pub(super) mark: u64,
    slot: usize,
}

/// Frames in the order of their stamps; those with the same stamp in the order of their sender. The
/// slots keep their memory.
#[derive(Clone, Debug)]
pub(super) struct WaitingFrames {
    most: usize,
    slots: Vec<WaitingSlot>,
    free: Vec<usize>,
    heap: BinaryHeap<Reverse<(Nanos, SenderOrder, usize)>>,
}

impl WaitingFrames {
    pub(super) const fn new(most: usize) -> Self {
        Self {
            most,
            slots: Vec::new(),
            free: Vec::new(),
            heap: BinaryHeap::new(),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.heap.len()
    }

    /// Adds a frame with its mark; returns false if there is no room.
    pub(super) fn push(
        &mut self,
        (frame, mark): (&FrameRef<'_>, u64),
        stamp: Nanos,
        order: SenderOrder,
        late: bool,
    ) -> bool {
        let slot = match self.free.pop() {
            Some(slot) => slot,
            None if self.slots.len() < self.most => {
                self.slots.push(WaitingSlot::default());
                self.slots.len() - 1
            }
            None => return false,
        };
        let place = &mut self.slots[slot];
        place.header = *frame.header();
        place.data.clear();
        place.data.extend_from_slice(frame.data());
        (place.late, place.mark) = (late, mark);
        self.heap.push(Reverse((stamp, order, slot)));
        true
    }

    /// Returns the frame with the lowest stamp.
    pub(super) fn first(&self) -> Option<WaitingFrame> {
        let Reverse((stamp, order, slot)) = *self.heap.peek()?;
        let place = &self.slots[slot];
        Some(WaitingFrame {
            stamp,
            order,
            late: place.late,
            mark: place.mark,
            slot,
        })
    }

    /// Removes the first frame. Its content can be read until another one is added.
    pub(super) fn pop(&mut self) {
        if let Some(Reverse((_, _, slot))) = self.heap.pop() {
            self.free.push(slot);
        }
    }

    /// Returns the content of a frame.
    pub(super) fn content(&self, frame: &WaitingFrame) -> Option<FrameRef<'_>> {
        let slot = self.slots.get(frame.slot)?;
        // It was a valid frame when it came.
        FrameRef::new(slot.header, &slot.data).ok()
    }
}
