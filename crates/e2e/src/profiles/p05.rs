//! Profiles 05 and 06: CRC16 over the data and the Data ID, a counter of eight bits.

use super::check_offset;
use crate::crc::{CCITT_FALSE, CrcParameters};
use crate::error::SettingsError;
use crate::field::{ByteOrder, PayloadField};
use crate::scheme::{ConstantField, ConstantFields, ConstantKind, CounterField, ProtectionScheme};
use frame::CanId;

/// The settings of profile 05 or 06. The header of profile 05 is the CRC (two bytes, little-endian)
/// and the counter; that of profile 06 the CRC (big-endian), the length (two bytes, big-endian) and
/// the counter.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct P05Settings {
    /// The index of the header's first byte.
    pub offset: u16,
    /// The Data ID. It is not in the payload.
    pub data_id: u16,
    /// The number of protected bytes; `None` for the whole payload.
    pub length: Option<u16>,
}

impl P05Settings {
    /// Returns the settings for this Data ID, with the header at the beginning.
    #[must_use]
    pub const fn new(data_id: u16) -> Self {
        Self {
            offset: 0,
            data_id,
            length: None,
        }
    }
}

/// Profile 05 or 06.
pub(crate) struct P05Scheme<'a> {
    pub(crate) settings: &'a P05Settings,
    pub(crate) is_p06: bool,
}

impl P05Scheme<'_> {
    fn offset(&self) -> usize {
        usize::from(self.settings.offset)
    }
}

impl ProtectionScheme for P05Scheme<'_> {
    fn check(&self) -> Result<(), SettingsError> {
        check_offset(self.settings.offset)
    }

    fn length(&self) -> Option<u16> {
        self.settings.length
    }

    fn result(&self, _: usize) -> PayloadField {
        let order = if self.is_p06 {
            ByteOrder::BigEndian
        } else {
            ByteOrder::LittleEndian
        };
        PayloadField::whole(self.offset(), 2, order)
    }

    fn counter(&self) -> Option<CounterField> {
        let distance = if self.is_p06 { 4 } else { 2 };
        let field = PayloadField::one(self.offset() + distance);
        Some(CounterField::full(field))
    }

    fn constants(&self, len: usize) -> ConstantFields {
        let field = PayloadField::whole(self.offset() + 2, 2, ByteOrder::BigEndian);
        let length = ConstantField::new(ConstantKind::Length, field, len as u64);
        [self.is_p06.then_some(length), None, None]
    }

    fn compute(&self, _: CanId, data: &[u8]) -> u64 {
        let crc = &CCITT_FALSE;
        let at = self.offset();
        let register = crc.without(crc.start(), data, at, at + 2);
        let id = if self.is_p06 {
            self.settings.data_id.to_be_bytes()
        } else {
            self.settings.data_id.to_le_bytes()
        };
        crc.finish(crc.update(register, &id)).into()
    }

    fn crc(&self) -> Option<CrcParameters> {
        Some(CrcParameters::CCITT_FALSE)
    }
}
