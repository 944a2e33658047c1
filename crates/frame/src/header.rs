//! All fields of a frame but its payload.

use crate::{CanId, dlc};
use core::fmt;

/// The frame format of a frame, one of the three of ISO 11898-1:2024.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord, Default)]
pub enum Kind {
    /// Classical CAN: up to 8 bytes, RTR possible. Error frames of the controller are carried
    /// as classic frames too, as in SocketCAN.
    #[default]
    Classic,
    /// CAN FD: up to 64 bytes, BRS and ESI.
    Fd,
    /// CAN XL: 1 to 2048 bytes, an 11-bit priority in place of the identifier.
    Xl,
}

impl Kind {
    /// Returns the greatest number of payload bytes that a frame of this kind can carry.
    #[must_use]
    pub const fn max_len(self) -> usize {
        match self {
            Self::Classic => dlc::CLASSIC_MAX,
            Self::Fd => dlc::FD_MAX,
            Self::Xl => dlc::XL_MAX,
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Classic => "classic",
            Self::Fd => "FD",
            Self::Xl => "XL",
        })
    }
}

/// Bits of [`Header::flags`], as in `uapi/linux/can.h`. The kind determines which ones have a
/// meaning.
pub mod flags {
    /// FD: bit rate switch, the data phase has the second bit rate (`CANFD_BRS`).
    pub const BRS: u8 = 0x01;
    /// FD: error state indicator, the sender is error-passive (`CANFD_ESI`).
    pub const ESI: u8 = 0x02;
    /// FD: marks `struct canfd_frame` as an FD frame (`CANFD_FDF`). Kept in [`crate::Frame`];
    /// [`crate::Header`] represents it by its kind and leaves this bit 0.
    pub const FDF: u8 = 0x04;
    /// XL: simple extended content (`CANXL_SEC`).
    pub const XL_SEC: u8 = 0x01;
    /// XL: remote request substitution (`CANXL_RRS`).
    pub const XL_RRS: u8 = 0x02;
    /// XL: marks `struct canxl_frame` (`CANXL_XLF`). As with FDF, the kind represents it.
    pub const XL_XLF: u8 = 0x80;
}

/// The fields that only XL frames have. All zero for the other kinds.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct XlFields {
    /// Virtual CAN network identifier, 0 for none.
    pub vcid: u8,
    /// Service data unit type.
    pub sdt: u8,
    /// Acceptance field.
    pub af: u32,
}

/// The error for a length that the kind of frame cannot have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LengthError {
    /// The kind of frame.
    pub kind: Kind,
    /// The requested length, in bytes.
    pub len: usize,
}

impl fmt::Display for LengthError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.kind == Kind::Xl && self.len == 0 {
            return f.write_str("an XL frame carries at least 1 byte");
        }
        write!(
            f,
            "{} bytes do not fit into a {} frame, which carries at most {}",
            self.len,
            self.kind,
            self.kind.max_len()
        )
    }
}

impl core::error::Error for LengthError {}

/// All fields of a frame but its payload.
///
/// `len ≤ kind.max_len()` always holds. An FD length that no DLC represents (9, for example) is
/// allowed, as it is in SocketCAN: on the wire it is padded (see [`dlc::fd_padded`]).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Header {
    id: CanId,
    kind: Kind,
    flags: u8,
    len: u16,
    len8_dlc: u8,
    xl: XlFields,
}

impl Header {
    /// Creates a header without flags.
    ///
    /// # Errors
    /// [`LengthError`] where `len` is more than the kind can carry, or 0 for XL.
    pub const fn new(kind: Kind, id: CanId, len: usize) -> Result<Self, LengthError> {
        if len > kind.max_len() || (matches!(kind, Kind::Xl) && len == 0) {
            return Err(LengthError { kind, len });
        }
        Ok(Self {
            id,
            kind,
            flags: 0,
            len: len as u16,
            len8_dlc: 0,
            xl: XlFields {
                vcid: 0,
                sdt: 0,
                af: 0,
            },
        })
    }

    /// Returns the identifier; for XL its number is the priority.
    #[must_use]
    pub const fn id(&self) -> CanId {
        self.id
    }

    /// Returns the kind of frame.
    #[must_use]
    pub const fn kind(&self) -> Kind {
        self.kind
    }

    /// Returns the flag bits of [`mod@flags`] that belong to the kind; 0 for classic frames. FDF
    /// and XLF are never among them.
    #[must_use]
    pub const fn flags(&self) -> u8 {
        self.flags
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

    /// Returns the number of payload bytes that are present: none in a remote frame.
    #[must_use]
    pub const fn data_len(&self) -> usize {
        if self.is_rtr() { 0 } else { self.len as usize }
    }

    /// Returns whether it is a remote frame, which only a classic frame can be.
    #[must_use]
    pub const fn is_rtr(&self) -> bool {
        matches!(self.kind, Kind::Classic) && self.id.is_rtr()
    }

    /// Returns the raw DLC 9–15 of a classic frame of 8 bytes, else 0 (SocketCAN's `len8_dlc`).
    #[must_use]
    pub const fn len8_dlc(&self) -> u8 {
        self.len8_dlc
    }

    /// Returns the four bits of the frame's DLC field (XL has eleven: length minus one).
    #[must_use]
    pub const fn dlc(&self) -> u16 {
        match self.kind {
            Kind::Classic if self.len8_dlc > 8 && self.len == 8 => self.len8_dlc as u16,
            Kind::Classic => self.len,
            Kind::Fd => dlc::fd_dlc(self.len as usize) as u16,
            Kind::Xl => self.len - 1,
        }
    }

    /// Returns the fields that only XL frames have.
    #[must_use]
    pub const fn xl(&self) -> XlFields {
        self.xl
    }

    /// Returns whether it is an FD frame with bit rate switch.
    #[must_use]
    pub const fn is_brs(&self) -> bool {
        matches!(self.kind, Kind::Fd) && self.flags & flags::BRS != 0
    }

    /// Returns whether it is an FD frame from an error-passive sender.
    #[must_use]
    pub const fn is_esi(&self) -> bool {
        matches!(self.kind, Kind::Fd) && self.flags & flags::ESI != 0
    }

    /// Returns the same header with another identifier.
    #[must_use]
    pub const fn with_id(mut self, id: CanId) -> Self {
        self.id = id;
        self
    }

    /// Returns the same header with these flags. Bits that the kind does not define stay as they
    /// are, except FDF and XLF, which are cleared; a classic frame has no flags.
    #[must_use]
    pub const fn with_flags(mut self, flags: u8) -> Self {
        self.flags = match self.kind {
            Kind::Classic => 0,
            Kind::Fd => flags & !flags::FDF,
            Kind::Xl => flags & !flags::XL_XLF,
        };
        self
    }

    /// Returns the same header with another length.
    ///
    /// # Errors
    /// [`LengthError`] as in [`Header::new`].
    pub const fn with_len(mut self, len: usize) -> Result<Self, LengthError> {
        match Self::new(self.kind, self.id, len) {
            Ok(_) => {
                self.len = len as u16;
                Ok(self)
            }
            Err(e) => Err(e),
        }
    }

    /// Returns the same header with a raw DLC. Only 9–15 on a classic frame of 8 bytes are kept;
    /// any other value becomes 0, as in SocketCAN.
    #[must_use]
    pub const fn with_len8_dlc(mut self, dlc: u8) -> Self {
        let kept = matches!(self.kind, Kind::Classic) && self.len == 8 && dlc > 8 && dlc <= 15;
        self.len8_dlc = if kept { dlc } else { 0 };
        self
    }

    /// Returns the same header with other XL fields; unchanged where the frame is not an XL frame.
    #[must_use]
    pub const fn with_xl(mut self, xl: XlFields) -> Self {
        if matches!(self.kind, Kind::Xl) {
            self.xl = xl;
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_checked() {
        let id = CanId::from_raw(1);
        assert!(Header::new(Kind::Classic, id, 8).is_ok());
        assert!(Header::new(Kind::Classic, id, 9).is_err());
        assert!(Header::new(Kind::Fd, id, 9).is_ok());
        assert!(Header::new(Kind::Fd, id, 65).is_err());
        assert!(Header::new(Kind::Xl, id, 0).is_err());
        assert!(Header::new(Kind::Xl, id, 2048).is_ok());
    }

    #[test]
    fn raw_dlc_only_where_socketcan_has_it() {
        let id = CanId::from_raw(1);
        let full = Header::new(Kind::Classic, id, 8).expect("8 fits");
        assert_eq!(full.with_len8_dlc(15).dlc(), 15);
        assert_eq!(full.with_len8_dlc(8).dlc(), 8);
        let short = Header::new(Kind::Classic, id, 7).expect("7 fits");
        assert_eq!(short.with_len8_dlc(15).dlc(), 7);
        let fd = Header::new(Kind::Fd, id, 48).expect("48 fits");
        assert_eq!(fd.with_len8_dlc(15).len8_dlc(), 0);
        assert_eq!(fd.dlc(), 14);
    }
}
