//! The tasks other than that of a gateway, and the kernel tuning possible for them.

use super::Conflicts;
use crate::choices::{ExperimentTask, GatewayChoice, Nesting, Priority, TransmitChoice, WayPair};
use crate::settings::Setting;
use guest::Kernel;
use guest::machine::{BenchKind, BitcanController};
use probe::traffic::TrafficPattern;

impl Conflicts<'_> {
    /// Checks the settings for a task other than that of a gateway.
    pub(super) fn task(&mut self) {
        let e = self.experiment;
        if e.task == ExperimentTask::Gateway {
            return;
        }
        let sockets = matches!(e.gateway, GatewayChoice::User(_));
        self.refuse(
            !sockets
                && !matches!(
                    e.gateway,
                    GatewayChoice::Direct { .. } | GatewayChoice::Chardev | GatewayChoice::Vm(_)
                ),
            &[Setting::Gateway, Setting::Task],
            "a round trip is between two programs: --gateway user:RECEIVE-TRANSMIT, chardev or \
             direct:irq says how both receive and transmit",
        );
        self.refuse(
            e.bench == BenchKind::None,
            &[Setting::Bench, Setting::Task],
            "it needs CAN interfaces: --bench timed, kvaser, ctucan or vcan",
        );
        if e.task == ExperimentTask::Receive {
            self.refuse(
                e.traffic == TrafficPattern::OneAtATime,
                &[Setting::Traffic, Setting::Task],
                "nothing comes back, for which the next frame could wait: --traffic flood, load:PERCENT or \
                 period:MICROSECONDS",
            );
        } else {
            self.refuse(
                !matches!(e.traffic, TrafficPattern::OneAtATime | TrafficPattern::Period(_)),
                &[Setting::Traffic, Setting::Task],
                "the next frame leaves when the answer has come, or in a period: --traffic oneatatime or \
                 period:MICROSECONDS",
            );
        }
        self.one_controller();
        let busy = match e.gateway {
            GatewayChoice::User(ways) => ways.receive.is_busy(),
            GatewayChoice::Direct { irq } => !irq,
            _ => false,
        };
        self.refuse(
            busy,
            &[Setting::Gateway, Setting::Task],
            "both ends share one processor, which the one that looks for frames without pause would not \
             leave to the other: a way that waits, as user:read-write or direct:irq",
        );
        let bypass = matches!(
            e.gateway,
            GatewayChoice::User(WayPair {
                transmit: TransmitChoice::RingBypass,
                ..
            })
        );
        self.refuse(
            e.bench == BenchKind::Vcan && (bypass || !sockets),
            &[Setting::Gateway, Setting::Bench],
            "on a virtual interface both ends have sockets with a queueing discipline: \
             user:RECEIVE-TRANSMIT without -bypass",
        );
        self.refuse(
            e.priority == Priority::Softirq,
            &[Setting::Priority, Setting::Task],
            "ksoftirqd's priority is a matter of gateways: gateway or ordinary",
        );
        let whole = matches!(e.traffic, TrafficPattern::Period(ns) if ns % 1000 != 0);
        self.refuse(
            whole,
            &[Setting::Traffic, Setting::Task],
            "the period of round trips is a whole number of microseconds",
        );
        let stamps = (e.stamp_every != 1, Setting::StampEvery);
        for (is_set, setting) in self.done_to_frames().into_iter().chain([stamps]) {
            self.refuse(
                is_set,
                &[setting, Setting::Task],
                "between the two ends of a round trip there is no gateway: leave it out",
            );
        }
    }

    /// Checks the settings for programs that have one controller and no slave.
    fn one_controller(&mut self) {
        let e = self.experiment;
        if e.task == ExperimentTask::RoundTrip {
            return;
        }
        self.refuse(
            !matches!(e.gateway, GatewayChoice::Vm(_)),
            &[Setting::Task, Setting::Gateway],
            "it is measured natively and in inner machines: --bench vm --gateway vm:native, vm:host, vm:own or vm:vf",
        );
        self.refuse(
            e.machines > 1,
            &[Setting::Machines, Setting::Task],
            "it is measured of one machine that has the controller for itself: --machines 1",
        );
        self.refuse(
            e.task == ExperimentTask::Loop && e.gateway == GatewayChoice::Vm(Nesting::Driver),
            &[Setting::Task, Setting::Gateway],
            "the interface of a machine behind a driver VM says that a frame is sent when it is in the shared memory, long \
             before it is on the bus: vm:native, vm:host, vm:own or vm:vf",
        );
        let card = matches!(e.gateway, GatewayChoice::Vm(nesting) if nesting.is_card());
        self.refuse(
            card,
            &[Setting::Task, Setting::Gateway],
            "on the cards' bus frames take no time, and nobody counts them: vm:native, vm:host, vm:own or vm:vf",
        );
    }

    /// Checks where the kernel can be tuned.
    pub(super) fn tuning(&mut self) {
        let e = self.experiment;
        let threads = e.kernel.rt() || e.boot.0.iter().any(|word| word == "threadirqs");
        let sockets = matches!(
            e.bench,
            BenchKind::Timed | BenchKind::Kvaser | BenchKind::Ctucan
        );
        self.refuse(
            e.tuning.irq_thread.is_some() && !(threads && sockets),
            &[Setting::Tuning, Setting::Kernel, Setting::Boot],
            "controllers have interrupt threads with PREEMPT_RT or by the kernel's parameter threadirqs: \
             --kernel 6.1-rt, or --boot threadirqs",
        );
        self.refuse(
            e.tuning.softirq_thread.is_some() && e.priority == Priority::Softirq,
            &[Setting::Tuning, Setting::Priority],
            "both give ksoftirqd a priority: leave one out",
        );
        let napi = e.bench == BenchKind::Timed && e.cpu.controller() == BitcanController::Mscan;
        let mapped = matches!(e.gateway, GatewayChoice::Direct { .. });
        self.refuse(
            e.tuning.threaded_napi && e.gateway == GatewayChoice::Chardev,
            &[Setting::Tuning, Setting::Gateway],
            "a character device has no NAPI: its frames are read in the interrupt",
        );
        self.refuse(
            e.tuning.threaded_napi && !napi,
            &[Setting::Tuning, Setting::Bench, Setting::Cpu],
            "the driver of the mscan controllers is the one that reads frames in NAPI: --bench timed \
             --cpu board",
        );
        self.refuse(
            e.tuning.threaded_napi && e.kernel < Kernel::V6_1,
            &[Setting::Tuning, Setting::Kernel],
            "threaded NAPI came with Linux 5.12: --kernel 6.1 or newer",
        );
        self.refuse(
            (e.tuning.threaded_napi || e.tuning.irq_thread.is_some()) && mapped,
            &[Setting::Tuning, Setting::Gateway],
            "mapped controllers have no interfaces whose threads could be tuned",
        );
    }
}
