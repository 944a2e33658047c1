//! Checksums of vehicles that follow no profile of AUTOSAR.
//!
//! The formulas are those of the functions in opendbc, a public collection of databases; the
//! vectors in `tests/vectors` are their results.

pub(crate) mod crc16_sum;
pub(crate) mod crc8_sum;
pub(crate) mod name;
pub(crate) mod nibble_sum;
pub(crate) mod sum8;
pub(crate) mod xor_sum;

use crate::error::SettingsError;
use crate::field::PayloadField;
use crate::profiles::check_range;
use crate::scheme::CounterField;
use frame::CanId;

/// The index of a byte.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum BytePlace {
    /// The byte with this index.
    At(u16),
    /// The last of the protected bytes.
    Last,
}

impl BytePlace {
    /// Returns the index in data of this length, which is at least 1.
    fn resolve(self, len: usize) -> usize {
        match self {
            Self::At(index) => usize::from(index),
            Self::Last => len.saturating_sub(1),
        }
    }

    fn check(self, setting: &'static str) -> Result<(), SettingsError> {
        match self {
            Self::At(index) => check_range(setting, u64::from(index), 0, 2047),
            Self::Last => Ok(()),
        }
    }
}

/// The settings that all of these checksums have.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct SumCommon {
    /// The number of protected bytes; `None` for the whole payload.
    pub length: Option<u16>,
    /// The sequence counter of the message, if it has one. It is protected as other data are.
    pub counter: Option<SumCounter>,
}

impl SumCommon {
    fn check(&self) -> Result<(), SettingsError> {
        let Some(counter) = self.counter else {
            return Ok(());
        };
        check_range("counter", u64::from(counter.bit), 0, 2048 * 8 - 1)?;
        let Some(field) = counter.field() else {
            return Err(SettingsError::Byte {
                setting: "counter",
                bit: counter.bit.into(),
                bits: counter.bits.into(),
            });
        };
        let values = 1 << field.bits();
        check_range("modulus", u64::from(counter.modulus), 2, values)
    }

    fn counter_field(&self) -> Option<CounterField> {
        let counter = self.counter?;
        Some(CounterField {
            field: counter.field()?,
            modulus: u64::from(counter.modulus),
            first: 0,
        })
    }
}

/// A sequence counter within one byte.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct SumCounter {
    /// The least significant bit: eight times the byte's index, plus the number of the bit in the
    /// byte.
    pub bit: u16,
    /// The number of bits, 1 to 8, all in the same byte.
    pub bits: u8,
    /// The number of values, 2 to 2^bits: after the value `modulus − 1` comes 0.
    pub modulus: u16,
}

impl SumCounter {
    fn field(&self) -> Option<PayloadField> {
        PayloadField::within_byte(usize::from(self.bit), self.bits)
    }
}

/// Returns the bytes of the identifier's number, the least significant first.
fn id_bytes(id: CanId) -> [u8; 4] {
    id.number().to_le_bytes()
}

/// Returns the bytes of the data without the one at `skipped`.
fn bytes_without(data: &[u8], skipped: usize) -> impl DoubleEndedIterator<Item = u8> {
    data.iter()
        .enumerate()
        .filter(move |&(index, _)| index != skipped)
        .map(|(_, &byte)| byte)
}
