//! Waiting frames, in three orders at the same time.

use super::heap::RankHeap;
use super::{QueueOrder, QueueRules};
use crate::passing::{OutgoingFrame, ReceiveStamp, Token};
use alloc::vec;
use alloc::vec::Vec;
use frame::{FrameRef, Header, Nanos, wire};

/// The place of a waiting frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct WaitingPlace(u32);

#[derive(Clone, Copy, Default)]
struct WaitingSlot {
    header: Header,
    length: usize,
    token: Token,
    hops: u8,
    stamp: Option<ReceiveStamp>,
    echo: bool,
    since: Nanos,
    /// Its number in the order of arrival.
    arrival: u64,
}

/// The waiting frames. All memory is allocated at the start; each operation takes time proportional
/// to the logarithm of the number of frames.
pub(super) struct WaitingFrames {
    order: QueueOrder,
    /// Maximum number of waiting frames. There is one more slot, for the frame that is lent.
    capacity: usize,
    /// The longest payload that fits, bytes.
    longest: usize,
    slots: Vec<WaitingSlot>,
    /// The payloads, `longest` bytes for each slot.
    bytes: Vec<u8>,
    free: Vec<u32>,
    /// Places in the order of leaving.
    leaves: RankHeap,
    /// Places in the order of arrival.
    oldest: RankHeap,
    /// Places in the order of making room: the lowest priority first, within it the order of
    /// arrival.
    yields: RankHeap,
    /// The frame that the half behind the queue holds, and may give back. It does not wait here.
    lent: Option<WaitingPlace>,
    arrivals: u64,
}

impl WaitingFrames {
    pub(super) fn new(rules: &QueueRules) -> Self {
        let capacity = rules.frames.max(1);
        let slots = capacity + 1;
        Self {
            order: rules.order,
            capacity,
            longest: rules.longest,
            slots: vec![WaitingSlot::default(); slots],
            bytes: vec![0; slots.saturating_mul(rules.longest)],
            free: (0..slots as u32).rev().collect(),
            leaves: RankHeap::new(slots),
            oldest: RankHeap::new(slots),
            yields: RankHeap::new(slots),
            lent: None,
            arrivals: 0,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.slots.len() - self.free.len() - usize::from(self.lent.is_some())
    }

    pub(super) fn room(&self) -> usize {
        self.capacity.saturating_sub(self.len())
    }

    pub(super) fn fits(&self, frame: &FrameRef<'_>) -> bool {
        frame.len() <= self.longest
    }

    /// Returns the key by which the queue is ordered: the lowest leaves first.
    fn key(&self, header: &Header) -> u64 {
        match self.order {
            QueueOrder::Fifo => 0,
            QueueOrder::Priority => wire::arbitration_field(header),
        }
    }

    /// Adds a frame. Returns false if there is no room, or the frame does not fit.
    pub(super) fn push(&mut self, now: Nanos, outgoing: &OutgoingFrame<'_>) -> bool {
        let (header, data) = (*outgoing.frame.header(), outgoing.frame.data());
        if self.room() == 0 || data.len() > self.longest {
            return false;
        }
        let Some(&place) = self.free.last() else {
            return false;
        };
        let at = place as usize;
        let bytes = at * self.longest..at * self.longest + data.len();
        let (Some(slot), Some(bytes)) = (self.slots.get_mut(at), self.bytes.get_mut(bytes)) else {
            return false;
        };
        bytes.copy_from_slice(data);
        *slot = WaitingSlot {
            header,
            length: data.len(),
            token: outgoing.token,
            hops: outgoing.hops,
            stamp: outgoing.stamp,
            echo: outgoing.echo,
            since: now,
            arrival: self.arrivals,
        };
        self.free.pop();
        self.arrivals += 1;
        self.line_up(WaitingPlace(place));
        true
    }

    /// Adds a frame that is in its slot to all orders.
    fn line_up(&mut self, WaitingPlace(place): WaitingPlace) {
        let Some(slot) = self.slots.get(place as usize) else {
            return;
        };
        let (key, arrival) = (self.key(&slot.header), slot.arrival);
        self.leaves.insert((key, arrival), place);
        self.oldest.insert((0, arrival), place);
        self.yields.insert((!key, arrival), place);
    }

    fn leave_lines(&mut self, place: u32) {
        self.leaves.remove(place);
        self.oldest.remove(place);
        self.yields.remove(place);
    }

    /// Returns the frame that leaves next.
    pub(super) fn next(&self) -> Option<(WaitingPlace, OutgoingFrame<'_>)> {
        let (_, place) = self.leaves.first()?;
        let slot = self.slots.get(place as usize)?;
        let start = place as usize * self.longest;
        let data = self.bytes.get(start..start + slot.length)?;
        let outgoing = OutgoingFrame {
            // It was a valid frame when it arrived.
            frame: FrameRef::new(slot.header, data).ok()?,
            token: slot.token,
            hops: slot.hops,
            stamp: slot.stamp,
            echo: slot.echo,
        };
        Some((WaitingPlace(place), outgoing))
    }

    /// Returns the place of the oldest frame, and the time since which it has been waiting.
    pub(super) fn oldest(&self) -> Option<(WaitingPlace, Nanos)> {
        let (_, place) = self.oldest.first()?;
        let slot = self.slots.get(place as usize)?;
        Some((WaitingPlace(place), slot.since))
    }

    /// Returns the frame that makes room for a new one with this header: the oldest of those with
    /// the lowest priority. `None` if the new one has an even lower priority.
    pub(super) fn yields_to(&self, header: &Header) -> Option<WaitingPlace> {
        let ((key, _), place) = self.yields.first()?;
        (self.key(header) <= !key).then_some(WaitingPlace(place))
    }

    /// Returns the frame at a place that has not been reused since.
    pub(super) fn at(&self, WaitingPlace(place): WaitingPlace) -> Option<(Token, FrameRef<'_>)> {
        let slot = self.slots.get(place as usize)?;
        let start = place as usize * self.longest;
        let data = self.bytes.get(start..start + slot.length)?;
        Some((slot.token, FrameRef::new(slot.header, data).ok()?))
    }

    /// Returns the place of the frame that is lent.
    pub(super) const fn lent(&self) -> Option<WaitingPlace> {
        self.lent
    }

    pub(super) fn remove(&mut self, WaitingPlace(place): WaitingPlace) {
        self.leave_lines(place);
        self.free.push(place);
    }

    /// Records that the half behind the queue holds this frame now. It is the only one that is
    /// lent.
    pub(super) fn lend(&mut self, place: WaitingPlace) {
        self.end_loan();
        self.leave_lines(place.0);
        self.lent = Some(place);
    }

    /// Returns whether a frame waits that must leave before the one that is lent.
    pub(super) fn overtakes(&self) -> bool {
        let lent = self.lent.and_then(|place| self.slots.get(place.0 as usize));
        let Some((lent, (first, _))) = lent.zip(self.leaves.first()) else {
            return false;
        };
        first < (self.key(&lent.header), lent.arrival)
    }

    /// Returns the time since which the lent frame has been waiting.
    pub(super) fn lent_since(&self) -> Option<Nanos> {
        let slot = self.slots.get(self.lent?.0 as usize)?;
        Some(slot.since)
    }

    /// Puts the lent frame back to its former position, because the half has given it back.
    pub(super) fn take_back(&mut self) {
        if let Some(place) = self.lent.take() {
            self.line_up(place);
        }
    }

    /// Frees the place of the lent frame, which has left.
    pub(super) fn end_loan(&mut self) {
        if let Some(WaitingPlace(place)) = self.lent.take() {
            self.free.push(place);
        }
    }
}
