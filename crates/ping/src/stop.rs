//! How a run is ended, from another thread.

use rustix::event::{EventfdFlags, eventfd};
use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};

/// By which a run is ended.
#[derive(Debug)]
pub struct Stop {
    /// Masters send nothing more.
    pub(crate) asked: Flag,
    /// Slaves answer nothing more.
    pub(crate) over: Flag,
}

/// Something that has happened or not, which wakes up who waits.
#[derive(Debug)]
pub(crate) struct Flag {
    set: AtomicBool,
    pub(crate) fd: OwnedFd,
}

impl Flag {
    fn new() -> io::Result<Self> {
        Ok(Self {
            set: AtomicBool::new(false),
            fd: eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?,
        })
    }

    pub(crate) fn set(&self) {
        self.set.store(true, Ordering::SeqCst);
        // It stays readable: nobody reads it.
        let _ = rustix::io::write(&self.fd, &1u64.to_ne_bytes());
    }

    pub(crate) fn is_set(&self) -> bool {
        self.set.load(Ordering::Relaxed)
    }
}

impl Stop {
    /// For one run.
    ///
    /// # Errors
    /// The process has no descriptor left.
    pub fn new() -> io::Result<Self> {
        Ok(Self {
            asked: Flag::new()?,
            over: Flag::new()?,
        })
    }

    /// Ends the run: masters still wait for the answer of the frame that they sent.
    pub fn end(&self) {
        self.asked.set();
    }
}
