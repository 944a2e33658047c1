//! The ring of a client, and the ports whose frames are in it.

use super::ring::{FrameRing, WORDS};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The link between the worker and one client that watches.
pub(crate) struct WatchChannel {
    pub(crate) ring: FrameRing,
    /// The names of the ports, by the index that is in the ring. Only the control thread locks it.
    names: Mutex<Vec<String>>,
    /// The client has gone.
    closed: AtomicBool,
}

impl WatchChannel {
    pub(crate) fn new() -> Self {
        Self {
            ring: FrameRing::new(WORDS),
            names: Mutex::default(),
            closed: AtomicBool::new(false),
        }
    }

    /// Returns the index of a port; a name that is not known yet gets one. `None` if there have
    /// been more names than an index can have.
    pub(crate) fn port(&self, name: &str) -> Option<u16> {
        let mut names = self.names();
        let known = names.iter().position(|known| known == name);
        let at = u16::try_from(known.unwrap_or(names.len())).ok()?;
        if known.is_none() {
            names.push(name.to_owned());
        }
        Some(at)
    }

    pub(crate) fn names(&self) -> MutexGuard<'_, Vec<String>> {
        self.names.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Relaxed)
    }
}
