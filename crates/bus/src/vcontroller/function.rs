//! One virtual function: its queue, its FIFO, its counters.

use super::budget::BudgetBucket;
use super::counters::FunctionCounters;
use super::rights::FunctionRights;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use frame::{Frame, Nanos, wire};

/// The number by which a function identifies a request.
pub type Ticket = u64;

/// The fate of a request.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum RequestOutcome {
    /// The frame was on the bus, and acknowledged.
    Sent,
    /// The function has withdrawn it.
    Aborted,
    /// It was given up before it was sent: the controller went bus-off or was taken off the bus, or
    /// the function lost the right to send it.
    Dropped,
}

/// The confirmation of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RequestCompletion {
    /// The ticket of the request.
    pub ticket: Ticket,
    /// The fate of the request.
    pub outcome: RequestOutcome,
    /// Time of the end of frame, or at which the frame was given up, ns.
    pub at: Nanos,
}

/// A received frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FunctionFrame {
    /// The frame.
    pub frame: Frame,
    /// Time of the end of frame, ns.
    pub at: Nanos,
}

/// A frame that is waiting for the bus.
#[derive(Clone, Copy, Debug)]
pub(crate) struct QueuedFrame {
    pub(crate) frame: Frame,
    pub(crate) ticket: Ticket,
    pub(crate) key: u64,
    /// Its number in the order of the requests of all functions.
    pub(crate) order: u64,
    /// Withdrawn while on the wire: the outcome if this attempt fails.
    pub(crate) unwanted: Option<RequestOutcome>,
}

pub(crate) struct VirtualFunction {
    pub(crate) rights: FunctionRights,
    pub(crate) bucket: Option<BudgetBucket>,
    pub(crate) started: bool,
    pub(crate) listen_only: bool,
    /// Unsorted: the best frame is searched for. Queues are short.
    pub(crate) waiting: Vec<QueuedFrame>,
    pub(crate) completions: VecDeque<RequestCompletion>,
    pub(crate) fifo: VecDeque<FunctionFrame>,
    pub(crate) counters: FunctionCounters,
    /// The state has changed since it was read.
    pub(crate) news: bool,
    queue: usize,
    depth: usize,
}

impl VirtualFunction {
    pub(crate) fn new(queue: usize, depth: usize) -> Self {
        Self {
            rights: FunctionRights::default(),
            bucket: None,
            started: false,
            listen_only: false,
            waiting: Vec::with_capacity(queue),
            completions: VecDeque::with_capacity(queue),
            fifo: VecDeque::with_capacity(depth),
            counters: FunctionCounters::default(),
            news: true,
            queue,
            depth,
        }
    }

    /// Returns the free places of the queue. A frame occupies its place until its confirmation is
    /// read.
    pub(crate) fn room(&self) -> usize {
        self.queue
            .saturating_sub(self.waiting.len() + self.completions.len())
    }

    pub(crate) fn push(&mut self, frame: Frame, ticket: Ticket, order: u64) {
        self.waiting.push(QueuedFrame {
            key: wire::arbitration_key(&frame.header()),
            frame,
            ticket,
            order,
            unwanted: None,
        });
    }

    /// Returns the place of the frame that is sent first.
    pub(crate) fn best(&self) -> Option<usize> {
        let all = self.waiting.iter().enumerate();
        all.min_by_key(|(_, w)| (w.key, w.order)).map(|(i, _)| i)
    }

    pub(crate) fn place(&self, order: u64) -> Option<usize> {
        self.waiting.iter().position(|w| w.order == order)
    }

    /// Removes a frame with its fate.
    pub(crate) fn complete(&mut self, place: usize, outcome: RequestOutcome, at: Nanos) {
        if place >= self.waiting.len() {
            return;
        }
        let QueuedFrame { ticket, .. } = self.waiting.swap_remove(place);
        match outcome {
            RequestOutcome::Sent => self.counters.sent += 1,
            RequestOutcome::Aborted => self.counters.aborted += 1,
            RequestOutcome::Dropped => self.counters.dropped += 1,
        }
        // There is room: see `room`.
        self.completions.push_back(RequestCompletion {
            ticket,
            outcome,
            at,
        });
    }

    pub(crate) fn deliver(&mut self, frame: &Frame, at: Nanos) {
        let id = frame.id();
        if !self.started || !self.rights.receive.iter().any(|rule| rule.matches(id)) {
            return;
        }
        self.counters.heard += 1;
        if self.fifo.len() >= self.depth {
            self.counters.overrun += 1;
            return;
        }
        self.counters.received += 1;
        self.fifo.push_back(FunctionFrame { frame: *frame, at });
    }
}
