//! Errors inside a guest.

use crate::program::ProgramError;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The reason why the agent could not do its work. Inside a guest, its text is sent to the host.
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    /// The agent was started outside of a guest.
    #[error("lab agent runs only inside a guest, which `cangate lab exec` boots")]
    NotAGuest,
    /// The machine does not switch itself off.
    #[error("the machine does not switch itself off")]
    PowerOff(#[source] io::Error),
    /// A file could not be read or written.
    #[error("cannot {verb} {}", path.display())]
    File {
        /// `read`, `write`, …
        verb: &'static str,
        /// The path of the file.
        path: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
    /// A program of the guest failed.
    #[error(transparent)]
    Program(#[from] ProgramError),
    /// A file system could not be mounted.
    #[error("cannot mount {target}")]
    Mount {
        /// The mount point.
        target: &'static str,
        /// The operating system's error.
        source: io::Error,
    },
    /// The kernel provides no random numbers.
    #[error("no random numbers are available")]
    Randomness(#[source] io::Error),
    /// Something did not appear in time.
    #[error("{0} does not appear")]
    Absent(String),
    /// The kernel's command line lacks one of the agent's orders.
    #[error("the kernel's command line has no cangate.{0}")]
    NoOrder(&'static str),
    /// One of the orders has a value that is not valid.
    #[error("the kernel's command line has cangate.{name}={value}, which is not a valid value")]
    Order {
        /// The order's name.
        name: &'static str,
        /// Its value.
        value: String,
    },
    /// The interfaces could not be brought up.
    #[error("the bench does not come up: {0}")]
    Bench(#[source] Box<Self>),
    /// A card whose registers cannot be found.
    #[error("{} does not name the card's second region: {text}", path.display())]
    Registers {
        /// The card's list of regions.
        path: PathBuf,
        /// The content of the list.
        text: String,
    },
    /// The Ethernet cards are not there.
    #[error("two Ethernet cards are required")]
    Ethernet,
    /// A machine of several has more interfaces than cards.
    #[error("the machine has fewer cards than links")]
    NoCard,
    /// A machine of several was not set up in time.
    #[error(
        "the machine was set up {} ms after the beginning; all machines start their commands after {} ms",
        late.as_millis(), start.as_millis()
    )]
    LateStart {
        /// The time after the beginning, in the machine's time.
        late: Duration,
        /// The common start.
        start: Duration,
    },
    /// The machine could not be stopped to be saved.
    #[error("the machine cannot be stopped")]
    Pause(#[source] io::Error),
    /// The host's file takes no more output.
    #[error("the host accepts no output")]
    Host(#[source] io::Error),
    /// The job cannot be read.
    #[error("the job cannot be read")]
    Job(#[source] serde_json::Error),
    /// A prepared guest got an order to prepare again.
    #[error("a guest can be prepared only once")]
    PreparedTwice,
    /// The job is a command without a program.
    #[error("there is no command")]
    NoCommand,
    /// The shell cannot be started.
    #[error("the shell cannot be started")]
    Shell(#[source] io::Error),
    /// Waiting for the command's end failed.
    #[error("the command cannot be waited for")]
    Wait(#[source] io::Error),
    /// The thread that waits for the command is gone.
    #[error("the command is lost")]
    Lost,
    /// A task of the caller's failed.
    #[error(transparent)]
    Task(Box<dyn std::error::Error + Send + Sync>),
}

impl AgentError {
    /// Returns a function for `map_err`: a file could not be read or written.
    pub(super) fn file(verb: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_path_buf();
        move |source| Self::File { verb, path, source }
    }
}
