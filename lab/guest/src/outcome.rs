//! The results of a guest, and the reasons why a guest fails.

use crate::machine::RegisterAccess;
use crate::qemu::monitor::MonitorError;
use crate::wire::WireError;
use std::process::ExitStatus;
use std::time::Duration;

/// The results of a guest.
#[derive(Debug, Default)]
pub struct GuestOutcome {
    /// The job's exit status; `None` if the guest died before it could report one.
    pub status: Option<i32>,
    /// The reason why the guest did not end in order.
    pub failure: Option<GuestFailure>,
    /// The end of the guest's console.
    pub console: String,
    /// Files that the job handed out, by name.
    pub outputs: Vec<(String, Vec<u8>)>,
    /// The register accesses, in order, where they were recorded.
    pub accesses: Vec<RegisterAccess>,
    /// The versions of the guest's parts: QEMU's version, the kernel's package and version, and so
    /// on.
    pub versions: Vec<(String, String)>,
}

/// The reason why a guest did not end in order.
#[derive(Debug, thiserror::Error)]
pub enum GuestFailure {
    /// An error that the guest's agent reported: only text crosses the guest's border.
    #[error("{message}")]
    Guest {
        /// The agent's message.
        message: String,
    },
    /// The kernel killed a program because there was no memory left.
    #[error("the guest ran out of memory: its kernel gave up {victim}; it had {memory} MiB")]
    OutOfMemory {
        /// The program that was killed, or the image that did not fit.
        victim: String,
        /// The guest's memory, MiB.
        memory: u32,
    },
    /// The kernel panicked.
    #[error("the guest's kernel panicked: {0}")]
    Panic(String),
    /// The guest did not end in time.
    #[error("the guest did not end within {} s and was stopped", .0.as_secs_f64())]
    Timeout(Duration),
    /// [`crate::Lab::stop`] ended the guest.
    #[error("the guest was stopped because cangate ends")]
    Stopped,
    /// The guest's output cannot be parsed.
    #[error(transparent)]
    Output(#[from] WireError),
    /// The guest's output would fill the disk.
    #[error("the guest wrote more than {} GiB of output", .0 >> 30)]
    TooMuchOutput(u64),
    /// The guest's console output would fill the disk.
    #[error("the guest wrote more than {} MiB on its console", .0 >> 20)]
    TooMuchConsole(u64),
    /// QEMU failed.
    #[error("QEMU failed ({status}): {message}")]
    Qemu {
        /// QEMU's exit status.
        status: ExitStatus,
        /// The end of QEMU's messages.
        message: String,
    },
    /// A saved guest could not be restored.
    #[error("the saved guest cannot be resumed: {source}\n{message}")]
    NotResumed {
        /// The error of QEMU's monitor.
        source: MonitorError,
        /// The end of QEMU's messages.
        message: String,
    },
    /// The guest switched itself off.
    #[error("the guest switched itself off before its job was done; see the end of its console")]
    SwitchedOff,
}
