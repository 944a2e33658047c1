//! The ring of a client, and the ports whose frames are in it.

use super::ring::{FrameRing, RING_WORDS};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The link between the worker and one client that watches.
pub struct WatchChannel {
    /// The frames that pass, for one client.
    pub ring: FrameRing,
    /// The names of the ports, by the index that is in the ring. Only the control thread locks it.
    names: Mutex<Vec<String>>,
    /// The client has gone.
    closed: AtomicBool,
}

impl Default for WatchChannel {
    fn default() -> Self {
        Self::new()
    }
}

impl WatchChannel {
    /// Creates a channel without ports and frames.
    pub fn new() -> Self {
        Self {
            ring: FrameRing::new(RING_WORDS),
            names: Mutex::default(),
            closed: AtomicBool::new(false),
        }
    }

    /// Returns the index of a port; a name that is not known yet gets one. `None` if there have
    /// been more names than an index can have.
    pub fn port(&self, name: &str) -> Option<u16> {
        let mut names = self.names();
        let known = names.iter().position(|known| known == name);
        let at = u16::try_from(known.unwrap_or(names.len())).ok()?;
        if known.is_none() {
            names.push(name.to_owned());
        }
        Some(at)
    }

    /// Returns the names of the ports, by their indices.
    pub fn names(&self) -> MutexGuard<'_, Vec<String>> {
        self.names.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that the client has gone.
    pub fn close(&self) {
        self.closed.store(true, Ordering::Relaxed);
    }

    /// Returns whether the client has gone.
    pub fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Relaxed)
    }
}
