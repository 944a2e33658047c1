//! Writing datagrams.

use super::message::{MessageVersion, len, size, write};
use super::{ENCAPSULATION, MAX_MESSAGES, NTSCF, NTSCF_HEADER, USER_TYPE, trail};
use crate::bus_frame::is_bus_frame;
use crate::cannelloni::MAX_DATAGRAM;
use crate::{DatagramWriter, FrameTrail, NotWritten};
use frame::{FrameRef, Kind, Nanos, dlc};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// Length of the headers of a datagram over UDP, bytes.
pub const HEADERS: usize = ENCAPSULATION + NTSCF_HEADER;

/// Writes the datagrams of one stream, as NTSCF over UDP.
#[derive(Clone, Debug)]
pub struct AcfWriter {
    stream: u64,
    version: MessageVersion,
    bus: u16,
    brief: bool,
    /// The number of the next datagram.
    numbers: Arc<AtomicU32>,
    /// Greatest length of a trail, bytes; 0: frames have none.
    trail: usize,
}

impl AcfWriter {
    /// Returns a writer of the stream with this ID, for frames of this bus, at most
    /// [`MessageVersion::last_bus`]. `brief`: without time stamps.
    #[must_use]
    pub fn new(stream: u64, version: MessageVersion, bus: u16, brief: bool) -> Self {
        Self {
            stream,
            version,
            bus,
            brief,
            numbers: Arc::default(),
            trail: 0,
        }
    }

    /// Returns the writer with the numbers of the stream's datagrams, which several writers share,
    /// one for each bus.
    #[must_use]
    pub fn numbered_by(mut self, numbers: Arc<AtomicU32>) -> Self {
        self.numbers = numbers;
        self
    }

    /// Returns the writer for frames with trails.
    #[must_use]
    pub const fn with_trails(mut self) -> Self {
        self.trail = trail::LONGEST;
        self
    }
}

/// Returns the length of the datagram before its first frame, bytes.
fn before_frames(out: &[u8]) -> usize {
    let messages = out.get(HEADERS..).unwrap_or_default();
    match messages.first() {
        Some(kind) if *kind == USER_TYPE << 1 => HEADERS + len(messages).unwrap_or(0),
        _ => HEADERS,
    }
}

impl DatagramWriter for AcfWriter {
    fn carries(&self, frame: &FrameRef<'_>) -> bool {
        let fits = self.version == MessageVersion::V2 && size(frame, self.brief) <= MAX_MESSAGES;
        is_bus_frame(frame) || frame.kind() == Kind::Xl && fits
    }

    fn push(
        &mut self,
        frame: &FrameRef<'_>,
        unix: Nanos,
        out: &mut Vec<u8>,
    ) -> Result<(), NotWritten> {
        if !self.carries(frame) {
            return Err(NotWritten::Unsupported);
        }
        let begun = out.len().max(HEADERS);
        // A long XL frame has a datagram of its own.
        let alone = begun == before_frames(out);
        let end = begun + size(frame, self.brief);
        if !alone && end > MAX_DATAGRAM {
            return Err(NotWritten::Full);
        }
        if end > HEADERS + MAX_MESSAGES {
            return Err(NotWritten::Unsupported);
        }
        if out.is_empty() {
            out.resize(HEADERS, 0);
        }
        let stamp = (!self.brief).then_some(unix);
        // An FD length that no DLC represents is padded, as on the wire.
        if frame.kind() == Kind::Fd && dlc::fd_padded(frame.len()) != frame.len() {
            if let Some(frame) = frame::Frame::from_view(*frame) {
                write(&frame.padded().view(), self.version, self.bus, stamp, out);
            }
        } else {
            write(frame, self.version, self.bus, stamp, out);
        }
        Ok(())
    }

    fn push_trail(&mut self, trail: FrameTrail<'_>, out: &mut Vec<u8>) {
        if out.is_empty() {
            out.resize(HEADERS, 0);
        }
        trail::write(trail, out);
    }

    fn room(&self, out: &[u8]) -> usize {
        // An XL frame may need a datagram of its own.
        if self.version == MessageVersion::V2 {
            return usize::from(out.is_empty());
        }
        let longest = 16 + dlc::FD_MAX + self.trail;
        MAX_DATAGRAM.saturating_sub(out.len().max(HEADERS)) / longest
    }

    fn finish(&mut self, out: &mut [u8]) {
        let len = out.len().saturating_sub(HEADERS);
        let sequence = self.numbers.fetch_add(1, Relaxed);
        if let Some(header) = out.first_chunk_mut::<HEADERS>() {
            header[..4].copy_from_slice(&sequence.to_be_bytes());
            header[4] = NTSCF;
            header[5] = 0x80 | (len >> 8) as u8 & 7;
            header[6] = len as u8;
            header[7] = sequence as u8;
            header[8..].copy_from_slice(&self.stream.to_be_bytes());
        }
    }

    fn take_back(&mut self) {
        self.numbers.fetch_sub(1, Relaxed);
    }
}
