//! Parts of a protection: fields with fixed values, a counter, and a checksum.

use crate::crc::CrcParameters;
use crate::error::{ReceptionFault, SettingsError};
use crate::field::PayloadField;
use frame::CanId;

/// The sequence counter in a payload.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CounterField {
    /// Its place.
    pub field: PayloadField,
    /// The number of values: after the value `modulus − 1` comes 0.
    pub modulus: u64,
    /// The value in the first frame of a sender.
    pub first: u32,
}

impl CounterField {
    /// A counter that uses all values of its bits and begins with 0.
    pub(crate) const fn full(field: PayloadField) -> Self {
        Self {
            field,
            modulus: 1 << field.bits(),
            first: 0,
        }
    }

    /// Returns the number of steps from one value to another, below the modulus.
    #[must_use]
    pub const fn distance(&self, from: u32, to: u32) -> u64 {
        (to as u64 + self.modulus - from as u64 % self.modulus) % self.modulus
    }

    /// Returns the value after this one.
    #[must_use]
    pub const fn next(&self, value: u32) -> u32 {
        ((value as u64 + 1) % self.modulus) as u32
    }
}

/// The meaning of a field whose value is the same in each frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ConstantKind {
    Length,
    DataId,
    Method,
}

/// A field whose value is the same in each frame of a length.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ConstantField {
    pub(crate) kind: ConstantKind,
    pub(crate) field: PayloadField,
    pub(crate) value: u64,
}

impl ConstantField {
    pub(crate) const fn new(kind: ConstantKind, field: PayloadField, value: u64) -> Self {
        Self { kind, field, value }
    }

    /// Returns the name for messages.
    pub(crate) const fn name(&self) -> &'static str {
        match self.kind {
            ConstantKind::Length => "the length",
            ConstantKind::DataId => "the Data ID",
            ConstantKind::Method => "message type, result and source",
        }
    }

    /// Returns the fault if the data have another value there.
    pub(crate) fn compare(&self, data: &[u8]) -> Result<(), ReceptionFault> {
        let found = self.field.read(data).unwrap_or_default();
        if found == self.value {
            return Ok(());
        }
        // A length of 32 bits is the longest field.
        let found = found as u32;
        Err(match self.kind {
            ConstantKind::Length => ReceptionFault::WrongLength {
                found,
                expected: data.len(),
            },
            ConstantKind::DataId => ReceptionFault::WrongDataId { found },
            ConstantKind::Method => ReceptionFault::WrongMethod { found },
        })
    }
}

/// The fields with fixed values of a protection.
pub(crate) type ConstantFields = [Option<ConstantField>; 3];

/// One way to protect a message. The data are the protected bytes of a payload: all, or as many as
/// the settings state.
pub(crate) trait ProtectionScheme {
    /// Checks the ranges of the settings. Lengths and overlaps are checked for all schemes by
    /// [`crate::Protection::new`].
    fn check(&self) -> Result<(), SettingsError>;

    /// Returns the number of protected bytes, if it is fixed.
    fn length(&self) -> Option<u16>;

    /// Returns the place of the checksum in data of this length, which is at least 1.
    fn result(&self, len: usize) -> PayloadField;

    /// Returns the counter, if the messages have one.
    fn counter(&self) -> Option<CounterField>;

    /// Returns the fields with fixed values in data of this length.
    fn constants(&self, _len: usize) -> ConstantFields {
        [None; 3]
    }

    /// Returns the checksum of the data. The bits of the checksum itself are left out.
    fn compute(&self, id: CanId, data: &[u8]) -> u64;

    /// Returns whether the CAN ID takes part in the checksum.
    fn reads_id(&self) -> bool {
        false
    }

    /// Returns the CRC that the checksum is, if it is one.
    fn crc(&self) -> Option<CrcParameters> {
        None
    }

    /// Returns whether the checksum is a constant XOR one term for each byte.
    fn is_linear(&self) -> bool {
        self.crc().is_some()
    }

    /// Returns the greatest number of bytes for which the profile is specified.
    fn length_limit(&self) -> Option<usize> {
        None
    }
}
