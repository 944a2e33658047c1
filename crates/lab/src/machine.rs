//! What a guest is asked for, and what comes back: where machines and experiments meet.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::time::Duration;

/// Which CAN interfaces a guest has.
///
/// The names are the same on every bench. The gateway's are in the network namespace `gw` on the
/// benches that time; everything else is in the first one.
///
/// | bench | tester's side | gateway's side (namespace `gw`) |
/// |---|---|---|
/// | kvaser | can0 (sends), can1 (reference), can2 (receives); can0, can1 and gw0 share a bus, can2 and gw1 the other | gw0, gw1 |
/// | timed | `/dev/bitcan-tester`, on buses 0 and 1 | gw0 on bus 0, gw1 on bus 1 |
/// | vcan | vcan0 and vcan1, no namespace | |
/// | none | | |
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Bench {
    /// Emulated SJA1000 cards with the in-tree driver; no bus time.
    Kvaser,
    /// Interfaces of `kmod/bitcan` on bit-timed buses.
    Timed,
    /// Virtual interfaces.
    Vcan,
    /// No CAN interface.
    None,
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
    /// What to add to the image, with the shared libraries it needs.
    pub files: Vec<GuestFile>,
    /// What to do there.
    pub job: Job,
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
    /// Make an experiment; the result file is the output named `results.parquet`.
    Measure {
        /// Which.
        experiment: Box<crate::experiment::Experiment>,
    },
}

/// What a guest left behind.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// The job's exit status; `None` where the guest died before it could say.
    pub status: Option<i32>,
    /// Why it did not end in order: a panic, no memory, no sign of life; words for people.
    pub failure: Option<String>,
    /// The end of the guest's console.
    pub console: String,
    /// Files that the job handed out, by name.
    pub outputs: Vec<(String, Vec<u8>)>,
    /// The register accesses, in order, where they were recorded.
    pub accesses: Vec<Access>,
    /// What the guest was made of: QEMU's version, the kernel's package and version, and so on.
    pub versions: Vec<(String, String)>,
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
