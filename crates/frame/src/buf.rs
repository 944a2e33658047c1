//! An owned frame of any kind.

use crate::{FrameRef, Header, Kind, LengthError, dlc};
use core::fmt;

/// Room for a frame of any kind, 2 KiB. Kept and reused, not passed by value: a parser fills
/// it, a modification works in it.
#[derive(Clone)]
pub struct FrameBuf {
    header: Header,
    data: [u8; dlc::XL_MAX],
}

impl Default for FrameBuf {
    fn default() -> Self {
        Self::new()
    }
}

impl FrameBuf {
    /// A buffer that holds an empty classic frame with ID 0.
    #[must_use]
    pub fn new() -> Self {
        Self {
            header: Header::default(),
            data: [0; dlc::XL_MAX],
        }
    }

    /// Takes over a frame. Bytes past its length are zeroed up to the kind's maximum for classic
    /// and FD, because modifications see the whole 8- or 64-byte buffer.
    pub fn set(&mut self, frame: FrameRef<'_>) {
        let n = frame.data().len();
        self.header = *frame.header();
        self.data[..n].copy_from_slice(frame.data());
        let end = frame.kind().max_len().min(dlc::FD_MAX).max(n);
        self.data[n..end].fill(0);
    }

    /// Takes over a header and zeroes the payload.
    pub fn reset(&mut self, header: Header) {
        self.header = header;
        self.data[..header.kind().max_len()].fill(0);
    }

    /// Everything but the payload.
    #[must_use]
    pub const fn header(&self) -> &Header {
        &self.header
    }

    /// Puts another header over the same payload bytes.
    pub fn set_header(&mut self, header: Header) {
        self.header = header;
    }

    /// The frame's whole buffer: 8, 64 or 2048 bytes by its kind, those past the length too.
    #[must_use]
    pub fn buffer(&self) -> &[u8] {
        &self.data[..self.header.kind().max_len()]
    }

    /// The frame's whole buffer, to be written.
    #[must_use]
    pub fn buffer_mut(&mut self) -> &mut [u8] {
        &mut self.data[..self.header.kind().max_len()]
    }

    /// Changes the length; the buffer stays as it is.
    ///
    /// # Errors
    /// [`LengthError`] where the kind cannot carry it.
    pub fn set_len(&mut self, len: usize) -> Result<(), LengthError> {
        self.header = self.header.with_len(len)?;
        Ok(())
    }

    /// Room for the payload of a frame of a kind, for a parser that learns the length on the
    /// way.
    pub(crate) fn room_mut(&mut self, kind: Kind) -> &mut [u8] {
        &mut self.data[..kind.max_len()]
    }

    /// Zeroes the buffer of a kind past `len`, as [`FrameBuf::set`] does.
    pub(crate) fn zero_past(&mut self, kind: Kind, len: usize) {
        let end = kind.max_len().min(dlc::FD_MAX);
        if let Some(rest) = self.data.get_mut(len..end) {
            rest.fill(0);
        }
    }

    /// The frame as a view.
    #[must_use]
    pub fn view(&self) -> FrameRef<'_> {
        FrameRef::assume(self.header, &self.data[..self.header.data_len()])
    }
}

impl fmt::Debug for FrameBuf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.view(), f)
    }
}
