//! The worker's counters: plain numbers in its own memory, without atomics or locks.

use crate::fate::{Fates, Stops};
use crate::report::{RxCounters, TxCounters};
use alloc::sync::Arc;
use alloc::vec::Vec;
use frame::Nanos;
use serde::{Deserialize, Serialize};

/// Counters of copies: one frame that a route sends to three ports is three copies. `offered` is
/// counted before the port is asked, the others after it has answered.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct CopyCounters {
    /// Copies made.
    pub offered: u64,
    /// Copies that the port took. [`TxCounters`] count their further fate.
    pub accepted: u64,
    /// Copies that a full queue refused.
    pub refused: u64,
    /// Copies that were not delivered because the port is down, bus-off or out of service.
    pub down: u64,
    /// Copies that were not delivered because the port cannot carry this kind of frame.
    pub unsupported: u64,
}

impl CopyCounters {
    /// Returns the number of copies that were answered.
    #[must_use]
    pub fn answered(&self) -> u128 {
        [self.accepted, self.refused, self.down, self.unsupported]
            .iter()
            .map(|&n| u128::from(n))
            .sum()
    }

    /// Returns the number of copies for a port that was down or cannot carry them.
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

/// Counters of a route.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct RouteCount {
    /// Frames that it took: `forwarded` and `stopped` add up to this.
    pub taken: u64,
    /// Frames of which it made copies.
    pub forwarded: u64,
    /// Frames that it did not send, by reason.
    #[serde(flatten)]
    pub stopped: Stops,
    /// Counters of its copies.
    pub copies: CopyCounters,
}

impl RouteCount {
    /// Returns the number of frames whose end with this route is known.
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

/// The state of a port.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PortState {
    /// In service.
    #[default]
    Up,
    /// In service, but no frame can come in at the moment: an interface that is down or gone.
    Down,
    /// Closed in an orderly way, at the gateway's end.
    Closed,
    /// Its input has ended (a file); it can still transmit.
    Finished,
    /// Out of service after an error from which it could not recover.
    Failed,
}

/// Counters of the frames that one port received and was given to send.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct PortCount {
    /// The port's state.
    pub state: PortState,
    /// Frames that it handed over, counted one by one when they came.
    pub received: u64,
    /// Frames that it handed over by its own report.
    pub reported: u64,
    /// The fates of the received frames.
    pub fates: Fates,
    /// Frames that it lost before they reached the gateway.
    pub rx: RxCounters,
    /// Copies that were offered to it as a destination.
    pub copies: CopyCounters,
    /// The fates of the copies that it accepted.
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

/// All counters of an engine at one moment between two batches. Names are in the layout: the worker
/// copies only numbers.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct EngineCounts {
    /// The engine's time at its last step.
    pub at: Nanos,
    /// Number of routing tables taken over since the start.
    pub reloads: u64,
    /// One for each port.
    pub ports: Vec<PortCount>,
    /// Reasons for the failures of ports, by port.
    pub failures: Vec<Option<Arc<str>>>,
    /// One for each route.
    pub routes: Vec<RouteCount>,
    /// Sums of the ports that reloads removed.
    pub retired_ports: PortCount,
    /// Sums of the routes that reloads removed.
    pub retired_routes: RouteCount,
}
