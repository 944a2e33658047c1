//! The end of a run by a signal.

use console::Failure;
use linux::PollSet;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::os::fd::AsRawFd as _;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Is set by SIGINT, SIGTERM and SIGHUP, and wakes up a wait.
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
    pub(crate) fn listen() -> Result<Self, Failure> {
        let fail = |error| Failure::Run(format!("cannot listen to signals: {error}"));
        let is_set = Arc::new(AtomicBool::new(false));
        let (pipe, write) = UnixStream::pair().map_err(fail)?;
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            // The flag first: the thread that is woken up must find it set.
            signal_hook::flag::register(signal, Arc::clone(&is_set)).map_err(fail)?;
            let write = write.try_clone().map_err(fail)?;
            signal_hook::low_level::pipe::register(signal, write).map_err(fail)?;
        }
        Ok(Self { is_set, pipe })
    }

    /// Returns whether a signal has come.
    pub(crate) fn is_set(&self) -> bool {
        self.is_set.load(Ordering::Relaxed)
    }

    /// Adds the descriptor that a signal makes readable.
    pub(crate) fn wait(&self, poll: &mut PollSet) {
        poll.add_fd(self.pipe.as_raw_fd(), true, false);
    }
}
