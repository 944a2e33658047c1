//! Frames that wait while the socket has no room: the urgent ones first, within a class the one
//! that would win arbitration.

use crate::{OutgoingFrame, Token};
use frame::{FrameRef, Header, Nanos, wire};
use std::collections::BTreeMap;

/// Whether frames wait for others that share their datagram.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum SendClass {
    /// They never wait for frames of the other class.
    Urgent,
    /// They may wait.
    Other,
}

/// The place of a frame in the order of leaving: its class, its priority on a bus, and its arrival.
/// So frames of one ID keep their order.
type LeavingOrder = (SendClass, u64, u64);

#[derive(Default)]
struct BacklogSlot {
    header: Header,
    data: Vec<u8>,
    unix: Nanos,
    token: Token,
}

/// A frame that waits.
pub(super) struct BacklogFrame<'b> {
    pub(super) frame: FrameRef<'b>,
    /// Its time as Unix time, ns.
    pub(super) unix: Nanos,
    pub(super) token: Token,
}

/// The result of adding a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum BacklogResult {
    /// It waits.
    Waits,
    /// It waits in the place of the last one, which is dropped.
    Displaces,
    /// It would be the last one, and there is no room.
    Full,
}

/// The frames that wait.
pub(super) struct SendBacklog {
    most: usize,
    order: BTreeMap<LeavingOrder, usize>,
    slots: Vec<BacklogSlot>,
    free: Vec<usize>,
    arrivals: u64,
}

impl SendBacklog {
    /// Returns a backlog of at most this many frames.
    pub(super) const fn new(most: usize) -> Self {
        Self {
            most,
            order: BTreeMap::new(),
            slots: Vec::new(),
            free: Vec::new(),
            arrivals: 0,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.order.len()
    }

    /// Returns whether frames of a class wait.
    pub(super) fn has(&self, class: SendClass) -> bool {
        self.of_class(class).next().is_some()
    }

    /// Returns the number of frames that certainly find a place.
    pub(super) fn room(&self) -> usize {
        self.most - self.len()
    }

    /// Adds a frame.
    pub(super) fn push(
        &mut self,
        class: SendClass,
        outgoing: &OutgoingFrame<'_>,
        unix: Nanos,
    ) -> BacklogResult {
        self.arrivals += 1;
        let header = outgoing.frame.header();
        let order = (class, wire::arbitration_field(header), self.arrivals);
        let mut result = BacklogResult::Waits;
        if self.len() == self.most {
            match self.order.last_entry() {
                Some(last) if order < *last.key() => self.free.push(last.remove()),
                _ => return BacklogResult::Full,
            }
            result = BacklogResult::Displaces;
        }
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(BacklogSlot::default());
            self.slots.len() - 1
        });
        let place = &mut self.slots[slot];
        place.header = *header;
        place.data.clear();
        place.data.extend_from_slice(outgoing.frame.data());
        (place.unix, place.token) = (unix, outgoing.token);
        self.order.insert(order, slot);
        result
    }

    /// Returns the frames of a class in the order of leaving.
    pub(super) fn of_class(&self, class: SendClass) -> impl Iterator<Item = BacklogFrame<'_>> {
        let first = (class, 0, 0);
        let last = (class, u64::MAX, u64::MAX);
        self.order.range(first..=last).filter_map(|(_, slot)| {
            let place = &self.slots[*slot];
            Some(BacklogFrame {
                // It was a valid frame when it came.
                frame: FrameRef::new(place.header, &place.data).ok()?,
                unix: place.unix,
                token: place.token,
            })
        })
    }

    /// Removes the first frames of a class.
    pub(super) fn remove(&mut self, class: SendClass, frames: u64) {
        for _ in 0..frames {
            let first = self.order.range((class, 0, 0)..).next();
            let Some(key) = first.map(|(key, _)| *key) else {
                return;
            };
            self.free.extend(self.order.remove(&key));
        }
    }
}
