//! Standard input that the end of a run does not cut.

use crate::stop_signal::StopSignal;
use linux::poll::PollSet;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd as _, AsRawFd as _};
use std::time::Duration;

/// The number of bytes that are read after the request, if they are there already: the contents of
/// a pipe (`fs.pipe-max-size`).
const READ_AFTER: usize = 1 << 20;

/// Standard input, which is at its end when a signal has come and the data that was there is read.
pub(super) struct StoppableInput {
    input: File,
    stop: StopSignal,
    /// The number of bytes that are read after the signal at most.
    left: usize,
}

impl StoppableInput {
    pub(super) fn new(stop: &StopSignal) -> io::Result<Self> {
        Ok(Self {
            // Not through std's buffer, whose contents poll(2) does not know.
            input: io::stdin().as_fd().try_clone_to_owned()?.into(),
            stop: stop.try_clone()?,
            left: READ_AFTER,
        })
    }
}

impl Read for StoppableInput {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let was_set = self.stop.is_set();
            let mut poll = PollSet::with_capacity(2);
            poll.add_fd(self.input.as_raw_fd(), true, false);
            self.stop.wait(&mut poll);
            poll.wait(was_set.then_some(Duration::ZERO))?;
            if poll.is_ready(0) {
                let length = match was_set {
                    true => buffer.len().min(self.left),
                    false => buffer.len(),
                };
                let count = self.input.read(&mut buffer[..length])?;
                if was_set {
                    self.left -= count;
                }
                return Ok(count);
            }
            if was_set {
                return Ok(0);
            }
        }
    }
}
