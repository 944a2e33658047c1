//! The frames that left lately by any tunnel of a gateway. Those that come in again by a tunnel may
//! go round in a loop, of which a part is a bus or a program that keeps no trails.

use super::trails::place_hash;
use frame::{FrameRef, Nanos};
use std::sync::{Arc, Mutex, PoisonError};

/// Number of frames that are remembered.
const PLACES: usize = 1024;

/// Time for which they are remembered, ns: longer than networks delay datagrams.
const MEMORY: Nanos = 1_000_000_000;

/// Number of frames within [`MEMORY`] that are a sign of a loop. An ID has one sender, so equal
/// frames in both directions are rare: remote requests, and diagnostic requests of two testers.
const ALARM: u32 = 16;

#[derive(Clone, Copy)]
struct SentFrame {
    hash: u64,
    at: Nanos,
    port: usize,
}

struct SentBook {
    frames: Vec<Option<SentFrame>>,
    names: Vec<String>,
}

/// The whole table, so that the first frame does not wait for it.
impl Default for SentBook {
    fn default() -> Self {
        Self {
            frames: vec![None; PLACES],
            names: Vec::new(),
        }
    }
}

/// The frames that left lately.
#[derive(Clone, Default)]
pub(super) struct SentFrames(Arc<Mutex<SentBook>>);

impl SentFrames {
    /// Returns the number of a port with this name.
    pub(super) fn port(&self, name: &str) -> usize {
        let mut book = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = book.names.iter().position(|known| known == name);
        known.unwrap_or_else(|| {
            book.names.push(name.to_owned());
            book.names.len() - 1
        })
    }

    /// Records that a frame leaves by a port.
    pub(super) fn record(&self, port: usize, frame: &FrameRef<'_>, now: Nanos) {
        let hash = content_hash(frame);
        let mut book = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        book.frames[hash as usize % PLACES] = Some(SentFrame {
            hash,
            at: now,
            port,
        });
    }

    /// Returns the port by which an equal frame left lately.
    pub(super) fn find(&self, frame: &FrameRef<'_>, now: Nanos) -> Option<usize> {
        let hash = content_hash(frame);
        let book = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let sent = book.frames[hash as usize % PLACES]?;
        let is_equal = sent.hash == hash && now.saturating_sub(sent.at) < MEMORY;
        is_equal.then_some(sent.port)
    }

    /// Returns the name of a port.
    pub(super) fn name(&self, port: usize) -> String {
        let book = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        book.names.get(port).cloned().unwrap_or_default()
    }
}

/// Returns a number for the identifier, the kind and the payload of a frame.
fn content_hash(frame: &FrameRef<'_>) -> u64 {
    let id = u64::from(frame.id().raw()) << 8 | frame.kind() as u64;
    place_hash(frame.data()) ^ id.wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

/// Raises an alarm when many frames come back within a short time.
#[derive(Default)]
pub(super) struct LoopAlarm {
    since: Nanos,
    count: u32,
    raised: Vec<usize>,
    /// Number of those in `raised` that were told.
    told: usize,
}

impl LoopAlarm {
    /// Counts a frame that had left by a port.
    pub(super) fn count(&mut self, port: usize, now: Nanos) {
        if now.saturating_sub(self.since) >= MEMORY {
            (self.since, self.count) = (now, 0);
        }
        self.count += 1;
        if self.count >= ALARM && !self.raised.contains(&port) {
            self.raised.push(port);
        }
    }

    /// Returns the ports by which the frames of alarms had left.
    pub(super) fn raised(&self) -> &[usize] {
        &self.raised
    }

    /// Returns whether there is an alarm for [`LoopAlarm::take`].
    pub(super) const fn is_new(&self) -> bool {
        self.told < self.raised.len()
    }

    /// Returns the port of the next alarm, each once.
    pub(super) fn take(&mut self) -> Option<usize> {
        let port = *self.raised.get(self.told)?;
        self.told += 1;
        Some(port)
    }
}
