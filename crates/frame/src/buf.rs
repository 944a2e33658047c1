//! An owned frame of any kind.

use crate::{FrameRef, Header, Kind, LengthError, dlc};
use core::fmt;

/// A buffer for a frame of any kind, 2 KiB. It is kept and reused, not passed by value: a parser
/// fills it, and modifications are made in it.
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
    /// Creates a buffer that holds an empty classic frame with ID 0.
    #[must_use]
    pub fn new() -> Self {
        Self {
            header: Header::default(),
            data: [0; dlc::XL_MAX],
        }
    }

    /// Copies a frame. Bytes past its length are zeroed up to the kind's maximum for classic and
    /// FD, because modifications see the whole 8- or 64-byte buffer.
    pub fn set(&mut self, frame: FrameRef<'_>) {
        let n = frame.data().len();
        self.header = *frame.header();
        self.data[..n].copy_from_slice(frame.data());
        let end = frame.kind().max_len().min(dlc::FD_MAX).max(n);
        self.data[n..end].fill(0);
    }

    /// Sets the header and zeroes the payload.
    pub fn reset(&mut self, header: Header) {
        self.header = header;
        self.data[..header.kind().max_len()].fill(0);
    }

    /// Returns everything but the payload.
    #[must_use]
    pub const fn header(&self) -> &Header {
        &self.header
    }

    /// Replaces the header and leaves the payload bytes as they are.
    pub fn set_header(&mut self, header: Header) {
        self.header = header;
    }

    /// Returns the frame's whole buffer: 8, 64 or 2048 bytes by its kind, including those past the
    /// length.
    #[must_use]
    pub fn buffer(&self) -> &[u8] {
        &self.data[..self.header.kind().max_len()]
    }

    /// Returns the frame's whole buffer for writing.
    #[must_use]
    pub fn buffer_mut(&mut self) -> &mut [u8] {
        &mut self.data[..self.header.kind().max_len()]
    }

    /// Changes the length; the buffer stays as it is.
    ///
    /// # Errors
    /// [`LengthError`] where the kind cannot carry this length.
    pub fn set_len(&mut self, len: usize) -> Result<(), LengthError> {
        self.header = self.header.with_len(len)?;
        Ok(())
    }

    /// Returns the buffer for the payload of a frame of a kind, for a parser that does not know the
    /// length in advance.
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

    /// Returns the frame as a view.
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
