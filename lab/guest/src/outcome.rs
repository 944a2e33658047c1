//! What a guest left behind, and why it did not end in order.

use crate::machine::Access;
use crate::qemu::monitor::MonitorError;
use crate::wire::WireError;
use std::process::ExitStatus;
use std::time::Duration;

/// What a guest left behind.
#[derive(Debug, Default)]
pub struct Outcome {
    /// The job's exit status; `None` where the guest died before it could say.
    pub status: Option<i32>,
    /// Why it did not end in order.
    pub failure: Option<Failure>,
    /// The end of the guest's console.
    pub console: String,
    /// Files that the job handed out, by name.
    pub outputs: Vec<(String, Vec<u8>)>,
    /// The register accesses, in order, where they were recorded.
    pub accesses: Vec<Access>,
    /// What the guest was made of: QEMU's version, the kernel's package and version, and so on.
    pub versions: Vec<(String, String)>,
}

/// Why a guest did not end in order.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// What the guest's agent said: all that crosses the guest's border is text.
    #[error("{said}")]
    Guest {
        /// Its words.
        said: String,
    },
    /// The kernel killed a program because there was no memory left.
    #[error("the guest ran out of memory: its kernel gave up {victim}; it had {memory} MiB")]
    OutOfMemory {
        /// What was given up.
        victim: String,
        /// The guest's memory, MiB.
        memory: u32,
    },
    /// The kernel panicked.
    #[error("the guest's kernel panicked: {0}")]
    Panic(String),
    /// It did not end in time.
    #[error("the guest did not end within {} s and was given up", .0.as_secs_f64())]
    Timeout(Duration),
    /// [`crate::Lab::stop`] ended it.
    #[error("the guest was ended because cangate ends")]
    Stopped,
    /// What it handed out cannot be understood.
    #[error(transparent)]
    Output(#[from] WireError),
    /// It handed out so much that it would fill the disk.
    #[error("the guest handed out more than {} GiB", .0 >> 30)]
    TooMuchOutput(u64),
    /// It wrote so much on its console that it would fill the disk.
    #[error("the guest wrote more than {} MiB on its console", .0 >> 20)]
    TooMuchConsole(u64),
    /// QEMU failed.
    #[error("QEMU failed ({status}): {said}")]
    Qemu {
        /// Its exit status.
        status: ExitStatus,
        /// The end of what it said.
        said: String,
    },
    /// A saved guest could not be restored.
    #[error("the saved guest does not go on: {source}\n{said}")]
    NotResumed {
        /// Why.
        source: MonitorError,
        /// The end of what QEMU said.
        said: String,
    },
    /// It switched itself off.
    #[error(
        "the guest switched itself off before its job was done; the end of its console says more"
    )]
    SwitchedOff,
}
