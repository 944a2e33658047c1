//! The possible frames and logs, and the benches that support them.

use super::Conflicts;
use crate::choices::ExperimentTask;
use crate::settings::Setting;
use guest::Kernel;
use guest::machine::BenchKind;
use probe::traffic::{SHORTEST_PAYLOAD, TrafficPattern};

impl Conflicts<'_> {
    /// Checks the settings of frames.
    pub(super) fn frames(&mut self) {
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
            e.stamp_every > e.frames,
            &[Setting::StampEvery, Setting::Frames],
            "no frame would get a stamp",
        );
    }

    /// Checks where a log can be replayed.
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
        self.refuse(
            e.bench != BenchKind::Timed,
            &[Setting::Log, Setting::Bench],
            "a log is played at its own times by the tester of the timed bench: --bench timed",
        );
        self.refuse(
            e.task != ExperimentTask::Gateway || e.gateway.is_bare() || !e.gateway.has_routes(),
            &[Setting::Log, Setting::Task, Setting::Gateway],
            "a log is played at a gateway with a kernel: cangw, can-gw, bpf, user:RECEIVE-TRANSMIT, direct or \
             chardev",
        );
        let others = [
            (e.traffic != TrafficPattern::OneAtATime, Setting::Traffic),
            (e.stamp_every != 1, Setting::StampEvery),
        ];
        self.refuse_each(
            self.done_to_frames().into_iter().chain(others),
            Setting::Log,
            "a log has its own times and identifiers, all of which the gateway passes on unchanged: leave it \
             out",
        );
    }

    /// Checks the abilities of the bench.
    pub(super) fn bench(&mut self) {
        let e = self.experiment;
        let timed = e.bench == BenchKind::Timed;
        self.refuse(
            e.is_fd() && e.bench == BenchKind::Kvaser,
            &[Setting::Payload, Setting::Bench],
            "FD frames need --bench timed or ctucan: the cards of the kvaser bench are classic",
        );
        self.refuse(
            e.bench == BenchKind::Ctucan && e.kernel < Kernel::V6_1,
            &[Setting::Bench, Setting::Kernel],
            "the driver of CTU CAN FD came with Linux 5.19: --kernel 6.1 or newer",
        );
        self.refuse(
            matches!(e.traffic, TrafficPattern::Load(_))
                && !timed
                && e.task != ExperimentTask::Receive,
            &[Setting::Traffic, Setting::Bench],
            "a share of the bus needs a bus that takes time: --bench timed, or period:MICROSECONDS",
        );
        self.refuse(
            e.stamp_every > 1 && !timed,
            &[Setting::StampEvery, Setting::Bench],
            "only the tester of the timed bench can leave out stamps",
        );
        self.refuse(
            e.is_real_time() && timed,
            &[Setting::Clock, Setting::Bench],
            "the buses' bit time needs a clock that never runs late: the timed bench is for \
             virtual time",
        );
    }
}
