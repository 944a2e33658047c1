//! The end of a run that the user requests by a signal.

use console::Failure;
use linux::poll::PollSet;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::{flag, low_level};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd as _, AsRawFd as _};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The exit status after a second signal, which ends the program at once: the one that a shell
/// reports for SIGINT.
const KILLED: i32 = 130;

/// The number of bytes that are read after the request, if they are there already: the contents of
/// a pipe (`fs.pipe-max-size`).
const READ_AFTER: usize = 1 << 20;

/// A request to end, by SIGINT or SIGTERM.
pub(super) struct StopRequest {
    is_made: Arc<AtomicBool>,
    /// It can be read as soon as the request is made.
    wake: UnixStream,
}

impl StopRequest {
    /// Begins to listen to the signals.
    pub(super) fn new() -> Result<Self, Failure> {
        let listen = || {
            let is_made = Arc::new(AtomicBool::new(false));
            let (wake, end) = UnixStream::pair()?;
            for signal in [SIGINT, SIGTERM] {
                // The first signal sets the flag, the second one finds it set.
                flag::register_conditional_shutdown(signal, KILLED, Arc::clone(&is_made))?;
                flag::register(signal, Arc::clone(&is_made))?;
                low_level::pipe::register(signal, end.try_clone()?)?;
            }
            Ok(Self { is_made, wake })
        };
        listen()
            .map_err(|error: io::Error| Failure::Run(format!("cannot listen to signals: {error}")))
    }

    /// Returns whether the request was made.
    pub(super) fn is_made(&self) -> bool {
        self.is_made.load(Ordering::Relaxed)
    }

    /// Returns standard input, which is at its end when the request is made and the data that was
    /// there is read.
    pub(super) fn standard_input(&self) -> io::Result<StoppableInput> {
        Ok(StoppableInput {
            // Not through std's buffer, whose contents poll(2) does not know.
            input: io::stdin().as_fd().try_clone_to_owned()?.into(),
            is_made: Arc::clone(&self.is_made),
            wake: self.wake.try_clone()?,
            left: READ_AFTER,
        })
    }
}

/// Standard input that ends at the request.
pub(super) struct StoppableInput {
    input: File,
    is_made: Arc<AtomicBool>,
    wake: UnixStream,
    /// The number of bytes that are read after the request at most.
    left: usize,
}

impl Read for StoppableInput {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let was_made = self.is_made.load(Ordering::Relaxed);
            let mut poll = PollSet::with_capacity(2);
            poll.add_fd(self.input.as_raw_fd(), true, false);
            poll.add_fd(self.wake.as_raw_fd(), true, false);
            poll.wait(was_made.then_some(Duration::ZERO))?;
            if poll.is_ready(0) {
                let length = match was_made {
                    true => buffer.len().min(self.left),
                    false => buffer.len(),
                };
                let count = self.input.read(&mut buffer[..length])?;
                if was_made {
                    self.left -= count;
                }
                return Ok(count);
            }
            if was_made {
                return Ok(0);
            }
        }
    }
}
