//! The error for settings that are not compatible.

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
        let shown = settings.iter().map(|s| s.option(experiment));
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
