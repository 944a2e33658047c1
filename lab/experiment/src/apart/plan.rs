//! The machines and links of an experiment.

use super::{LOAD, MEASURED, MachinePart, PartTask, SIGNALS, TESTER};
use crate::choices::{Cpu, MachineLoad};
use crate::lockstep::USUAL_ETHERNET;
use crate::settings::Experiment;
use crate::spec::{BITRATE, spec};
use crate::under_test::{INCOMING, OUTGOING};
use guest::linked::ClockDrift;
use guest::lockstep::{CanLink, LinkKind, LinkPlan, LockstepPlan, MachinePlan};
use guest::machine::{BenchKind, GuestJob, GuestSpec, TimeMode};
use std::time::Duration;

/// Frames of a machine that may wait for a bus: more than the kernel's backlog (1000) and the
/// sockets of a gateway that falls behind pass on at once.
const QUEUE: u32 = 10_000;
/// The Ethernet link.
const ETHERNET: &str = "lan";
/// How many times as long as a guest alone each of several may take: they wait for one another.
const SLOWER: u32 = 6;
/// Virtual time for everything but the frames: adding 2048 rules to a slow gateway takes minutes.
const SET_UP: Duration = Duration::from_secs(3600);

/// Returns the machines and links of an experiment. The measured machine is the first one.
#[must_use]
pub fn plan(experiment: &Experiment) -> LockstepPlan {
    let mut machines = Vec::new();
    let mut links = Vec::new();
    let mut add = |name: &str, part| {
        machines.push(machine(experiment, name, part));
        machines.len() - 1
    };
    let can = |name: &str, members: Vec<usize>| LinkPlan {
        name: name.to_owned(),
        kind: LinkKind::Can(CanLink {
            bitrate: BITRATE,
            data_bitrate: None,
            queue: QUEUE,
        }),
        members,
    };
    if experiment.is_between_cards() {
        let gateway = add(MEASURED, MachinePart::Gateway);
        let tester = add(TESTER, MachinePart::Tester);
        // The interfaces have the names of their buses.
        links.push(can(INCOMING, vec![gateway, tester]));
        links.push(can(OUTGOING, vec![gateway, tester]));
    } else {
        add(MEASURED, MachinePart::Bench);
    }
    if matches!(experiment.load, MachineLoad::EthRx | MachineLoad::EthTx) {
        let load = add(LOAD, MachinePart::Load);
        links.push(LinkPlan {
            name: ETHERNET.to_owned(),
            kind: LinkKind::Ethernet(USUAL_ETHERNET),
            members: vec![0, load],
        });
    }
    links.push(can(SIGNALS, (0..machines.len()).collect()));
    // A frame that does not come back is given up after a second.
    let frames = Duration::from_secs(2 * u64::from(experiment.frames));
    LockstepPlan {
        machines,
        links,
        interval: None,
        limit: SET_UP + frames,
        skip_idle: true,
    }
}

fn machine(experiment: &Experiment, name: &str, part: MachinePart) -> MachinePlan {
    let task = PartTask {
        part,
        experiment: experiment.clone(),
    };
    let alone = spec(experiment);
    let mut guest = GuestSpec {
        ethernet: false,
        // The interfaces of a saved machine have no names yet: a gateway cannot be prepared.
        prepare: None,
        trace_registers: false,
        timeout: alone.timeout.saturating_mul(SLOWER),
        job: GuestJob::Task {
            // It contains no maps and no numbers that JSON lacks: serializing it cannot fail.
            task: serde_json::to_value(task).unwrap_or_default(),
        },
        ..alone
    };
    match part {
        MachinePart::Bench => {}
        MachinePart::Gateway => guest.bench = BenchKind::None,
        // The papers' PC, which the settings of the gateway's machine do not change.
        MachinePart::Tester | MachinePart::Load => {
            guest.bench = BenchKind::None;
            guest.boot = Vec::new();
            guest.time = TimeMode::Virtual {
                shift: Cpu::Pc.shift(),
            };
        }
    }
    MachinePlan {
        name: name.to_owned(),
        guest,
        drift: ClockDrift::default(),
        background: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arbitrary::any_experiment;
    use crate::choices::MachinePlacement;
    use crate::settings::Setting;
    use proptest::prelude::*;

    fn planned(words: &[(Setting, &str)]) -> LockstepPlan {
        let words = words.iter().copied().chain([(Setting::Apart, "yes")]);
        let experiment = Experiment::from_words(words).unwrap();
        assert_eq!(experiment.check(), Ok(()));
        let plan = plan(&experiment);
        assert_eq!(plan.check(), Ok(()));
        plan
    }

    /// Returns the machines with their parts, and the links with their machines.
    fn shape(plan: &LockstepPlan) -> (Vec<String>, Vec<String>) {
        let machines = plan.machines.iter().map(|machine| {
            let GuestJob::Task { task } = &machine.guest.job else {
                panic!("a machine has a task");
            };
            format!("{} {}", machine.name, task["part"].as_str().unwrap())
        });
        let links = plan
            .links
            .iter()
            .map(|link| format!("{} {:?}", link.name, link.members));
        (machines.collect(), links.collect())
    }

    #[test]
    fn gateway_tester_and_load_are_on_machines_of_their_own() {
        use Setting as S;
        let two = planned(&[(S::Cpu, "board"), (S::Boot, "nohz=off"), (S::Load, "cpu")]);
        let (machines, links) = shape(&two);
        assert_eq!(machines, ["measured gateway", "tester tester"]);
        assert_eq!(links, ["gw0 [0, 1]", "gw1 [0, 1]", "signals [0, 1]"]);
        let [gateway, tester] = two.machines.as_slice() else {
            panic!("two machines");
        };
        // The gateway's processor and kernel parameters are the experiment's, the tester's are not.
        assert_eq!(gateway.guest.time, TimeMode::Virtual { shift: 2 });
        assert_eq!(tester.guest.time, TimeMode::Virtual { shift: 1 });
        assert_eq!((gateway.guest.boot.len(), tester.guest.boot.len()), (1, 0));
        assert_eq!(two.interval(), Duration::from_nanos(43_999));

        let (machines, links) = shape(&planned(&[(S::Load, "eth-rx")]));
        let three = ["measured gateway", "tester tester", "load load"];
        assert_eq!(machines, three);
        let expected = [
            "gw0 [0, 1]",
            "gw1 [0, 1]",
            "lan [0, 2]",
            "signals [0, 1, 2]",
        ];
        assert_eq!(links, expected);
    }

    #[test]
    fn on_the_timed_bench_only_the_load_is_elsewhere() {
        use Setting as S;
        let trips = [
            (S::Bench, "timed"),
            (S::Task, "round-trip"),
            (S::Gateway, "chardev"),
            (S::Load, "eth-tx"),
        ];
        let plan = planned(&trips);
        let (machines, links) = shape(&plan);
        assert_eq!(machines, ["measured bench", "load load"]);
        assert_eq!(links, ["lan [0, 1]", "signals [0, 1]"]);
        assert_eq!(plan.machines[0].guest.bench, BenchKind::Timed);
        assert_eq!(plan.machines[1].guest.bench, BenchKind::None);
        // Its Ethernet card is the link's.
        assert!(!plan.machines[0].guest.ethernet);
    }

    proptest! {
        /// Whatever its kernel, load and frames: an experiment that is not refused has a plan that
        /// can run.
        #[test]
        fn a_plan_can_run(any in any_experiment()) {
            let e = Experiment {
                apart: MachinePlacement::Apart,
                kernel: any.kernel,
                load: any.load,
                boot: any.boot,
                traffic: any.traffic,
                frames: any.frames,
                ..Experiment::default()
            };
            prop_assert_eq!(e.check(), Ok(()));
            let plan = plan(&e);
            prop_assert_eq!(plan.check(), Ok(()));
            for machine in &plan.machines {
                let GuestJob::Task { task } = &machine.guest.job else {
                    return Err(TestCaseError::fail("a machine has a task"));
                };
                let task: PartTask = serde_json::from_value(task.clone()).unwrap();
                prop_assert_eq!(&task.experiment, &e);
            }
        }
    }
}
