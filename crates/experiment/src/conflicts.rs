//! Which settings go together.

use crate::choices::{
    Filters, Gateway, Hops, Incident, Load, MOST_FILTERS, Machines, Modify, Nesting, Order,
    Priority, Receive, Task, Transmit, Tuning, Virtual, Ways,
};
use crate::experiment::Experiment;
use crate::settings::Setting;
use guest::machine::{Bench, Controller};
use probe::traffic::{Pattern, SHORTEST_PAYLOAD};
use std::fmt;

/// Settings that do not go together.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct Conflict {
    /// Which, the one to change first.
    pub settings: Vec<Setting>,
    /// The settings as they are.
    pub shown: String,
    /// Why not, and what would do.
    pub why: String,
}

impl fmt::Display for Conflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.shown, self.why)
    }
}

impl Experiment {
    /// Do the settings go together?
    ///
    /// # Errors
    /// Every conflict.
    pub fn check(&self) -> Result<(), Vec<Conflict>> {
        let mut conflicts = Conflicts {
            experiment: self,
            found: Vec::new(),
        };
        conflicts.frames();
        conflicts.bench();
        conflicts.log();
        conflicts.gateway();
        conflicts.task();
        conflicts.tuning();
        conflicts.changes();
        conflicts.nesting();
        if conflicts.found.is_empty() {
            Ok(())
        } else {
            Err(conflicts.found)
        }
    }
}

/// The conflicts of an experiment, as they are found.
struct Conflicts<'e> {
    experiment: &'e Experiment,
    found: Vec<Conflict>,
}

impl Conflicts<'_> {
    /// Adds one if it is there; `why` says what would do, too.
    fn refuse(&mut self, is_there: bool, settings: &[Setting], why: &str) {
        if !is_there {
            return;
        }
        let shown: Vec<_> = settings
            .iter()
            .map(|s| format!("--{s} {}", s.word(self.experiment)))
            .collect();
        self.found.push(Conflict {
            settings: settings.to_vec(),
            shown: shown.join(" "),
            why: why.to_owned(),
        });
    }

    /// What a frame can be like.
    fn frames(&mut self) {
        let e = self.experiment;
        self.refuse(
            usize::from(e.payload) < SHORTEST_PAYLOAD
                && matches!(e.task, Task::Gateway | Task::Receive),
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

    /// What can be played where.
    fn log(&mut self) {
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
            e.bench != Bench::Timed,
            &[Setting::Log, Setting::Bench],
            "a log is played at its own times by the tester of the timed bench: --bench timed",
        );
        self.refuse(
            e.task != Task::Gateway || e.gateway.is_bare() || !e.gateway.has_routes(),
            &[Setting::Log, Setting::Task, Setting::Gateway],
            "a log is played at a gateway with a kernel: cangw, can-gw, bpf, user:RECEIVE-TRANSMIT, direct or \
             chardev",
        );
        for (is_set, setting) in [
            (e.traffic != Pattern::OneAtATime, Setting::Traffic),
            (e.filters != Filters::None, Setting::Filters),
            (e.modify != Modify::None, Setting::Modify),
            (e.hops != Hops::NONE, Setting::Hops),
            (e.stamp_every != 1, Setting::StampEvery),
        ] {
            self.refuse(
                is_set,
                &[setting, Setting::Log],
                "a log has its own times and identifiers, all of which the gateway passes on unchanged: leave it \
                 out",
            );
        }
    }

    /// What a bench can do.
    fn bench(&mut self) {
        let e = self.experiment;
        let timed = e.bench == Bench::Timed;
        self.refuse(
            !matches!(e.bench, Bench::Kvaser | Bench::Ctucan | Bench::Timed)
                && e.task == Task::Gateway,
            &[Setting::Bench],
            "no tester is on this bench: measure on kvaser, ctucan or timed",
        );
        self.refuse(
            e.is_fd() && e.bench == Bench::Kvaser,
            &[Setting::Payload, Setting::Bench],
            "FD frames need --bench timed or ctucan: the cards of the kvaser bench are classic",
        );
        self.refuse(
            e.bench == Bench::Ctucan && e.kernel.starts_with("5.10"),
            &[Setting::Bench, Setting::Kernel],
            "the driver of CTU CAN FD came with Linux 5.19: --kernel 6.1 or newer",
        );
        self.refuse(
            matches!(e.traffic, Pattern::Load(_)) && !timed && e.task != Task::Receive,
            &[Setting::Traffic, Setting::Bench],
            "a share of the bus needs a bus that takes time: --bench timed, or period:MICROSECONDS",
        );
        self.refuse(
            e.stamp_every > 1 && !timed,
            &[Setting::StampEvery, Setting::Bench],
            "only the tester of the timed bench can leave out stamps",
        );
        self.refuse(
            e.real_time && timed,
            &[Setting::Clock, Setting::Bench],
            "the buses' bit time needs a clock that never runs late: the timed bench is for \
             virtual time",
        );
    }

    /// What a gateway can do.
    fn gateway(&mut self) {
        let e = self.experiment;
        let none = e.gateway == Gateway::None;
        self.refuse(
            none && e.bench == Bench::Timed,
            &[Setting::Gateway, Setting::Bench],
            "the timed bench stamps in its buses, and without a gateway nothing comes back: the \
             tester's own precision is measured on the kvaser bench",
        );
        self.refuse(
            e.priority != Priority::Gateway
                && !matches!(
                    e.gateway,
                    Gateway::User(_) | Gateway::Direct { .. } | Gateway::Chardev
                ),
            &[Setting::Priority, Setting::Gateway],
            "only a gateway in user space has a priority of its own: --gateway user:…, direct or chardev",
        );
        let polled = matches!(
            e.gateway,
            Gateway::User(Ways {
                receive: Receive::ReadBusypoll | Receive::BusypollNoIrq,
                ..
            })
        );
        self.refuse(
            polled && (e.bench != Bench::Timed || e.cpu.controller() != Controller::Mscan),
            &[Setting::Gateway, Setting::Bench, Setting::Cpu],
            "a call can only poll a driver that reads frames in NAPI, as that of the mscan \
             controllers: --bench timed --cpu board",
        );
        let (no_irq, uring) = match e.gateway {
            Gateway::User(ways) => (
                ways.receive == Receive::BusypollNoIrq,
                ways.receive == Receive::IoUring,
            ),
            _ => (false, false),
        };
        let oldest = e.kernel.starts_with("5.10");
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
        for (is_set, setting) in [
            (e.filters != Filters::None, Setting::Filters),
            (e.modify != Modify::None, Setting::Modify),
            (e.hops != Hops::NONE, Setting::Hops),
        ] {
            self.refuse(
                !e.gateway.has_routes() && is_set,
                &[Setting::Gateway, setting],
                "without a gateway, or with an ideal one, nothing filters, changes or passes a frame on",
            );
        }
        let bare = e.gateway.is_bare();
        let direct = bare || matches!(e.gateway, Gateway::Direct { .. } | Gateway::Chardev);
        self.refuse(
            direct && e.bench != Bench::Timed,
            &[Setting::Gateway, Setting::Bench],
            "controllers that are no interfaces are on the timed bench only: --bench timed",
        );
        self.refuse(
            direct && e.hops != Hops::NONE,
            &[Setting::Gateway, Setting::Hops],
            "hops go through virtual interfaces, and these ports are no interfaces",
        );
        for (is_set, setting) in [
            (e.load != Load::None, Setting::Load),
            (e.task != Task::Gateway, Setting::Task),
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
        let by_vcan = e.hops != Hops::NONE && e.hops.through == Virtual::Vcan;
        let why = match e.gateway {
            Gateway::User(_) => {
                "a program does not receive what it sends into a vcan interface; it does through \
                 a pair: --hops N:vxcan"
            }
            Gateway::OwnRules => {
                "cangate puts in no rules that would take their own echoes, as these do on a vcan \
                 interface: --gateway cangw, or --hops N:vxcan"
            }
            Gateway::Bpf => {
                "what BPF puts into a vcan interface does not come back; it does through a pair: \
                 --hops N:vxcan"
            }
            Gateway::Cangw
            | Gateway::Ideal
            | Gateway::None
            | Gateway::Direct { .. }
            | Gateway::Chardev
            | Gateway::Baremetal { .. }
            | Gateway::Vm(_)
            | Gateway::BaremetalIdeal => "",
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

    /// What a round trip can be over.
    fn task(&mut self) {
        let e = self.experiment;
        if e.task == Task::Gateway {
            return;
        }
        let sockets = matches!(e.gateway, Gateway::User(_));
        self.refuse(
            !sockets
                && !matches!(
                    e.gateway,
                    Gateway::Direct { .. } | Gateway::Chardev | Gateway::Vm(_)
                ),
            &[Setting::Gateway, Setting::Task],
            "a round trip is between two programs: --gateway user:RECEIVE-TRANSMIT, chardev or \
             direct:irq says how both receive and transmit",
        );
        self.refuse(
            e.bench == Bench::None,
            &[Setting::Bench, Setting::Task],
            "it needs CAN interfaces: --bench timed, kvaser, ctucan or vcan",
        );
        if e.task == Task::Receive {
            self.refuse(
                e.traffic == Pattern::OneAtATime,
                &[Setting::Traffic, Setting::Task],
                "nothing comes back, for which the next frame could wait: --traffic flood, load:PERCENT or \
                 period:MICROSECONDS",
            );
        } else {
            self.refuse(
                !matches!(e.traffic, Pattern::OneAtATime | Pattern::Period(_)),
                &[Setting::Traffic, Setting::Task],
                "the next frame leaves when the answer has come, or in a period: --traffic oneatatime or \
                 period:MICROSECONDS",
            );
        }
        self.one_controller();
        let busy = match e.gateway {
            Gateway::User(ways) => ways.receive.is_busy(),
            Gateway::Direct { irq } => !irq,
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
            Gateway::User(Ways {
                transmit: Transmit::RingBypass,
                ..
            })
        );
        self.refuse(
            e.bench == Bench::Vcan && (bypass || !sockets),
            &[Setting::Gateway, Setting::Bench],
            "on a virtual interface both ends have sockets with a queueing discipline: \
             user:RECEIVE-TRANSMIT without -bypass",
        );
        self.refuse(
            e.priority == Priority::Softirq,
            &[Setting::Priority, Setting::Task],
            "ksoftirqd's priority is a matter of gateways: gateway or ordinary",
        );
        let whole = matches!(e.traffic, Pattern::Period(ns) if ns % 1000 != 0);
        self.refuse(
            whole,
            &[Setting::Traffic, Setting::Task],
            "the period of round trips is a whole number of microseconds",
        );
        for (is_set, setting) in [
            (e.filters != Filters::None, Setting::Filters),
            (e.modify != Modify::None, Setting::Modify),
            (e.hops != Hops::NONE, Setting::Hops),
            (e.stamp_every != 1, Setting::StampEvery),
        ] {
            self.refuse(
                is_set,
                &[setting, Setting::Task],
                "between the two ends of a round trip there is no gateway: leave it out",
            );
        }
    }

    /// What programs can do that have one controller and no slave.
    fn one_controller(&mut self) {
        let e = self.experiment;
        if e.task == Task::RoundTrip {
            return;
        }
        self.refuse(
            !matches!(e.gateway, Gateway::Vm(_)),
            &[Setting::Task, Setting::Gateway],
            "it is measured natively and in inner machines: --bench vm --gateway vm:native, vm:host, vm:own or vm:vf",
        );
        self.refuse(
            e.machines.count > 1,
            &[Setting::Machines, Setting::Task],
            "it is measured of one machine that has the controller for itself: --machines 1",
        );
        self.refuse(
            e.task == Task::Loop && e.gateway == Gateway::Vm(Nesting::Driver),
            &[Setting::Task, Setting::Gateway],
            "the interface of a machine behind a driver VM says that a frame is sent when it is in the shared memory, long \
             before it is on the bus: vm:native, vm:host, vm:own or vm:vf",
        );
        let card = matches!(e.gateway, Gateway::Vm(nesting) if nesting.is_card());
        self.refuse(
            card,
            &[Setting::Task, Setting::Gateway],
            "on the cards' bus frames take no time, and nobody counts them: vm:native, vm:host, vm:own or vm:vf",
        );
    }

    /// What can be tuned where.
    fn tuning(&mut self) {
        let e = self.experiment;
        let threads = e.is_rt() || e.boot.0.iter().any(|word| word == "threadirqs");
        let sockets = matches!(e.bench, Bench::Timed | Bench::Kvaser | Bench::Ctucan);
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
        let napi = e.bench == Bench::Timed && e.cpu.controller() == Controller::Mscan;
        let mapped = matches!(e.gateway, Gateway::Direct { .. });
        self.refuse(
            e.tuning.threaded_napi && e.gateway == Gateway::Chardev,
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
            e.tuning.threaded_napi && e.kernel.starts_with("5.10"),
            &[Setting::Tuning, Setting::Kernel],
            "threaded NAPI came with Linux 5.12: --kernel 6.1 or newer",
        );
        self.refuse(
            (e.tuning.threaded_napi || e.tuning.irq_thread.is_some()) && mapped,
            &[Setting::Tuning, Setting::Gateway],
            "mapped controllers have no interfaces whose threads could be tuned",
        );
    }

    /// What there is with inner machines.
    fn nesting(&mut self) {
        let e = self.experiment;
        let vm = matches!(e.gateway, Gateway::Vm(_));
        self.refuse(
            vm != (e.bench == Bench::Vm),
            &[Setting::Gateway, Setting::Bench],
            "inner machines are on the bench vm, and nothing else is: --bench vm --gateway vm:…",
        );
        let machines = matches!(e.gateway, Gateway::Vm(nesting) if nesting.has_machines());
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
            e.task == Task::Gateway,
            &[Setting::Task, Setting::Gateway],
            "what is measured of an inner machine is a round trip, how long its own frames take, or what it receives: \
             --task round-trip, loop or receive",
        );
        self.refuse(
            !matches!(e.kernel.as_str(), "6.1" | "6.12" | "7.3"),
            &[Setting::Kernel, Setting::Gateway],
            "inner machines have been tried on the kernels 6.1, 6.12 and 7.3",
        );
        for (is_set, setting) in [
            (e.load != Load::None, Setting::Load),
            (e.is_fd(), Setting::Payload),
            (e.priority != Priority::Gateway, Setting::Priority),
            (e.tuning != Tuning::default(), Setting::Tuning),
            (e.real_time, Setting::Clock),
        ] {
            self.refuse(
                is_set,
                &[setting, Setting::Gateway],
                "with inner machines this setting is not there yet: leave it out",
            );
        }
    }

    /// What there is with several machines at one controller.
    fn machines(&mut self) {
        let (e, one) = (self.experiment, Machines::ONE);
        let shares = matches!(
            e.gateway,
            Gateway::Vm(
                Nesting::Native
                    | Nesting::Host
                    | Nesting::Own
                    | Nesting::Driver
                    | Nesting::Function
            )
        );
        self.refuse(
            e.machines.count > 1 && !shares,
            &[Setting::Machines, Setting::Gateway],
            "several machines share a controller by --gateway vm:native, vm:host, vm:own, vm:driver or vm:vf",
        );
        for (is_set, setting) in [
            (e.machines.others != one.others, Setting::Others),
            (e.machines.order != one.order, Setting::Order),
            (e.machines.budget != one.budget, Setting::Budget),
            (e.machines.incident != one.incident, Setting::Incident),
        ] {
            self.refuse(
                is_set && e.machines.count == 1,
                &[setting, Setting::Machines],
                "it is about the machines beside the one that asks, of which there are none: --machines 2 to 8",
            );
        }
        self.refuse(
            e.machines.order == Order::Fifo && e.gateway == Gateway::Vm(Nesting::Function),
            &[Setting::Order, Setting::Gateway],
            "a controller that shares itself orders by priority: vm:native, vm:host or vm:driver",
        );
        let budgets = matches!(
            (&e.gateway, e.machines.order),
            (Gateway::Vm(Nesting::Host | Nesting::Own), Order::Priority)
                | (Gateway::Vm(Nesting::Function), _)
        );
        self.refuse(
            e.machines.budget > 0 && e.machines.count > 1 && !budgets,
            &[Setting::Budget, Setting::Gateway],
            "a machine has a budget at a controller that knows its functions: vm:vf, or vm:host and vm:own with --order \
             priority",
        );
        self.refuse(
            e.machines.incident != Incident::None
                && e.machines.count > 1
                && (!budgets || e.gateway == Gateway::Vm(Nesting::Own)),
            &[Setting::Incident, Setting::Gateway],
            "what became of a machine's frames is known of a controller that knows its functions: vm:vf, or vm:host with \
             --order priority",
        );
    }

    /// What a gateway can do to frames at the same time.
    fn changes(&mut self) {
        let e = self.experiment;
        self.refuse(
            e.hops != Hops::NONE && (e.filters != Filters::None || e.modify != Modify::None),
            &[Setting::Hops, Setting::Filters, Setting::Modify],
            "on hops the identifier says how far a frame has come, so that there can be no other filters \
             or changes",
        );
        self.refuse(
            matches!(e.modify, Modify::Crc8 | Modify::Xorsum) && e.payload < 3,
            &[Setting::Modify, Setting::Payload],
            "the checksum needs a byte behind the frame's number: give at least 3",
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(words: &[(Setting, &str)]) -> String {
        let e = Experiment::from_words(words.iter().copied()).unwrap();
        let all = e.check().unwrap_err();
        all.iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .join("\n")
    }

    #[test]
    fn what_does_not_go_together_is_refused_by_name() {
        use Setting as S;
        assert_eq!(Experiment::default().check(), Ok(()));
        assert_eq!(
            refused(&[(S::Traffic, "load:50")]),
            "--traffic load:50 --bench kvaser: a share of the bus needs a bus that takes time: \
             --bench timed, or period:MICROSECONDS"
        );
        assert!(refused(&[(S::Payload, "16")]).contains("--bench timed or ctucan"));
        assert!(refused(&[(S::Payload, "9"), (S::Bench, "timed")]).contains("12, 16, 20"));
        assert!(
            refused(&[(S::Gateway, "none"), (S::Filters, "sff:1")]).contains("nothing filters")
        );
        for gateway in ["user:read-write", "can-gw", "bpf"] {
            let why = refused(&[(S::Gateway, gateway), (S::Hops, "2")]);
            assert!(why.contains("--hops N:vxcan"), "{why}");
            let e = Experiment::from_words([(S::Gateway, gateway), (S::Hops, "2:vxcan")]).unwrap();
            assert_eq!(e.check(), Ok(()));
        }
        for gateway in ["cangw", "can-gw"] {
            let why = refused(&[(S::Gateway, gateway), (S::Filters, "eff:100000")]);
            assert!(why.contains("at most 2048"), "{why}");
        }
        let polled = [
            (S::Gateway, "user:read-busypoll-write"),
            (S::Bench, "timed"),
        ];
        assert!(refused(&polled).contains("--cpu board"));
        let on_board = polled.into_iter().chain([(S::Cpu, "board:3")]);
        assert_eq!(Experiment::from_words(on_board).unwrap().check(), Ok(()));
        let old = [
            (S::Kernel, "5.10-rt"),
            (S::Bench, "timed"),
            (S::Cpu, "board"),
        ];
        for (gateway, since) in [
            ("user:read-noirq-write", "5.11"),
            ("user:io_uring-ring", "6.0"),
        ] {
            let words = old.into_iter().chain([(S::Gateway, gateway)]);
            let why = refused(&words.collect::<Vec<_>>());
            assert!(why.contains(since), "{why}");
        }
        assert!(refused(&[(S::Hops, "2"), (S::Modify, "id")]).contains("on hops"));
        assert!(refused(&[(S::Clock, "real"), (S::Bench, "timed")]).contains("virtual time"));
        assert!(refused(&[(S::Modify, "crc8"), (S::Payload, "2")]).contains("at least 3"));
        assert!(refused(&[(S::Bench, "vcan")]).contains("no tester"));
        let trips = |more: &[(Setting, &'static str)]| {
            let mut words = vec![(S::Task, "round-trip"), (S::Gateway, "user:read-write")];
            words.extend(more);
            Experiment::from_words(words).unwrap().check()
        };
        assert_eq!(trips(&[]), Ok(()));
        assert_eq!(trips(&[(S::Bench, "vcan")]), Ok(()));
        for (setting, word) in [
            (S::Gateway, "can-gw"),
            (S::Gateway, "direct"),
            (S::Gateway, "user:ring-busy-ring"),
            (S::Bench, "none"),
            (S::Traffic, "flood"),
            (S::Traffic, "period:0.5"),
            (S::Filters, "sff:2"),
            (S::Tuning, "irq-thread:95"),
            (S::Tuning, "threaded-napi"),
        ] {
            assert!(trips(&[(setting, word)]).is_err(), "{setting} {word}");
        }
        let rt = [(S::Kernel, "6.12-rt"), (S::Tuning, "irq-thread:95")];
        assert_eq!(trips(&rt), Ok(()));
        let image = [(S::Gateway, "baremetal:irq"), (S::Bench, "timed")];
        assert_eq!(Experiment::from_words(image).unwrap().check(), Ok(()));
        for (setting, word, why) in [
            (S::Bench, "kvaser", "--bench timed"),
            (S::Load, "cpu", "no operating system"),
            (S::Boot, "nohz=off", "no operating system"),
            (S::Task, "round-trip", "no operating system"),
            (S::Hops, "1", "no interfaces"),
            (S::Filters, "eff:4096", "at most 2048"),
        ] {
            let words: Vec<_> = image.into_iter().chain([(setting, word)]).collect();
            let said = refused(&words);
            assert!(said.contains(why), "{setting} {word}: {said}");
        }
    }

    #[test]
    fn machines_beside_are_where_a_controller_is_shared() {
        use Setting as S;
        let with = |gateway, more: &[(Setting, &'static str)]| {
            let mut words = vec![
                (S::Bench, "vm"),
                (S::Task, "round-trip"),
                (S::Gateway, gateway),
            ];
            words.extend(more);
            words
        };
        let two = (S::Machines, "2");
        for (gateway, more) in [
            ("vm:native", (S::Order, "fifo")),
            ("vm:host", (S::Budget, "500")),
            ("vm:driver", (S::Others, "load:50")),
            ("vm:vf", (S::Others, "babble")),
            ("vm:vf", (S::Incident, "kill")),
            ("vm:host", (S::Incident, "bus-off")),
            ("vm:host", (S::Incident, "pause")),
        ] {
            let words = with(gateway, &[two, more]);
            let e = Experiment::from_words(words).unwrap();
            assert_eq!(e.check(), Ok(()), "{}", e.name());
        }
        for (gateway, more, why) in [
            ("vm:trap", vec![two], "vm:native, vm:host"),
            ("vm:vf", vec![(S::Others, "babble")], "--machines 2 to 8"),
            ("vm:vf", vec![(S::Budget, "5")], "--machines 2 to 8"),
            ("vm:vf", vec![(S::Incident, "kill")], "--machines 2 to 8"),
            (
                "vm:native",
                vec![two, (S::Incident, "kill")],
                "knows its functions",
            ),
            ("vm:vf", vec![two, (S::Order, "fifo")], "orders by priority"),
            (
                "vm:driver",
                vec![two, (S::Budget, "5")],
                "knows its functions",
            ),
            (
                "vm:host",
                vec![two, (S::Order, "fifo"), (S::Budget, "5")],
                "knows its functions",
            ),
        ] {
            let said = refused(&with(gateway, &more));
            assert!(said.contains(why), "{gateway} {more:?}: {said}");
        }
    }
}
