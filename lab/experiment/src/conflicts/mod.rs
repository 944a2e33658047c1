//! Compatibility of settings.
//!
//! A setting without a meaning in the measurement is refused by the scope in its definition
//! ([`SettingScope`](crate::SettingScope)): `scopes` has the measurements of each scope. The
//! benches of a measurement are in [`benches`](crate::Measurement::benches). The other rules refuse
//! what frames and traffic (`frames`), kernels and drivers (`kernel`), and machines in step
//! (`apart`) do not support.

mod apart;
mod frames;
mod kernel;
mod scopes;

use crate::conflict::Conflict;
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
        match self.measurement() {
            Ok(measurement) => {
                conflicts.scopes(&measurement);
                conflicts.traffic(&measurement);
                conflicts.apart(&measurement);
            }
            Err(conflict) => conflicts.found.push(conflict),
        }
        conflicts.frames();
        conflicts.bench();
        conflicts.log();
        conflicts.ways();
        conflicts.tuning();
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
