//! The gateways that each bench supports, and what each can do with frames.

use super::Conflicts;
use crate::choices::{
    ExperimentTask, FilterChoice, GatewayChoice, HopChoice, MOST_FILTERS, MachineLoad,
    ModifyChoice, Priority, ReceiveChoice, Tuning, VirtualKind, WayPair,
};
use crate::settings::Setting;
use guest::Kernel;
use guest::machine::{BenchKind, BitcanController};

impl Conflicts<'_> {
    /// Checks the abilities of the gateway.
    pub(super) fn gateway(&mut self) {
        let e = self.experiment;
        let none = e.gateway == GatewayChoice::None;
        self.refuse(
            none && e.bench == BenchKind::Timed,
            &[Setting::Gateway, Setting::Bench],
            "the timed bench stamps in its buses, and without a gateway nothing comes back: the \
             tester's own precision is measured on the kvaser bench",
        );
        self.refuse(
            e.priority != Priority::Gateway
                && !matches!(
                    e.gateway,
                    GatewayChoice::User(_) | GatewayChoice::Direct { .. } | GatewayChoice::Chardev
                ),
            &[Setting::Priority, Setting::Gateway],
            "only a gateway in user space has a priority of its own: --gateway user:…, direct or chardev",
        );
        let polled = matches!(
            e.gateway,
            GatewayChoice::User(WayPair {
                receive: ReceiveChoice::ReadBusypoll | ReceiveChoice::BusypollNoIrq,
                ..
            })
        );
        self.refuse(
            polled
                && (e.bench != BenchKind::Timed || e.cpu.controller() != BitcanController::Mscan),
            &[Setting::Gateway, Setting::Bench, Setting::Cpu],
            "a call can only poll a driver that reads frames in NAPI, as that of the mscan \
             controllers: --bench timed --cpu board",
        );
        let (no_irq, uring) = match e.gateway {
            GatewayChoice::User(ways) => (
                ways.receive == ReceiveChoice::BusypollNoIrq,
                ways.receive == ReceiveChoice::IoUring,
            ),
            _ => (false, false),
        };
        let oldest = e.kernel < Kernel::V6_1;
        for (is_set, why) in [
            (
                no_irq,
                "sockets that are polled instead of interrupts (SO_PREFER_BUSY_POLL) came with Linux \
                 5.11: --kernel 6.1 or newer",
            ),
            (
                uring,
                "io_uring receives many frames by one request since Linux 6.0: --kernel 6.1 or newer",
            ),
        ] {
            self.refuse(oldest && is_set, &[Setting::Gateway, Setting::Kernel], why);
        }
        for (is_set, setting) in self.done_to_frames() {
            self.refuse(
                !e.gateway.has_routes() && is_set,
                &[Setting::Gateway, setting],
                "without a gateway, or with an ideal one, nothing filters, changes or passes a frame on",
            );
        }
        let bare = e.gateway.is_bare();
        let direct = bare
            || matches!(
                e.gateway,
                GatewayChoice::Direct { .. } | GatewayChoice::Chardev
            );
        self.refuse(
            direct && e.bench != BenchKind::Timed,
            &[Setting::Gateway, Setting::Bench],
            "controllers that are no interfaces are on the timed bench only: --bench timed",
        );
        self.refuse(
            direct && e.hops != HopChoice::NONE,
            &[Setting::Gateway, Setting::Hops],
            "hops go through virtual interfaces, and these ports are no interfaces",
        );
        for (is_set, setting) in [
            (e.load != MachineLoad::None, Setting::Load),
            (e.task != ExperimentTask::Gateway, Setting::Task),
            (e.tuning != Tuning::default(), Setting::Tuning),
            (!e.boot.0.is_empty(), Setting::Boot),
            (e.stamp_every != 1, Setting::StampEvery),
        ] {
            self.refuse(
                bare && is_set,
                &[Setting::Gateway, setting],
                "an image has no operating system: no load, no task, no tuning and no parameter of a kernel",
            );
        }
        self.refuse(
            bare && e.filters.count() > Some(MOST_FILTERS),
            &[Setting::Gateway, Setting::Filters],
            "an image has room for 2048 routes of an experiment: at most 2048",
        );
        let by_vcan = e.hops != HopChoice::NONE && e.hops.through == VirtualKind::Vcan;
        let why = match e.gateway {
            GatewayChoice::User(_) => {
                "a program does not receive what it sends into a vcan interface; it does through \
                 a pair: --hops N:vxcan"
            }
            GatewayChoice::OwnRules => {
                "cangate puts in no rules that would take their own echoes, as these do on a vcan \
                 interface: --gateway cangw, or --hops N:vxcan"
            }
            GatewayChoice::Bpf => {
                "what BPF puts into a vcan interface does not come back; it does through a pair: \
                 --hops N:vxcan"
            }
            GatewayChoice::Cangw
            | GatewayChoice::Ideal
            | GatewayChoice::None
            | GatewayChoice::Direct { .. }
            | GatewayChoice::Chardev
            | GatewayChoice::Baremetal { .. }
            | GatewayChoice::Vm(_)
            | GatewayChoice::BaremetalIdeal => "",
        };
        self.refuse(
            by_vcan && !why.is_empty(),
            &[Setting::Gateway, Setting::Hops],
            why,
        );
        self.refuse(
            e.gateway.by_rules() && e.filters.count() > Some(MOST_FILTERS),
            &[Setting::Gateway, Setting::Filters],
            "can-gw compares each new rule with all that are there, which takes hours for so \
             many: at most 2048, or --gateway bpf or user:read-write",
        );
    }

    /// Checks the combination of things that a gateway does with frames.
    pub(super) fn changes(&mut self) {
        let e = self.experiment;
        self.refuse(
            e.hops != HopChoice::NONE && (e.filters != FilterChoice::None || e.modify != ModifyChoice::None),
            &[Setting::Hops, Setting::Filters, Setting::Modify],
            "on hops the identifier says how far a frame has come, so that there can be no other filters \
             or changes",
        );
        self.refuse(
            matches!(e.modify, ModifyChoice::Crc8 | ModifyChoice::Xorsum) && e.payload < 3,
            &[Setting::Modify, Setting::Payload],
            "the checksum needs a byte behind the frame's number: give at least 3",
        );
    }
}
