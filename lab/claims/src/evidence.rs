//! The measured results, in the form in which claims query them.

use experiment::Experiment;
use experiment::bursts::Point;
use experiment::figures;
use experiment::rate::Rate;
use experiment::recorders::Recording;
use experiment::trial::Failed;
use probe::{LatencyProfile, Results, Summary};
use std::collections::BTreeMap;

/// Results by experiment, and failures.
#[derive(Debug, Default)]
pub struct Evidence {
    results: BTreeMap<Experiment, Result<Results, Failed>>,
    points: Option<Result<Vec<Point>, Failed>>,
    recordings: Option<Result<Vec<Recording>, Failed>>,
    rates: BTreeMap<Experiment, Result<Rate, Failed>>,
}

/// The reason why there is nothing to judge by.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{experiment}: {why}")]
pub struct Missing {
    /// The experiment's name.
    pub experiment: String,
    /// The reason why it has no result.
    pub why: String,
}

impl Evidence {
    /// Adds the outcome of an experiment.
    pub fn add(&mut self, experiment: Experiment, outcome: Result<Results, Failed>) {
        self.results.insert(experiment, outcome);
    }

    /// Adds the outcome of the measurement of system calls.
    pub fn add_points(&mut self, outcome: Result<Vec<Point>, Failed>) {
        self.points = Some(outcome);
    }

    /// Adds the outcome of the measurement of recorders.
    pub fn add_recordings(&mut self, outcome: Result<Vec<Recording>, Failed>) {
        self.recordings = Some(outcome);
    }

    /// Adds the outcome of the search for an experiment's highest rate.
    pub fn add_rate(&mut self, experiment: Experiment, outcome: Result<Rate, Failed>) {
        self.rates.insert(experiment, outcome);
    }

    /// Returns the highest rate without loss of an experiment, whatever its traffic.
    ///
    /// # Errors
    /// [`Missing`] where an attempt failed or the search was not run.
    pub fn rate(&self, experiment: &Experiment) -> Result<&Rate, Missing> {
        let why = match self.rates.get(experiment) {
            Some(Ok(rate)) => return Ok(rate),
            Some(Err(failed)) => failed.why.clone(),
            None => "it was not made".to_owned(),
        };
        Err(Missing {
            experiment: format!("the highest rate of {}", experiment.name()),
            why,
        })
    }

    /// Returns the costs of system calls.
    ///
    /// # Errors
    /// [`Missing`] where the measurement failed or was not run.
    pub fn points(&self) -> Result<&[Point], Missing> {
        printed(self.points.as_ref(), "system calls")
    }

    /// Returns the costs of recorders.
    ///
    /// # Errors
    /// [`Missing`] where the measurement failed or was not run.
    pub fn recordings(&self) -> Result<&[Recording], Missing> {
        printed(self.recordings.as_ref(), "recorders")
    }

    /// Returns an experiment's results.
    ///
    /// # Errors
    /// [`Missing`] where it failed or was not run.
    pub fn results(&self, experiment: &Experiment) -> Result<&Results, Missing> {
        let missing = |why: &str| Missing {
            experiment: experiment.name(),
            why: why.to_owned(),
        };
        match self.results.get(experiment) {
            Some(Ok(results)) => Ok(results),
            Some(Err(failed)) => Err(missing(&failed.why)),
            None => Err(missing("it was not made")),
        }
    }

    /// Returns its latencies.
    ///
    /// # Errors
    /// [`Missing`], also where no frame came back.
    pub fn profile(&self, experiment: &Experiment) -> Result<LatencyProfile, Missing> {
        let results = self.results(experiment)?;
        let profile: LatencyProfile = figures::latencies(results).collect();
        if profile.count() == 0 {
            return Err(Missing {
                experiment: experiment.name(),
                why: "no frame came back".to_owned(),
            });
        }
        Ok(profile)
    }

    /// Returns a summary of its latencies.
    ///
    /// # Errors
    /// [`Missing`], also where no frame came back.
    pub fn summary(&self, experiment: &Experiment) -> Result<Summary, Missing> {
        let profile = self.profile(experiment)?;
        profile.summary().ok_or_else(|| Missing {
            experiment: experiment.name(),
            why: "no frame came back".to_owned(),
        })
    }
}

/// Returns the values that a command in a guest printed.
fn printed<'a, T>(
    found: Option<&'a Result<Vec<T>, Failed>>,
    what: &str,
) -> Result<&'a [T], Missing> {
    let why = match found {
        Some(Ok(all)) => return Ok(all),
        Some(Err(failed)) => failed.why.clone(),
        None => "it was not made".to_owned(),
    };
    Err(Missing {
        experiment: what.to_owned(),
        why,
    })
}
