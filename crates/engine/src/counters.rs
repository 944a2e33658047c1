//! What the worker counts: plain numbers in its own memory, no atomics, no locks.

use crate::fate::{Fates, Stops};
use crate::report::{RxCounters, TxCounters};
use alloc::sync::Arc;
use alloc::vec::Vec;
use frame::Nanos;
use serde::{Deserialize, Serialize};

/// What became of copies: one frame that a route sends to three ports is three copies.
/// `offered` is counted before the port is asked, the others after it has answered.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Copies {
    /// Copies made.
    pub offered: u64,
    /// Taken by the port. What became of them then, [`TxCounters`] says.
    pub accepted: u64,
    /// Refused by a full queue.
    pub refused: u64,
    /// Not delivered because the port is down, bus-off or out of service.
    pub down: u64,
    /// Not delivered because the port cannot carry this kind of frame.
    pub unsupported: u64,
}

impl Copies {
    /// Copies that were answered.
    #[must_use]
    pub fn answered(&self) -> u128 {
        [self.accepted, self.refused, self.down, self.unsupported]
            .iter()
            .map(|&n| u128::from(n))
            .sum()
    }

    /// Copies for a port that was down or cannot carry them.
    #[must_use]
    pub fn undeliverable(&self) -> u128 {
        u128::from(self.down) + u128::from(self.unsupported)
    }

    fn add(&mut self, other: &Self) {
        self.offered += other.offered;
        self.accepted += other.accepted;
        self.refused += other.refused;
        self.down += other.down;
        self.unsupported += other.unsupported;
    }
}

/// What a route did.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct RouteCount {
    /// Frames that it took: `forwarded` and `stopped` add up to this.
    pub taken: u64,
    /// Frames of which it made copies.
    pub forwarded: u64,
    /// Frames that it did not send, by reason.
    #[serde(flatten)]
    pub stopped: Stops,
    /// What became of its copies.
    pub copies: Copies,
}

impl RouteCount {
    /// Frames whose end with this route is known.
    #[must_use]
    pub fn ended(&self) -> u128 {
        u128::from(self.forwarded) + self.stopped.total()
    }

    pub(crate) fn add(&mut self, other: &Self) {
        self.taken += other.taken;
        self.forwarded += other.forwarded;
        self.stopped.add(&other.stopped);
        self.copies.add(&other.copies);
    }
}

/// Is a port at work?
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PortState {
    /// In service.
    #[default]
    Up,
    /// In service, but nothing can come in at the moment: an interface that is down or gone.
    Down,
    /// Closed in good order, at the gateway's end.
    Closed,
    /// Its input has ended (a file); it can still transmit.
    Finished,
    /// Out of service after an error that it could not survive.
    Failed,
}

/// What one port received and was given to send.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct PortCount {
    /// Is it at work?
    pub state: PortState,
    /// Frames that it handed over, counted one by one when they came.
    pub received: u64,
    /// Frames that it says it handed over.
    pub reported: u64,
    /// What became of them.
    pub fates: Fates,
    /// What it lost before the gateway saw it.
    pub rx: RxCounters,
    /// Copies that were offered to it as a destination.
    pub copies: Copies,
    /// What became of those that it accepted.
    pub tx: TxCounters,
}

impl PortCount {
    pub(crate) fn add(&mut self, other: &Self) {
        self.received += other.received;
        self.reported += other.reported;
        self.fates.add(&other.fates);
        self.rx.add(&other.rx);
        self.copies.add(&other.copies);
        self.tx.add(&other.tx);
    }
}

/// All numbers of an engine at one moment between two batches. Names are in the layout: the
/// worker copies numbers only.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Counts {
    /// The engine's time at its last step.
    pub at: Nanos,
    /// Routing tables taken over since the start.
    pub reloads: u64,
    /// One for each port.
    pub ports: Vec<PortCount>,
    /// Why a port failed, by port.
    pub failures: Vec<Option<Arc<str>>>,
    /// One for each route.
    pub routes: Vec<RouteCount>,
    /// Ports that a reload took away.
    pub retired_ports: PortCount,
    /// Routes that a reload took away.
    pub retired_routes: RouteCount,
}
