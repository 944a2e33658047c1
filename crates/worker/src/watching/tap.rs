//! The worker's end: a tap at a half of a port.

use super::MAX_WATCHERS;
use super::channel::WatchChannel;
use super::ring::RingRecord;
use engine::wrap::HalfTap;
use engine::{Accepted, OutgoingFrame, ReceivedFrame, StampSource, TransmitRefusal};
use frame::{FrameRef, Nanos};
use linux::can::layout::{XL_SIZE, encode};
use std::sync::Arc;

/// Shows the frames of a half to the clients that watch its port.
pub(super) struct PortTap {
    watchers: Vec<PortWatcher>,
    /// A frame in the kernel's layout, to be copied into each ring.
    buffer: Box<[u8]>,
}

struct PortWatcher {
    channel: Arc<WatchChannel>,
    port: u16,
}

impl PortTap {
    /// Creates a tap without clients. It has room for as many as there can be.
    pub(super) fn new() -> Self {
        Self {
            watchers: Vec::with_capacity(MAX_WATCHERS),
            buffer: vec![0; XL_SIZE].into_boxed_slice(),
        }
    }

    /// Adds a client; nothing is allocated. One that watches the port already stays as it is.
    pub(super) fn add(&mut self, channel: &Arc<WatchChannel>, port: u16) {
        let is_known = |known: &PortWatcher| Arc::ptr_eq(&known.channel, channel);
        if !self.watchers.iter().any(is_known) && self.watchers.len() < self.watchers.capacity() {
            let channel = Arc::clone(channel);
            self.watchers.push(PortWatcher { channel, port });
        }
    }

    /// Removes a client. Its channel is not freed: the control thread has it, too.
    pub(super) fn remove(&mut self, channel: &Arc<WatchChannel>) {
        let is_other = |known: &PortWatcher| !Arc::ptr_eq(&known.channel, channel);
        self.watchers.retain(is_other);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.watchers.is_empty()
    }

    fn show(&mut self, stamp: Nanos, is_sent: bool, frame: FrameRef<'_>) {
        let Some(length) = encode(frame, &mut self.buffer) else {
            return;
        };
        let bytes = self.buffer.get(..length).unwrap_or_default();
        for watcher in &self.watchers {
            let record = RingRecord {
                stamp,
                port: watcher.port,
                is_sent,
            };
            watcher.channel.ring.push(record, bytes);
        }
    }
}

impl HalfTap for PortTap {
    fn came(&mut self, now: Nanos, received: &ReceivedFrame<'_>) {
        // Other sources have epochs of their own, and clients compare ports with one another.
        let stamp = match received.stamp.source {
            StampSource::Kernel => received.stamp.ns,
            _ => now,
        };
        self.show(stamp, false, received.frame);
    }

    fn offered(
        &mut self,
        now: Nanos,
        outgoing: &OutgoingFrame<'_>,
        answer: Result<Accepted, TransmitRefusal>,
    ) {
        if answer.is_ok() {
            self.show(now, true, outgoing.frame);
        }
    }
}
