//! What it costs to record many interfaces, by several recorders: made by `cangate bench-capture` in a
//! guest.

use crate::by_command::ByCommand;
use crate::choices::Cpu;
use crate::store::{Store, StoreError};
use crate::trial::{Machine, TrialError};
use serde::{Deserialize, Serialize};

/// Which measurement: 32 virtual interfaces, each recorder at each rate.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Recorders {
    /// The guest's kernel.
    pub kernel: String,
    /// Its processor.
    pub cpu: Cpu,
    /// Frames a second over all interfaces.
    pub rates: Vec<u32>,
    /// Frames of each trial.
    pub frames: u32,
    /// Which recorders, by the names that `cangate bench-capture` has for them.
    pub names: Vec<String>,
}

/// One recorder at one rate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Recording {
    /// Its name.
    pub recorder: String,
    /// Frames a second that were to be sent.
    pub rate: u32,
    /// Frames that were sent.
    pub sent: u32,
    /// Frames that are in its file.
    pub recorded: Option<u64>,
    /// Its processor time a frame that was sent, ns.
    pub recorder_ns: f64,
}

impl Recording {
    /// Frames that are not in its file.
    #[must_use]
    pub fn lost(&self) -> u64 {
        u64::from(self.sent).saturating_sub(self.recorded.unwrap_or(0))
    }
}

impl Recorders {
    /// Its name, and that of its file.
    #[must_use]
    pub fn name(&self) -> String {
        let cpu = self.cpu.to_string().replace(':', "-");
        let rates: Vec<_> = self.rates.iter().map(u32::to_string).collect();
        format!(
            "recorders_{}_{cpu}_{}_{}.json",
            self.kernel,
            rates.join("-"),
            self.frames
        )
    }

    fn measured<T>(&self, how: impl FnOnce(&ByCommand<'_>) -> T) -> T {
        let (frames, names) = (self.frames.to_string(), self.names.join(","));
        let rates: Vec<_> = self.rates.iter().map(u32::to_string).collect();
        let mut line = vec!["cangate", "bench-capture", "--json", "--frames", &frames];
        line.extend(["--recorder", &names]);
        for rate in &rates {
            line.extend(["--rate", rate]);
        }
        how(&ByCommand {
            file: self.name(),
            kernel: &self.kernel,
            cpu: self.cpu,
            line: &line,
            what: "cangate bench-capture",
        })
    }

    /// What a folder has of it, made with these versions.
    #[must_use]
    pub fn find(&self, store: &Store, versions: &[(String, String)]) -> Option<Vec<Recording>> {
        self.measured(|by| by.find(store, versions))
    }

    /// Makes it and keeps it.
    ///
    /// # Errors
    /// [`TrialError`] in the inner result; the outer one's where it cannot be kept.
    pub fn make(
        &self,
        machine: &dyn Machine,
        store: &Store,
        versions: &[(String, String)],
    ) -> Result<Result<Vec<Recording>, TrialError>, StoreError> {
        // An object for each trial, one after the other.
        let read = |text: &[u8]| {
            serde_json::Deserializer::from_slice(text)
                .into_iter()
                .collect()
        };
        self.measured(|by| by.make(machine, store, versions, read))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::by_command::printing::Printing;
    use crate::fake;

    #[test]
    fn trials_are_read_and_kept() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path()).unwrap();
        let recorders = Recorders {
            kernel: "6.1".to_owned(),
            cpu: Cpu::Pc,
            rates: vec![1000, 2000],
            frames: 10,
            names: vec!["candump".to_owned()],
        };
        let versions = fake::versions();
        assert_eq!(recorders.find(&store, &versions), None);
        let good = Printing(
            "{\"recorder\":\"candump\",\"rate\":1000,\"sent\":10,\"recorded\":10,\"recorder_ns\":7.5,\"lost\":0}\n\
             {\"recorder\":\"candump\",\"rate\":2000,\"sent\":10,\"recorded\":8,\"recorder_ns\":7.0,\"lost\":2}\n",
        );
        let made = recorders.make(&good, &store, &versions).unwrap().unwrap();
        assert_eq!((made.len(), made[1].lost()), (2, 2));
        assert_eq!(recorders.find(&store, &versions), Some(made));
        assert_eq!(recorders.find(&store, &[]), None, "other versions");
        let bad = recorders.make(&Printing("{}"), &store, &versions).unwrap();
        assert!(bad.unwrap_err().to_string().contains("cannot be read"));
    }
}
