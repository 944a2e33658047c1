//! The measurement of an experiment: a sum by task, in which each gateway fits its task.
//!
//! Settings are given one by one, in any combination. [`Experiment::measurement`] refuses a gateway
//! that does not fit the task; code that measures takes a [`Measurement`] or a part of one. The
//! other settings stay in the [`Experiment`]: a guest can be prepared for several experiments that
//! have one measurement and differ in these settings. [`SettingScope`](crate::SettingScope) is the
//! measurements in which one of them has a meaning.

use crate::choices::{ExperimentTask, GatewayChoice, Nesting, WayPair};
use crate::conflict::Conflict;
use crate::settings::{Experiment, Setting};
use guest::machine::BenchKind;

/// The measurement of an experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measurement {
    /// The latency of a gateway between two buses of a guest.
    Gateway(GatewayUnderTest),
    /// The latency of an image without an operating system, which runs in place of a guest.
    Image(ImageKind),
    /// Round trips between two programs of a guest, on two controllers of one bus.
    RoundTrip(TripEnds),
    /// The task of a program on a controller of the hypervisor, natively or in an inner machine.
    Program(SharedController),
}

/// A gateway in a guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GatewayUnderTest {
    /// No gateway: all interfaces are on one bus.
    None,
    /// No cost but that of the bench itself.
    Ideal,
    /// can-gw, its rules added by Debian's `cangw`.
    Cangw,
    /// can-gw, its rules added by `cangate run`.
    OwnRules,
    /// The BPF program of `cangate run`.
    Bpf,
    /// `cangate run` with sockets.
    User(WayPair),
    /// `cangate run` with mapped controllers.
    Mapped,
    /// `cangate run` with character devices.
    Chardev,
}

/// An image without an operating system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImageKind {
    /// A gateway that polls its controllers.
    Polling,
    /// A gateway whose controllers interrupt it.
    Interrupt,
    /// The bench itself forwards frames.
    Ideal,
}

/// The ways by which both programs of a round trip receive and transmit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TripEnds {
    /// By sockets.
    Sockets(WayPair),
    /// By mapped controllers, with interrupts.
    Mapped,
    /// By character devices.
    Chardev,
}

/// A program on a controller of the hypervisor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SharedController {
    /// Its way to the controller.
    pub way: Nesting,
    /// The task of the program.
    pub task: ProgramTask,
}

/// The task of a program on a controller of the hypervisor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgramTask {
    /// It asks a node of the bus, and waits for the answer.
    RoundTrip,
    /// It sends, and waits for its own frame.
    Loop,
    /// It receives the frames of a node.
    Receive,
}

/// The reason why an image refuses the tasks of programs.
const NO_SYSTEM: &str = "an image has no operating system, and so no programs: --task gateway";

impl Experiment {
    /// Returns what the settings gateway and task measure together.
    ///
    /// # Errors
    /// The conflict of these two. [`Experiment::check`] finds those of other settings.
    pub fn measurement(&self) -> Result<Measurement, Conflict> {
        let made = match self.task {
            ExperimentTask::Gateway => self.of_gateway(),
            ExperimentTask::RoundTrip => self.of_ends(),
            ExperimentTask::Loop => self.of_program(ProgramTask::Loop),
            ExperimentTask::Receive => self.of_program(ProgramTask::Receive),
        };
        made.map_err(|why| Conflict::new(self, &[Setting::Gateway, Setting::Task], why))
    }

    fn of_gateway(&self) -> Result<Measurement, &'static str> {
        Ok(Measurement::Gateway(match self.gateway {
            GatewayChoice::None => GatewayUnderTest::None,
            GatewayChoice::Ideal => GatewayUnderTest::Ideal,
            GatewayChoice::Cangw => GatewayUnderTest::Cangw,
            GatewayChoice::OwnRules => GatewayUnderTest::OwnRules,
            GatewayChoice::Bpf => GatewayUnderTest::Bpf,
            GatewayChoice::User(ways) => GatewayUnderTest::User(ways),
            GatewayChoice::Direct { .. } => GatewayUnderTest::Mapped,
            GatewayChoice::Chardev => GatewayUnderTest::Chardev,
            GatewayChoice::Baremetal { irq: false } => {
                return Ok(Measurement::Image(ImageKind::Polling));
            }
            GatewayChoice::Baremetal { irq: true } => {
                return Ok(Measurement::Image(ImageKind::Interrupt));
            }
            GatewayChoice::BaremetalIdeal => return Ok(Measurement::Image(ImageKind::Ideal)),
            GatewayChoice::Vm(_) => {
                return Err(
                    "with an inner machine, round trips, its own frames or received frames can be measured: \
                     --task round-trip, loop or receive",
                );
            }
        }))
    }

    fn of_ends(&self) -> Result<Measurement, &'static str> {
        Ok(Measurement::RoundTrip(match self.gateway {
            GatewayChoice::User(ways) if !ways.receive.is_busy() => TripEnds::Sockets(ways),
            GatewayChoice::Direct { irq: true } => TripEnds::Mapped,
            GatewayChoice::Chardev => TripEnds::Chardev,
            GatewayChoice::Vm(_) => return self.of_program(ProgramTask::RoundTrip),
            GatewayChoice::Baremetal { .. } | GatewayChoice::BaremetalIdeal => {
                return Err(NO_SYSTEM);
            }
            GatewayChoice::User(_) | GatewayChoice::Direct { irq: false } => {
                return Err(
                    "both ends share one processor, and an end that polls does not leave it to the other: \
                     choose a way that waits, such as user:read-write or direct:irq",
                );
            }
            GatewayChoice::None
            | GatewayChoice::Ideal
            | GatewayChoice::Cangw
            | GatewayChoice::OwnRules
            | GatewayChoice::Bpf => {
                return Err(
                    "a round trip is between two programs: --gateway user:RECEIVE-TRANSMIT, chardev or \
                     direct:irq sets how both receive and transmit",
                );
            }
        }))
    }

    fn of_program(&self, task: ProgramTask) -> Result<Measurement, &'static str> {
        let way = match self.gateway {
            GatewayChoice::Vm(way) => way,
            GatewayChoice::Baremetal { .. } | GatewayChoice::BaremetalIdeal => {
                return Err(NO_SYSTEM);
            }
            _ => {
                return Err(
                    "it is measured natively and in inner machines: --bench vm --gateway vm:native, vm:host, \
                     vm:own or vm:vf",
                );
            }
        };
        if way.is_card() && task != ProgramTask::RoundTrip {
            return Err(
                "on the cards' bus frames take no time and are not counted: vm:native, vm:host, vm:own or vm:vf",
            );
        }
        if way == Nesting::Driver && task == ProgramTask::Loop {
            return Err(
                "the interface of a machine behind a driver VM reports that a frame is sent when it is in the \
                 shared memory, long before it is on the bus: vm:native, vm:host, vm:own or vm:vf",
            );
        }
        Ok(Measurement::Program(SharedController { way, task }))
    }
}

impl Measurement {
    /// Returns the benches on which it can be made, and why it can be made only on these.
    #[must_use]
    pub const fn benches(&self) -> (&'static [BenchKind], &'static str) {
        use BenchKind::{Ctucan, Kvaser, Timed, Vcan, Vm};
        match self {
            Self::Program(_) => (
                &[Vm],
                "the controller of the hypervisor is on the bench vm: --bench vm",
            ),
            Self::Image(_)
            | Self::Gateway(GatewayUnderTest::Mapped | GatewayUnderTest::Chardev)
            | Self::RoundTrip(TripEnds::Mapped | TripEnds::Chardev) => (
                &[Timed],
                "controllers that are not interfaces are on the timed bench only: --bench timed",
            ),
            Self::RoundTrip(TripEnds::Sockets(_)) => (
                &[Timed, Kvaser, Ctucan, Vcan],
                "the programs need CAN interfaces of the guest itself: --bench timed, kvaser, ctucan or vcan",
            ),
            Self::Gateway(GatewayUnderTest::None) => (
                &[Kvaser, Ctucan],
                "the timed bench stamps in its buses, where nothing comes back without a gateway, and other \
                 benches have no tester: the tester's own precision is measured on the kvaser bench",
            ),
            Self::Gateway(_) => (
                &[Kvaser, Ctucan, Timed],
                "this bench has no tester of gateways: measure on kvaser, ctucan or timed, or measure a program \
                 on vm by --task round-trip --gateway vm:…",
            ),
        }
    }
}
