//! Writing datagrams.

use super::message::{MessageVersion, len, size, write};
use super::{
    ENCAPSULATION, MAX_MESSAGES, NTSCF, NTSCF_HEADER, TIME_UNCERTAIN, TIME_VALID, TSCF,
    TSCF_HEADER, USER_TYPE, trail,
};
use crate::bus_frame::is_bus_frame;
use crate::cannelloni::MAX_DATAGRAM;
use crate::{DatagramWriter, FrameTrail, NotWritten, PresentationTime};
use frame::{FrameRef, Kind, Nanos, dlc};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// Length of the headers of an NTSCF datagram over UDP, bytes.
pub const HEADERS: usize = ENCAPSULATION + NTSCF_HEADER;

/// Length of the headers of a TSCF datagram over UDP, bytes.
pub const TIMED_HEADERS: usize = ENCAPSULATION + TSCF_HEADER;

/// Writes the datagrams of one stream over UDP, as NTSCF or as TSCF.
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
    /// Length of the headers of a datagram, bytes.
    headers: usize,
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
            headers: HEADERS,
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

    /// Returns the writer for datagrams with presentation times: TSCF.
    #[must_use]
    pub const fn with_presentation(mut self) -> Self {
        self.headers = TIMED_HEADERS;
        self
    }

    /// Returns the length of the datagram before its first frame, bytes.
    fn before_frames(&self, out: &[u8]) -> usize {
        let messages = out.get(self.headers..).unwrap_or_default();
        match messages.first() {
            Some(kind) if *kind == USER_TYPE << 1 => self.headers + len(messages).unwrap_or(0),
            _ => self.headers,
        }
    }

    const fn is_timed(&self) -> bool {
        self.headers == TIMED_HEADERS
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
        let begun = out.len().max(self.headers);
        // A long XL frame has a datagram of its own.
        let alone = begun == self.before_frames(out);
        let end = begun + size(frame, self.brief);
        if !alone && end > MAX_DATAGRAM {
            return Err(NotWritten::Full);
        }
        if end > self.headers + MAX_MESSAGES {
            return Err(NotWritten::Unsupported);
        }
        if out.is_empty() {
            out.resize(self.headers, 0);
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
            out.resize(self.headers, 0);
        }
        trail::write(trail, out);
    }

    fn room(&self, out: &[u8]) -> usize {
        // An XL frame may need a datagram of its own.
        if self.version == MessageVersion::V2 {
            return usize::from(out.is_empty());
        }
        let longest = 16 + dlc::FD_MAX + self.trail;
        MAX_DATAGRAM.saturating_sub(out.len().max(self.headers)) / longest
    }

    fn finish(&mut self, out: &mut [u8]) {
        let len = out.len().saturating_sub(self.headers);
        let sequence = self.numbers.fetch_add(1, Relaxed);
        let is_timed = self.is_timed();
        if let Some(header) = out.get_mut(..self.headers) {
            let (number, header) = header.split_at_mut(ENCAPSULATION);
            number.copy_from_slice(&sequence.to_be_bytes());
            let [high, low] = (len as u16).to_be_bytes();
            if is_timed {
                header[..4].copy_from_slice(&[TSCF, 0x80, sequence as u8, 0]);
                header[12..].copy_from_slice(&[0, 0, 0, 0, 0, 0, 0, 0, high, low, 0, 0]);
            } else {
                header[..4].copy_from_slice(&[NTSCF, 0x80 | high & 7, low, sequence as u8]);
            }
            header[4..12].copy_from_slice(&self.stream.to_be_bytes());
        }
    }

    fn present(&mut self, at: PresentationTime, out: &mut [u8]) {
        if !self.is_timed() {
            return;
        }
        if let Some(header) = out.get_mut(ENCAPSULATION..self.headers) {
            header[1] |= TIME_VALID;
            header[3] = if at.is_uncertain { TIME_UNCERTAIN } else { 0 };
            header[12..16].copy_from_slice(&at.low.to_be_bytes());
        }
    }

    fn take_back(&mut self) {
        self.numbers.fetch_sub(1, Relaxed);
    }
}
