//! One controller: its transmit buffers, its queue, its counters.

use crate::{ErrorState, NodeConfig, confinement::Counters};
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use frame::{Frame, Nanos, wire};

/// Stands for "nothing to send" among arbitration keys.
pub(crate) const NO_KEY: u64 = u64::MAX;

/// A frame that was accepted and is not yet sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pending {
    pub(crate) frame: Frame,
    pub(crate) tag: u64,
    pub(crate) ready: Nanos,
    pub(crate) attempts: u32,
    /// Arbitration field.
    pub(crate) key: u32,
    /// Order of arrival in this node.
    pub(crate) order: u64,
}

/// How a bus-off node comes back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Recovery {
    /// Not asked for yet; at this time it is, if ever.
    Waiting(Option<Nanos>),
    /// Counting runs of 11 recessive bits.
    Counting {
        /// Runs that are done.
        done: u32,
        /// When it was asked for.
        asked: Nanos,
        /// Since when the bus is recessive; `None` where it is not.
        since: Option<Nanos>,
    },
}

/// What [`crate::Bus::node_state`] tells.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NodeState {
    /// Transmit error counter; 256 and more is bus-off.
    pub tec: u16,
    /// Receive error counter, 0 to 255.
    pub rec: u16,
    /// What follows from the two.
    pub state: ErrorState,
    /// Frames in the queue.
    pub queued: usize,
    /// Frames in mailboxes, the one on the wire included.
    pub mailboxes_used: usize,
    /// Frames handed in for a time that has not come.
    pub scheduled: usize,
    /// Frames sent.
    pub sent: u64,
    /// Frames received from others.
    pub received: u64,
    /// Accepted frames that were given up.
    pub dropped: u64,
    /// Attempts that failed.
    pub failed_attempts: u64,
}

#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) config: NodeConfig,
    pub(crate) counters: Counters,
    pub(crate) state: ErrorState,
    pub(crate) recovery: Recovery,
    /// Takes part in frames that start at or after this time.
    pub(crate) joined: Nanos,
    /// May not start a frame before this time (suspend transmission).
    pub(crate) suspended_until: Nanos,
    pub(crate) mailboxes: Vec<Pending>,
    /// Index in `mailboxes` of the one that competes.
    best: usize,
    /// Index in `mailboxes` of the one on the wire. It stays there whatever comes in meanwhile.
    in_flight: usize,
    queue: VecDeque<Pending>,
    order: u64,
    pub(crate) scheduled: usize,
    /// Starts of frame of this node.
    pub(crate) starts: u64,
    pub(crate) sent: u64,
    pub(crate) dropped: u64,
    pub(crate) failed_attempts: u64,
}

impl Node {
    pub(crate) fn new(config: NodeConfig, joined: Nanos) -> Self {
        Self {
            mailboxes: Vec::with_capacity(usize::from(config.mailboxes)),
            config,
            counters: Counters::default(),
            state: ErrorState::Active,
            recovery: Recovery::Waiting(None),
            joined,
            suspended_until: 0,
            best: 0,
            in_flight: 0,
            queue: VecDeque::new(),
            order: 0,
            scheduled: 0,
            starts: 0,
            sent: 0,
            dropped: 0,
            failed_attempts: 0,
        }
    }

    /// Takes part in what happens on the bus from this time on?
    #[inline]
    pub(crate) fn on_bus(&self, start: Nanos) -> bool {
        self.state != ErrorState::BusOff && self.joined <= start
    }

    pub(crate) fn free(&self) -> usize {
        (usize::from(self.config.mailboxes) - self.mailboxes.len())
            .saturating_add(self.config.queue - self.queue.len())
    }

    /// Takes a frame that is due; the caller has seen that there is room.
    pub(crate) fn push(&mut self, frame: Frame, tag: u64, ready: Nanos) {
        let pending = Pending {
            key: wire::arbitration_field(&frame.header()) as u32,
            frame,
            tag,
            ready,
            attempts: 0,
            order: self.order,
        };
        self.order += 1;
        if self.mailboxes.len() < usize::from(self.config.mailboxes) {
            // The queue is empty: it moves up whenever a mailbox falls free.
            self.mailboxes.push(pending);
            self.choose();
        } else {
            self.queue.push_back(pending);
        }
    }

    fn choose(&mut self) {
        let lowest = self.mailboxes.iter().enumerate();
        self.best = lowest
            .min_by_key(|(_, p)| (p.key, p.order))
            .map_or(0, |(i, _)| i);
    }

    /// The arbitration field of the frame that competes.
    #[inline]
    pub(crate) fn head_key(&self) -> u64 {
        self.mailboxes
            .get(self.best)
            .map_or(NO_KEY, |p| u64::from(p.key))
    }

    /// The frame that competes goes on the wire.
    #[inline]
    pub(crate) fn launch(&mut self) -> Option<&Pending> {
        self.in_flight = self.best;
        self.starts += 1;
        let pending = self.mailboxes.get_mut(self.best)?;
        pending.attempts = pending.attempts.saturating_add(1);
        Some(pending)
    }

    /// The frame on the wire.
    #[inline]
    pub(crate) fn in_flight(&self) -> Option<&Pending> {
        self.mailboxes.get(self.in_flight)
    }

    /// Takes the frame on the wire out; the queue moves up.
    pub(crate) fn remove_in_flight(&mut self) {
        if let Some(slot) = self.mailboxes.get_mut(self.in_flight) {
            match self.queue.pop_front() {
                Some(next) => *slot = next,
                None => _ = self.mailboxes.swap_remove(self.in_flight),
            }
            self.choose();
        }
    }

    /// Takes out the frame that competes; the queue moves up.
    pub(crate) fn remove_best(&mut self) -> Option<Pending> {
        let pending = self.mailboxes.get(self.best).copied()?;
        self.in_flight = self.best;
        self.remove_in_flight();
        Some(pending)
    }

    /// Takes out a frame with this tag that is not on the wire, the newest first; the queue moves
    /// up. `flying`: one is on the wire.
    pub(crate) fn cancel(&mut self, tag: u64, flying: bool) -> bool {
        if let Some(place) = self.queue.iter().rposition(|p| p.tag == tag) {
            self.queue.remove(place);
            return true;
        }
        let mut all = self.mailboxes.iter().enumerate();
        let is = |(i, p): &(usize, &Pending)| p.tag == tag && !(flying && *i == self.in_flight);
        let Some((place, _)) = all.rfind(is) else {
            return false;
        };
        match self.queue.pop_front() {
            Some(next) => {
                if let Some(slot) = self.mailboxes.get_mut(place) {
                    *slot = next;
                }
            }
            None => {
                self.mailboxes.swap_remove(place);
                // The last one has moved here.
                if self.in_flight == self.mailboxes.len() {
                    self.in_flight = place;
                }
            }
        }
        self.choose();
        true
    }

    /// Takes everything out, oldest first.
    pub(crate) fn drain(&mut self, mut gone: impl FnMut(&Pending)) {
        self.mailboxes.sort_unstable_by_key(|p| p.order);
        for pending in self.mailboxes.drain(..).chain(self.queue.drain(..)) {
            self.dropped += 1;
            gone(&pending);
        }
        self.best = 0;
    }

    pub(crate) fn snapshot(&self, received: u64) -> NodeState {
        NodeState {
            tec: self.counters.tec,
            rec: self.counters.rec,
            state: self.state,
            queued: self.queue.len(),
            mailboxes_used: self.mailboxes.len(),
            scheduled: self.scheduled,
            sent: self.sent,
            received,
            dropped: self.dropped,
            failed_attempts: self.failed_attempts,
        }
    }
}
