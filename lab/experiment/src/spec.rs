//! The guest that an experiment needs.

use crate::choices::{GatewayChoice, MOST_FILTERS, MachineLoad};
use crate::preparation;
use crate::settings::Experiment;
use guest::machine::{BenchKind, GuestJob, GuestSpec, TimeMode};
use std::time::Duration;

/// The bit rate of the timed bench's buses, bit/s: at this rate the papers' shortest frame takes
/// their 60 µs (gateway-2010-draft §IV-A).
pub const BITRATE: u32 = 1_000_000;
/// The data bit rate, bit/s.
pub const DATA_BITRATE: u32 = 4_000_000;
/// Returns the guest that an experiment needs.
#[must_use]
pub fn spec(experiment: &Experiment) -> GuestSpec {
    let time = if experiment.is_real_time() {
        TimeMode::Real
    } else {
        TimeMode::Virtual {
            shift: experiment.cpu.shift(),
        }
    };
    GuestSpec {
        kernel: experiment.kernel,
        bench: experiment.bench,
        controller: experiment.cpu.controller(),
        bitrate: BITRATE,
        data_bitrate: experiment.is_fd().then_some(DATA_BITRATE),
        ethernet: matches!(experiment.load, MachineLoad::EthRx | MachineLoad::EthTx),
        time,
        boot: experiment.boot.0.clone(),
        virtio: Vec::new(),
        shm: Vec::new(),
        memory: memory(experiment),
        files: vec![],
        job: GuestJob::Task {
            task: task(experiment),
        },
        prepare: preparation::model(experiment).as_ref().map(task),
        timeout: timeout(experiment),
        trace_registers: experiment.bench == BenchKind::Kvaser
            && experiment.gateway != GatewayChoice::None,
        linked: None,
    }
}

/// Returns an experiment in the form in which it is given to a guest.
fn task(experiment: &Experiment) -> serde_json::Value {
    // It contains no maps and no numbers that JSON lacks: serializing it cannot fail.
    serde_json::to_value(experiment).unwrap_or_default()
}

/// The memory of a guest in which inner machines run, MiB: twice its image, and theirs.
pub const VM_MEMORY: u32 = 1536;

/// The memory of each machine in addition to the measured one, MiB: its own memory, and its
/// monitor's.
const BESIDE_MEMORY: u32 = 240;

/// The number of frames from which a guest gets more memory.
const MANY_FRAMES: u32 = 65_536;

/// Returns the guest's memory, MiB: 100 000 routes need some hundred of them while they are read,
/// and a million frames with their stamps and records take up to a thousand.
fn memory(experiment: &Experiment) -> u32 {
    if let GatewayChoice::Vm(nesting) = experiment.gateway {
        let beside = if nesting.has_machines() {
            experiment.sharing().beside()
        } else {
            0
        };
        VM_MEMORY + u32::from(beside) * BESIDE_MEMORY
    } else if experiment.frames > MANY_FRAMES {
        2048
    } else if experiment.filters.count() > Some(MOST_FILTERS) {
        1024
    } else {
        512
    }
}

/// Returns the real time after which a guest is considered hung: ten minutes, plus a second for ten
/// frames and one for ten rules, plus five minutes for each further machine, which is far more than
/// a busy host with several guests per core needs.
fn timeout(experiment: &Experiment) -> Duration {
    let rules = experiment.filters.count().unwrap_or(0);
    let machines = u32::from(experiment.sharing().beside()) * 300;
    Duration::from_secs(600 + u64::from(experiment.frames / 10 + rules / 10 + machines))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arbitrary::any_experiment;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_guest_reads_what_was_asked_for(e in any_experiment()) {
            let GuestJob::Task { task } = spec(&e).job else {
                return Err(TestCaseError::fail("an experiment is a task"));
            };
            prop_assert_eq!(serde_json::from_value::<Experiment>(task).unwrap(), e);
        }
    }
}
