//! One experiment made: from its settings to a guest, from what the guest left to results.

use crate::experiment::{Experiment, Gateway, Load};
use crate::machine::{Job, Outcome, Spec, Time};
use crate::registers;
use probe::{Description, Results};
use std::path::Path;
use std::time::Duration;

/// The bit rate of the timed bench's buses, bit/s: at it the papers' shortest frame takes their
/// 60 µs (gateway-2010-draft §IV-A).
pub const BITRATE: u32 = 1_000_000;
/// The data bit rate, bit/s.
pub const DATA_BITRATE: u32 = 4_000_000;
/// What the file of a guest's results is called.
pub const RESULTS: &str = "results.parquet";

/// What runs guests. The lab is one; tests have others.
pub trait Machine: Sync {
    /// What a guest with this kernel is made of, QEMU and cangate's own program included: two
    /// guests with the same versions give the same results.
    ///
    /// # Errors
    /// Words that say why no guest can be had.
    fn versions(&self, kernel: &str) -> Result<Vec<(String, String)>, String>;

    /// Runs a guest to its end.
    ///
    /// # Errors
    /// Words that say why no guest can be had; one that fails is an [`Outcome`].
    fn run(&self, spec: &Spec) -> Result<Outcome, String>;

    /// Ends all guests that run, and starts none any more.
    fn stop(&self) {}
}

/// A guest that did not do what it was asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failed {
    /// What happened, in a sentence.
    pub why: String,
    /// The end of its console.
    pub console: String,
}

/// Why there is no result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TrialError {
    /// No guest could be had: nor could any other.
    #[error("{0}")]
    Machine(String),
    /// The guest failed; another experiment may do better.
    #[error("the experiment failed: {}", .0.why)]
    Failed(Failed),
}

/// The guest that an experiment needs.
#[must_use]
pub fn spec(experiment: &Experiment) -> Spec {
    let time = if experiment.real_time {
        Time::Real
    } else {
        Time::Virtual {
            shift: experiment.cpu.shift(),
        }
    };
    Spec {
        kernel: experiment.kernel.clone(),
        bench: experiment.bench,
        controller: experiment.cpu.controller(),
        bitrate: BITRATE,
        data_bitrate: (experiment.payload > 8).then_some(DATA_BITRATE),
        ethernet: matches!(experiment.load, Load::EthRx | Load::EthTx),
        time,
        boot: experiment.boot.0.clone(),
        memory: memory(experiment),
        files: vec![],
        job: Job::Measure {
            experiment: Box::new(experiment.clone()),
        },
        timeout: timeout(experiment),
        trace_registers: experiment.bench == crate::machine::Bench::Kvaser
            && experiment.gateway != Gateway::None,
    }
}

/// The guest's memory, MiB: 100 000 routes are read into some hundred of them.
fn memory(experiment: &Experiment) -> u32 {
    if experiment.filters.count() > Some(crate::words::MOST_FILTERS) {
        1024
    } else {
        512
    }
}

/// Real time after which a guest is taken to hang: ten minutes, a second for ten frames and one
/// for ten rules, which is far more than what a busy host with several guests a core takes.
fn timeout(experiment: &Experiment) -> Duration {
    let rules = experiment.filters.count().unwrap_or(0);
    Duration::from_secs(600 + u64::from(experiment.frames / 10 + rules / 10))
}

/// Makes an experiment.
///
/// # Errors
/// [`TrialError`].
pub fn make(machine: &dyn Machine, experiment: &Experiment) -> Result<Results, TrialError> {
    let outcome = machine
        .run(&spec(experiment))
        .map_err(TrialError::Machine)?;
    results(experiment, outcome).map_err(TrialError::Failed)
}

fn results(experiment: &Experiment, mut outcome: Outcome) -> Result<Results, Failed> {
    let console = std::mem::take(&mut outcome.console);
    let failed = |why: String| Failed {
        why,
        console: console.clone(),
    };
    if let Some(why) = outcome.failure {
        return Err(failed(why));
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
                "the guest ended before it could say how it went".to_owned(),
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

/// The name that a version has in a result.
fn version_key(name: &str) -> String {
    format!("version {name}")
}

/// Sets a further entry.
fn put(description: &mut Description, name: &str, value: String) {
    match description.more.iter_mut().find(|(n, _)| n == name) {
        Some(entry) => entry.1 = value,
        None => description.more.push((name.to_owned(), value)),
    }
}

/// Writes down what was asked for and what it was made of.
pub(crate) fn describe(
    description: &mut Description,
    experiment: &Experiment,
    versions: &[(String, String)],
) {
    description.title = title(experiment);
    description.command = experiment.command();
    description.seed = experiment.seed;
    for (setting, word) in experiment.settings() {
        put(description, setting.name(), word);
    }
    for (name, version) in versions {
        put(description, &version_key(name), version.clone());
    }
}

/// Is it the result of this experiment with these versions? If not, says what differs.
///
/// # Errors
/// The first setting or version that is another, in words.
pub fn is_of(
    description: &Description,
    experiment: &Experiment,
    versions: &[(String, String)],
) -> Result<(), String> {
    let settings = experiment.settings();
    let settings = settings.iter().map(|(s, word)| (s.name().to_owned(), word));
    let versions = versions.iter().map(|(name, v)| (version_key(name), v));
    for (name, wanted) in settings.chain(versions) {
        let found = description.more.iter().find(|(n, _)| *n == name);
        match found {
            Some((_, value)) if value == wanted => {}
            Some((_, value)) => return Err(format!("{name} was {value}, and is {wanted}")),
            None => return Err(format!("it does not say its {name}")),
        }
    }
    Ok(())
}

/// The experiment that a result says that it is of.
#[must_use]
pub fn experiment_of(description: &Description) -> Option<Experiment> {
    let mut experiment = Experiment::default();
    for &setting in crate::settings::Setting::ALL {
        let (_, word) = description.more.iter().find(|(n, _)| n == setting.name())?;
        setting.apply(&mut experiment, word).ok()?;
    }
    Some(experiment)
}

/// What it is, for people.
#[must_use]
pub fn title(experiment: &Experiment) -> String {
    let default = Experiment::default();
    let mut title = format!(
        "{} on {}, {} bench, {}, load {}, {} B",
        experiment.gateway,
        experiment.kernel,
        experiment.bench,
        experiment.traffic,
        experiment.load,
        experiment.payload
    );
    use crate::settings::Setting as S;
    for setting in [
        S::Filters,
        S::Modify,
        S::Hops,
        S::Cpu,
        S::Boot,
        S::StampEvery,
    ] {
        let word = setting.word(experiment);
        if word != setting.word(&default) {
            title.push_str(&format!(", {setting} {word}"));
        }
    }
    if experiment.real_time {
        title.push_str(", real time");
    }
    title
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake;

    #[test]
    fn a_result_says_what_it_is_of() {
        let machine = fake::Fake::default();
        let e = Experiment::default();
        let results = make(&machine, &e).unwrap();
        let versions = machine.versions("6.1").unwrap();
        assert_eq!(is_of(&results.description, &e, &versions), Ok(()));
        assert_eq!(experiment_of(&results.description), Some(e.clone()));
        let other = Experiment {
            seed: 2,
            ..e.clone()
        };
        assert_eq!(
            is_of(&results.description, &other, &versions),
            Err("seed was 1, and is 2".to_owned())
        );
        let newer = [("qemu".to_owned(), "12".to_owned())];
        let why = is_of(&results.description, &e, &newer).unwrap_err();
        assert!(why.starts_with("version qemu was"), "{why}");
    }

    #[test]
    fn every_way_to_fail_has_words_and_the_console() {
        let e = Experiment::default();
        let good = fake::outcome(&e);
        let fail = |outcome: Outcome| results(&e, outcome).unwrap_err();
        let console = "Kernel panic".to_owned();
        let panicked = Outcome {
            failure: Some("the kernel panicked".to_owned()),
            console: console.clone(),
            ..good.clone()
        };
        assert_eq!(
            fail(panicked),
            Failed {
                why: "the kernel panicked".to_owned(),
                console
            }
        );
        assert!(
            fail(Outcome {
                status: Some(1),
                ..good.clone()
            })
            .why
            .contains("status 1")
        );
        assert!(
            fail(Outcome {
                status: None,
                ..good.clone()
            })
            .why
            .contains("before it could say")
        );
        assert!(
            fail(Outcome {
                outputs: vec![],
                ..good.clone()
            })
            .why
            .contains(RESULTS)
        );
        let cut = |bytes: &[u8]| vec![(RESULTS.to_owned(), bytes[..bytes.len() / 2].to_vec())];
        let damaged = Outcome {
            outputs: cut(&good.outputs[0].1),
            ..good
        };
        assert!(fail(damaged).why.contains("damaged"));
    }
}
