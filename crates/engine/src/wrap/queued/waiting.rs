//! Frames that wait, in three orders at once.

use super::heap::Heap;
use super::{Order, Rules};
use crate::passing::{Outgoing, Stamp, Token};
use alloc::vec;
use alloc::vec::Vec;
use frame::{FrameRef, Header, Nanos, wire};

/// The place of a frame that waits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Place(u32);

#[derive(Clone, Copy, Default)]
struct Slot {
    header: Header,
    length: usize,
    token: Token,
    hops: u8,
    stamp: Option<Stamp>,
    echo: bool,
    since: Nanos,
}

/// Frames that wait. All memory is allocated at the start; each step takes a time that grows with
/// the logarithm of the number of frames.
pub(super) struct Waiting {
    order: Order,
    /// The longest payload that fits, bytes.
    longest: usize,
    slots: Vec<Slot>,
    /// The payloads, `longest` bytes for each slot.
    bytes: Vec<u8>,
    free: Vec<u32>,
    /// Who leaves first.
    leaves: Heap,
    /// Who came first.
    oldest: Heap,
    /// Who makes room: of the lowest priority, who came first.
    yields: Heap,
    arrivals: u64,
}

impl Waiting {
    pub(super) fn new(rules: &Rules) -> Self {
        let capacity = rules.frames.max(1);
        Self {
            order: rules.order,
            longest: rules.longest,
            slots: vec![Slot::default(); capacity],
            bytes: vec![0; capacity.saturating_mul(rules.longest)],
            free: (0..capacity as u32).rev().collect(),
            leaves: Heap::new(capacity),
            oldest: Heap::new(capacity),
            yields: Heap::new(capacity),
            arrivals: 0,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    pub(super) fn room(&self) -> usize {
        self.free.len()
    }

    pub(super) fn fits(&self, frame: &FrameRef<'_>) -> bool {
        frame.len() <= self.longest
    }

    /// What the queue goes by: the lowest leaves first.
    fn key(&self, header: &Header) -> u64 {
        match self.order {
            Order::Fifo => 0,
            Order::Priority => wire::arbitration_field(header),
        }
    }

    /// Takes a frame. Is there no room, or does the frame not fit, it says so.
    pub(super) fn push(&mut self, now: Nanos, outgoing: &Outgoing<'_>) -> bool {
        let (header, data) = (*outgoing.frame.header(), outgoing.frame.data());
        let key = self.key(&header);
        let Some(&place) = self.free.last().filter(|_| data.len() <= self.longest) else {
            return false;
        };
        let at = place as usize;
        let bytes = at * self.longest..at * self.longest + data.len();
        let (Some(slot), Some(bytes)) = (self.slots.get_mut(at), self.bytes.get_mut(bytes)) else {
            return false;
        };
        bytes.copy_from_slice(data);
        *slot = Slot {
            header,
            length: data.len(),
            token: outgoing.token,
            hops: outgoing.hops,
            stamp: outgoing.stamp,
            echo: outgoing.echo,
            since: now,
        };
        self.free.pop();
        let arrival = self.arrivals;
        self.arrivals += 1;
        self.leaves.insert((key, arrival), place);
        self.oldest.insert((0, arrival), place);
        self.yields.insert((!key, arrival), place);
        true
    }

    /// The frame that is to leave next.
    pub(super) fn next(&self) -> Option<(Place, Outgoing<'_>)> {
        let (_, place) = self.leaves.first()?;
        let slot = self.slots.get(place as usize)?;
        let start = place as usize * self.longest;
        let data = self.bytes.get(start..start + slot.length)?;
        let outgoing = Outgoing {
            // It was a frame when it came.
            frame: FrameRef::new(slot.header, data).ok()?,
            token: slot.token,
            hops: slot.hops,
            stamp: slot.stamp,
            echo: slot.echo,
        };
        Some((Place(place), outgoing))
    }

    /// Since when the frame waits that came first.
    pub(super) fn oldest(&self) -> Option<(Place, Nanos)> {
        let (_, place) = self.oldest.first()?;
        let slot = self.slots.get(place as usize)?;
        Some((Place(place), slot.since))
    }

    /// The frame that makes room for a new one with this header: the oldest of those with the lowest
    /// priority. `None` where the new one has a lower priority still.
    pub(super) fn yields_to(&self, header: &Header) -> Option<Place> {
        let ((key, _), place) = self.yields.first()?;
        (self.key(header) <= !key).then_some(Place(place))
    }

    pub(super) fn remove(&mut self, Place(place): Place) {
        self.leaves.remove(place);
        self.oldest.remove(place);
        self.yields.remove(place);
        self.free.push(place);
    }
}
