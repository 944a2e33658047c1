//! The entries of results of round trips in inner machines.

use crate::entry::{self, figure};
use probe::RunResults;

/// The prefix of the entries of a description for KVM's counts per round trip, by kind.
pub(crate) const PER_TRIP: &str = "kvm a round trip, ";
/// KVM's own name for all exits together.
const ALL: &str = "exits";

/// Returns KVM's counts per round trip, which is a frame sent and a frame received, by KVM's own
/// names (`/sys/kernel/debug/kvm`). Empty for results without inner machines.
pub fn exits(results: &RunResults) -> impl Iterator<Item = (&str, f64)> {
    entry::figures(results, PER_TRIP)
}

/// Returns how often KVM left the machine per frame: half of the count per round trip. `None` for
/// results without inner machines.
#[must_use]
pub fn exits_a_frame(results: &RunResults) -> Option<f64> {
    let (_, count) = exits(results).find(|(kind, _)| *kind == ALL)?;
    Some(count / 2.0)
}

/// The activity of the machines other than the one that asks, at the same time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OtherRoundTrips {
    /// Time that the longest of their frames takes on the bus, including the intermission after it,
    /// ns.
    pub frame: u64,
    /// Percentage of the time with a frame on the bus during the round trips, intermissions
    /// included.
    pub asking: f64,
    /// Their frames on the bus per second, while there are no round trips.
    pub rate: f64,
    /// Percentage of the time with a frame on the bus, while there are no round trips.
    pub load: f64,
    /// Percentage of the time in which the processor was idle, while there are no round trips.
    pub idle: f64,
    /// Frames that the interfaces of all machines report as sent, from the first to the last.
    pub sent: u64,
    /// Frames that they report as not sent.
    pub refused: u64,
    /// Frames that they report as sent, and that were not on the bus.
    pub lost: u64,
    /// Frames on the bus for which the node that answers had no room.
    pub unheard: u64,
    /// KVM's counts per frame on the bus, of all machines together, by KVM's own names, while there
    /// are no round trips.
    pub exits: Vec<(String, f64)>,
}

const FRAME: &str = "others, longest frame, ns";
const RATE: &str = "others, frames a second";
const ASKING: &str = "bus load while it asks, %";
const BUS_LOAD: &str = "bus load by the others, %";
pub(crate) const IDLE: &str = "processor idle meanwhile, %";
const SENT: &str = "machines, frames sent";
const REFUSED: &str = "machines, frames refused";
const LOST: &str = "machines, frames lost";
const UNHEARD: &str = "machines, frames not heard";

/// Returns them as entries of a description.
#[must_use]
pub fn entries(beside: &OtherRoundTrips) -> Vec<(String, String)> {
    let mut all: Vec<(String, String)> = [
        (FRAME, beside.frame.to_string()),
        (ASKING, format!("{:.2}", beside.asking)),
        (RATE, format!("{:.0}", beside.rate)),
        (BUS_LOAD, format!("{:.2}", beside.load)),
        (IDLE, format!("{:.1}", beside.idle)),
        (SENT, beside.sent.to_string()),
        (REFUSED, beside.refused.to_string()),
        (LOST, beside.lost.to_string()),
        (UNHEARD, beside.unheard.to_string()),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .to_vec();
    all.extend(entry::of_exits(&beside.exits));
    all
}

/// Reads the entries of results about machines other than the one that asks. `None` for results
/// without such machines.
#[must_use]
pub fn beside(results: &RunResults) -> Option<OtherRoundTrips> {
    let whole = |name| figure::<u64>(results, name);
    let real = |name| figure::<f64>(results, name);
    Some(OtherRoundTrips {
        frame: whole(FRAME)?,
        asking: real(ASKING)?,
        rate: real(RATE)?,
        load: real(BUS_LOAD)?,
        idle: real(IDLE)?,
        sent: whole(SENT)?,
        refused: whole(REFUSED)?,
        lost: whole(LOST)?,
        unheard: whole(UNHEARD)?,
        exits: entry::exits(results),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_did_is_read_again() {
        let mut results = RunResults::default();
        assert_eq!(beside(&results), None);
        let expected = OtherRoundTrips {
            frame: 115_000,
            asking: 98.25,
            rate: 8_000.0,
            load: 99.5,
            idle: 12.5,
            sent: 9,
            refused: 1,
            lost: 2,
            unheard: 3,
            exits: vec![("exits".to_owned(), 1.25)],
        };
        results.description.more = entries(&expected);
        assert_eq!(beside(&results), Some(expected));
        // Nothing is known about a round trip then.
        assert_eq!(exits_a_frame(&results), None);
    }

    #[test]
    fn a_frame_has_half_of_a_round_trips_exits() {
        let mut results = RunResults::default();
        assert_eq!(exits_a_frame(&results), None);
        for (name, value) in [("kernel", "6.1"), ("kvm a round trip, exits", "12.50")] {
            let entry = (name.to_owned(), value.to_owned());
            results.description.more.push(entry);
        }
        assert_eq!(exits(&results).collect::<Vec<_>>(), [("exits", 12.5)]);
        assert_eq!(exits_a_frame(&results), Some(6.25));
    }
}
