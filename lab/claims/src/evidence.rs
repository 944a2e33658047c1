//! The measured results, in the form in which claims query them.

use experiment::Experiment;
use experiment::bursts::BurstPoint;
use experiment::figures;
use experiment::rate::SearchedRate;
use experiment::recorders::RecorderRun;
use experiment::trial::FailedGuest;
use probe::{LatencyProfile, LatencySummary, RunResults};
use std::collections::BTreeMap;

/// Results by experiment, and failures.
#[derive(Debug, Default)]
pub struct ClaimEvidence {
    results: BTreeMap<Experiment, Result<RunResults, FailedGuest>>,
    points: Option<Result<Vec<BurstPoint>, FailedGuest>>,
    recordings: Option<Result<Vec<RecorderRun>, FailedGuest>>,
    rates: BTreeMap<Experiment, Result<SearchedRate, FailedGuest>>,
}

/// The reason why there is nothing to judge by.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{experiment}: {why}")]
pub struct MissingEvidence {
    /// The experiment's name.
    pub experiment: String,
    /// The reason why it has no result.
    pub why: String,
}

impl ClaimEvidence {
    /// Adds the outcome of an experiment.
    pub fn add(&mut self, experiment: Experiment, outcome: Result<RunResults, FailedGuest>) {
        self.results.insert(experiment, outcome);
    }

    /// Adds the outcome of the measurement of system calls.
    pub fn add_points(&mut self, outcome: Result<Vec<BurstPoint>, FailedGuest>) {
        self.points = Some(outcome);
    }

    /// Adds the outcome of the measurement of recorders.
    pub fn add_recordings(&mut self, outcome: Result<Vec<RecorderRun>, FailedGuest>) {
        self.recordings = Some(outcome);
    }

    /// Adds the outcome of the search for an experiment's highest rate.
    pub fn add_rate(&mut self, experiment: Experiment, outcome: Result<SearchedRate, FailedGuest>) {
        self.rates.insert(experiment, outcome);
    }

    /// Returns the highest rate without loss of an experiment, whatever its traffic.
    ///
    /// # Errors
    /// [`MissingEvidence`] where an attempt failed or the search was not run.
    pub fn rate(&self, experiment: &Experiment) -> Result<&SearchedRate, MissingEvidence> {
        let why = match self.rates.get(experiment) {
            Some(Ok(rate)) => return Ok(rate),
            Some(Err(failed)) => failed.why.clone(),
            None => "it was not made".to_owned(),
        };
        Err(MissingEvidence {
            experiment: format!("the highest rate of {}", experiment.name()),
            why,
        })
    }

    /// Returns the costs of system calls.
    ///
    /// # Errors
    /// [`MissingEvidence`] where the measurement failed or was not run.
    pub fn points(&self) -> Result<&[BurstPoint], MissingEvidence> {
        printed(self.points.as_ref(), "system calls")
    }

    /// Returns the costs of recorders.
    ///
    /// # Errors
    /// [`MissingEvidence`] where the measurement failed or was not run.
    pub fn recordings(&self) -> Result<&[RecorderRun], MissingEvidence> {
        printed(self.recordings.as_ref(), "recorders")
    }

    /// Returns an experiment's results.
    ///
    /// # Errors
    /// [`MissingEvidence`] where it failed or was not run.
    pub fn results(&self, experiment: &Experiment) -> Result<&RunResults, MissingEvidence> {
        let missing = |why: &str| MissingEvidence {
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
    /// [`MissingEvidence`], also where no frame came back.
    pub fn profile(&self, experiment: &Experiment) -> Result<LatencyProfile, MissingEvidence> {
        let results = self.results(experiment)?;
        let profile: LatencyProfile = figures::latencies(results).collect();
        if profile.count() == 0 {
            return Err(MissingEvidence {
                experiment: experiment.name(),
                why: "no frame came back".to_owned(),
            });
        }
        Ok(profile)
    }

    /// Returns a summary of its latencies.
    ///
    /// # Errors
    /// [`MissingEvidence`], also where no frame came back.
    pub fn summary(&self, experiment: &Experiment) -> Result<LatencySummary, MissingEvidence> {
        let profile = self.profile(experiment)?;
        profile.summary().ok_or_else(|| MissingEvidence {
            experiment: experiment.name(),
            why: "no frame came back".to_owned(),
        })
    }
}

/// Returns the values that a command in a guest printed.
fn printed<'a, T>(
    found: Option<&'a Result<Vec<T>, FailedGuest>>,
    what: &str,
) -> Result<&'a [T], MissingEvidence> {
    let why = match found {
        Some(Ok(all)) => return Ok(all),
        Some(Err(failed)) => failed.why.clone(),
        None => "it was not made".to_owned(),
    };
    Err(MissingEvidence {
        experiment: what.to_owned(),
        why,
    })
}
