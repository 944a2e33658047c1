//! A sum of half bytes, modulo 16: Honda, PSA.

use super::{BytePlace, SumCommon, id_bytes};
use crate::error::SettingsError;
use crate::field::PayloadField;
use crate::profiles::check_range;
use crate::scheme::{CounterField, ProtectionScheme};
use frame::CanId;

/// A start value minus the half bytes of the data, without that of the checksum, modulo 16.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct NibbleSumSettings {
    /// The start value, below 16.
    pub start: u8,
    /// Added to the start value for 29-bit identifiers; below 16.
    pub eff_extra: u8,
    /// Whether the half bytes of the CAN ID are subtracted, too.
    pub subtracts_id: bool,
    /// The byte with the checksum.
    pub result: BytePlace,
    /// Whether the checksum is in the high half of that byte; else it is in the low one.
    pub is_high: bool,
    /// Length and counter.
    pub common: SumCommon,
}

impl NibbleSumSettings {
    /// Honda: identifier and data from 8, with 3 more for 29-bit identifiers; the low half of the
    /// last byte is the checksum.
    #[must_use]
    pub const fn honda(common: SumCommon) -> Self {
        Self {
            start: 8,
            eff_extra: 3,
            subtracts_id: true,
            result: BytePlace::Last,
            is_high: false,
            common,
        }
    }

    /// PSA: data from a start value that depends on the message; so does the place of the checksum.
    #[must_use]
    pub const fn psa(id: CanId, result: BytePlace, is_high: bool, common: SumCommon) -> Self {
        let start = match id.number() {
            0x452 => 0x4,
            0x38D => 0x7,
            0x42D => 0xC,
            _ => 0xB,
        };
        Self {
            start,
            eff_extra: 0,
            subtracts_id: false,
            result,
            is_high,
            common,
        }
    }
}

/// Returns the sum of the two halves.
fn halves(byte: u8) -> u8 {
    (byte >> 4) + (byte & 0xF)
}

impl ProtectionScheme for NibbleSumSettings {
    fn check(&self) -> Result<(), SettingsError> {
        check_range("start", u64::from(self.start), 0, 15)?;
        check_range("eff_extra", u64::from(self.eff_extra), 0, 15)?;
        self.result.check("result")?;
        self.common.check()
    }

    fn length(&self) -> Option<u16> {
        self.common.length
    }

    fn result(&self, len: usize) -> PayloadField {
        PayloadField::nibble(self.result.resolve(len), self.is_high)
    }

    fn counter(&self) -> Option<CounterField> {
        self.common.counter_field()
    }

    fn compute(&self, id: CanId, data: &[u8]) -> u64 {
        let mut sum = self.start;
        if id.is_eff() {
            sum = sum.wrapping_add(self.eff_extra);
        }
        let mut subtract = |byte: u8| sum = sum.wrapping_sub(halves(byte));
        if self.subtracts_id {
            id_bytes(id).into_iter().for_each(&mut subtract);
        }
        let result = self.result(data.len());
        for (index, byte) in data.iter().enumerate() {
            subtract(byte & !result.mask(index));
        }
        (sum & 0xF).into()
    }

    fn reads_id(&self) -> bool {
        self.subtracts_id || self.eff_extra != 0
    }
}
