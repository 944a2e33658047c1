//! The entries of results of round trips.

use crate::entry::figure;
use probe::RunResults;

/// The entry of a description in which `cangate ping` reports the time of both frames on the bus.
pub(crate) const BUS: &str = "time on the bus, ns";

/// The entry in which `cangate ping --own` reports the time of its first frame on the bus.
pub const OWN: &str = "own frame on the bus, ns";

/// Returns the time of the first of a program's own frames on the bus, ns; latencies exclude each
/// frame's own time. `None` where frames take no time, and for other results.
#[must_use]
pub fn own_frame(results: &RunResults) -> Option<i64> {
    figure(results, OWN)
}

/// Returns the time of the two frames of a round trip on the bus, ns, with the intermission between
/// them; the number in the payload is that of the first. `None` where frames take no time, and for
/// results that are not of a round trip.
#[must_use]
pub fn bus_time(results: &RunResults) -> Option<i64> {
    figure(results, BUS)
}
