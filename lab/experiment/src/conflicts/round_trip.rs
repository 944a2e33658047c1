//! The settings of round trips and of other tasks of programs, and the tuning of the kernel.

use super::Conflicts;
use crate::choices::{GatewayChoice, Priority, TransmitChoice};
use crate::measurement::TripEnds;
use crate::settings::Setting;
use guest::Kernel;
use guest::machine::{BenchKind, BitcanController};
use probe::traffic::TrafficPattern;

impl Conflicts<'_> {
    /// Checks the settings of round trips between two programs of a guest.
    pub(super) fn round_trip(&mut self, ends: &TripEnds) {
        let e = self.experiment;
        self.not_shared();
        self.answered();
        self.refuse(
            e.bench == BenchKind::None,
            &[Setting::Bench, Setting::Task],
            "it needs CAN interfaces: --bench timed, kvaser, ctucan or vcan",
        );
        match ends {
            TripEnds::Sockets(ways) => {
                self.ways(ways);
                self.refuse(
                    e.bench == BenchKind::Vcan && ways.transmit == TransmitChoice::RingBypass,
                    &[Setting::Gateway, Setting::Bench],
                    "on a virtual interface both ends have sockets with a queueing discipline: \
                     user:RECEIVE-TRANSMIT without -bypass",
                );
            }
            TripEnds::Mapped | TripEnds::Chardev => self.devices(),
        }
        self.refuse(
            e.priority == Priority::Softirq,
            &[Setting::Priority, Setting::Task],
            "ksoftirqd's priority is for the task gateway only: gateway or ordinary",
        );
        self.programs();
    }

    /// Checks the traffic where the next frame waits for an answer.
    pub(super) fn answered(&mut self) {
        self.refuse(
            !matches!(
                self.experiment.traffic,
                TrafficPattern::OneAtATime | TrafficPattern::Period(_)
            ),
            &[Setting::Traffic, Setting::Task],
            "the next frame leaves when the answer has come, or in a period: --traffic oneatatime or \
             period:MICROSECONDS",
        );
    }

    /// Checks the settings for programs between which there is no gateway.
    pub(super) fn programs(&mut self) {
        let e = self.experiment;
        self.refuse(
            matches!(e.traffic, TrafficPattern::Period(ns) if ns % 1000 != 0),
            &[Setting::Traffic, Setting::Task],
            "the period of round trips is a whole number of microseconds",
        );
        let stamps = (e.stamp_every != 1, Setting::StampEvery);
        self.refuse_each(
            self.done_to_frames().into_iter().chain([stamps]),
            Setting::Task,
            "between the two ends of a round trip there is no gateway: leave it out",
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
