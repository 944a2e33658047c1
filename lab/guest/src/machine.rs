//! What a guest is like, and what it is to do.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

/// The network namespace of the gateway's interfaces.
pub const GATEWAY_NAMESPACE: &str = "gw";

/// Which CAN interfaces a guest has.
///
/// The names are the same on every bench. On the benches that time, the gateway's interfaces are in
/// the network namespace [`GATEWAY_NAMESPACE`]; everything else is in the first one.
///
/// | bench | tester's side | gateway's side (namespace `gw`) |
/// |---|---|---|
/// | kvaser | can0 (sends), can1 (reference), can2 (receives); can0, can1 and gw0 share a bus, can2 and gw1 the other | gw0, gw1 |
/// | ctucan | as kvaser, with CTU CAN FD controllers, two of them on a card | gw0, gw1 |
/// | timed | `/dev/bitcan-tester`, on buses 0 and 1 | gw0 on bus 0, gw1 on bus 1 |
/// | vm | the other node: gw1, on the gateway's bus; card1 | gw0, both on bus 0; card0, on a bus with card1; what inner machines are made of ([`crate::inner`]) |
/// | vcan | vcan0 and vcan1, no namespace | |
/// | none | | |
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Bench {
    /// Emulated SJA1000 cards with the in-tree driver; no bus time.
    Kvaser,
    /// Emulated CTU CAN FD cards with the kernel's driver; no bus time.
    Ctucan,
    /// Interfaces of `kmod/bitcan` on bit-timed buses.
    Timed,
    /// A hypervisor: interfaces as on the timed bench, both on one bus, KVM, and what inner
    /// machines are made of.
    Vm,
    /// Virtual interfaces.
    Vcan,
    /// No CAN interface.
    None,
}

impl Bench {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Kvaser,
        Self::Ctucan,
        Self::Timed,
        Self::Vm,
        Self::Vcan,
        Self::None,
    ];

    /// Its name in options and results.
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

impl fmt::Display for Bench {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A name that no bench has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a bench: choose one of {all}", all = Bench::ALL.map(Bench::name).join(", "))]
pub struct UnknownBench(pub String);

impl FromStr for Bench {
    type Err = UnknownBench;

    fn from_str(text: &str) -> Result<Self, UnknownBench> {
        let bench = Self::ALL.into_iter().find(|bench| bench.name() == text);
        bench.ok_or_else(|| UnknownBench(text.to_owned()))
    }
}

/// A controller of `kmod/bitcan`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Controller {
    /// One transmit buffer, 64-byte receive FIFO, frames read in the interrupt.
    Sja1000,
    /// Three transmit buffers, receive FIFO of four frames, read in NAPI.
    Mscan,
}

impl Controller {
    /// Both of them.
    pub const ALL: [Self; 2] = [Self::Sja1000, Self::Mscan];

    /// Its name for the kernel module.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sja1000 => "sja1000",
            Self::Mscan => "mscan",
        }
    }
}

/// What time is in the guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Time {
    /// One processor; an instruction takes 2^shift ns; idle time is skipped; the same on every
    /// machine and at every run.
    Virtual {
        /// 0 to 10.
        shift: u8,
    },
    /// One processor, the host's clock.
    Real,
    /// Several processors, the host's clock: for tests that need no exact time.
    Fast {
        /// How many.
        cpus: u32,
    },
}

/// A file to put into the guest's image, under `/lab`, which is in the `PATH`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuestFile {
    /// Where it is on the host.
    pub path: PathBuf,
    /// Its name in the guest.
    pub name: String,
}

/// A guest to be run to its end.
#[derive(Clone, Debug)]
pub struct Spec {
    /// Kernel, in the lab's words: `6.1`, `6.12-rt`.
    pub kernel: String,
    /// The CAN interfaces.
    pub bench: Bench,
    /// The controllers of the gateway's interfaces on the timed bench.
    pub controller: Controller,
    /// The bit rate of the timed bench's buses, bit/s.
    pub bitrate: u32,
    /// The data bit rate of the timed bench's buses, bit/s: FD where there is one.
    pub data_bitrate: Option<u32>,
    /// Two network cards, joined: eth0 with 192.0.2.1 here, eth1 with 192.0.2.2 in `gw`.
    pub ethernet: bool,
    /// What time is.
    pub time: Time,
    /// Further parameters for the kernel.
    pub boot: Vec<String>,
    /// MiB.
    pub memory: u32,
    /// Sockets of virtio CAN devices that this machine is to have: of `cangate run` with ports of
    /// kind `virtio`. Its kernel has the driver loaded. With `listen:` before the path, QEMU
    /// listens there.
    pub virtio: Vec<PathBuf>,
    /// Sockets of servers of shared memory (`cangate shm`), of each of which this machine is one
    /// side. Its kernel has the drivers of `kmod/shmcan` loaded.
    pub shm: Vec<PathBuf>,
    /// What to add to the image, with the shared libraries it needs.
    pub files: Vec<GuestFile>,
    /// What to do there.
    pub job: Job,
    /// For a [`Job::Task`] whose preparation takes longer than saving a guest does: the task to
    /// prepare a guest with. The prepared guest is saved, and every job with the same value here
    /// starts from it.
    pub prepare: Option<serde_json::Value>,
    /// Real time after which the guest is given up.
    pub timeout: Duration,
    /// Record accesses to the CAN cards' registers (kvaser bench).
    pub trace_registers: bool,
}

/// What a guest is to do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Job {
    /// Run a command as root and hand on what it prints and its exit status.
    Exec {
        /// Program and arguments.
        command: Vec<String>,
    },
    /// Run a shell as root that is fed through a [`crate::Keyboard`], and hand on what it prints
    /// and its exit status.
    Shell {
        /// The terminal that it is to have; without one, it reads commands as from a pipe.
        terminal: Option<Terminal>,
    },
    /// A task whose meaning is the caller's: see [`crate::agent::Tasks`].
    Task {
        /// What it is, in a form that the caller's agent reads.
        task: serde_json::Value,
    },
}

/// A terminal as programs in the guest are to find it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Terminal {
    /// Its kind, as `$TERM` says it.
    pub name: String,
    /// The host's description of that kind (terminfo); empty if there is none.
    pub terminfo: Vec<u8>,
    /// Its size in characters.
    pub rows: u16,
    /// Its size in characters.
    pub columns: u16,
}

/// One access to a register of a CAN card.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// Which card, in the order can0, can1, can2, gw0, gw1.
    pub card: u8,
    /// Byte offset of the register.
    pub register: u8,
    /// Written (else read).
    pub write: bool,
    /// What was read or written.
    pub value: u8,
}
