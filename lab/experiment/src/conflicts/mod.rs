//! Compatibility of settings, by [`Measurement`].

mod bench;
mod gateway;
mod program;
mod round_trip;

use crate::choices::{FilterChoice, HopChoice, ModifyChoice};
use crate::measurement::Measurement;
use crate::settings::{Experiment, Setting};
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

impl Conflict {
    /// Returns the conflict of these settings; `why` also states an alternative.
    pub(crate) fn new(experiment: &Experiment, settings: &[Setting], why: &str) -> Self {
        let shown = settings
            .iter()
            .map(|s| format!("--{s} {}", s.word(experiment)));
        Self {
            settings: settings.to_vec(),
            shown: shown.collect::<Vec<_>>().join(" "),
            why: why.to_owned(),
        }
    }
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
    /// All conflicts; if gateway and task do not fit, without those of other settings with them.
    pub fn check(&self) -> Result<(), Vec<Conflict>> {
        let mut conflicts = Conflicts {
            experiment: self,
            found: Vec::new(),
        };
        conflicts.frames();
        conflicts.bench();
        conflicts.log();
        conflicts.tuning();
        match self.measurement() {
            Ok(Measurement::Gateway(gateway)) => conflicts.gateway(&gateway),
            Ok(Measurement::Image(_)) => conflicts.image(),
            Ok(Measurement::RoundTrip(ends)) => conflicts.round_trip(&ends),
            Ok(Measurement::Program(program)) => conflicts.program(&program),
            Err(conflict) => conflicts.found.push(conflict),
        }
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

    /// Refuses the settings that are set, each together with `with`.
    fn refuse_each(
        &mut self,
        settings: impl IntoIterator<Item = (bool, Setting)>,
        with: Setting,
        why: &str,
    ) {
        for (is_set, setting) in settings {
            self.refuse(is_set, &[setting, with], why);
        }
    }

    /// Adds a conflict if `is_there`; `why` also states an alternative.
    fn refuse(&mut self, is_there: bool, settings: &[Setting], why: &str) {
        if is_there {
            let conflict = Conflict::new(self.experiment, settings, why);
            self.found.push(conflict);
        }
    }
}

#[cfg(test)]
mod tests;
