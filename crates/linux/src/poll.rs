//! Waiting for any of many descriptors.

#![allow(
    unsafe_code,
    reason = "ppoll(2) on descriptors that are kept by number"
)]

use std::io;
use std::os::fd::RawFd;
use std::time::Duration;

/// The events to wait for on one descriptor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PollWatch {
    /// The descriptor.
    pub fd: RawFd,
    /// Whether to wait until there is something to read.
    pub readable: bool,
    /// Whether to wait until there is room to write.
    pub writable: bool,
}

/// File descriptors to wait for, listed anew for each wait: the list changes with the state of
/// their owners. The memory is reused.
#[derive(Default)]
pub struct PollSet {
    fds: Vec<libc::pollfd>,
}

impl PollSet {
    /// Returns an empty list with room for this many descriptors without an allocation.
    #[must_use]
    pub fn with_capacity(fds: usize) -> Self {
        Self {
            fds: Vec::with_capacity(fds),
        }
    }

    /// Removes all descriptors.
    pub fn clear(&mut self) {
        self.fds.clear();
    }

    /// Adds a descriptor with its events, unless it is `None`.
    #[inline]
    pub fn add(&mut self, what: impl Into<Option<PollWatch>>) {
        if let Some(watch) = what.into() {
            self.add_fd(watch.fd, watch.readable, watch.writable);
        }
    }

    /// Adds a descriptor. poll(2) reports a closed descriptor as ready (`POLLNVAL`) and ignores a
    /// negative one.
    pub fn add_fd(&mut self, fd: RawFd, readable: bool, writable: bool) {
        let mut events = 0;
        if readable {
            events |= libc::POLLIN;
        }
        if writable {
            events |= libc::POLLOUT;
        }
        self.fds.push(libc::pollfd {
            fd,
            events,
            revents: 0,
        });
    }

    /// Waits until a descriptor is ready, at most for `timeout` (`None`: for ever). Returns the
    /// number of ready descriptors, 0 after the timeout or a signal.
    ///
    /// # Errors
    /// Those of ppoll(2) except EINTR.
    pub fn wait(&mut self, timeout: Option<Duration>) -> io::Result<usize> {
        // A time beyond the kernel's range is as good as for ever.
        let timeout = timeout.and_then(|time| {
            Some(libc::timespec {
                tv_sec: time.as_secs().try_into().ok()?,
                // The field has 32 bits on 32-bit processors, where a number below 10⁹ fits, too.
                tv_nsec: i32::try_from(time.subsec_nanos()).ok()?.into(),
            })
        });
        let time = timeout
            .as_ref()
            .map_or(std::ptr::null(), std::ptr::from_ref);
        // SAFETY: the pointer and the length are those of a live vector of `pollfd`, to which no
        // other code refers during the call; `time` is null or points to `timeout`, which lives
        // until the end of this function; a null signal mask changes nothing. Wrong descriptors are
        // answered with POLLNVAL.
        let ready = unsafe {
            libc::ppoll(
                self.fds.as_mut_ptr(),
                self.fds.len() as libc::nfds_t,
                time,
                std::ptr::null(),
            )
        };
        if ready >= 0 {
            return Ok(ready as usize);
        }
        let error = io::Error::last_os_error();
        if error.kind() == io::ErrorKind::Interrupted {
            Ok(0)
        } else {
            Err(error)
        }
    }

    /// Returns whether the descriptor that was added as number `index` is ready. Errors and
    /// hang-ups count.
    #[must_use]
    pub fn is_ready(&self, index: usize) -> bool {
        self.fds.get(index).is_some_and(|fd| fd.revents != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::fd::AsRawFd;
    use std::os::unix::net::UnixStream;

    #[test]
    fn the_one_that_is_ready_is_named() {
        let (mut a, b) = UnixStream::pair().unwrap();
        let (_c, d) = UnixStream::pair().unwrap();
        a.write_all(b"x").unwrap();
        let mut poll = PollSet::with_capacity(2);
        poll.add_fd(d.as_raw_fd(), true, false);
        poll.add(None);
        poll.add(PollWatch {
            fd: b.as_raw_fd(),
            readable: true,
            writable: false,
        });
        assert_eq!(poll.wait(None).unwrap(), 1);
        assert!(!poll.is_ready(0));
        assert!(poll.is_ready(1));
        assert!(!poll.is_ready(2));
    }

    #[test]
    fn the_time_ends_the_waiting() {
        let (_a, b) = UnixStream::pair().unwrap();
        let mut poll = PollSet::default();
        poll.add_fd(b.as_raw_fd(), true, false);
        assert_eq!(poll.wait(Some(Duration::from_millis(1))).unwrap(), 0);
        poll.clear();
        poll.add_fd(-1, true, false);
        assert_eq!(poll.wait(Some(Duration::ZERO)).unwrap(), 0);
    }
}
