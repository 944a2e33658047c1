//! Running one experiment: from its settings to a guest, and from the guest's output to results.

use crate::describe::describe;
use crate::registers;
use crate::settings::Experiment;
use crate::spec::spec;
use guest::machine::GuestSpec;
use guest::{GuestOutcome, Kernel, with_causes};
use probe::RunResults;
use std::path::Path;

/// The name of the file of a guest's results.
pub const RESULTS: &str = "results.parquet";

/// A machine that runs guests. The lab is one; tests have others.
pub trait GuestRunner: Sync {
    /// Returns the versions of the components of a guest with this kernel, including QEMU and
    /// cangate's own program: two guests with the same versions give the same results.
    ///
    /// # Errors
    /// No guest can be run.
    fn versions(&self, kernel: Kernel) -> Result<Vec<(String, String)>, guest::Error>;

    /// Runs a guest to its end.
    ///
    /// # Errors
    /// No guest can be run; one that fails is an [`GuestOutcome`].
    fn run(&self, spec: &GuestSpec) -> Result<GuestOutcome, guest::Error>;

    /// Runs an image without an operating system to its end: [`crate::bare`] defines its input, and
    /// the meaning of its output.
    ///
    /// # Errors
    /// The same as those of [`GuestRunner::run`].
    fn run_bare(&self, experiment: &Experiment) -> Result<GuestOutcome, guest::Error>;

    /// Runs the machines of an experiment in one virtual time to their end: [`crate::apart`]
    /// defines them, and the meaning of their outputs.
    ///
    /// # Errors
    /// The same as those of [`GuestRunner::run`].
    fn run_apart(&self, experiment: &Experiment) -> Result<GuestOutcome, guest::Error>;

    /// Ends all running guests, and starts no more, because of a request from outside. The process
    /// may end with it: nothing remains to be reported.
    fn stop(&self) {}

    /// Ends all running guests, and starts no more, because of an error. It returns, so that the
    /// error is reported.
    fn give_up(&self) {}
}

/// The record of a guest that failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the experiment failed: {why}")]
pub struct FailedGuest {
    /// A description of the failure, in one sentence.
    pub why: String,
    /// The end of its console.
    pub console: String,
}

impl FailedGuest {
    /// Creates a failure without a console.
    #[must_use]
    pub fn without_console(why: impl Into<String>) -> Self {
        Self {
            why: why.into(),
            console: String::new(),
        }
    }
}

/// The reasons why there is no result.
#[derive(Debug, thiserror::Error)]
pub enum TrialError {
    /// No guest can be run, for this or any other experiment.
    #[error(transparent)]
    Machine(#[from] guest::Error),
    /// The guest failed; another experiment may succeed.
    #[error(transparent)]
    Failed(#[from] FailedGuest),
}

/// Runs an experiment.
///
/// # Errors
/// [`TrialError`].
pub fn make(machine: &dyn GuestRunner, experiment: &Experiment) -> Result<RunResults, TrialError> {
    let outcome = if experiment.gateway.is_bare() {
        machine.run_bare(experiment)?
    } else if experiment.is_apart() {
        machine.run_apart(experiment)?
    } else {
        machine.run(&spec(experiment))?
    };
    Ok(results(experiment, outcome)?)
}

fn results(experiment: &Experiment, mut outcome: GuestOutcome) -> Result<RunResults, FailedGuest> {
    let console = std::mem::take(&mut outcome.console);
    let failed = |why: String| FailedGuest {
        why,
        console: console.clone(),
    };
    if let Some(failure) = outcome.failure {
        return Err(failed(with_causes(&failure)));
    }
    match outcome.status {
        Some(0) => {}
        Some(status) => {
            return Err(failed(format!(
                "the guest's agent ended with status {status}"
            )));
        }
        None => {
            return Err(failed(
                "the guest ended before it could report a result".to_owned(),
            ));
        }
    }
    let file = outcome
        .outputs
        .into_iter()
        .find(|(name, _)| name == RESULTS);
    let Some((_, bytes)) = file else {
        return Err(failed(format!("the guest handed out no {RESULTS}")));
    };
    let mut results =
        probe::results::read_bytes(Path::new(RESULTS), bytes).map_err(|e| failed(e.to_string()))?;
    registers::count(&mut results.records, &outcome.accesses);
    describe(&mut results.description, experiment, &outcome.versions);
    Ok(results)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake;
    use guest::GuestFailure;

    #[test]
    fn every_kind_of_failure_has_words_and_the_console() {
        let e = Experiment::default();
        let fail = |change: &dyn Fn(&mut GuestOutcome)| {
            let mut outcome = fake::outcome(&e);
            change(&mut outcome);
            results(&e, outcome).unwrap_err()
        };
        let panicked = fail(&|outcome| {
            outcome.failure = Some(GuestFailure::Panic("Oops".to_owned()));
            outcome.console = "Kernel panic".to_owned();
        });
        assert_eq!(panicked.why, "the guest's kernel panicked: Oops");
        assert_eq!(panicked.console, "Kernel panic");
        let cut = |outcome: &mut GuestOutcome| {
            let bytes = &mut outcome.outputs[0].1;
            bytes.truncate(bytes.len() / 2);
        };
        let says = |change: &dyn Fn(&mut GuestOutcome), words: &str| {
            let failed = fail(change);
            assert!(failed.why.contains(words), "{failed:?}");
        };
        says(&|outcome| outcome.status = Some(1), "status 1");
        says(&|outcome| outcome.status = None, "before it could report");
        says(&|outcome| outcome.outputs.clear(), RESULTS);
        says(&cut, "damaged");
    }
}
