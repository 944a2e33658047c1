//! A sum of bytes, modulo 256: Toyota, Subaru, Tesla.

use super::{BytePlace, SumCommon, bytes_without, id_bytes};
use crate::error::SettingsError;
use crate::field::PayloadField;
use crate::scheme::{CounterField, ProtectionScheme};
use frame::CanId;

/// The sum of the data's bytes without the checksum's, modulo 256.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Sum8Settings {
    /// A number that is added.
    pub start: u8,
    /// Whether the bytes of the CAN ID are added.
    pub adds_id: bool,
    /// Whether the number of protected bytes is added.
    pub adds_length: bool,
    /// The place of the checksum.
    pub result: BytePlace,
    /// Length and counter.
    pub common: SumCommon,
}

impl Sum8Settings {
    /// Toyota: identifier, length and data; the last byte is the checksum.
    #[must_use]
    pub const fn toyota(common: SumCommon) -> Self {
        Self {
            start: 0,
            adds_id: true,
            adds_length: true,
            result: BytePlace::Last,
            common,
        }
    }

    /// Subaru: identifier and data; the first byte is the checksum.
    #[must_use]
    pub const fn subaru(common: SumCommon) -> Self {
        Self::tesla(BytePlace::At(0), common)
    }

    /// Tesla: identifier and data; the place of the checksum depends on the message.
    #[must_use]
    pub const fn tesla(result: BytePlace, common: SumCommon) -> Self {
        Self {
            start: 0,
            adds_id: true,
            adds_length: false,
            result,
            common,
        }
    }
}

impl ProtectionScheme for Sum8Settings {
    fn check(&self) -> Result<(), SettingsError> {
        self.result.check("result")?;
        self.common.check()
    }

    fn length(&self) -> Option<u16> {
        self.common.length
    }

    fn result(&self, len: usize) -> PayloadField {
        PayloadField::one(self.result.resolve(len))
    }

    fn counter(&self) -> Option<CounterField> {
        self.common.counter_field()
    }

    fn compute(&self, id: CanId, data: &[u8]) -> u64 {
        let add = |sum: u8, byte: u8| sum.wrapping_add(byte);
        let mut sum = self.start;
        if self.adds_id {
            sum = id_bytes(id).into_iter().fold(sum, add);
        }
        if self.adds_length {
            sum = sum.wrapping_add(data.len() as u8);
        }
        let at = self.result.resolve(data.len());
        bytes_without(data, at).fold(sum, add).into()
    }

    fn reads_id(&self) -> bool {
        self.adds_id
    }
}
