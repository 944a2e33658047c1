//! A borrowed frame of any kind.

use crate::{CanId, Header, Kind, LengthError};
use core::fmt;

/// A frame of any kind whose payload is stored elsewhere: in a socket's buffer, a packet ring, a
/// log's line, or a controller's mailbox.
///
/// [`FrameRef::data`] has exactly [`Header::data_len`] bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct FrameRef<'a> {
    header: Header,
    data: &'a [u8],
}

impl<'a> FrameRef<'a> {
    /// Creates a view of a payload. `data` may be longer than the frame; only the frame's part is
    /// used.
    ///
    /// # Errors
    /// [`LengthError`] where `data` is shorter than the header specifies.
    pub fn new(header: Header, data: &'a [u8]) -> Result<Self, LengthError> {
        match data.get(..header.data_len()) {
            Some(data) => Ok(Self { header, data }),
            None => Err(LengthError {
                kind: header.kind(),
                len: data.len(),
            }),
        }
    }

    /// Creates a view for this crate's own frames, whose length is known to fit.
    pub(crate) const fn assume(header: Header, data: &'a [u8]) -> Self {
        Self { header, data }
    }

    /// Returns everything but the payload.
    #[must_use]
    pub const fn header(&self) -> &Header {
        &self.header
    }

    /// Returns the identifier; for XL its number is the priority.
    #[must_use]
    pub const fn id(&self) -> CanId {
        self.header.id()
    }

    /// Returns the kind of frame.
    #[must_use]
    pub const fn kind(&self) -> Kind {
        self.header.kind()
    }

    /// Returns the number of payload bytes; for a remote frame the number that it requests.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.header.len()
    }

    /// Returns whether the length is 0.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.header.is_empty()
    }

    /// Returns the payload; empty for a remote frame.
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
