//! The cost of system calls on a virtual interface: a measurement that is not an [`Experiment`],
//! made by `cangate bench syscalls` in a guest (syscalls-2014 §3.1, §4.1).
//!
//! [`Experiment`]: crate::Experiment

use crate::by_command::ByCommand;
use crate::choices::Cpu;
use guest::Kernel;
use serde::{Deserialize, Serialize};

/// The parameters of a measurement.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct BurstMeasurement {
    /// The guest's kernel.
    pub kernel: Kernel,
    /// Its processor.
    pub cpu: Cpu,
    /// The maximum number of frames of a burst.
    pub most: u32,
}

/// Time taken to move a number of frames, ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BurstPoint {
    /// Number of frames.
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

/// The part of the printed output that is used; it contains more.
#[derive(Deserialize)]
struct PrintedBursts {
    points: Vec<BurstPoint>,
}

impl ByCommand for BurstMeasurement {
    const COMMAND: &'static str = "cangate-lab bench syscalls";

    type Found = Vec<BurstPoint>;

    fn name(&self) -> String {
        let cpu = self.cpu.to_string().replace(':', "-");
        format!("syscalls_{}_{cpu}_{}.json", self.kernel, self.most)
    }

    fn kernel(&self) -> Kernel {
        self.kernel
    }

    fn cpu(&self) -> Cpu {
        self.cpu
    }

    fn options(&self) -> Vec<String> {
        let most = self.most.to_string();
        let options = ["vcan0", "--virtual-time", "--json", "--frames", &most];
        options.map(str::to_owned).to_vec()
    }

    fn read(&self, printed: &[u8]) -> Result<Vec<BurstPoint>, serde_json::Error> {
        serde_json::from_slice(printed).map(|printed: PrintedBursts| printed.points)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::by_command::printing::PrintingMachine;
    use crate::fake;
    use crate::store::ResultStore;

    #[test]
    fn points_are_read_and_kept() {
        let dir = tempfile::tempdir().unwrap();
        let store = ResultStore::open(dir.path()).unwrap();
        let bursts = BurstMeasurement {
            kernel: Kernel::V6_1,
            cpu: Cpu::Pc,
            most: 2,
        };
        let versions = fake::versions();
        assert_eq!(bursts.find(&store, &versions), None);
        let good = PrintingMachine(
            r#"{"time":"virtual","points":[{"frames":1,"read_ns":4,"recvmmsg_ns":3,"write_ns":9,"sendmmsg_ns":8}]}"#,
        );
        let made = bursts.make(&good, &store, &versions).unwrap().unwrap();
        assert_eq!(made[0].write_ns, 9);
        assert_eq!(bursts.find(&store, &versions), Some(made));
        assert_eq!(bursts.find(&store, &[]), None, "other versions");
        let bad = bursts
            .make(&PrintingMachine("{}"), &store, &versions)
            .unwrap();
        assert!(bad.unwrap_err().to_string().contains("cannot be read"));
    }
}
