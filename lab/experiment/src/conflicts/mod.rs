//! Compatibility of settings.

mod bench;
mod gateway;
mod nesting;
mod task;

use crate::choices::{FilterChoice, HopChoice, ModifyChoice};
use crate::settings::Experiment;
use crate::settings::Setting;
use std::fmt;

/// Settings that are not compatible.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct Conflict {
    /// The settings, starting with the one to change first.
    pub settings: Vec<Setting>,
    /// The settings with their values.
    pub shown: String,
    /// The reason, and a possible alternative.
    pub why: String,
}

impl fmt::Display for Conflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.shown, self.why)
    }
}

impl Experiment {
    /// Checks whether the settings are compatible.
    ///
    /// # Errors
    /// All conflicts.
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

/// The conflicts of an experiment found so far.
struct Conflicts<'e> {
    experiment: &'e Experiment,
    found: Vec<Conflict>,
}

impl Conflicts<'_> {
    /// Returns, for each operation of a gateway on frames, whether it is set and which setting it
    /// is.
    fn done_to_frames(&self) -> [(bool, Setting); 3] {
        let e = self.experiment;
        [
            (e.filters != FilterChoice::None, Setting::Filters),
            (e.modify != ModifyChoice::None, Setting::Modify),
            (e.hops != HopChoice::NONE, Setting::Hops),
        ]
    }

    /// Adds a conflict if `is_there`; `why` also states an alternative.
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
