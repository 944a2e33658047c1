//! The description of a guest and of its job.

use crate::kernels::Kernel;
use crate::linked::LinkedMachine;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

/// The network namespace of the gateway's interfaces.
pub const GATEWAY_NAMESPACE: &str = "gw";

/// The CAN interfaces of a guest.
///
/// The names are the same on every bench. On the benches that time, the gateway's interfaces are in
/// the network namespace [`GATEWAY_NAMESPACE`]; everything else is in the first one.
///
/// | bench | tester's side | gateway's side (namespace `gw`) |
/// |---|---|---|
/// | kvaser | can0 (sends), can1 (reference, same bus), can2 (receives) | gw0, gw1 |
/// | ctucan | as kvaser, with CTU CAN FD controllers, two of them on a card | gw0, gw1 |
/// | timed | `/dev/bitcan-tester`, on buses 0 and 1 | gw0 on bus 0, gw1 on bus 1 |
/// | vm | the other node: gw1, on the gateway's bus; card1 | gw0 on bus 0; card0, on card1's bus |
/// | vcan | vcan0 and vcan1, no namespace | |
/// | none | | |
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BenchKind {
    /// Emulated SJA1000 cards with the in-tree driver; no bus time.
    Kvaser,
    /// Emulated CTU CAN FD cards with the kernel's driver; no bus time.
    Ctucan,
    /// Interfaces of `kmod/bitcan` on bit-timed buses.
    Timed,
    /// A hypervisor: interfaces as on the timed bench, both on one bus, KVM, and the parts of inner
    /// machines.
    Vm,
    /// Virtual interfaces.
    Vcan,
    /// No CAN interface.
    None,
}

impl BenchKind {
    /// All benches.
    pub const ALL: [Self; 6] = [
        Self::Kvaser,
        Self::Ctucan,
        Self::Timed,
        Self::Vm,
        Self::Vcan,
        Self::None,
    ];

    /// Returns the bench's name in options and results.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Kvaser => "kvaser",
            Self::Ctucan => "ctucan",
            Self::Timed => "timed",
            Self::Vm => "vm",
            Self::Vcan => "vcan",
            Self::None => "none",
        }
    }
}

impl fmt::Display for BenchKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A name that no bench has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a bench: choose one of {all}", all = BenchKind::ALL.map(BenchKind::name).join(", "))]
pub struct UnknownBench(pub String);

impl FromStr for BenchKind {
    type Err = UnknownBench;

    fn from_str(text: &str) -> Result<Self, UnknownBench> {
        let bench = Self::ALL.into_iter().find(|bench| bench.name() == text);
        bench.ok_or_else(|| UnknownBench(text.to_owned()))
    }
}

/// A controller of `kmod/bitcan`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BitcanController {
    /// One transmit buffer, 64-byte receive FIFO, frames read in the interrupt.
    Sja1000,
    /// Three transmit buffers, receive FIFO of four frames, read in NAPI.
    Mscan,
}

impl BitcanController {
    /// Both models.
    pub const ALL: [Self; 2] = [Self::Sja1000, Self::Mscan];

    /// Returns the model's name for the kernel module.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sja1000 => "sja1000",
            Self::Mscan => "mscan",
        }
    }
}

/// The clock of a guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TimeMode {
    /// One processor; an instruction takes 2^shift ns; idle time is skipped. Time is the same on
    /// every machine and in every run.
    Virtual {
        /// The binary logarithm of an instruction's duration in ns, 0 to 10.
        shift: u8,
    },
    /// One processor, the host's clock.
    Real,
    /// Several processors, the host's clock: for tests that need no exact time.
    Fast {
        /// Number of processors.
        cpus: u32,
    },
}

/// A file to put into the guest's image, under `/lab`, which is in the `PATH`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuestFile {
    /// The file's path on the host.
    pub path: PathBuf,
    /// Its name in the guest.
    pub name: String,
}

/// A guest to be run to its end.
#[derive(Clone, Debug)]
pub struct GuestSpec {
    /// The kernel.
    pub kernel: Kernel,
    /// The CAN interfaces.
    pub bench: BenchKind,
    /// The controllers of the gateway's interfaces on the timed bench.
    pub controller: BitcanController,
    /// The bit rate of the timed bench's buses, bit/s.
    pub bitrate: u32,
    /// The data bit rate of the timed bench's buses, bit/s; if there is one, the buses are FD.
    pub data_bitrate: Option<u32>,
    /// Whether the guest has two network cards, joined: eth0 with 192.0.2.1 here, eth1 with
    /// 192.0.2.2 in `gw`.
    pub ethernet: bool,
    /// The guest's clock.
    pub time: TimeMode,
    /// Further parameters for the kernel.
    pub boot: Vec<String>,
    /// The guest's memory, MiB.
    pub memory: u32,
    /// Sockets of virtio CAN devices for this machine: those of `cangate run` with ports of kind
    /// `virtio`. The machine's kernel has the driver loaded. With `listen:` before the path, QEMU
    /// listens there.
    pub virtio: Vec<PathBuf>,
    /// Sockets of servers of shared memory (`cangate shm`); this machine is one side of each. Its
    /// kernel has the drivers of `kmod/shmcan` loaded.
    pub shm: Vec<PathBuf>,
    /// Files to add to the image, with the shared libraries they need.
    pub files: Vec<GuestFile>,
    /// The guest's job.
    pub job: GuestJob,
    /// For a [`GuestJob::Task`] whose preparation takes longer than saving a guest does: the task
    /// with which a guest is prepared. The prepared guest is saved, and every job with the same
    /// value here starts from it.
    pub prepare: Option<serde_json::Value>,
    /// Real time after which the guest is ended.
    pub timeout: Duration,
    /// Whether accesses to the CAN cards' registers are recorded (kvaser bench).
    pub trace_registers: bool,
    /// The machine's place among several in one virtual time, if it is one of them.
    pub linked: Option<LinkedMachine>,
}

/// The job of a guest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GuestJob {
    /// Run a command as root and pass on its output and its exit status.
    Exec {
        /// Program and arguments.
        command: Vec<String>,
    },
    /// Run a shell as root whose input comes through a [`crate::GuestKeyboard`], and pass on its
    /// output and its exit status.
    Shell {
        /// The shell's terminal; without one, it reads commands as from a pipe.
        terminal: Option<TerminalSize>,
    },
    /// A task whose meaning the caller defines: see [`crate::agent::AgentTasks`].
    Task {
        /// The task, in a form that the caller's agent reads.
        task: serde_json::Value,
    },
}

/// The terminal that programs in the guest see.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TerminalSize {
    /// The terminal's kind, as in `$TERM`.
    pub name: String,
    /// The host's description of that kind (terminfo); empty if there is none.
    pub terminfo: Vec<u8>,
    /// The number of rows.
    pub rows: u16,
    /// The number of columns.
    pub columns: u16,
}

/// One access to a register of a CAN card.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RegisterAccess {
    /// The card, in the order can0, can1, can2, gw0, gw1.
    pub card: u8,
    /// Byte offset of the register.
    pub register: u8,
    /// Whether the register was written (otherwise, it was read).
    pub write: bool,
    /// The value that was read or written.
    pub value: u8,
}
