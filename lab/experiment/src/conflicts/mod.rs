//! Which settings go together.

mod bench;
mod gateway;
mod nesting;
mod task;

use crate::choices::{Filters, Hops, Modify};
use crate::experiment::Experiment;
use crate::settings::Setting;
use std::fmt;

/// Settings that do not go together.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct Conflict {
    /// Which, the one to change first.
    pub settings: Vec<Setting>,
    /// The settings as they are.
    pub shown: String,
    /// Why not, and what would do.
    pub why: String,
}

impl fmt::Display for Conflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.shown, self.why)
    }
}

impl Experiment {
    /// Do the settings go together?
    ///
    /// # Errors
    /// Every conflict.
    pub fn check(&self) -> Result<(), Vec<Conflict>> {
        let mut conflicts = Conflicts {
            experiment: self,
            found: Vec::new(),
        };
        conflicts.frames();
        conflicts.bench();
        conflicts.log();
        conflicts.gateway();
        conflicts.task();
        conflicts.tuning();
        conflicts.changes();
        conflicts.nesting();
        if conflicts.found.is_empty() {
            Ok(())
        } else {
            Err(conflicts.found)
        }
    }
}

/// The conflicts of an experiment, as they are found.
struct Conflicts<'e> {
    experiment: &'e Experiment,
    found: Vec<Conflict>,
}

impl Conflicts<'_> {
    /// What a gateway is to do to frames: is it set, and which setting is it?
    fn done_to_frames(&self) -> [(bool, Setting); 3] {
        let e = self.experiment;
        [
            (e.filters != Filters::None, Setting::Filters),
            (e.modify != Modify::None, Setting::Modify),
            (e.hops != Hops::NONE, Setting::Hops),
        ]
    }

    /// Adds one if it is there; `why` says what would do, too.
    fn refuse(&mut self, is_there: bool, settings: &[Setting], why: &str) {
        if !is_there {
            return;
        }
        let shown: Vec<_> = settings
            .iter()
            .map(|s| format!("--{s} {}", s.word(self.experiment)))
            .collect();
        self.found.push(Conflict {
            settings: settings.to_vec(),
            shown: shown.join(" "),
            why: why.to_owned(),
        });
    }
}

#[cfg(test)]
mod tests;
