//! Measurements that are no [`Experiment`]: a command that runs in a guest of virtual time, and prints
//! what it measured.
//!
//! [`Experiment`]: crate::Experiment

use crate::choices::Cpu;
use crate::spec::BITRATE;
use crate::store::{Store, StoreError};
use crate::trial::{Failed, Machine, TrialError};
use guest::machine::{Bench, Job, Spec, Time};
use guest::with_causes;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The name in an [`Outcome`](guest::Outcome) of what a command printed, where a [`Machine`] keeps
/// that.
pub const STDOUT: &str = "stdout";

/// A command in a guest with virtual CAN interfaces.
pub(crate) struct ByCommand<'a> {
    /// The name of the file that keeps what it printed.
    pub(crate) file: String,
    /// The guest's kernel.
    pub(crate) kernel: &'a str,
    /// Its processor.
    pub(crate) cpu: Cpu,
    /// Program and arguments.
    pub(crate) line: &'a [&'a str],
    /// The program's name for messages.
    pub(crate) what: &'a str,
}

/// As it is kept.
#[derive(Serialize, Deserialize)]
struct Kept<T> {
    versions: Vec<(String, String)>,
    found: T,
}

impl ByCommand<'_> {
    /// What a folder has of it, made with these versions.
    pub(crate) fn find<T: DeserializeOwned>(
        &self,
        store: &Store,
        versions: &[(String, String)],
    ) -> Option<T> {
        let text = std::fs::read_to_string(store.dir().join(&self.file)).ok()?;
        let kept: Kept<T> = serde_json::from_str(&text).ok()?;
        (kept.versions == versions).then_some(kept.found)
    }

    /// Makes it and keeps it; `read` makes of what was printed what it says.
    ///
    /// # Errors
    /// [`TrialError`] in the inner result; the outer one's where it cannot be kept.
    pub(crate) fn make<T: Serialize>(
        &self,
        machine: &dyn Machine,
        store: &Store,
        versions: &[(String, String)],
        read: impl FnOnce(&[u8]) -> Result<T, serde_json::Error>,
    ) -> Result<Result<T, TrialError>, StoreError> {
        let found = match self.try_make(machine, read) {
            Ok(found) => found,
            Err(error) => return Ok(Err(error)),
        };
        let path = store.dir().join(&self.file);
        let kept = Kept {
            versions: versions.to_vec(),
            found,
        };
        let text = serde_json::to_string_pretty(&kept).map_err(|e| StoreError::File {
            what: "write",
            path: path.clone(),
            source: e.into(),
        })?;
        store.put(&path, text.as_bytes())?;
        Ok(Ok(kept.found))
    }

    fn try_make<T>(
        &self,
        machine: &dyn Machine,
        read: impl FnOnce(&[u8]) -> Result<T, serde_json::Error>,
    ) -> Result<T, TrialError> {
        let outcome = machine.run(&self.spec())?;
        let failed = |why: String| {
            TrialError::Failed(Failed {
                why,
                console: outcome.console.clone(),
            })
        };
        if let Some(failure) = &outcome.failure {
            return Err(failed(with_causes(failure)));
        }
        if outcome.status != Some(0) {
            return Err(failed(format!("{} failed in the guest", self.what)));
        }
        let printed = outcome.outputs.iter().find(|(name, _)| name == STDOUT);
        let (_, text) = printed.ok_or_else(|| failed("it printed nothing".to_owned()))?;
        read(text).map_err(|e| failed(format!("what it printed cannot be read: {e}")))
    }

    fn spec(&self) -> Spec {
        Spec {
            kernel: self.kernel.to_owned(),
            bench: Bench::Vcan,
            controller: self.cpu.controller(),
            bitrate: BITRATE,
            data_bitrate: None,
            ethernet: false,
            time: Time::Virtual {
                shift: self.cpu.shift(),
            },
            boot: vec![],
            memory: 512,
            files: vec![],
            job: Job::Exec {
                command: self.line.iter().map(|word| (*word).to_owned()).collect(),
            },
            prepare: None,
            timeout: Duration::from_secs(900),
            trace_registers: false,
        }
    }
}

#[cfg(test)]
pub(crate) mod printing {
    use super::*;
    use crate::fake;
    use guest::Outcome;

    /// A machine whose commands print this.
    pub(crate) struct Printing(pub(crate) &'static str);

    impl Machine for Printing {
        fn versions(&self, _: &str) -> Result<Vec<(String, String)>, guest::Error> {
            Ok(fake::versions())
        }

        fn run(&self, _: &Spec) -> Result<Outcome, guest::Error> {
            Ok(Outcome {
                status: Some(0),
                outputs: vec![(STDOUT.to_owned(), self.0.as_bytes().to_vec())],
                ..Outcome::default()
            })
        }
    }
}
