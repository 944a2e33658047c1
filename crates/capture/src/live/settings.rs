//! The settings and the results of a recording.

use crate::counts::CaptureCounts;
use crate::file::{FileError, RotationRule};
use crate::form::CaptureOutput;
use crate::interfaces::InterfaceChoice;
use crate::keeper::KeepRule;
use crate::names::InterfaceNames;
use crate::recorder::{RecorderRemark, RecorderTotals};
use linux::Errno;
use linux::chardev::OpenError;
use linux::packet::{RingError, RingOptions, TooLong};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The settings of a recording.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CaptureSettings {
    /// The interfaces, the devices and their filters.
    pub choices: Vec<InterfaceChoice>,
    /// Error frames of the controllers are recorded, too.
    pub error_frames: bool,
    /// Received frames are distinguished from sent ones.
    pub direction: bool,
    /// The kernel's ring.
    pub ring: RingOptions,
    /// Maximum number of chunks of 256 KiB in the queue to the writer.
    pub queue: usize,
    /// The output file and its format.
    pub output: CaptureOutput,
    /// The conditions under which a new file begins.
    pub rotate: RotationRule,
    /// If set, only the time around triggers is written.
    pub keep: Option<KeepRule>,
    /// Number of frames after which the recording ends.
    pub frames: Option<u64>,
    /// Time after which the recording ends.
    pub duration: Option<Duration>,
}

/// The flags by which signal handlers control a recording.
#[derive(Clone, Debug, Default)]
pub struct CaptureControl {
    /// Set to end the recording.
    pub stop: Arc<AtomicBool>,
    /// Set to trigger a file.
    pub trigger: Arc<AtomicBool>,
}

impl CaptureControl {
    pub(super) fn stop(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    pub(super) fn take_trigger(&self) -> bool {
        self.trigger.load(Ordering::Relaxed) && self.trigger.swap(false, Ordering::Relaxed)
    }
}

/// The progress of a recording.
#[derive(Debug)]
pub struct CaptureProgress<'a> {
    /// Time since its start.
    pub elapsed: Duration,
    /// The outcome of every frame.
    pub counts: &'a CaptureCounts,
    /// The counts of what was written.
    pub written: RecorderTotals,
    /// Messages for the user, since the last report.
    pub remarks: Vec<String>,
    /// The interfaces and devices.
    pub names: &'a InterfaceNames,
}

/// The result of a recording.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CaptureSummary {
    /// The duration of the recording.
    pub elapsed: Duration,
    /// The outcome of every frame.
    pub counts: CaptureCounts,
    /// The counts of what was written.
    pub written: RecorderTotals,
    /// The interfaces and devices by their index.
    pub names: Vec<Arc<str>>,
}

/// The reason why nothing can be recorded.
#[derive(Debug, thiserror::Error)]
pub enum LiveError {
    /// The kernel provides no ring.
    #[error(transparent)]
    Ring(#[from] RingError),
    /// The interfaces cannot be listed.
    #[error("cannot list the interfaces")]
    Links(#[from] linux::netlink::Error),
    /// There is no such interface.
    #[error("there is no CAN interface {name}; {there}")]
    NoInterface {
        /// Its name.
        name: String,
        /// The existing ones, in words.
        there: String,
    },
    /// A character device cannot be opened.
    #[error(transparent)]
    Device(#[from] OpenError),
    /// The filter program is too long.
    #[error(transparent)]
    TooLong(#[from] TooLong),
    /// The kernel refuses an operation.
    #[error("{step}: {errno}")]
    Refused {
        /// The operation.
        step: &'static str,
        /// The kernel's error.
        errno: Errno,
    },
    /// The direction of frames cannot be determined.
    #[error(
        "cannot tell received frames from sent ones ({0}): it needs CAP_BPF and CAP_NET_RAW (run as \
         root), or leave out --direction"
    )]
    NoDirection(Errno),
    /// The file cannot be created.
    #[error(transparent)]
    File(#[from] FileError),
    /// The writer's thread cannot be started.
    #[error("cannot start the writer's thread: {0}")]
    Thread(std::io::Error),
    /// The writer's thread panicked.
    #[error("the writer has ended because of a mistake in cangate; please report it")]
    Writer,
}

/// Returns a remark in words.
pub(super) fn words(remark: &RecorderRemark) -> String {
    match remark {
        RecorderRemark::Failing(why) => format!(
            "cannot write: {why}; frames are lost and counted until it works again, make room or \
             end the recording"
        ),
        RecorderRemark::Working => "writing works again".to_owned(),
        RecorderRemark::NotRotated(why) => {
            format!("cannot start a new file ({why}); recording continues in the present one")
        }
        RecorderRemark::Gone => {
            "another program has removed or moved the file: recording continues in a new one"
                .to_owned()
        }
        RecorderRemark::Triggered {
            by,
            file,
            extended: false,
        } => format!("triggered by {by}: {}", file.display()),
        RecorderRemark::Triggered { by, file, .. } => {
            format!("triggered by {by}, which extends {}", file.display())
        }
        RecorderRemark::Short(seconds) => format!(
            "the memory holds only the last {seconds} s: increase --memory or reduce --keep"
        ),
    }
}
