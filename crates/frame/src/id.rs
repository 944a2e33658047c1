//! Identifiers, with the flag bits that SocketCAN keeps beside them.

use core::fmt;

/// A CAN identifier as SocketCAN writes it: 11 or 29 bits of number and three flags above them
/// (`canid_t` in Linux's `uapi/linux/can.h`).
///
/// Every 32-bit pattern is a valid `CanId`: can-gw's modifications can produce any of them, and
/// a gateway that is to give the same results must carry them unchanged. [`CanId::number`] is
/// the part that goes on the wire.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[repr(transparent)]
pub struct CanId(u32);

/// A number that does not fit into the identifier it was meant for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IdError {
    /// More than 11 bits for an SFF identifier.
    NotSff(u32),
    /// More than 29 bits for an EFF identifier.
    NotEff(u32),
}

impl fmt::Display for IdError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotSff(n) => write!(f, "{n:X} is no SFF identifier: 7FF is the highest"),
            Self::NotEff(n) => write!(f, "{n:X} is no EFF identifier: 1FFFFFFF is the highest"),
        }
    }
}

impl core::error::Error for IdError {}

impl CanId {
    /// Set for a 29-bit identifier (extended frame format).
    pub const EFF_FLAG: u32 = 0x8000_0000;
    /// Set for a remote transmission request.
    pub const RTR_FLAG: u32 = 0x4000_0000;
    /// Set for an error frame: not from the bus but from the controller, about the bus.
    pub const ERR_FLAG: u32 = 0x2000_0000;
    /// The bits of an SFF identifier.
    pub const SFF_MASK: u32 = 0x0000_07FF;
    /// The bits of an EFF identifier.
    pub const EFF_MASK: u32 = 0x1FFF_FFFF;

    /// An 11-bit identifier.
    ///
    /// # Errors
    /// [`IdError::NotSff`] above 7FF.
    pub const fn sff(number: u32) -> Result<Self, IdError> {
        if number > Self::SFF_MASK {
            Err(IdError::NotSff(number))
        } else {
            Ok(Self(number))
        }
    }

    /// A 29-bit identifier.
    ///
    /// # Errors
    /// [`IdError::NotEff`] above 1FFFFFFF.
    pub const fn eff(number: u32) -> Result<Self, IdError> {
        if number > Self::EFF_MASK {
            Err(IdError::NotEff(number))
        } else {
            Ok(Self(number | Self::EFF_FLAG))
        }
    }

    /// SocketCAN's 32 bits, taken as they are.
    #[must_use]
    pub const fn from_raw(raw: u32) -> Self {
        Self(raw)
    }

    /// SocketCAN's 32 bits.
    #[must_use]
    pub const fn raw(self) -> u32 {
        self.0
    }

    /// Extended frame format?
    #[must_use]
    pub const fn is_eff(self) -> bool {
        self.0 & Self::EFF_FLAG != 0
    }

    /// Remote transmission request?
    #[must_use]
    pub const fn is_rtr(self) -> bool {
        self.0 & Self::RTR_FLAG != 0
    }

    /// An error frame of the controller?
    #[must_use]
    pub const fn is_err(self) -> bool {
        self.0 & Self::ERR_FLAG != 0
    }

    /// The same identifier as a remote transmission request.
    #[must_use]
    pub const fn with_rtr(self) -> Self {
        Self(self.0 | Self::RTR_FLAG)
    }

    /// The number without flags: the 11 bits of an SFF identifier (bits above them, which can-gw
    /// can leave behind, are not sent), the 29 bits of an EFF identifier or of an error class.
    #[must_use]
    pub const fn number(self) -> u32 {
        if self.0 & (Self::EFF_FLAG | Self::ERR_FLAG) != 0 {
            self.0 & Self::EFF_MASK
        } else {
            self.0 & Self::SFF_MASK
        }
    }
}

impl fmt::Display for CanId {
    /// As candump prints it: three hex digits for SFF, eight for EFF and error frames (the
    /// latter with their flag, as in `20000080`).
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_err() {
            write!(f, "{:08X}", self.0 & (Self::EFF_MASK | Self::ERR_FLAG))
        } else if self.is_eff() {
            write!(f, "{:08X}", self.number())
        } else {
            write!(f, "{:03X}", self.number())
        }
    }
}

impl fmt::Debug for CanId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CanId({:08X})", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::format;

    #[test]
    fn limits() {
        assert!(CanId::sff(0x7FF).is_ok());
        assert_eq!(CanId::sff(0x800), Err(IdError::NotSff(0x800)));
        assert!(CanId::eff(0x1FFF_FFFF).is_ok());
        assert_eq!(CanId::eff(0x2000_0000), Err(IdError::NotEff(0x2000_0000)));
    }

    #[test]
    fn printed_as_candump_does() {
        assert_eq!(format!("{}", CanId::from_raw(0x7)), "007");
        assert_eq!(format!("{}", CanId::from_raw(0x8000_0007)), "00000007");
        assert_eq!(format!("{}", CanId::from_raw(0x2000_0080)), "20000080");
    }

    #[test]
    fn stray_bits_of_an_sff_id_stay_but_are_not_sent() {
        let id = CanId::from_raw(0x0000_F123);
        assert_eq!(id.number(), 0x123);
        assert_eq!(id.raw(), 0xF123);
    }
}
