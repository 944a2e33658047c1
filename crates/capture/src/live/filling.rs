//! Puts frames into chunks, and chunks into the queue.

use super::waiting::HeldFrame;
use crate::chunk::{Chunk, FrameGap, LossPlace, RecordedFrame};
use crate::counts::CaptureCounts;
use crate::queue::{ChunkSender, WriterMessage};
use frame::Nanos;
use linux::can::layout::XL_SIZE;
use std::time::{Duration, Instant};

/// The chunk that is being filled, and the counts.
pub(super) struct FillingChunk {
    pub(super) counts: CaptureCounts,
    sender: Option<ChunkSender>,
    chunk: Option<Chunk>,
    /// Frames lost since the last chunk that was sent, by the index of the interface.
    missing: Vec<u64>,
    any_missing: bool,
    /// The stamp of the last frame.
    last: Nanos,
    /// Number of frames that may still come; further ones came after the end.
    left: u64,
    start: Instant,
}

impl FillingChunk {
    pub(super) fn new(frames: Option<u64>, start: Instant) -> Self {
        Self {
            counts: CaptureCounts::default(),
            sender: None,
            chunk: None,
            missing: Vec::new(),
            any_missing: false,
            last: 0,
            left: frames.unwrap_or(u64::MAX),
            start,
        }
    }

    /// Sets the queue to the writer.
    pub(super) fn start(&mut self, sender: ChunkSender) {
        self.sender = Some(sender);
    }

    /// Returns the time since the start of the recording.
    pub(super) fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }

    /// Returns whether the requested number of frames has come.
    pub(super) const fn is_full(&self) -> bool {
        self.left == 0
    }

    /// Notifies the writer of SIGUSR1; returns false if the queue is full.
    pub(super) fn signal(&self, stamp: Nanos) -> bool {
        let Some(sender) = &self.sender else {
            return true;
        };
        sender.send(WriterMessage::Signal(stamp)).is_ok()
    }

    /// Takes a frame.
    #[inline]
    pub(super) fn take(&mut self, record: &RecordedFrame<'_>) {
        if self.left == 0 {
            return;
        }
        if record.bytes.len() > XL_SIZE {
            // No CAN frame has this length; a chunk has no room for it.
            self.counts.malformed += 1;
            return;
        }
        self.left -= 1;
        self.last = record.stamp;
        let counts = self.counts.at(record.interface);
        counts.received += 1;
        // Error and remote frames have payload bytes that are not transmitted on the bus; they are
        // counted nevertheless.
        counts.payload_bytes += u64::from(payload(record.bytes));
        if self.chunk.as_ref().is_none_or(|chunk| !chunk.has_room()) && !self.next_chunk() {
            self.counts.at(record.interface).lost_queue += 1;
            self.note_missing(record.interface);
            return;
        }
        if let Some(chunk) = &mut self.chunk {
            chunk.push(record);
        }
    }

    /// Takes a frame that has waited, and the loss before it.
    pub(super) fn take_held(&mut self, held: &HeldFrame) {
        if held.lost > 0 {
            self.gap(Some(held.interface), held.lost, LossPlace::Device);
        }
        self.take(&held.record());
    }

    /// Replaces the full chunk by an empty one; returns false if there is none.
    #[cold]
    fn next_chunk(&mut self) -> bool {
        self.hand_over();
        if self.chunk.is_some() {
            return false;
        }
        self.chunk = self.sender.as_mut().and_then(ChunkSender::chunk);
        if self.chunk.is_none() {
            return false;
        }
        if self.any_missing {
            self.any_missing = false;
            let missing = std::mem::take(&mut self.missing);
            for (place, frames) in missing.iter().enumerate().filter(|(_, n)| **n > 0) {
                self.gap(Some(place as u16), *frames, LossPlace::Queue);
            }
        }
        true
    }

    fn note_missing(&mut self, place: u16) {
        let place = usize::from(place);
        if self.missing.len() <= place {
            self.missing.resize(place + 1, 0);
        }
        if let Some(count) = self.missing.get_mut(place) {
            *count += 1;
        }
        self.any_missing = true;
    }

    /// Records that frames are missing before the next one.
    pub(super) fn gap(&mut self, interface: Option<u16>, frames: u64, at: LossPlace) {
        if self.chunk.is_none() {
            self.chunk = self.sender.as_mut().and_then(ChunkSender::chunk);
        }
        if let Some(chunk) = &mut self.chunk {
            chunk.push_gap(&FrameGap {
                stamp: self.last,
                interface,
                frames,
                at,
            });
        }
    }

    /// Sends the filled chunk to the writer.
    pub(super) fn hand_over(&mut self) {
        let (Some(sender), Some(chunk)) = (&self.sender, self.chunk.take()) else {
            return;
        };
        if chunk.is_empty() {
            self.chunk = Some(chunk);
            return;
        }
        let now = self.start.elapsed().as_nanos() as u64;
        if let Err(WriterMessage::Chunk(chunk, _)) = sender.send(WriterMessage::Chunk(chunk, now)) {
            // The writer has ended prematurely.
            for entry in chunk.entries() {
                if let crate::ChunkEntry::Frame(record) = entry {
                    self.counts.at(record.interface).lost_queue += 1;
                }
            }
        }
    }
}

/// Returns the number of payload bytes according to the frame's header.
#[inline]
fn payload(bytes: &[u8]) -> u16 {
    match bytes {
        [_, _, _, _, fifth, _, low, high, ..] if fifth & 0x80 != 0 => {
            u16::from_ne_bytes([*low, *high])
        }
        [_, _, _, _, len, ..] => u16::from(*len),
        _ => 0,
    }
}
