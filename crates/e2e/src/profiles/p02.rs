//! Profiles 02 and 22: CRC8 over the data and a Data ID that the counter selects.

use super::check_offset;
use crate::crc::{CrcParameters, H2F};
use crate::error::SettingsError;
use crate::field::PayloadField;
use crate::scheme::{CounterField, ProtectionScheme};
use frame::CanId;

/// The settings of profile 02 or 22: the CRC is in the first byte of the header, the counter in the
/// low half of the second one.
///
/// The messages of Volkswagen's MQB and MEB have this layout with a list of their own.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct P02Settings {
    /// The index of the header's first byte; AUTOSAR's profile 02 has no other than 0.
    pub offset: u16,
    /// The Data IDs by the value of the counter.
    pub ids: [u8; 16],
    /// The number of protected bytes; `None` for the whole payload. AUTOSAR (from memory) specifies
    /// the profiles for up to 32; Volkswagen has longer ones.
    pub length: Option<u16>,
}

impl P02Settings {
    /// Returns the settings for these Data IDs, with the header in the first two bytes.
    #[must_use]
    pub const fn new(ids: [u8; 16]) -> Self {
        Self {
            offset: 0,
            ids,
            length: None,
        }
    }
}

/// Profile 02 or 22.
pub(crate) struct P02Scheme<'a>(pub(crate) &'a P02Settings);

impl P02Scheme<'_> {
    fn counter_field(&self) -> PayloadField {
        PayloadField::nibble(usize::from(self.0.offset) + 1, false)
    }
}

impl ProtectionScheme for P02Scheme<'_> {
    fn check(&self) -> Result<(), SettingsError> {
        check_offset(self.0.offset)
    }

    fn length(&self) -> Option<u16> {
        self.0.length
    }

    fn result(&self, _: usize) -> PayloadField {
        PayloadField::one(usize::from(self.0.offset))
    }

    /// A sender counts before it sends, so that its first frame has the counter 1.
    fn counter(&self) -> Option<CounterField> {
        Some(CounterField {
            first: 1,
            ..CounterField::full(self.counter_field())
        })
    }

    fn compute(&self, _: CanId, data: &[u8]) -> u64 {
        let counter = self.counter_field().read(data).unwrap_or_default();
        let id = self.0.ids[(counter & 0xF) as usize];
        let at = usize::from(self.0.offset);
        let register = H2F.without(H2F.start(), data, at, at + 1);
        H2F.finish(H2F.step(register, id)).into()
    }

    fn crc(&self) -> Option<CrcParameters> {
        Some(CrcParameters::H2F)
    }

    fn length_limit(&self) -> Option<usize> {
        Some(32)
    }
}
