//! The end of a run by a signal.

use console::Failure;
use linux::PollSet;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::{flag, low_level};
use std::io;
use std::os::fd::AsRawFd as _;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The exit status after a second signal: the one that a shell reports for SIGINT.
const KILLED: i32 = 130;

/// A second signal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SecondSignal {
    /// It ends the program at once.
    Kills,
    /// It has no effect: a terminal would stay as the display has set it.
    #[cfg(feature = "top")]
    Waits,
}

/// A request to end, by SIGINT, SIGTERM or SIGHUP. It wakes up a wait.
pub(crate) struct StopSignal {
    is_set: Arc<AtomicBool>,
    /// Is readable once a signal has come.
    pipe: UnixStream,
}

impl StopSignal {
    /// Begins to listen.
    ///
    /// # Errors
    /// The process has no descriptor left.
    pub(crate) fn listen(second: SecondSignal) -> Result<Self, Failure> {
        let listen = || {
            let is_set = Arc::new(AtomicBool::new(false));
            let (pipe, write) = UnixStream::pair()?;
            for signal in [SIGINT, SIGTERM, SIGHUP] {
                // The first signal sets the flag, the second one finds it set.
                if second == SecondSignal::Kills {
                    flag::register_conditional_shutdown(signal, KILLED, Arc::clone(&is_set))?;
                }
                // The flag before the pipe: the thread that is woken up must find it set.
                flag::register(signal, Arc::clone(&is_set))?;
                low_level::pipe::register(signal, write.try_clone()?)?;
            }
            Ok(Self { is_set, pipe })
        };
        listen()
            .map_err(|error: io::Error| Failure::Run(format!("cannot listen to signals: {error}")))
    }

    /// Returns whether a signal has come.
    pub(crate) fn is_set(&self) -> bool {
        self.is_set.load(Ordering::Relaxed)
    }

    /// Adds the descriptor that a signal makes readable.
    pub(crate) fn wait(&self, poll: &mut PollSet) {
        poll.add_fd(self.pipe.as_raw_fd(), true, false);
    }

    /// Returns a second handle on the same request.
    ///
    /// # Errors
    /// The process has no descriptor left.
    #[cfg(feature = "decode")]
    pub(crate) fn try_clone(&self) -> io::Result<Self> {
        Ok(Self {
            is_set: Arc::clone(&self.is_set),
            pipe: self.pipe.try_clone()?,
        })
    }
}
