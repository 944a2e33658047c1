//! Limits of the kernel and of the drivers of controllers: ways of sockets, priorities and tuning.

use super::Conflicts;
use crate::choices::{ExperimentTask, GatewayChoice, Priority, ReceiveChoice, TransmitChoice};
use crate::settings::{Experiment, Setting};
use guest::Kernel;
use guest::machine::{BenchKind, BitcanController};

/// Returns whether a driver reads the controllers' frames in NAPI.
fn has_napi(experiment: &Experiment) -> bool {
    experiment.bench == BenchKind::Timed && experiment.cpu.controller() == BitcanController::Mscan
}

impl Conflicts<'_> {
    /// Checks the ways of sockets, which some kernels or controllers lack.
    pub(super) fn ways(&mut self) {
        let e = self.experiment;
        let GatewayChoice::User(ways) = e.gateway else {
            return;
        };
        let polled = matches!(
            ways.receive,
            ReceiveChoice::ReadBusypoll | ReceiveChoice::BusypollNoIrq
        );
        self.refuse(
            polled && !has_napi(e),
            &[Setting::Gateway, Setting::Bench, Setting::Cpu],
            "a call can only poll a driver that reads frames in NAPI, as that of the mscan \
             controllers: --bench timed --cpu board",
        );
        let oldest = e.kernel < Kernel::V6_1;
        self.refuse(
            oldest && ways.receive == ReceiveChoice::BusypollNoIrq,
            &[Setting::Gateway, Setting::Kernel],
            "sockets that are polled instead of interrupts (SO_PREFER_BUSY_POLL) came with Linux \
             5.11: --kernel 6.1 or newer",
        );
        self.refuse(
            oldest && ways.receive == ReceiveChoice::IoUring,
            &[Setting::Gateway, Setting::Kernel],
            "io_uring receives many frames by one request since Linux 6.0: --kernel 6.1 or newer",
        );
        self.refuse(
            e.bench == BenchKind::Vcan && ways.transmit == TransmitChoice::RingBypass,
            &[Setting::Gateway, Setting::Bench],
            "on a virtual interface both ends have sockets with a queueing discipline: \
             user:RECEIVE-TRANSMIT without -bypass",
        );
    }

    /// Checks where the kernel can be tuned.
    pub(super) fn tuning(&mut self) {
        let e = self.experiment;
        let softirq = e.priority == Priority::Softirq;
        self.refuse(
            softirq && e.task == ExperimentTask::RoundTrip,
            &[Setting::Priority, Setting::Task],
            "ksoftirqd's priority is for the task gateway only: gateway or ordinary",
        );
        let devices = matches!(
            e.gateway,
            GatewayChoice::Direct { .. } | GatewayChoice::Chardev
        );
        self.refuse(
            softirq && devices && e.task == ExperimentTask::Gateway,
            &[Setting::Priority, Setting::Gateway],
            "ksoftirqd passes frames to sockets, and mapped controllers and character devices have none: \
             --priority gateway or ordinary, or --gateway user:RECEIVE-TRANSMIT",
        );
        self.refuse(
            softirq && e.tuning.softirq_thread.is_some(),
            &[Setting::Tuning, Setting::Priority],
            "both give ksoftirqd a priority: leave one out",
        );
        let threads = e.kernel.rt() || e.boot.0.iter().any(|word| word == "threadirqs");
        self.refuse(
            e.tuning.irq_thread.is_some() && !(threads && e.bench != BenchKind::Vcan),
            &[Setting::Tuning, Setting::Kernel, Setting::Boot],
            "controllers have interrupt threads with PREEMPT_RT or by the kernel's parameter threadirqs: \
             --kernel 6.1-rt, or --boot threadirqs",
        );
        let napi = e.tuning.threaded_napi;
        self.refuse(
            napi && !has_napi(e),
            &[Setting::Tuning, Setting::Bench, Setting::Cpu],
            "the driver of the mscan controllers is the one that reads frames in NAPI: --bench timed \
             --cpu board",
        );
        self.refuse(
            napi && e.kernel < Kernel::V6_1,
            &[Setting::Tuning, Setting::Kernel],
            "threaded NAPI came with Linux 5.12: --kernel 6.1 or newer",
        );
        let mapped = matches!(e.gateway, GatewayChoice::Direct { .. });
        self.refuse(
            (napi && e.gateway == GatewayChoice::Chardev)
                || ((napi || e.tuning.irq_thread.is_some()) && mapped),
            &[Setting::Tuning, Setting::Gateway],
            "mapped controllers and character devices are not interfaces: neither has NAPI, and only character \
             devices have interrupt threads",
        );
    }
}
