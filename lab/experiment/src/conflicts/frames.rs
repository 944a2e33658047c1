//! The possible frames, traffic and logs, and the benches that support them.

use super::Conflicts;
use crate::choices::{
    ExperimentTask, GatewayChoice, HopChoice, MOST_FILTERS, ModifyChoice, VirtualKind,
};
use crate::measurement::{Measurement, ProgramTask, SharedController};
use crate::settings::Setting;
use guest::Kernel;
use guest::machine::BenchKind;
use probe::traffic::{SHORTEST_PAYLOAD, TrafficPattern};

impl Conflicts<'_> {
    /// Checks the frames, and what a gateway does with them.
    pub(super) fn frames(&mut self) {
        use GatewayChoice::{Bpf, OwnRules, User};
        let e = self.experiment;
        self.refuse(
            usize::from(e.payload) < SHORTEST_PAYLOAD
                && matches!(e.task, ExperimentTask::Gateway | ExperimentTask::Receive),
            &[Setting::Payload],
            "the first two bytes are the frame's number: give at least 2",
        );
        self.refuse(
            e.is_fd() && !matches!(e.payload, 12 | 16 | 20 | 24 | 32 | 48 | 64),
            &[Setting::Payload],
            "FD frames above 8 bytes have 12, 16, 20, 24, 32, 48 or 64",
        );
        self.refuse(
            matches!(e.modify, ModifyChoice::Crc8 | ModifyChoice::Xorsum) && e.payload < 3,
            &[Setting::Modify, Setting::Payload],
            "the checksum needs a byte behind the frame's number: give at least 3",
        );
        self.refuse(
            e.stamp_every > e.frames,
            &[Setting::StampEvery, Setting::Frames],
            "no frame would get a stamp",
        );
        self.refuse(
            (e.gateway.by_rules() || e.gateway.is_bare())
                && e.filters.count() > Some(MOST_FILTERS),
            &[Setting::Gateway, Setting::Filters],
            "can-gw compares each new rule with all existing rules, which takes hours for this number, and an \
             image has room for 2048 routes: at most 2048, or --gateway bpf or user:read-write",
        );
        self.refuse(
            e.hops != HopChoice::NONE
                && [Setting::Filters, Setting::Modify].iter().any(|s| s.is_set(e)),
            &[Setting::Hops, Setting::Filters, Setting::Modify],
            "on hops the identifier shows how far a frame has come, so that there can be no other filters \
             or changes",
        );
        self.refuse(
            matches!(e.gateway, User(_) | OwnRules | Bpf)
                && e.task == ExperimentTask::Gateway
                && e.hops != HopChoice::NONE
                && e.hops.through == VirtualKind::Vcan,
            &[Setting::Gateway, Setting::Hops],
            "a program, BPF and the rules that cangate adds do not receive what they send into a vcan interface; \
             through a pair they do: --hops N:vxcan, or --gateway cangw",
        );
    }

    /// Checks the settings with a log.
    pub(super) fn log(&mut self) {
        let e = self.experiment;
        if !e.log.is_some() {
            return;
        }
        self.refuse(
            !e.log.is_at_hand(),
            &[Setting::Log],
            "only the name of this log is known, not its frames: `cangate lab measure --log FILE` plays a log",
        );
        for setting in [
            Setting::Filters,
            Setting::Modify,
            Setting::Hops,
            Setting::Traffic,
            Setting::StampEvery,
        ] {
            self.refuse(
                setting.is_set(e),
                &[setting, Setting::Log],
                "a log has its own times and identifiers, all of which the gateway passes on unchanged: leave it \
                 out",
            );
        }
    }

    /// Checks the abilities of the bench.
    pub(super) fn bench(&mut self) {
        let e = self.experiment;
        let inner = e.bench == BenchKind::Vm;
        self.refuse(
            e.is_fd() && (inner || e.bench == BenchKind::Kvaser),
            &[Setting::Payload, Setting::Bench],
            "FD frames need --bench timed or ctucan: the cards of the kvaser bench are classic, and inner \
             machines do not support FD frames yet",
        );
        self.refuse(
            e.is_real_time() && (inner || e.bench == BenchKind::Timed),
            &[Setting::Clock, Setting::Bench],
            "the buses' bit time needs a clock that never runs late: the benches timed and vm are for \
             virtual time",
        );
        self.refuse(
            e.bench == BenchKind::Ctucan && e.kernel < Kernel::V6_1,
            &[Setting::Bench, Setting::Kernel],
            "the driver of CTU CAN FD came with Linux 5.19: --kernel 6.1 or newer",
        );
        self.refuse(
            inner && !matches!(e.kernel, Kernel::V6_1 | Kernel::V6_12 | Kernel::V7_3),
            &[Setting::Kernel, Setting::Bench],
            "inner machines have been tested on the kernels 6.1, 6.12 and 7.3",
        );
    }

    /// Checks the traffic, which depends on what the next frame can wait for.
    pub(super) fn traffic(&mut self, measurement: &Measurement) {
        use Measurement::{Gateway, Program, RoundTrip};
        use TrafficPattern::{Flood, Load, OneAtATime, Period};
        let e = self.experiment;
        let receives = matches!(
            measurement,
            Program(SharedController {
                task: ProgramTask::Receive,
                ..
            })
        );
        let (with, why) = match (measurement, e.traffic) {
            (Gateway(_), Load(_)) if e.bench != BenchKind::Timed && !e.is_between_cards() => (
                Setting::Bench,
                "a share of the bus needs a bus that takes time: --bench timed, --apart, or \
                 period:MICROSECONDS",
            ),
            (Program(_), OneAtATime) if receives => (
                Setting::Task,
                "no answer comes back for which the next frame could wait: --traffic flood, load:PERCENT or \
                 period:MICROSECONDS",
            ),
            (RoundTrip(_) | Program(_), Flood | Load(_)) if !receives => (
                Setting::Task,
                "the next frame leaves when the answer has come, or in a period: --traffic oneatatime or \
                 period:MICROSECONDS",
            ),
            (RoundTrip(_) | Program(_), Period(ns)) if ns % 1000 != 0 => (
                Setting::Task,
                "the period of round trips is a whole number of microseconds",
            ),
            _ => return,
        };
        self.refuse(true, &[Setting::Traffic, with], why);
    }
}
