//! The settings possible with a controller of the hypervisor, and with inner machines.

use super::Conflicts;
use crate::choices::{
    GatewayChoice, Incident, MachineLoad, MachineOrder, Nesting, Priority, Tuning,
};
use crate::measurement::{ProgramTask, SharedController};
use crate::settings::{Experiment, Setting};
use guest::Kernel;
use guest::machine::BenchKind;
use probe::traffic::TrafficPattern;

const VM_BENCH: &str =
    "inner machines are on the bench vm, and nothing else is: --bench vm --gateway vm:…";
const EXITS: &str =
    "only an inner machine has exits: --bench vm --gateway vm:host, vm:driver or vm:vf";

impl Conflicts<'_> {
    /// Checks the settings of a program on a controller of the hypervisor.
    pub(super) fn program(&mut self, program: &SharedController) {
        let e = self.experiment;
        self.refuse(
            e.bench != BenchKind::Vm,
            &[Setting::Gateway, Setting::Bench],
            VM_BENCH,
        );
        self.refuse(
            e.exit_cost > 0 && !program.way.has_machines(),
            &[Setting::ExitCost, Setting::Gateway],
            EXITS,
        );
        self.machines();
        match program.task {
            ProgramTask::RoundTrip => self.answered(),
            ProgramTask::Loop => {
                self.answered();
                self.refuse(
                    program.way == Nesting::Driver,
                    &[Setting::Task, Setting::Gateway],
                    "the interface of a machine behind a driver VM reports that a frame is sent when it is in the shared memory, \
                     long before it is on the bus: vm:native, vm:host, vm:own or vm:vf",
                );
            }
            ProgramTask::Receive => self.refuse(
                e.traffic == TrafficPattern::OneAtATime,
                &[Setting::Traffic, Setting::Task],
                "no answer comes back for which the next frame could wait: --traffic flood, load:PERCENT or \
                 period:MICROSECONDS",
            ),
        }
        if program.task != ProgramTask::RoundTrip {
            self.refuse(
                e.machines > 1,
                &[Setting::Machines, Setting::Task],
                "only one machine, with the controller to itself, can be measured: --machines 1",
            );
            self.refuse(
                program.way.is_card(),
                &[Setting::Task, Setting::Gateway],
                "on the cards' bus frames take no time and are not counted: vm:native, vm:host, vm:own or vm:vf",
            );
        }
        self.programs();
        self.refuse(
            !matches!(e.kernel, Kernel::V6_1 | Kernel::V6_12 | Kernel::V7_3),
            &[Setting::Kernel, Setting::Gateway],
            "inner machines have been tested on the kernels 6.1, 6.12 and 7.3",
        );
        let settings = [
            (e.load != MachineLoad::None, Setting::Load),
            (e.is_fd(), Setting::Payload),
            (e.priority != Priority::Gateway, Setting::Priority),
            (e.tuning != Tuning::default(), Setting::Tuning),
            (e.is_real_time(), Setting::Clock),
        ];
        self.refuse_each(
            settings,
            Setting::Gateway,
            "inner machines do not support this setting yet: leave it out",
        );
    }

    /// Refuses the settings of a controller of the hypervisor where there is none.
    pub(super) fn not_shared(&mut self) {
        let e = self.experiment;
        self.refuse(
            e.bench == BenchKind::Vm,
            &[Setting::Gateway, Setting::Bench],
            VM_BENCH,
        );
        self.refuse(
            e.exit_cost > 0,
            &[Setting::ExitCost, Setting::Gateway],
            EXITS,
        );
        self.machines();
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
        let settings = [
            (e.others != one.others, Setting::Others),
            (e.order != one.order, Setting::Order),
            (e.budget != one.budget, Setting::Budget),
            (e.incident != one.incident, Setting::Incident),
        ];
        self.refuse_each(
            settings.map(|(is_set, setting)| (is_set && e.machines == 1, setting)),
            Setting::Machines,
            "this option configures machines other than the one that asks: set --machines 2 to 8",
        );
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
            "only a controller that knows its functions gives a machine a budget: vm:vf, or vm:host and vm:own with --order \
             priority",
        );
        self.refuse(
            e.incident != Incident::None
                && e.machines > 1
                && (!budgets || e.gateway == GatewayChoice::Vm(Nesting::Own)),
            &[Setting::Incident, Setting::Gateway],
            "only a controller that knows its functions accounts for a machine's frames: vm:vf, or vm:host with \
             --order priority",
        );
    }
}
