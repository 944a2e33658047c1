//! What the page of a run is made from.

use probe::{BusLoad, LoadPoint, Results};
use serde::Serialize;

/// Everything that the page shows. Plain data, filled by whoever ran something.
#[derive(Clone, Debug)]
pub struct Data {
    /// Every frame's stamps, and how they were made.
    pub results: Results,
    /// What the charts call the stamps' clock: "bus time (virtual)". Whether it is virtual or real
    /// is taken from the results' description, as [`crate::TimeBase::of`] does.
    /// [`probe::Record::processing`] is real time always.
    pub time: String,
    /// No time passes in the gateway on the stamps' clock, as on the embedded bus: a latency is
    /// waiting for the outgoing bus, and nothing else.
    pub waiting_only: bool,
    /// A row for each route, in the order of [`Results::routes`].
    pub routes: Vec<RouteRow>,
    /// Where frames came from and what became of them; each is shown with its sum.
    pub accounts: Vec<Account>,
    /// The buses.
    pub buses: Vec<BusRow>,
    /// What else a reader must know: bad lines of a log, limits that were met.
    pub notes: Vec<String>,
}

/// One route's counters. Its latencies come from the results.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize)]
pub struct RouteRow {
    /// Its name.
    pub name: String,
    /// What it does, in words; may be empty.
    pub text: String,
    /// Frames that it took.
    pub taken: u64,
    /// Frames that went out for it (several for one taken, where it has several destinations).
    pub out: u64,
    /// Why others did not: reason and number.
    pub stopped: Vec<(String, u64)>,
}

/// A number of frames and what became of them.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize)]
pub struct Account {
    /// Whose frames: "received by can0".
    pub title: String,
    /// How many.
    pub total: u64,
    /// Every fate and how many had it.
    pub parts: Vec<(String, u64)>,
}

impl Account {
    /// The parts' sum.
    #[must_use]
    pub fn sum(&self) -> u64 {
        self.parts
            .iter()
            .fold(0, |sum, part| sum.saturating_add(part.1))
    }

    /// Is no frame missing and none counted twice?
    #[must_use]
    pub fn adds_up(&self) -> bool {
        self.sum() == self.total
    }
}

/// One bus.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct BusRow {
    /// Its name.
    pub name: String,
    /// Its bit rates, for people.
    pub bit_rate: String,
    /// Frames that were sent on it.
    pub frames: u64,
    /// Error frames on it.
    pub errors: u64,
    /// How long it was busy, ns.
    pub busy: u64,
    /// Of how long, ns.
    pub elapsed: u64,
    /// Its load over time.
    pub load: Vec<LoadPoint>,
}

impl BusRow {
    /// The windows that say something about load: all that have the full length. The last one
    /// is often shorter, and a frame or two fill it; it counts only where it is the only one.
    pub fn full_windows(&self) -> impl Iterator<Item = &LoadPoint> {
        let full = self.load.first().map_or(0, |p| p.length);
        self.load.iter().filter(move |p| p.length == full)
    }

    /// Busy time and load over time, from what was recorded up to `elapsed`.
    #[must_use]
    pub fn with_load(mut self, load: &BusLoad, elapsed: u64) -> Self {
        self.busy = load.total();
        self.elapsed = elapsed;
        self.load = load.points(elapsed);
        self
    }
}
