//! What system calls cost on a virtual interface: a measurement that is no [`Experiment`], made
//! by `cangate bench syscalls` in a guest (syscalls-2014 §3.1, §4.1).
//!
//! [`Experiment`]: crate::Experiment

use crate::choices::Cpu;
use crate::spec::BITRATE;
use crate::store::{Store, StoreError};
use crate::trial::{Failed, Machine, TrialError};
use guest::machine::{Bench, Job, Spec, Time};
use guest::with_causes;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The name in an [`Outcome`](guest::Outcome) of what a command printed, where a [`Machine`] keeps
/// that.
pub const STDOUT: &str = "stdout";

/// Which measurement.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Bursts {
    /// The guest's kernel.
    pub kernel: String,
    /// Its processor.
    pub cpu: Cpu,
    /// The most frames of a burst.
    pub most: u32,
}

/// How long it took to move a number of frames, ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Point {
    /// How many frames.
    pub frames: u32,
    /// By read(2).
    pub read_ns: u64,
    /// By recvmmsg(2).
    pub recvmmsg_ns: u64,
    /// By write(2).
    pub write_ns: u64,
    /// By sendmmsg(2).
    pub sendmmsg_ns: u64,
}

/// What is printed; there is more in it.
#[derive(Deserialize)]
struct Printed {
    points: Vec<Point>,
}

/// As it is kept.
#[derive(Serialize, Deserialize)]
struct Kept {
    versions: Vec<(String, String)>,
    points: Vec<Point>,
}

impl Bursts {
    /// Its name, and that of its file.
    #[must_use]
    pub fn name(&self) -> String {
        let cpu = self.cpu.to_string().replace(':', "-");
        format!("syscalls_{}_{cpu}_{}.json", self.kernel, self.most)
    }

    fn spec(&self) -> Spec {
        let most = self.most.to_string();
        let line = [
            "cangate",
            "bench",
            "syscalls",
            "vcan0",
            "--virtual-time",
            "--json",
            "--frames",
            &most,
        ];
        Spec {
            kernel: self.kernel.clone(),
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
                command: line.map(str::to_owned).to_vec(),
            },
            prepare: None,
            timeout: Duration::from_secs(900),
            trace_registers: false,
        }
    }

    /// What a folder has of it, made with these versions.
    #[must_use]
    pub fn find(&self, store: &Store, versions: &[(String, String)]) -> Option<Vec<Point>> {
        let text = std::fs::read_to_string(store.dir().join(self.name())).ok()?;
        let kept: Kept = serde_json::from_str(&text).ok()?;
        (kept.versions == versions).then_some(kept.points)
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
    ) -> Result<Result<Vec<Point>, TrialError>, StoreError> {
        let points = match self.try_make(machine) {
            Ok(points) => points,
            Err(error) => return Ok(Err(error)),
        };
        let path = store.dir().join(self.name());
        let kept = Kept {
            versions: versions.to_vec(),
            points: points.clone(),
        };
        let text = serde_json::to_string_pretty(&kept).map_err(|e| StoreError::File {
            what: "write",
            path: path.clone(),
            source: e.into(),
        })?;
        store.put(&path, text.as_bytes())?;
        Ok(Ok(points))
    }

    fn try_make(&self, machine: &dyn Machine) -> Result<Vec<Point>, TrialError> {
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
            return Err(failed(
                "cangate bench syscalls failed in the guest".to_owned(),
            ));
        }
        let printed = outcome.outputs.iter().find(|(name, _)| name == STDOUT);
        let (_, text) = printed.ok_or_else(|| failed("it printed nothing".to_owned()))?;
        let printed: Printed = serde_json::from_slice(text)
            .map_err(|e| failed(format!("what it printed cannot be read: {e}")))?;
        Ok(printed.points)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake;
    use guest::Outcome;

    struct Printing(&'static str);

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

    #[test]
    fn points_are_read_and_kept() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path()).unwrap();
        let bursts = Bursts {
            kernel: "6.1".to_owned(),
            cpu: Cpu::Pc,
            most: 2,
        };
        let versions = fake::versions();
        assert_eq!(bursts.find(&store, &versions), None);
        let good = Printing(
            r#"{"time":"virtual","points":[{"frames":1,"read_ns":4,"recvmmsg_ns":3,"write_ns":9,"sendmmsg_ns":8}]}"#,
        );
        let made = bursts.make(&good, &store, &versions).unwrap().unwrap();
        assert_eq!(made[0].write_ns, 9);
        assert_eq!(bursts.find(&store, &versions), Some(made));
        assert_eq!(bursts.find(&store, &[]), None, "other versions");
        let bad = bursts.make(&Printing("{}"), &store, &versions).unwrap();
        assert!(bad.unwrap_err().to_string().contains("cannot be read"));
    }
}
