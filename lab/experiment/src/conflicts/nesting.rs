//! The settings possible with inner machines.

use super::Conflicts;
use crate::choices::{
    ExperimentTask, GatewayChoice, Incident, MachineLoad, MachineOrder, Nesting, Priority, Tuning,
};
use crate::settings::{Experiment, Setting};
use guest::Kernel;
use guest::machine::BenchKind;

impl Conflicts<'_> {
    /// Checks the settings for inner machines.
    pub(super) fn nesting(&mut self) {
        let e = self.experiment;
        let vm = matches!(e.gateway, GatewayChoice::Vm(_));
        self.refuse(
            vm != (e.bench == BenchKind::Vm),
            &[Setting::Gateway, Setting::Bench],
            "inner machines are on the bench vm, and nothing else is: --bench vm --gateway vm:…",
        );
        let machines = matches!(e.gateway, GatewayChoice::Vm(nesting) if nesting.has_machines());
        self.refuse(
            e.exit_cost > 0 && !machines,
            &[Setting::ExitCost, Setting::Gateway],
            "only an inner machine has exits: --bench vm --gateway vm:host, vm:driver or vm:vf",
        );
        self.machines();
        if !vm {
            return;
        }
        self.refuse(
            e.task == ExperimentTask::Gateway,
            &[Setting::Task, Setting::Gateway],
            "what is measured of an inner machine is a round trip, how long its own frames take, or what it receives: \
             --task round-trip, loop or receive",
        );
        self.refuse(
            !matches!(e.kernel, Kernel::V6_1 | Kernel::V6_12 | Kernel::V7_3),
            &[Setting::Kernel, Setting::Gateway],
            "inner machines have been tried on the kernels 6.1, 6.12 and 7.3",
        );
        for (is_set, setting) in [
            (e.load != MachineLoad::None, Setting::Load),
            (e.is_fd(), Setting::Payload),
            (e.priority != Priority::Gateway, Setting::Priority),
            (e.tuning != Tuning::default(), Setting::Tuning),
            (e.is_real_time(), Setting::Clock),
        ] {
            self.refuse(
                is_set,
                &[setting, Setting::Gateway],
                "with inner machines this setting is not there yet: leave it out",
            );
        }
    }

    /// Checks the settings for several machines at one controller.
    fn machines(&mut self) {
        let (e, one) = (self.experiment, Experiment::default());
        let shares = matches!(
            e.gateway,
            GatewayChoice::Vm(
                Nesting::Native
                    | Nesting::Host
                    | Nesting::Own
                    | Nesting::Driver
                    | Nesting::Function
            )
        );
        self.refuse(
            e.machines > 1 && !shares,
            &[Setting::Machines, Setting::Gateway],
            "several machines share a controller by --gateway vm:native, vm:host, vm:own, vm:driver or vm:vf",
        );
        for (is_set, setting) in [
            (e.others != one.others, Setting::Others),
            (e.order != one.order, Setting::Order),
            (e.budget != one.budget, Setting::Budget),
            (e.incident != one.incident, Setting::Incident),
        ] {
            self.refuse(
                is_set && e.machines == 1,
                &[setting, Setting::Machines],
                "it is about the machines beside the one that asks, of which there are none: --machines 2 to 8",
            );
        }
        self.refuse(
            e.order == MachineOrder::Fifo && e.gateway == GatewayChoice::Vm(Nesting::Function),
            &[Setting::Order, Setting::Gateway],
            "a controller that shares itself orders by priority: vm:native, vm:host or vm:driver",
        );
        let budgets = matches!(
            (&e.gateway, e.order),
            (
                GatewayChoice::Vm(Nesting::Host | Nesting::Own),
                MachineOrder::Priority
            ) | (GatewayChoice::Vm(Nesting::Function), _)
        );
        self.refuse(
            e.budget > 0 && e.machines > 1 && !budgets,
            &[Setting::Budget, Setting::Gateway],
            "a machine has a budget at a controller that knows its functions: vm:vf, or vm:host and vm:own with --order \
             priority",
        );
        self.refuse(
            e.incident != Incident::None
                && e.machines > 1
                && (!budgets || e.gateway == GatewayChoice::Vm(Nesting::Own)),
            &[Setting::Incident, Setting::Gateway],
            "what became of a machine's frames is known of a controller that knows its functions: vm:vf, or vm:host with \
             --order priority",
        );
    }
}
