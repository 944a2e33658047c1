//! Experiments on several machines in one virtual time: the parts of the experiment that a guest
//! shares with the gateway have machines of their own.
//!
//! * [`plan()`]: the machines and links of an experiment. On the kvaser bench the gateway is
//!   between two cards, and the tester is on another machine with a card on each of these buses. On
//!   the timed bench the guest is as usual. On both, the other end of an Ethernet load is on a
//!   machine of its own.
//! * [`PartTask`]: the task of each machine. They tell one another by a [`StepSignal`] on a further
//!   bus when a step is done, before and after the measurement.
//! * [`outcome()`]: the outcome in the form of that of a guest. On the kvaser bench, the stamps are
//!   those of the buses.

mod outcome;
mod plan;
mod signal;

pub use outcome::{ApartError, outcome};
pub use plan::plan;
pub use signal::StepSignal;

use crate::settings::Experiment;
use serde::{Deserialize, Serialize};

/// The bus that carries signals only. Interfaces have its name.
pub const SIGNALS: &str = "signals";
/// The name of the machine whose times are measured.
pub const MEASURED: &str = "measured";
/// The name of the machine that sends the frames and receives them behind the gateway.
pub const TESTER: &str = "tester";
/// The name of the machine that is the other end of an Ethernet load.
pub const LOAD: &str = "load";
/// The number of the tester's machine in the plan, if it is there: after the measured one.
const TESTER_NUMBER: usize = 1;

/// The name of the file with the counts of a gateway between two cards.
pub(crate) const COUNTS: &str = "counts.json";

/// What a machine does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MachinePart {
    /// Runs the gateway between two cards, and counts.
    Gateway,
    /// Sends the frames on the first bus, and receives them on the second one.
    Tester,
    /// Does everything but the other end of an Ethernet load.
    Bench,
    /// Is the other end of an Ethernet load.
    Load,
}

/// A machine's task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartTask {
    /// What the machine does.
    pub part: MachinePart,
    /// The experiment of all machines.
    pub experiment: Experiment,
}

impl PartTask {
    /// Returns whether a guest's task is that of one machine of several.
    pub(crate) fn is_here(task: &serde_json::Value) -> bool {
        task.get("part").is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_not_taken_for_a_whole_experiment() {
        let task = PartTask {
            part: MachinePart::Tester,
            experiment: Experiment::default(),
        };
        let text = serde_json::to_value(&task).unwrap();
        assert!(PartTask::is_here(&text));
        assert_eq!(serde_json::from_value::<PartTask>(text).unwrap(), task);
        let whole = serde_json::to_value(Experiment::default()).unwrap();
        assert!(!PartTask::is_here(&whole));
    }
}
