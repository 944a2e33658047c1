//! The meaning of the settings of an experiment in combination.

use crate::choices::{
    ClockChoice, ExperimentTask, FilterChoice, GatewayChoice, HopChoice, LogSide, LogTraffic,
    MachineLoad, MachinePlacement, Machines, ModifyChoice, Priority, Tuning,
};
use crate::settings::Experiment;
use guest::machine::BenchKind;
use probe::traffic::TrafficPattern;
use std::collections::BTreeSet;

/// Frames of a floor: they hardly differ.
const FLOOR_FRAMES: u32 = 100;

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
    /// latency is the part above its median. `None` where there is no gateway, where figures are
    /// not reproducible, or where the latency has no part of the bench in it.
    #[must_use]
    pub fn floor(&self) -> Option<Self> {
        let routes = self.task == ExperimentTask::Gateway && self.gateway.has_routes();
        (routes && !self.is_real_time() && !self.is_between_cards()).then(|| Self {
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
            // The other machine is the load's.
            apart: MachinePlacement::Together,
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

    /// Returns whether it runs in real time instead of virtual time.
    #[must_use]
    pub fn is_real_time(&self) -> bool {
        self.clock == ClockChoice::Real
    }

    /// Returns whether other machines run together with its guest.
    #[must_use]
    pub fn is_apart(&self) -> bool {
        self.apart == MachinePlacement::Apart
    }

    /// Returns whether its gateway is between cards on buses that it shares with the tester's
    /// machine.
    #[must_use]
    pub fn is_between_cards(&self) -> bool {
        self.is_apart() && self.bench == BenchKind::Kvaser
    }

    /// Returns the machines that share the controller.
    #[must_use]
    pub const fn sharing(&self) -> Machines {
        Machines {
            count: self.machines,
            others: self.others,
            order: self.order,
            budget: self.budget,
            incident: self.incident,
        }
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
            clock: ClockChoice::Real,
            ..cangw.clone()
        };
        assert_eq!(real.floor(), None);
        // The times of buses between machines have no part of a bench in them.
        let cards = Experiment {
            apart: MachinePlacement::Apart,
            ..cangw
        };
        assert_eq!(cards.floor(), None);
        let timed = Experiment {
            bench: BenchKind::Timed,
            load: MachineLoad::EthRx,
            ..cards
        };
        let floor = timed.floor().unwrap();
        assert_eq!((floor.is_apart(), floor.check()), (false, Ok(())));
    }
}
