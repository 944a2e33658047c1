//! Profiles 04, 07 and 08, whose header contains length, counter, Data ID and CRC; 04m and 07m,
//! which add fields of method calls.

use super::{check_offset, check_range};
use crate::crc::{CRC32P4, CRC64, CrcParameters};
use crate::error::SettingsError;
use crate::field::{ByteOrder, PayloadField};
use crate::scheme::{ConstantField, ConstantFields, ConstantKind, CounterField, ProtectionScheme};
use frame::CanId;

/// The settings of profile 04, 07 or 08. All fields are big-endian:
///
/// | profile | header |
/// |---|---|
/// | 04 | length 16, counter 16, Data ID 32, CRC 32 bits |
/// | 07 | CRC 64, length 32, counter 32, Data ID 32 bits |
/// | 08 | CRC 32, length 32, counter 32, Data ID 32 bits |
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct P04Settings {
    /// The index of the header's first byte.
    pub offset: u16,
    /// The Data ID.
    pub data_id: u32,
    /// The number of protected bytes, which is also the length in the header; `None` for the whole
    /// payload.
    pub length: Option<u16>,
}

impl P04Settings {
    /// Returns the settings for this Data ID, with the header at the beginning.
    #[must_use]
    pub const fn new(data_id: u32) -> Self {
        Self {
            offset: 0,
            data_id,
            length: None,
        }
    }
}

/// The settings of profile 04m or 07m: four more bytes behind the header of profile 04 or 07.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct P04mSettings {
    /// The settings that are those of profile 04 or 07.
    pub header: P04Settings,
    /// The fields of the method call.
    pub method: MethodFields,
}

/// The fields of a method call in the messages of profiles 04m and 07m.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct MethodFields {
    /// Whether the message is a response; else it is a request.
    pub is_response: bool,
    /// Whether the message reports an error.
    pub is_error: bool,
    /// The source ID of the client: 28 bits.
    pub source: u32,
}

impl MethodFields {
    /// Type in two bits, result in two bits, source in 28 bits.
    fn number(self) -> u64 {
        u64::from(self.is_response) << 30 | u64::from(self.is_error) << 28 | u64::from(self.source)
    }
}

/// The order and the widths of a header.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum HeaderKind {
    P04,
    P07,
    P08,
}

/// Profile 04, 07 or 08.
pub(crate) struct P04Scheme<'a> {
    pub(crate) settings: &'a P04Settings,
    pub(crate) method: Option<&'a MethodFields>,
    pub(crate) kind: HeaderKind,
}

impl P04Scheme<'_> {
    /// Returns a field by its distance from the header's beginning, in bytes.
    fn field(&self, distance: usize, bytes: u8) -> PayloadField {
        let at = usize::from(self.settings.offset) + distance;
        PayloadField::whole(at, bytes, ByteOrder::BigEndian)
    }
}

impl ProtectionScheme for P04Scheme<'_> {
    fn check(&self) -> Result<(), SettingsError> {
        check_offset(self.settings.offset)?;
        self.method.map_or(Ok(()), |method| {
            check_range("source", u64::from(method.source), 0, 0x0FFF_FFFF)
        })
    }

    fn length(&self) -> Option<u16> {
        self.settings.length
    }

    fn result(&self, _: usize) -> PayloadField {
        match self.kind {
            HeaderKind::P04 => self.field(8, 4),
            HeaderKind::P07 => self.field(0, 8),
            HeaderKind::P08 => self.field(0, 4),
        }
    }

    fn counter(&self) -> Option<CounterField> {
        Some(CounterField::full(match self.kind {
            HeaderKind::P04 => self.field(2, 2),
            HeaderKind::P07 => self.field(12, 4),
            HeaderKind::P08 => self.field(8, 4),
        }))
    }

    fn constants(&self, len: usize) -> ConstantFields {
        let (length, id, end) = match self.kind {
            HeaderKind::P04 => (self.field(0, 2), self.field(4, 4), 12),
            HeaderKind::P07 => (self.field(8, 4), self.field(16, 4), 20),
            HeaderKind::P08 => (self.field(4, 4), self.field(12, 4), 16),
        };
        let id_value = u64::from(self.settings.data_id);
        [
            Some(ConstantField::new(ConstantKind::Length, length, len as u64)),
            Some(ConstantField::new(ConstantKind::DataId, id, id_value)),
            self.method.map(|method| {
                ConstantField::new(ConstantKind::Method, self.field(end, 4), method.number())
            }),
        ]
    }

    fn compute(&self, _: CanId, data: &[u8]) -> u64 {
        let result = self.result(data.len());
        let (at, end) = (result.first_byte(), result.end());
        match self.kind {
            HeaderKind::P04 | HeaderKind::P08 => {
                let register = CRC32P4.without(CRC32P4.start(), data, at, end);
                CRC32P4.finish(register).into()
            }
            HeaderKind::P07 => CRC64.finish(CRC64.without(CRC64.start(), data, at, end)),
        }
    }

    fn crc(&self) -> Option<CrcParameters> {
        Some(match self.kind {
            HeaderKind::P04 | HeaderKind::P08 => CrcParameters::CRC32P4,
            HeaderKind::P07 => CrcParameters::CRC64,
        })
    }
}
