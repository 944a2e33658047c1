//! What to record, and what came of it.

use crate::counts::Counts;
use crate::file::{FileError, Rotate};
use crate::form::Output;
use crate::interfaces::Choice;
use crate::keeper::Keep;
use crate::names::Names;
use crate::recorder::{Done, Remark};
use linux::Errno;
use linux::chardev::OpenError;
use linux::packet::{RingError, RingOptions, TooLong};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// What to record.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Settings {
    /// Which interfaces, devices and frames.
    pub choices: Vec<Choice>,
    /// Error frames of the controllers too.
    pub error_frames: bool,
    /// Tell received frames from sent ones.
    pub direction: bool,
    /// The kernel's ring.
    pub ring: RingOptions,
    /// Chunks of 256 KiB that may be on their way to the writer.
    pub queue: usize,
    /// Where to, and in which form.
    pub output: Output,
    /// When a new file begins.
    pub rotate: Rotate,
    /// Only the time around triggers is written.
    pub keep: Option<Keep>,
    /// End after so many frames.
    pub frames: Option<u64>,
    /// End after so long.
    pub duration: Option<Duration>,
}

/// How signals reach a recording.
#[derive(Clone, Debug, Default)]
pub struct Control {
    /// Set to end.
    pub stop: Arc<AtomicBool>,
    /// Set to trigger.
    pub trigger: Arc<AtomicBool>,
}

impl Control {
    pub(super) fn stop(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    pub(super) fn take_trigger(&self) -> bool {
        self.trigger.load(Ordering::Relaxed) && self.trigger.swap(false, Ordering::Relaxed)
    }
}

/// How far a recording is.
#[derive(Debug)]
pub struct Progress<'a> {
    /// Since its start.
    pub elapsed: Duration,
    /// What became of every frame.
    pub counts: &'a Counts,
    /// What was written.
    pub written: Done,
    /// What a user should know, since the last time.
    pub remarks: Vec<String>,
    /// The interfaces and devices.
    pub names: &'a Names,
}

/// What came of a recording.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Summary {
    /// How long it took.
    pub elapsed: Duration,
    /// What became of every frame.
    pub counts: Counts,
    /// What was written.
    pub written: Done,
    /// The interfaces and devices by their places.
    pub names: Vec<Arc<str>>,
}

/// Why nothing can be recorded.
#[derive(Debug, thiserror::Error)]
pub enum LiveError {
    /// The kernel gives no ring.
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
        /// Those that are there, in words.
        there: String,
    },
    /// A character device cannot be opened.
    #[error(transparent)]
    Device(#[from] OpenError),
    /// The filters are too many.
    #[error(transparent)]
    TooLong(#[from] TooLong),
    /// The kernel refuses something.
    #[error("{step}: {errno}")]
    Refused {
        /// What was tried.
        step: &'static str,
        /// What the kernel said.
        errno: Errno,
    },
    /// Who sent a frame cannot be told.
    #[error(
        "cannot tell received frames from sent ones ({0}): it needs CAP_BPF beside CAP_NET_RAW (run as \
         root), or leave out --direction"
    )]
    NoDirection(Errno),
    /// The file cannot be begun.
    #[error(transparent)]
    File(#[from] FileError),
    /// There is no thread for the writer.
    #[error("cannot start the writer's thread: {0}")]
    Thread(std::io::Error),
    /// The writer's thread panicked.
    #[error("the writer has ended by a mistake in cangate; please report it")]
    Writer,
}

/// A remark in words.
pub(super) fn words(remark: &Remark) -> String {
    match remark {
        Remark::Failing(why) => format!(
            "cannot write: {why}; frames are lost and counted until it works again, make room or \
             end the recording"
        ),
        Remark::Working => "writing works again".to_owned(),
        Remark::NotRotated(why) => {
            format!("no new file could be begun ({why}); the present one is used on")
        }
        Remark::Gone => {
            "another program has removed the file or moved it away: the record goes on in a new one"
                .to_owned()
        }
        Remark::Triggered {
            by,
            file,
            extended: false,
        } => format!("triggered by {by}: {}", file.display()),
        Remark::Triggered { by, file, .. } => {
            format!("triggered by {by}, which extends {}", file.display())
        }
        Remark::Short(seconds) => format!(
            "the memory holds only the last {seconds} s: ask for more with --memory, or keep less"
        ),
    }
}
