//! The data of the page of a run.

use probe::{BusLoad, LoadPoint, RunResults};
use serde::Serialize;

/// All data that the page shows. It is plain data, filled by the code that ran something.
#[derive(Clone, Debug)]
pub struct RunData {
    /// The stamps of every frame, and the description of how they were made.
    pub results: RunResults,
    /// The name of the stamps' clock in the charts: "bus time (virtual)". Whether it is virtual or
    /// real is determined from the results' description, as [`crate::TimeBase::from_description`]
    /// does. [`probe::FrameRecord::processing`] is always real time.
    pub time: String,
    /// Whether no time passes in the gateway on the stamps' clock, as on the embedded bus: a
    /// latency is then only the time of waiting for the outgoing bus.
    pub waiting_only: bool,
    /// A row for each route, in the order of [`RunResults::routes`].
    pub routes: Vec<RouteRow>,
    /// The origins of frames and their fates; each account is shown with its sum.
    pub accounts: Vec<FrameAccount>,
    /// The buses.
    pub buses: Vec<BusRow>,
    /// Further information for the reader: bad lines of a log, limits that were reached.
    pub notes: Vec<String>,
}

/// One route's counters. Its latencies come from the results.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize)]
pub struct RouteRow {
    /// Its name.
    pub name: String,
    /// A description of the route; may be empty.
    pub text: String,
    /// Frames that it took.
    pub taken: u64,
    /// Frames that went out for it (several for one taken, where it has several destinations).
    pub out: u64,
    /// The reasons why other frames did not go out, each with its number.
    pub stopped: Vec<(String, u64)>,
}

/// A number of frames and their fates.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize)]
pub struct FrameAccount {
    /// The title, which names the frames: "received by can0".
    pub title: String,
    /// Number of frames.
    pub total: u64,
    /// Each fate with its number of frames.
    pub parts: Vec<(String, u64)>,
}

impl FrameAccount {
    /// Returns the parts' sum.
    #[must_use]
    pub fn sum(&self) -> u64 {
        self.parts
            .iter()
            .fold(0, |sum, part| sum.saturating_add(part.1))
    }

    /// Returns whether each frame is counted exactly once.
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
    /// Its bit rates, as text.
    pub bit_rate: String,
    /// Frames that were sent on it.
    pub frames: u64,
    /// Error frames on it.
    pub errors: u64,
    /// Time for which it was busy, ns.
    pub busy: u64,
    /// Time for which it was observed, ns.
    pub elapsed: u64,
    /// Its load over time.
    pub load: Vec<LoadPoint>,
}

impl BusRow {
    /// Returns the windows with meaningful loads: all that have the full length. The last one is
    /// often shorter, so that a frame or two fill it; it counts only if it is the only one.
    pub fn full_windows(&self) -> impl Iterator<Item = &LoadPoint> {
        let full = self.load.first().map_or(0, |p| p.length);
        self.load.iter().filter(move |p| p.length == full)
    }

    /// Adds busy time and load over time, from the record up to `elapsed`.
    #[must_use]
    pub fn with_load(mut self, load: &BusLoad, elapsed: u64) -> Self {
        self.busy = load.total();
        self.elapsed = elapsed;
        self.load = load.points(elapsed);
        self
    }
}
