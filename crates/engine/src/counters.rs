//! The worker's counters: plain numbers in its own memory, without atomics or locks.

use crate::definition::CounterRole::{Lost, Other};
use crate::definition::{CounterDefinition, counters};
use crate::fate::{Fate, Fates, Stops, Verifications};
use crate::report::{RxCounters, TxCounters};
use alloc::sync::Arc;
use alloc::vec::Vec;
use frame::Nanos;
use serde::{Deserialize, Serialize};

counters! {
    /// Counters of copies: one frame that a route sends to three ports is three copies. `offered`
    /// is counted before the port is asked, the others after it has answered.
    CopyCounters {
        /// Copies made.
        offered;
        /// Copies that the port took. [`TxCounters`] count their further fate.
        accepted;
        /// Copies that a full queue refused.
        refused;
        /// Copies that were not delivered because the port is down, bus-off or out of service.
        down;
        /// Copies that were not delivered because the port cannot carry this kind of frame.
        unsupported;
    }
}

impl CopyCounters {
    /// The definitions of the counters of copies at their port.
    pub const DEFINITIONS: &'static [CounterDefinition] = &[
        CounterDefinition::new(Other, "")
            .column("offered")
            .metric("cangate_port_copies")
            .at(
                "copies.offered",
                "Copies of frames that routes offered to the port.",
                |port| port.copies.offered,
            ),
        CounterDefinition::new(Lost, Fate::Refused.words())
            .on_purpose(|port| port.tx.faults.refused)
            .column(Fate::Refused.words())
            .at(
                "copies.refused",
                "Copies that a full queue refused.",
                |port| port.copies.refused,
            ),
        CounterDefinition::new(Lost, Fate::Undeliverable.words())
            .column(Fate::Undeliverable.words())
            .at(
                "copies.down + copies.unsupported",
                "Copies for a port that was down or out of service, or that cannot carry such a frame.",
                |port| saturated(port.copies.undeliverable()),
            ),
    ];

    /// Returns the number of copies by the answer of the port.
    pub fn answers(&self) -> impl Iterator<Item = (&'static str, u64)> + use<> {
        self.iter().filter(|(key, _)| *key != "offered")
    }

    /// Returns the number of copies that were answered.
    #[must_use]
    pub fn answered(&self) -> u128 {
        self.answers().map(|(_, number)| u128::from(number)).sum()
    }

    /// Returns the number of copies for a port that was down or cannot carry them.
    #[must_use]
    pub fn undeliverable(&self) -> u128 {
        u128::from(self.down) + u128::from(self.unsupported)
    }
}

/// Returns the number, or the highest one that fits: numbers may come from untrusted JSON.
fn saturated(number: u128) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
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

/// Results of the end-to-end checks of one route. They are not in [`RouteCount`], because few
/// routes check, and the worker copies all counters for each reader.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RouteVerifications {
    /// The index of the route.
    pub route: usize,
    /// The frames that it checked, by the result. They are among those taken.
    pub results: Verifications,
}

impl RouteVerifications {
    /// Returns the results of a route in a list in the order of the routes.
    pub(crate) fn of_route(all: &mut [Self], route: usize) -> Option<&mut Verifications> {
        let place = all.binary_search_by_key(&route, |one| one.route);
        let one = place.ok().and_then(|at| all.get_mut(at));
        one.map(|one| &mut one.results)
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
    /// Frames that it took from clients of the gateway. They are among those that it took, and are
    /// no copies.
    #[serde(default, skip_serializing_if = "crate::definition::is_zero")]
    pub injected: u64,
    /// The fates of the copies that it accepted, and of the frames that it took from clients.
    pub tx: TxCounters,
}

impl PortCount {
    /// The definition of the frames received.
    pub const RECEIVED: CounterDefinition = CounterDefinition::new(Other, "")
        .column("received")
        .metric("cangate_port_received_frames")
        .at("received", "Frames that the port handed over.", |port| {
            port.received
        });

    /// The definition of the frames that it took from clients.
    pub const INJECTED: CounterDefinition = CounterDefinition::new(Other, "")
        .column("injected")
        .metric("cangate_port_injected_frames")
        .at(
            "injected",
            "Frames that the port took from clients (`cangate send --to`). They are among those that it took, and no route \
             offered them.",
            |port| port.injected,
        );

    /// Returns the definitions of all counters of a port: of the frames received, of the copies
    /// offered, of the frames of clients, of the transmitting half, of the receiving half.
    pub fn definitions() -> impl Iterator<Item = &'static CounterDefinition> {
        let copies = CopyCounters::DEFINITIONS;
        let halves = [TxCounters::DEFINITIONS, RxCounters::DEFINITIONS];
        let offered = copies.iter().chain([&Self::INJECTED]);
        let rest = offered.chain(halves.into_iter().flatten());
        core::iter::once(&Self::RECEIVED).chain(rest)
    }

    /// Returns the definitions of the outcomes of copies that are offered to a port: those of the
    /// copies that it took, losses last, then those of the copies that it did not take.
    pub fn outcomes() -> impl Iterator<Item = &'static CounterDefinition> {
        let tx = TxCounters::DEFINITIONS.iter();
        let lost = |counter: &&CounterDefinition| counter.role == Lost;
        let taken = tx.clone().filter(move |counter| !lost(counter));
        taken
            .chain(tx.filter(lost))
            .chain(CopyCounters::DEFINITIONS)
            .filter(|counter| counter.is_outcome())
    }

    pub(crate) fn add(&mut self, other: &Self) {
        self.received += other.received;
        self.reported += other.reported;
        self.fates.add(&other.fates);
        self.rx.add(&other.rx);
        self.copies.add(&other.copies);
        self.injected += other.injected;
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
    /// One for each route that checks end-to-end protections, in their order.
    pub verifications: Vec<RouteVerifications>,
    /// Sums of the ports that reloads removed.
    pub retired_ports: PortCount,
    /// Sums of the routes that reloads removed.
    pub retired_routes: RouteCount,
    /// Sums of the checks of routes that reloads removed.
    pub retired_verifications: Verifications,
}
