//! An owned classic or FD frame.

use crate::{CanId, FrameRef, Header, Kind, LengthError, dlc, header::flags};
use core::fmt;

/// A classic or FD frame by value: 72 bytes, laid out as Linux's `struct canfd_frame`, of which
/// `struct can_frame` is the first 16 bytes. FDF in the flags distinguishes the two.
///
/// Bytes past the length are zero as long as no caller writes them.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
#[repr(C, align(8))]
pub struct Frame {
    id: CanId,
    len: u8,
    flags: u8,
    reserved: u8,
    len8_dlc: u8,
    data: [u8; dlc::FD_MAX],
}

impl Frame {
    /// Creates a classic data frame.
    ///
    /// # Errors
    /// [`LengthError`] above 8 bytes.
    pub fn classic(id: CanId, data: &[u8]) -> Result<Self, LengthError> {
        let header = Header::new(Kind::Classic, id, data.len())?;
        Ok(Self::assemble(&header, data))
    }

    /// Creates a classic remote frame that requests `len` bytes.
    ///
    /// # Errors
    /// [`LengthError`] above 8 bytes.
    pub fn remote(id: CanId, len: usize) -> Result<Self, LengthError> {
        let header = Header::new(Kind::Classic, id.with_rtr(), len)?;
        Ok(Self::assemble(&header, &[]))
    }

    /// Creates an FD frame; `flags` are [`flags::BRS`] and [`flags::ESI`].
    ///
    /// # Errors
    /// [`LengthError`] above 64 bytes.
    pub fn fd(id: CanId, flags: u8, data: &[u8]) -> Result<Self, LengthError> {
        let header = Header::new(Kind::Fd, id, data.len())?.with_flags(flags);
        Ok(Self::assemble(&header, data))
    }

    /// Returns the owned form of a frame; `None` for an XL frame.
    #[must_use]
    pub fn from_view(view: FrameRef<'_>) -> Option<Self> {
        (view.kind() != Kind::Xl).then(|| Self::assemble(view.header(), view.data()))
    }

    fn assemble(header: &Header, data: &[u8]) -> Self {
        let mut frame = Self {
            id: header.id(),
            len: header.len() as u8,
            flags: match header.kind() {
                Kind::Fd => header.flags() | flags::FDF,
                _ => 0,
            },
            reserved: 0,
            len8_dlc: header.len8_dlc(),
            data: [0; dlc::FD_MAX],
        };
        frame.data[..data.len()].copy_from_slice(data);
        frame
    }

    /// Returns the identifier.
    #[must_use]
    pub const fn id(&self) -> CanId {
        self.id
    }

    /// Returns the kind: classic or FD.
    #[must_use]
    pub const fn kind(&self) -> Kind {
        if self.flags & flags::FDF != 0 {
            Kind::Fd
        } else {
            Kind::Classic
        }
    }

    /// Returns the number of payload bytes; for a remote frame the number that it requests.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.len as usize
    }

    /// Returns whether the length is 0.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns everything but the payload.
    #[must_use]
    pub fn header(&self) -> Header {
        // `len` was checked when the frame was created and cannot be changed afterwards.
        Header::new(self.kind(), self.id, self.len as usize)
            .unwrap_or_default()
            .with_flags(self.flags)
            .with_len8_dlc(self.len8_dlc)
    }

    /// Returns the payload; empty for a remote frame.
    #[must_use]
    pub fn data(&self) -> &[u8] {
        let remote = self.kind() == Kind::Classic && self.id.is_rtr();
        &self.data[..if remote { 0 } else { self.len as usize }]
    }

    /// Returns the payload for writing.
    #[must_use]
    pub fn data_mut(&mut self) -> &mut [u8] {
        let remote = self.kind() == Kind::Classic && self.id.is_rtr();
        &mut self.data[..if remote { 0 } else { self.len as usize }]
    }

    /// Returns the same frame with a raw DLC of 9–15 (classic, 8 bytes; see
    /// [`Header::with_len8_dlc`]).
    #[must_use]
    pub fn with_len8_dlc(mut self, dlc: u8) -> Self {
        self.len8_dlc = self.header().with_len8_dlc(dlc).len8_dlc();
        self
    }

    /// Returns the frame as it is on the wire: an FD frame whose length no DLC represents (9, for
    /// example) is padded with zeros up to the next length that a DLC represents, as by Linux
    /// drivers; any other frame is unchanged.
    #[inline]
    #[must_use]
    pub fn padded(mut self) -> Self {
        let len = usize::from(self.len);
        // Up to this length, each length has its own DLC.
        if len > dlc::CLASSIC_MAX && self.kind() == Kind::Fd {
            let padded = dlc::fd_padded(len);
            if let Some(rest) = self.data.get_mut(len..padded) {
                rest.fill(0);
            }
            self.len = padded as u8;
        }
        self
    }

    /// Returns the frame as a view.
    #[must_use]
    pub fn view(&self) -> FrameRef<'_> {
        FrameRef::assume(self.header(), self.data())
    }
}

impl fmt::Debug for Frame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.view(), f)
    }
}

impl<'a> From<&'a Frame> for FrameRef<'a> {
    fn from(frame: &'a Frame) -> Self {
        frame.view()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    #[test]
    fn every_length_is_padded_to_the_next_that_a_dlc_can_state() {
        let id = CanId::from_raw(0x123);
        // ISO 11898-1, table of DLC values.
        let lengths = [0, 1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 20, 24, 32, 48, 64];
        for len in 0..=64 {
            let bytes: Vec<u8> = (1..=len).collect();
            let frame = Frame::fd(id, flags::BRS, &bytes).unwrap();
            let padded = frame.padded();
            let next = *lengths.iter().find(|next| **next >= len).unwrap();
            let mut expected = bytes.clone();
            expected.resize(usize::from(next), 0);
            assert_eq!(padded.data(), expected);
            assert_eq!((padded.id(), padded.header().flags()), (id, flags::BRS));
            assert_eq!(padded.padded(), padded);
        }
        let classic = Frame::classic(id, &[1; 7]).unwrap();
        assert_eq!(classic.padded(), classic);
        let remote = Frame::remote(id, 8).unwrap().with_len8_dlc(9);
        assert_eq!(remote.padded(), remote);
    }
}
