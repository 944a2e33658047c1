//! The gateways that each bench supports, and what each can do with frames.

use super::Conflicts;
use crate::choices::{
    FilterChoice, HopChoice, MOST_FILTERS, MachineLoad, ModifyChoice, Priority, ReceiveChoice,
    Tuning, VirtualKind, WayPair,
};
use crate::measurement::{GatewayUnderTest, NO_SYSTEM};
use crate::settings::Setting;
use guest::Kernel;
use guest::machine::{BenchKind, BitcanController};

impl Conflicts<'_> {
    /// Checks the settings of a gateway in a guest.
    pub(super) fn gateway(&mut self, gateway: &GatewayUnderTest) {
        let e = self.experiment;
        self.tested_bench();
        self.not_shared();
        self.refuse(
            *gateway == GatewayUnderTest::None && e.bench == BenchKind::Timed,
            &[Setting::Gateway, Setting::Bench],
            "the timed bench stamps in its buses, and without a gateway nothing comes back: the \
             tester's own precision is measured on the kvaser bench",
        );
        let devices = matches!(
            gateway,
            GatewayUnderTest::Mapped | GatewayUnderTest::Chardev
        );
        let process = devices || matches!(gateway, GatewayUnderTest::User(_));
        self.refuse(
            e.priority != Priority::Gateway && !process,
            &[Setting::Priority, Setting::Gateway],
            "only a gateway in user space has a priority of its own: --gateway user:…, direct or chardev",
        );
        let by_vcan = match gateway {
            GatewayUnderTest::User(ways) => {
                self.ways(ways);
                "a program does not receive what it sends into a vcan interface; it does through \
                 a pair: --hops N:vxcan"
            }
            GatewayUnderTest::OwnRules => {
                "the rules of cangate do not take their own echoes, as these rules do on a vcan \
                 interface: --gateway cangw, or --hops N:vxcan"
            }
            GatewayUnderTest::Bpf => {
                "frames that BPF puts into a vcan interface do not come back; through a pair they do: \
                 --hops N:vxcan"
            }
            GatewayUnderTest::Mapped | GatewayUnderTest::Chardev => {
                self.devices();
                ""
            }
            GatewayUnderTest::None | GatewayUnderTest::Ideal => {
                self.without_routes();
                ""
            }
            GatewayUnderTest::Cangw => "",
        };
        let vcan = e.hops != HopChoice::NONE && e.hops.through == VirtualKind::Vcan;
        self.refuse(
            vcan && !by_vcan.is_empty(),
            &[Setting::Gateway, Setting::Hops],
            by_vcan,
        );
        self.refuse(
            e.gateway.by_rules() && e.filters.count() > Some(MOST_FILTERS),
            &[Setting::Gateway, Setting::Filters],
            "can-gw compares each new rule with all existing rules, which takes hours for this \
             number: at most 2048, or --gateway bpf or user:read-write",
        );
        self.changes();
    }

    /// Checks the settings of an image without an operating system.
    pub(super) fn image(&mut self) {
        let e = self.experiment;
        self.tested_bench();
        self.not_shared();
        self.devices();
        self.refuse(
            e.priority != Priority::Gateway,
            &[Setting::Priority, Setting::Gateway],
            NO_SYSTEM,
        );
        if !e.gateway.has_routes() {
            self.without_routes();
        }
        for (is_set, setting) in [
            (e.load != MachineLoad::None, Setting::Load),
            (e.tuning != Tuning::default(), Setting::Tuning),
            (!e.boot.0.is_empty(), Setting::Boot),
            (e.stamp_every != 1, Setting::StampEvery),
        ] {
            self.refuse(is_set, &[Setting::Gateway, setting], NO_SYSTEM);
        }
        self.refuse(
            e.filters.count() > Some(MOST_FILTERS),
            &[Setting::Gateway, Setting::Filters],
            "an image has room for 2048 routes of an experiment: at most 2048",
        );
        self.changes();
    }

    /// Refuses benches without a tester.
    fn tested_bench(&mut self) {
        self.refuse(
            !matches!(
                self.experiment.bench,
                BenchKind::Kvaser | BenchKind::Ctucan | BenchKind::Timed
            ),
            &[Setting::Bench],
            "this bench has no tester: measure on kvaser, ctucan or timed",
        );
    }

    /// Checks the ways of sockets, which some kernels or controllers lack.
    pub(super) fn ways(&mut self, ways: &WayPair) {
        let e = self.experiment;
        let polled = matches!(
            ways.receive,
            ReceiveChoice::ReadBusypoll | ReceiveChoice::BusypollNoIrq
        );
        self.refuse(
            polled
                && (e.bench != BenchKind::Timed || e.cpu.controller() != BitcanController::Mscan),
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
    }

    /// Checks the settings for controllers that are not interfaces.
    pub(super) fn devices(&mut self) {
        let e = self.experiment;
        self.refuse(
            e.bench != BenchKind::Timed,
            &[Setting::Gateway, Setting::Bench],
            "controllers that are not interfaces are on the timed bench only: --bench timed",
        );
        self.refuse(
            e.hops != HopChoice::NONE,
            &[Setting::Gateway, Setting::Hops],
            "hops go through virtual interfaces, and these ports are not interfaces",
        );
    }

    fn without_routes(&mut self) {
        for (is_set, setting) in self.done_to_frames() {
            self.refuse(
                is_set,
                &[Setting::Gateway, setting],
                "without a gateway, or with an ideal one, nothing filters, changes or passes a frame on",
            );
        }
    }

    /// Checks the combination of things that a gateway does with frames.
    fn changes(&mut self) {
        let e = self.experiment;
        self.refuse(
            e.hops != HopChoice::NONE
                && (e.filters != FilterChoice::None || e.modify != ModifyChoice::None),
            &[Setting::Hops, Setting::Filters, Setting::Modify],
            "on hops the identifier shows how far a frame has come, so that there can be no other filters \
             or changes",
        );
        self.refuse(
            matches!(e.modify, ModifyChoice::Crc8 | ModifyChoice::Xorsum) && e.payload < 3,
            &[Setting::Modify, Setting::Payload],
            "the checksum needs a byte behind the frame's number: give at least 3",
        );
    }
}
