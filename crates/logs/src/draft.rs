//! A classic or FD frame under construction.

use crate::bad::LogFault;
use frame::{CanId, FrameBuf, Header, Kind, flags};

/// The ID of a controller's error frame where a log records only that there was one: a bus error
/// (`CAN_ERR_BUSERROR` of `linux/can/error.h`).
pub(crate) const BUS_ERROR: CanId = CanId::from_raw(CanId::ERR_FLAG | 0x80);

/// The fields of a frame as a log gives them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FrameDraft {
    pub(crate) id: CanId,
    pub(crate) kind: Kind,
    pub(crate) flags: u8,
    pub(crate) raw_dlc: u8,
    pub(crate) len: usize,
    pub(crate) data: [u8; 64],
}

impl FrameDraft {
    pub(crate) const fn new(id: CanId) -> Self {
        Self {
            id,
            kind: Kind::Classic,
            flags: 0,
            raw_dlc: 0,
            len: 0,
            data: [0; 64],
        }
    }

    /// Creates an error frame without further information.
    pub(crate) const fn error() -> Self {
        let mut draft = Self::new(BUS_ERROR);
        draft.len = 8;
        draft
    }

    /// Makes it an FD frame with these flags.
    pub(crate) const fn fd(mut self, brs: bool, esi: bool) -> Self {
        self.kind = Kind::Fd;
        self.flags = if brs { flags::BRS } else { 0 } | if esi { flags::ESI } else { 0 };
        self
    }

    /// Sets this DLC of 0 to 15 of a classic frame.
    pub(crate) fn with_dlc(mut self, dlc: u32) -> Option<Self> {
        let dlc = u8::try_from(dlc).ok().filter(|dlc| *dlc <= 15)?;
        self.len = usize::from(dlc.min(8));
        self.raw_dlc = dlc;
        Some(self)
    }

    /// Returns the buffer for its payload.
    pub(crate) fn payload(&mut self) -> Result<&mut [u8], LogFault> {
        let most = self.kind.max_len();
        match self.data.get_mut(..self.len) {
            Some(payload) if self.len <= most => Ok(payload),
            _ => Err(LogFault::Said(
                "more bytes than a frame of this kind carries",
            )),
        }
    }

    /// Builds the frame in `frame`.
    pub(crate) fn put(&self, frame: &mut FrameBuf) -> Result<(), LogFault> {
        let header = Header::new(self.kind, self.id, self.len)
            .map_err(|_| LogFault::Said("more bytes than a frame of this kind carries"))?
            .with_flags(self.flags)
            .with_len8_dlc(self.raw_dlc);
        frame.reset(header);
        for (place, byte) in frame.buffer_mut().iter_mut().zip(&self.data) {
            *place = *byte;
        }
        Ok(())
    }
}

/// Creates the ID of a log that states explicitly whether it is extended.
pub(crate) fn id(number: u32, eff: bool) -> Option<CanId> {
    if eff {
        CanId::eff(number).ok()
    } else {
        CanId::sff(number).ok()
    }
}
