//! A borrowed frame of any kind.

use crate::{CanId, Header, Kind, LengthError};
use core::fmt;

/// A frame of any kind whose payload lives elsewhere: in a socket's buffer, a packet ring, a
/// log's line, a controller's mailbox.
///
/// [`FrameRef::data`] has exactly [`Header::data_len`] bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct FrameRef<'a> {
    header: Header,
    data: &'a [u8],
}

impl<'a> FrameRef<'a> {
    /// A view on a payload. `data` may be longer than the frame; only the frame's part is seen.
    ///
    /// # Errors
    /// [`LengthError`] where `data` is shorter than the header says.
    pub fn new(header: Header, data: &'a [u8]) -> Result<Self, LengthError> {
        match data.get(..header.data_len()) {
            Some(data) => Ok(Self { header, data }),
            None => Err(LengthError {
                kind: header.kind(),
                len: data.len(),
            }),
        }
    }

    /// For this crate's own frames, whose length is known to fit.
    pub(crate) const fn assume(header: Header, data: &'a [u8]) -> Self {
        Self { header, data }
    }

    /// Everything but the payload.
    #[must_use]
    pub const fn header(&self) -> &Header {
        &self.header
    }

    /// The identifier; for XL its number is the priority.
    #[must_use]
    pub const fn id(&self) -> CanId {
        self.header.id()
    }

    /// The kind of frame.
    #[must_use]
    pub const fn kind(&self) -> Kind {
        self.header.kind()
    }

    /// Payload bytes; for a remote frame the bytes it asks for.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.header.len()
    }

    /// No payload?
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.header.is_empty()
    }

    /// The payload; empty for a remote frame.
    #[must_use]
    pub const fn data(&self) -> &'a [u8] {
        self.data
    }
}

impl fmt::Debug for FrameRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} {:?} len {} flags {:X} [",
            self.kind(),
            self.id(),
            self.len(),
            self.header.flags()
        )?;
        for byte in self.data {
            write!(f, "{byte:02X}")?;
        }
        f.write_str("]")
    }
}
