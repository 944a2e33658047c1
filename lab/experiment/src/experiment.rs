//! One experiment: all settings, and no results.

use crate::choices::{
    Boot, Cpu, ExperimentTask, FilterChoice, GatewayChoice, HopChoice, LogSide, LogTraffic,
    MachineLoad, Machines, ModifyChoice, Priority, Tuning,
};
use guest::machine::BenchKind;
use probe::traffic::TrafficPattern;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Frames of a floor: they hardly differ.
const FLOOR_FRAMES: u32 = 100;

/// One experiment, one row of a matrix. Its text form is that of `cangate lab measure`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Experiment {
    /// `6.1`, `6.12-rt`.
    pub kernel: String,
    /// Kvaser or timed.
    pub bench: BenchKind,
    /// The task of the machine under test.
    #[serde(default)]
    pub task: ExperimentTask,
    /// The gateway under test; for a round trip, the ways of both ends.
    pub gateway: GatewayChoice,
    /// The pattern in which frames come.
    pub traffic: TrafficPattern,
    /// A log that is replayed in place of generated frames; `traffic`, `payload` and `frames` are
    /// then those of the log ([`Experiment::playing`]).
    #[serde(default)]
    pub log: LogTraffic,
    /// The load on the gateway's machine.
    pub load: MachineLoad,
    /// Payload bytes, at least 2 (the frame's number); above 8 the frames are FD.
    pub payload: u8,
    /// Number of frames.
    pub frames: u32,
    /// The filters of the gateway.
    pub filters: FilterChoice,
    /// The changes that the gateway makes.
    pub modify: ModifyChoice,
    /// Passes through virtual interfaces.
    pub hops: HopChoice,
    /// The speed of the guest's processor, and the controllers that it has.
    pub cpu: Cpu,
    /// Parameters for the guest's kernel.
    pub boot: Boot,
    /// The priorities in the gateway's machine.
    pub priority: Priority,
    /// The tuning of the kernel.
    #[serde(default)]
    pub tuning: Tuning,
    /// Time that each exit of an inner machine takes in addition to KVM's own work for it, ns.
    #[serde(default)]
    pub exit_cost: u32,
    /// The machines that share the controller.
    #[serde(default)]
    pub machines: Machines,
    /// Seed of everything random.
    pub seed: u64,
    /// Whether it runs in real time instead of virtual time.
    pub real_time: bool,
    /// The interval, in frames, at which the tester takes stamps (timed bench): 1, except to
    /// determine the cost of stamping.
    pub stamp_every: u32,
}

impl Default for Experiment {
    /// Returns the experiment that `cangate lab measure` runs without options: can-gw on the kvaser
    /// bench, 4 bytes, one frame at a time.
    fn default() -> Self {
        Self {
            kernel: "6.1".to_owned(),
            bench: BenchKind::Kvaser,
            task: ExperimentTask::Gateway,
            gateway: GatewayChoice::Cangw,
            traffic: TrafficPattern::OneAtATime,
            log: LogTraffic::NONE,
            load: MachineLoad::None,
            payload: 4,
            frames: 500,
            filters: FilterChoice::None,
            modify: ModifyChoice::None,
            hops: HopChoice::NONE,
            cpu: Cpu::Pc,
            boot: Boot::default(),
            priority: Priority::Gateway,
            tuning: Tuning::default(),
            exit_cost: 0,
            machines: Machines::ONE,
            seed: 1,
            real_time: false,
            stamp_every: 1,
        }
    }
}

impl Experiment {
    /// Returns whether the frames are FD frames. Classic ones have up to 8 bytes.
    #[must_use]
    pub const fn is_fd(&self) -> bool {
        self.payload > 8
    }

    /// Returns whether its guest runs virtual machines of its own. An emulated processor emulates
    /// another one for them, so such a guest takes several times as long as others.
    #[must_use]
    pub fn has_machines(&self) -> bool {
        self.bench == BenchKind::Vm
    }

    /// Returns the experiment that measures the cost of the bench under this one: an ideal gateway
    /// in the same machine, one frame at a time, the same length. The gateway's own share of a
    /// latency is the part above its median. `None` where there is no gateway, or where figures are
    /// not reproducible.
    #[must_use]
    pub fn floor(&self) -> Option<Self> {
        let routes = self.task == ExperimentTask::Gateway && self.gateway.has_routes();
        (routes && !self.real_time).then(|| Self {
            gateway: if self.gateway.is_bare() {
                GatewayChoice::BaremetalIdeal
            } else {
                GatewayChoice::Ideal
            },
            traffic: TrafficPattern::OneAtATime,
            log: LogTraffic::NONE,
            load: MachineLoad::None,
            frames: FLOOR_FRAMES,
            filters: FilterChoice::None,
            modify: ModifyChoice::None,
            hops: HopChoice::NONE,
            priority: Priority::Gateway,
            tuning: Tuning::default(),
            seed: 1,
            stamp_every: 1,
            ..self.clone()
        })
    }

    /// Returns the same experiment with the frames of a log, at their own times.
    #[must_use]
    pub fn playing(self, log: LogTraffic) -> Self {
        Self {
            traffic: TrafficPattern::OneAtATime,
            payload: log.payload(),
            frames: log.count(),
            log,
            ..self
        }
    }

    /// Returns the log's frames for this bus of the bench; `None` where frames are generated.
    pub(crate) fn played(&self, side: LogSide) -> Option<Vec<(frame::Nanos, frame::Frame)>> {
        self.log.is_some().then(|| self.log.frames(side))
    }

    /// Returns whether the kernel has PREEMPT_RT.
    #[must_use]
    pub fn is_rt(&self) -> bool {
        self.kernel.parse().is_ok_and(guest::Kernel::rt)
    }
}

/// Returns the experiments, followed by their floors, each once.
#[must_use]
pub fn with_floors(mut experiments: Vec<Experiment>) -> Vec<Experiment> {
    let floors: BTreeSet<_> = experiments.iter().filter_map(Experiment::floor).collect();
    let there: BTreeSet<_> = experiments.iter().cloned().collect();
    experiments.extend(floors.difference(&there).cloned());
    experiments
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn experiments_in_one_machine_share_a_floor() {
        let cangw = Experiment::default();
        let floor = cangw.floor().unwrap();
        assert_eq!(floor.gateway, GatewayChoice::Ideal);
        assert_eq!(floor.check(), Ok(()));
        let bpf = Experiment {
            gateway: GatewayChoice::Bpf,
            filters: FilterChoice::List(2048),
            frames: 10_000,
            seed: 7,
            ..cangw.clone()
        };
        assert_eq!(bpf.floor(), Some(floor.clone()));
        let longer = Experiment {
            payload: 8,
            ..cangw.clone()
        };
        assert_ne!(longer.floor(), Some(floor.clone()));
        let all = with_floors(vec![cangw.clone(), bpf.clone(), longer.clone()]);
        assert_eq!(
            all[..4],
            [cangw.clone(), bpf, longer.clone(), floor.clone()]
        );
        assert_eq!(all.len(), 5);
        assert_eq!(with_floors(all.clone()), all);
        assert_eq!(floor.floor(), None);
        let real = Experiment {
            real_time: true,
            ..cangw
        };
        assert_eq!(real.floor(), None);
    }
}
