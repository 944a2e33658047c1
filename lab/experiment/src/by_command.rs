//! Measurements that are not an [`Experiment`]: a command runs in a guest of virtual time, and
//! prints its results.
//!
//! [`Experiment`]: crate::Experiment

use crate::choices::Cpu;
use crate::spec::BITRATE;
use crate::store::{ResultStore, StoreError};
use crate::trial::{FailedGuest, GuestRunner, TrialError};
use guest::machine::{BenchKind, GuestJob, GuestSpec, TimeMode};
use guest::{Kernel, with_causes};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The name, in an [`GuestOutcome`](guest::GuestOutcome), of the standard output of a command,
/// where a [`GuestRunner`] stores it.
pub const STDOUT: &str = "stdout";

/// A command in a guest with virtual CAN interfaces, and the measurement that it makes.
pub trait ByCommand {
    /// The command, by its words.
    const COMMAND: &'static str;

    /// The type of its result.
    type Found: Serialize + DeserializeOwned;

    /// Returns its name, which is also that of the file that stores its result.
    fn name(&self) -> String;

    /// Returns the guest's kernel.
    fn kernel(&self) -> Kernel;

    /// Returns the guest's processor.
    fn cpu(&self) -> Cpu;

    /// Returns the remaining words of its command line.
    fn options(&self) -> Vec<String>;

    /// Parses the output of the command.
    ///
    /// # Errors
    /// The text is not the output of the command.
    fn read(&self, printed: &[u8]) -> Result<Self::Found, serde_json::Error>;

    /// Returns the result stored in a folder, if it was made with these versions.
    fn find(&self, store: &ResultStore, versions: &[(String, String)]) -> Option<Self::Found> {
        let text = std::fs::read_to_string(store.dir().join(self.name())).ok()?;
        let kept: KeptResult<Self::Found> = serde_json::from_str(&text).ok()?;
        (kept.versions == versions).then_some(kept.found)
    }

    /// Runs it and stores its result.
    ///
    /// # Errors
    /// [`TrialError`] in the inner result; an error of the outer one where the result cannot be
    /// stored.
    fn make(
        &self,
        machine: &dyn GuestRunner,
        store: &ResultStore,
        versions: &[(String, String)],
    ) -> Result<Result<Self::Found, TrialError>, StoreError> {
        let found = match try_make(self, machine) {
            Ok(found) => found,
            Err(error) => return Ok(Err(error)),
        };
        let path = store.dir().join(self.name());
        let kept = KeptResult {
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
}

/// The result as it is stored.
#[derive(Serialize, Deserialize)]
struct KeptResult<T> {
    versions: Vec<(String, String)>,
    found: T,
}

fn try_make<M: ByCommand + ?Sized>(
    measurement: &M,
    machine: &dyn GuestRunner,
) -> Result<M::Found, TrialError> {
    let words = M::COMMAND.split(' ').map(str::to_owned);
    let line = words.chain(measurement.options()).collect();
    let spec = spec(measurement.kernel(), measurement.cpu(), line);
    let outcome = machine.run(&spec)?;
    let failed = |why: String| {
        TrialError::Failed(FailedGuest {
            why,
            console: outcome.console.clone(),
        })
    };
    if let Some(failure) = &outcome.failure {
        return Err(failed(with_causes(failure)));
    }
    if outcome.status != Some(0) {
        return Err(failed(format!("{} failed in the guest", M::COMMAND)));
    }
    let printed = outcome.outputs.iter().find(|(name, _)| name == STDOUT);
    let (_, text) = printed.ok_or_else(|| failed("its output is empty".to_owned()))?;
    let found = measurement.read(text);
    found.map_err(|e| failed(format!("its output cannot be read: {e}")))
}

fn spec(kernel: Kernel, cpu: Cpu, command: Vec<String>) -> GuestSpec {
    GuestSpec {
        kernel,
        bench: BenchKind::Vcan,
        controller: cpu.controller(),
        bitrate: BITRATE,
        data_bitrate: None,
        ethernet: false,
        time: TimeMode::Virtual { shift: cpu.shift() },
        boot: vec![],
        virtio: Vec::new(),
        shm: Vec::new(),
        memory: 512,
        files: vec![],
        job: GuestJob::Exec { command },
        prepare: None,
        timeout: Duration::from_secs(900),
        trace_registers: false,
        linked: None,
    }
}

#[cfg(test)]
pub(crate) mod printing {
    use super::*;
    use crate::fake;
    use guest::GuestOutcome;

    /// A machine whose commands print this text.
    pub(crate) struct PrintingMachine(pub(crate) &'static str);

    impl GuestRunner for PrintingMachine {
        fn versions(&self, _: Kernel) -> Result<Vec<(String, String)>, guest::Error> {
            Ok(fake::versions())
        }

        fn run(&self, _: &GuestSpec) -> Result<GuestOutcome, guest::Error> {
            Ok(GuestOutcome {
                status: Some(0),
                outputs: vec![(STDOUT.to_owned(), self.0.as_bytes().to_vec())],
                ..GuestOutcome::default()
            })
        }

        fn run_bare(&self, experiment: &crate::Experiment) -> Result<GuestOutcome, guest::Error> {
            panic!(
                "no command runs without an operating system: {}",
                experiment.name()
            )
        }

        fn run_apart(&self, experiment: &crate::Experiment) -> Result<GuestOutcome, guest::Error> {
            panic!("a command runs on one machine: {}", experiment.name())
        }
    }
}
