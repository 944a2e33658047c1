//! The cost of recording many interfaces with several recorders: measured by `cangate lab
//! bench-capture` in a guest.

use crate::by_command::ByCommand;
use crate::choices::Cpu;
use guest::Kernel;
use serde::{Deserialize, Serialize};

/// The parameters of a measurement: 32 virtual interfaces, each recorder at each rate.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RecorderMeasurement {
    /// The guest's kernel.
    pub kernel: Kernel,
    /// Its processor.
    pub cpu: Cpu,
    /// Frames per second over all interfaces.
    pub rates: Vec<u32>,
    /// Frames of each trial.
    pub frames: u32,
    /// The recorders, by their names in `cangate lab bench-capture`.
    pub names: Vec<String>,
}

/// One recorder at one rate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RecorderRun {
    /// Its name.
    pub recorder: String,
    /// Requested frames per second.
    pub rate: u32,
    /// Frames that were sent.
    pub sent: u32,
    /// Frames that are in its file.
    pub recorded: Option<u64>,
    /// Its processor time per frame that was sent, ns.
    pub recorder_ns: f64,
}

impl RecorderRun {
    /// Returns the number of frames that are not in its file.
    #[must_use]
    pub fn lost(&self) -> u64 {
        u64::from(self.sent).saturating_sub(self.recorded.unwrap_or(0))
    }
}

impl ByCommand for RecorderMeasurement {
    const COMMAND: &'static str = "cangate-lab bench-capture";

    type Found = Vec<RecorderRun>;

    fn name(&self) -> String {
        let cpu = self.cpu.to_string().replace(':', "-");
        let rates: Vec<_> = self.rates.iter().map(u32::to_string).collect();
        format!(
            "recorders_{}_{cpu}_{}_{}.json",
            self.kernel,
            rates.join("-"),
            self.frames
        )
    }

    fn kernel(&self) -> Kernel {
        self.kernel
    }

    fn cpu(&self) -> Cpu {
        self.cpu
    }

    fn options(&self) -> Vec<String> {
        let (frames, names) = (self.frames.to_string(), self.names.join(","));
        let options = ["--json", "--frames", &frames, "--recorder", &names];
        let rates = self.rates.iter().map(u32::to_string);
        let rates = rates.flat_map(|rate| ["--rate".to_owned(), rate]);
        options
            .map(str::to_owned)
            .into_iter()
            .chain(rates)
            .collect()
    }

    /// Reads an object for each trial, one after the other.
    fn read(&self, printed: &[u8]) -> Result<Vec<RecorderRun>, serde_json::Error> {
        let trials = serde_json::Deserializer::from_slice(printed);
        trials.into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::by_command::printing::PrintingMachine;
    use crate::fake;
    use crate::store::ResultStore;

    #[test]
    fn trials_are_read_and_kept() {
        let dir = tempfile::tempdir().unwrap();
        let store = ResultStore::open(dir.path()).unwrap();
        let recorders = RecorderMeasurement {
            kernel: Kernel::V6_1,
            cpu: Cpu::Pc,
            rates: vec![1000, 2000],
            frames: 10,
            names: vec!["candump".to_owned()],
        };
        let versions = fake::versions();
        assert_eq!(recorders.find(&store, &versions), None);
        let good = PrintingMachine(
            "{\"recorder\":\"candump\",\"rate\":1000,\"sent\":10,\"recorded\":10,\"recorder_ns\":7.5,\"lost\":0}\n\
             {\"recorder\":\"candump\",\"rate\":2000,\"sent\":10,\"recorded\":8,\"recorder_ns\":7.0,\"lost\":2}\n",
        );
        let made = recorders.make(&good, &store, &versions).unwrap().unwrap();
        assert_eq!((made.len(), made[1].lost()), (2, 2));
        assert_eq!(recorders.find(&store, &versions), Some(made));
        assert_eq!(recorders.find(&store, &[]), None, "other versions");
        let bad = recorders
            .make(&PrintingMachine("{}"), &store, &versions)
            .unwrap();
        assert!(bad.unwrap_err().to_string().contains("cannot be read"));
    }
}
