//! The entries of results of programs that receive.

use crate::entry::{self, figure};
use crate::nested::IDLE;
use probe::RunResults;

/// The numbers of frames that arrived at each place, of those that a node of the bus sent.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReceivedCounts {
    /// Frames on the bus.
    pub bus: u64,
    /// Percentage of the time with a frame on the bus, intermissions included.
    pub load: f64,
    /// Frames that the driver of the controller's owner passed on.
    pub owner: u64,
    /// Frames that the interface of the program passed on: for a machine that owns its controller
    /// this is the same number.
    pub machine: u64,
    /// Frames that the program received.
    pub program: u64,
    /// Percentage of the time in which the processor was idle.
    pub idle: f64,
    /// KVM's counts per frame, of all machines together, by KVM's own names.
    pub exits: Vec<(String, f64)>,
}

impl ReceivedCounts {
    /// Returns the number of frames that were on the bus and that the program did not receive.
    #[must_use]
    pub const fn lost(&self) -> u64 {
        self.bus.saturating_sub(self.program)
    }

    /// Returns the places where frames were lost, and their numbers.
    #[must_use]
    pub const fn places(&self) -> [(&'static str, u64); 3] {
        [
            (
                "lost before the driver had them",
                self.bus.saturating_sub(self.owner),
            ),
            (
                "lost on their way to the machine",
                self.owner.saturating_sub(self.machine),
            ),
            (
                "lost in the machine",
                self.machine.saturating_sub(self.program),
            ),
        ]
    }
}

const ON_BUS: &str = "receiving, frames on the bus";
const LOAD: &str = "receiving, bus load, %";
const OWNER: &str = "receiving, frames of the controller's driver";
const MACHINE: &str = "receiving, frames of the machine's interface";
const PROGRAM: &str = "receiving, frames of the program";

/// Returns them as entries of a description.
#[must_use]
pub fn entries(receiving: &ReceivedCounts) -> Vec<(String, String)> {
    let mut all: Vec<(String, String)> = [
        (ON_BUS, receiving.bus.to_string()),
        (LOAD, format!("{:.2}", receiving.load)),
        (OWNER, receiving.owner.to_string()),
        (MACHINE, receiving.machine.to_string()),
        (PROGRAM, receiving.program.to_string()),
        (IDLE, format!("{:.1}", receiving.idle)),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .to_vec();
    let places = receiving
        .places()
        .into_iter()
        .filter(|(_, count)| *count > 0);
    all.extend(places.map(|(place, count)| (place.to_owned(), count.to_string())));
    all.extend(entry::of_exits(&receiving.exits));
    all
}

/// Reads the entries of results about a program that receives. `None` for other results.
#[must_use]
pub fn receiving(results: &RunResults) -> Option<ReceivedCounts> {
    let whole = |name| figure::<u64>(results, name);
    let real = |name| figure::<f64>(results, name);
    Some(ReceivedCounts {
        bus: whole(ON_BUS)?,
        load: real(LOAD)?,
        owner: whole(OWNER)?,
        machine: whole(MACHINE)?,
        program: whole(PROGRAM)?,
        idle: real(IDLE)?,
        exits: entry::exits(results),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_counted_is_read_again_and_every_frame_has_a_place() {
        let mut results = RunResults::default();
        assert_eq!(receiving(&results), None);
        let counts = ReceivedCounts {
            bus: 100,
            load: 99.75,
            owner: 90,
            machine: 70,
            program: 69,
            idle: 12.5,
            exits: vec![("exits".to_owned(), 1.25)],
        };
        results.description.more = entries(&counts);
        assert_eq!(receiving(&results), Some(counts.clone()));
        assert_eq!(counts.lost(), 31);
        assert_eq!(counts.places().map(|(_, count)| count), [10, 20, 1]);
        assert_eq!(
            counts.places().iter().map(|(_, count)| count).sum::<u64>(),
            counts.lost()
        );
    }
}
