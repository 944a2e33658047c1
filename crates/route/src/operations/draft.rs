//! A frame during its changes.
//!
//! Its payload is in a buffer. ID, length and flags are separate fields, because in between they
//! may have values that no frame can have (can-gw checks the length once, after all modifications
//! and before the checksums).

use crate::StopReason;
use frame::{CanId, Kind};

/// The bits of SocketCAN's ID above its number.
pub(super) const FLAGS: u32 = CanId::EFF_FLAG | CanId::RTR_FLAG | CanId::ERR_FLAG;

/// A frame during its changes.
pub(crate) struct FrameDraft<'a> {
    pub(super) kind: Kind,
    /// SocketCAN's 32 bits.
    pub(super) raw: u32,
    /// The length. It may be more than the kind can carry, until it is checked.
    pub(super) len: u16,
    /// Raw DLC of a classic frame if it is 9 to 15, else 0.
    pub(super) len8_dlc: u8,
    pub(super) flags: u8,
    /// The whole buffer: 8, 64 or 2048 bytes; empty if no operation touches the payload.
    pub(super) data: &'a mut [u8],
}

impl FrameDraft<'_> {
    pub(super) fn id(&self) -> CanId {
        CanId::from_raw(self.raw)
    }

    /// Returns the ID's number as transmitted on the bus; `None` for error frames, which have none.
    pub(super) fn number(&self) -> Option<u32> {
        match self.kind {
            Kind::Xl => Some(self.raw & CanId::SFF_MASK),
            _ if self.id().is_err() => None,
            _ => Some(self.id().number()),
        }
    }

    /// Sets the ID's number in the given frame format; RTR is kept.
    pub(super) fn set_number(&mut self, number: Option<u32>, eff: bool) -> Result<(), StopReason> {
        let max = if eff {
            CanId::EFF_MASK
        } else {
            CanId::SFF_MASK
        };
        let number = number
            .filter(|number| *number <= max)
            .ok_or(StopReason::IdRange)?;
        let format = if eff { CanId::EFF_FLAG } else { 0 };
        self.raw = (self.raw & FLAGS & !CanId::EFF_FLAG) | format | number;
        Ok(())
    }

    /// Checks the length: can-gw computes no checksum of a frame with a length that its kind cannot
    /// have.
    pub(super) fn check_len(&self) -> Result<(), StopReason> {
        let len = usize::from(self.len);
        if len <= self.kind.max_len() && (len > 0 || self.kind != Kind::Xl) {
            Ok(())
        } else {
            Err(StopReason::TooLong)
        }
    }

    /// Returns the position for a checksum's index, which counts from the end of the payload if it
    /// is negative; `None` if it is outside the buffer (`calc_idx` of `net/can/gw.c`).
    pub(super) fn index(&self, index: i16) -> Option<usize> {
        let from = if index < 0 { i32::from(self.len) } else { 0 };
        let at = usize::try_from(from + i32::from(index)).ok()?;
        (at < self.data.len()).then_some(at)
    }
}
