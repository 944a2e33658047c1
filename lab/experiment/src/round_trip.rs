//! What results of round trips say.

use crate::entry::figure;
use probe::Results;

/// The entry of a description by which `cangate ping` says how long both frames are on the bus.
pub(crate) const BUS: &str = "time on the bus, ns";

/// The entry by which `cangate ping --own` says how long its first frame is on the bus.
pub const OWN: &str = "own frame on the bus, ns";

/// How long the first of a program's own frames is on the bus, ns; latencies are without each
/// frame's own time. `None` where frames take no time, and for other results.
#[must_use]
pub fn own_frame(results: &Results) -> Option<i64> {
    figure(results, OWN)
}

/// How long the two frames of a round trip are on the bus, ns, with the intermission between them;
/// the payload's number is that of the first. `None` where frames take no time, and for results
/// that are of no round trip.
#[must_use]
pub fn bus_time(results: &Results) -> Option<i64> {
    figure(results, BUS)
}
