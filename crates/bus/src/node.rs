//! One controller: its transmit buffers, its queue, its counters.

use crate::{ErrorState, NodeConfig, confinement::ConfinementCounters};
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use frame::{Frame, Nanos, wire};

/// Arbitration key that means "nothing to send".
pub(crate) const NO_KEY: u64 = u64::MAX;

/// A frame that was accepted and is not yet sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PendingFrame {
    pub(crate) frame: Frame,
    pub(crate) tag: u64,
    pub(crate) ready: Nanos,
    pub(crate) attempts: u32,
    /// Arbitration field.
    pub(crate) key: u32,
    /// Order of arrival in this node.
    pub(crate) order: u64,
}

/// The recovery of a bus-off node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum BusOffRecovery {
    /// Not requested yet; the time of the automatic request, if there is one.
    Waiting(Option<Nanos>),
    /// Counting runs of 11 recessive bits.
    Counting {
        /// Number of runs counted so far.
        done: u32,
        /// Time at which recovery was requested.
        asked: Nanos,
        /// Time since which the bus is recessive; `None` where it is not.
        since: Option<Nanos>,
    },
}

/// The state of a node, as [`crate::Bus::node_state`] returns it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NodeState {
    /// Transmit error counter; 256 and more is bus-off.
    pub tec: u16,
    /// Receive error counter, 0 to 255.
    pub rec: u16,
    /// The state that follows from the two counters.
    pub state: ErrorState,
    /// Frames in the queue.
    pub queued: usize,
    /// Frames in mailboxes, the one on the wire included.
    pub mailboxes_used: usize,
    /// Frames handed in for a time that has not come yet.
    pub scheduled: usize,
    /// Frames sent.
    pub sent: u64,
    /// Frames received from others.
    pub received: u64,
    /// Accepted frames that were dropped.
    pub dropped: u64,
    /// Attempts that failed.
    pub failed_attempts: u64,
}

#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) config: NodeConfig,
    pub(crate) counters: ConfinementCounters,
    pub(crate) state: ErrorState,
    pub(crate) recovery: BusOffRecovery,
    /// Start time of the earliest frame in which the node takes part.
    pub(crate) joined: Nanos,
    /// Time before which the node may not start a frame (suspend transmission).
    pub(crate) suspended_until: Nanos,
    pub(crate) mailboxes: Vec<PendingFrame>,
    /// Index in `mailboxes` of the frame that competes.
    best: usize,
    /// Index in `mailboxes` of the frame on the wire. That frame stays there even if a frame of
    /// higher priority comes in meanwhile.
    in_flight: usize,
    queue: VecDeque<PendingFrame>,
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
            counters: ConfinementCounters::default(),
            state: ErrorState::Active,
            recovery: BusOffRecovery::Waiting(None),
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

    /// Returns whether the node takes part in a frame that starts at this time.
    #[inline]
    pub(crate) fn on_bus(&self, start: Nanos) -> bool {
        self.state != ErrorState::BusOff && self.joined <= start
    }

    pub(crate) fn free(&self) -> usize {
        (usize::from(self.config.mailboxes) - self.mailboxes.len())
            .saturating_add(self.config.queue - self.queue.len())
    }

    /// Accepts a frame that is due; the caller has checked that there is space for it.
    pub(crate) fn push(&mut self, frame: Frame, tag: u64, ready: Nanos) {
        let pending = PendingFrame {
            key: wire::arbitration_field(&frame.header()) as u32,
            frame,
            tag,
            ready,
            attempts: 0,
            order: self.order,
        };
        self.order += 1;
        if self.mailboxes.len() < usize::from(self.config.mailboxes) {
            // The queue is empty: it moves up whenever a mailbox becomes free.
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

    /// Returns the arbitration field of the frame that competes, or [`NO_KEY`].
    #[inline]
    pub(crate) fn head_key(&self) -> u64 {
        self.mailboxes
            .get(self.best)
            .map_or(NO_KEY, |p| u64::from(p.key))
    }

    /// Puts the frame that competes on the wire.
    #[inline]
    pub(crate) fn launch(&mut self) -> Option<&PendingFrame> {
        self.in_flight = self.best;
        self.starts += 1;
        let pending = self.mailboxes.get_mut(self.best)?;
        pending.attempts = pending.attempts.saturating_add(1);
        Some(pending)
    }

    /// Returns the frame on the wire.
    #[inline]
    pub(crate) fn in_flight(&self) -> Option<&PendingFrame> {
        self.mailboxes.get(self.in_flight)
    }

    /// Removes the frame on the wire; the queue moves up.
    pub(crate) fn remove_in_flight(&mut self) {
        if let Some(slot) = self.mailboxes.get_mut(self.in_flight) {
            match self.queue.pop_front() {
                Some(next) => *slot = next,
                None => _ = self.mailboxes.swap_remove(self.in_flight),
            }
            self.choose();
        }
    }

    /// Removes the frame that competes; the queue moves up.
    pub(crate) fn remove_best(&mut self) -> Option<PendingFrame> {
        let pending = self.mailboxes.get(self.best).copied()?;
        self.in_flight = self.best;
        self.remove_in_flight();
        Some(pending)
    }

    /// Removes the newest frame with this tag that is not on the wire; the queue moves up. Returns
    /// false if there is none. `flying`: one of the node's frames is on the wire.
    pub(crate) fn cancel(&mut self, tag: u64, flying: bool) -> bool {
        if let Some(place) = self.queue.iter().rposition(|p| p.tag == tag) {
            self.queue.remove(place);
            return true;
        }
        let mut all = self.mailboxes.iter().enumerate();
        let is =
            |(i, p): &(usize, &PendingFrame)| p.tag == tag && !(flying && *i == self.in_flight);
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
                // The last mailbox has moved to `place`.
                if self.in_flight == self.mailboxes.len() {
                    self.in_flight = place;
                }
            }
        }
        self.choose();
        true
    }

    /// Removes all frames, oldest first, and counts them as dropped.
    pub(crate) fn drain(&mut self, mut gone: impl FnMut(&PendingFrame)) {
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

/// A node that sends the frame on the wire.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SendingNode {
    pub(crate) node: usize,
    /// The frame on the wire, where it differs from the frame that the node was given (ESI).
    pub(crate) frame: Option<Frame>,
    pub(crate) failed: bool,
}
