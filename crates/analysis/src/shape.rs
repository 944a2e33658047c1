//! The known properties of a message's frames.

use frame::{Frame, Header, Kind, LengthError, dlc, flags};

/// All frames that a message can send: one header, and a payload of which some bits are known. The
/// header has the length of the longest ones.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FrameShape {
    header: Header,
    value: [u8; dlc::FD_MAX],
    known: [u8; dlc::FD_MAX],
    /// The length of the shortest frames, in bytes.
    least_len: usize,
}

/// The reason why a frame has no shape: no bus in this project carries it.
#[derive(thiserror::Error, Clone, Copy, PartialEq, Eq, Debug)]
pub enum ShapeError {
    /// CAN XL.
    #[error("an XL frame: its length is not calculated")]
    Xl,
    /// An error frame of SocketCAN.
    #[error("an error frame of a controller, which is never on a bus")]
    ErrorFrame,
}

impl FrameShape {
    /// Returns the shape of this frame only.
    ///
    /// # Errors
    /// [`ShapeError::ErrorFrame`]
    pub fn exact(frame: &Frame) -> Result<Self, ShapeError> {
        let frame = frame.padded();
        let mut value = [0; dlc::FD_MAX];
        let bytes = frame.data();
        for (to, from) in value.iter_mut().zip(bytes) {
            *to = *from;
        }
        Self::masked(frame.header(), value, [0xFF; dlc::FD_MAX])
    }

    /// Returns a shape with any payload.
    ///
    /// # Errors
    /// [`ShapeError`]
    pub fn any(header: Header) -> Result<Self, ShapeError> {
        Self::masked(header, [0; dlc::FD_MAX], [0; dlc::FD_MAX])
    }

    /// Returns a shape in which payload bits that are 1 in `known` are as in `value`; the others
    /// are arbitrary.
    ///
    /// An FD length that no DLC represents is padded with zeros, as Linux drivers do
    /// ([`Frame::padded`]).
    ///
    /// # Errors
    /// [`ShapeError`]
    pub fn masked(
        header: Header,
        mut value: [u8; dlc::FD_MAX],
        mut known: [u8; dlc::FD_MAX],
    ) -> Result<Self, ShapeError> {
        match header.kind() {
            Kind::Xl => return Err(ShapeError::Xl),
            _ if header.id().is_err() => return Err(ShapeError::ErrorFrame),
            _ => {}
        }
        let len = header.data_len();
        for (value, known) in value.iter_mut().zip(&mut known).skip(len) {
            (*value, *known) = (0, 0xFF);
        }
        for (value, known) in value.iter_mut().zip(&known) {
            *value &= known;
        }
        Ok(Self {
            header,
            value,
            known,
            least_len: len,
        })
    }

    /// Returns the same frames and shorter ones, down to this length.
    #[must_use]
    pub fn or_shorter(self, len: usize) -> Self {
        Self {
            least_len: self.least_len.min(len),
            ..self
        }
    }

    /// Returns the length of the shortest frames, in bytes.
    #[must_use]
    pub const fn least_len(&self) -> usize {
        self.least_len
    }

    /// Returns the shape of the shortest frames, of which no payload is known; `None` if all have
    /// one length.
    #[must_use]
    pub fn shortest(&self) -> Option<Self> {
        if self.least_len >= self.header.data_len() {
            return None;
        }
        let header = Header::new(self.header.kind(), self.header.id(), self.least_len).ok()?;
        Self::any(header.with_flags(self.header.flags())).ok()
    }

    /// Returns everything but the payload.
    #[must_use]
    pub const fn header(&self) -> &Header {
        &self.header
    }

    /// Returns the number of payload bytes on the wire.
    #[must_use]
    pub fn wire_len(&self) -> usize {
        let len = self.header.data_len();
        if self.header.kind() == Kind::Fd {
            dlc::fd_padded(len)
        } else {
            len
        }
    }

    /// Returns whether every bit is known.
    #[must_use]
    pub fn is_exact(&self) -> bool {
        self.known.iter().all(|&byte| byte == 0xFF)
    }

    /// Returns one of its frames: bits that are not known are 0.
    ///
    /// # Errors
    /// Never in practice: the length was checked when the header was made.
    pub fn example(&self) -> Result<Frame, LengthError> {
        self.filled(&[0; dlc::FD_MAX])
    }

    /// Returns whether a byte of the payload can have this value where `mask` has ones. False past
    /// the end of the payload.
    #[must_use]
    pub fn may_have(&self, at: usize, value: u8, mask: u8) -> bool {
        let both = self.value.get(at).zip(self.known.get(at));
        let there = at < self.header.data_len();
        there && both.is_some_and(|(ours, known)| (ours ^ value) & mask & known == 0)
    }

    /// Returns whether no bit of the payload is known.
    #[must_use]
    pub(crate) fn is_free(&self) -> bool {
        let payload = self.known.iter().take(self.wire_len());
        payload.copied().all(|byte| byte == 0)
    }

    /// Returns bit `index` of the payload on the wire, from 0, the highest bit of a byte first;
    /// `None` where it can be either.
    pub(crate) fn bit(&self, index: usize) -> Option<bool> {
        let bit = 0x80_u8 >> (index % 8);
        let byte = |bytes: &[u8; dlc::FD_MAX]| bytes.get(index / 8).copied().unwrap_or(0);
        (byte(&self.known) & bit != 0).then_some(byte(&self.value) & bit != 0)
    }

    /// Returns the frame with this payload: the known bits of the shape's payload stay.
    ///
    /// # Errors
    /// Never in practice: the length was checked when the header was made.
    pub(crate) fn filled(&self, payload: &[u8; dlc::FD_MAX]) -> Result<Frame, LengthError> {
        let mut bytes = [0; dlc::FD_MAX];
        for (i, byte) in bytes.iter_mut().enumerate() {
            *byte = self.value[i] | payload[i] & !self.known[i];
        }
        let len = self.header.len();
        let id = self.header.id();
        let frame = match self.header.kind() {
            Kind::Fd => Frame::fd(id, self.header.flags(), &bytes[..len])?,
            _ if self.header.is_rtr() => Frame::remote(id, len)?,
            _ => Frame::classic(id, &bytes[..len])?,
        };
        Ok(frame.with_len8_dlc(self.header.len8_dlc()))
    }

    /// Returns the same shape with ESI recessive, as an error-passive node sends it.
    pub(crate) fn with_esi(mut self) -> Self {
        self.header = self.header.with_flags(self.header.flags() | flags::ESI);
        self
    }
}
