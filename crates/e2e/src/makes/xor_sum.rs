//! XOR of bytes: Volkswagen's PQ platform.

use super::{BytePlace, SumCommon, bytes_without};
use crate::error::SettingsError;
use crate::field::PayloadField;
use crate::scheme::{CounterField, ProtectionScheme};
use frame::CanId;

/// XOR of a start value and the data's bytes without the checksum's. Volkswagen's PQ platform has
/// the start value 0; MLB has one for each message.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct XorSumSettings {
    /// The start value.
    pub start: u8,
    /// The place of the checksum.
    pub result: BytePlace,
    /// Length and counter.
    pub common: SumCommon,
}

impl ProtectionScheme for XorSumSettings {
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

    fn compute(&self, _: CanId, data: &[u8]) -> u64 {
        let at = self.result.resolve(data.len());
        let sum = bytes_without(data, at).fold(self.start, |sum, byte| sum ^ byte);
        sum.into()
    }

    fn is_linear(&self) -> bool {
        true
    }
}
