//! Ending a run from another thread.

use rustix::event::{EventfdFlags, eventfd};
use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};

/// A handle that ends a run.
#[derive(Debug)]
pub(crate) struct StopHandle {
    /// Set when masters must send nothing more.
    pub(crate) asked: WakeFlag,
    /// Set when slaves must answer nothing more.
    pub(crate) over: WakeFlag,
}

/// A flag that wakes up the threads that wait for it.
#[derive(Debug)]
pub(crate) struct WakeFlag {
    set: AtomicBool,
    pub(crate) fd: OwnedFd,
}

impl WakeFlag {
    fn new() -> io::Result<Self> {
        Ok(Self {
            set: AtomicBool::new(false),
            fd: eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?,
        })
    }

    pub(crate) fn set(&self) {
        self.set.store(true, Ordering::SeqCst);
        // The eventfd stays readable: no thread reads it.
        let _ = rustix::io::write(&self.fd, &1u64.to_ne_bytes());
    }

    pub(crate) fn is_set(&self) -> bool {
        self.set.load(Ordering::Relaxed)
    }
}

impl StopHandle {
    /// Creates a handle for one run.
    ///
    /// # Errors
    /// The process has no descriptor left.
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self {
            asked: WakeFlag::new()?,
            over: WakeFlag::new()?,
        })
    }

    /// Ends the run: masters still wait for the answer of the frame that they sent.
    pub(crate) fn end(&self) {
        self.asked.set();
    }
}
