//! Compatibility of settings, by [`Measurement`].

mod bench;
mod gateway;
mod program;
mod round_trip;

use crate::choices::{FilterChoice, HopChoice, ModifyChoice};
use crate::conflict::Conflict;
use crate::measurement::Measurement;
use crate::settings::{Experiment, Setting};

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
