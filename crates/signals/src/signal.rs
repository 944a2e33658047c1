//! Signals: their definitions and their values.

use crate::decimal::Decimal;
use crate::field::{FieldLayout, SignalField};
use crate::statements::{ReceiveTimeout, SubstituteValues};
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::ops::RangeInclusive;

/// A signal of a message.
#[derive(Clone, PartialEq, Debug)]
pub struct SignalDefinition {
    /// The line of its definition, from 1.
    pub line: usize,
    /// Its name: letters, digits and `_`.
    pub name: String,
    /// Its place as the database states it.
    pub layout: FieldLayout,
    /// The same, ready to be read.
    pub field: SignalField,
    /// The meaning of its bits.
    pub kind: SignalKind,
    /// The physical value is the raw value times this, plus the offset.
    pub factor: Decimal,
    /// See [`factor`](Self::factor); in the signal's unit.
    pub offset: Decimal,
    /// The smallest and the largest physical value that the database states; both 0 where it states
    /// none.
    pub range: (Decimal, Decimal),
    /// The unit of the physical value; can be empty.
    pub unit: String,
    /// The nodes that receive it.
    pub receivers: Vec<String>,
    /// The frames that contain it.
    pub presence: SignalPresence,
    /// Names of raw values, in the order of the file.
    pub value_names: Vec<ValueName>,
    /// Raw values that the database states for times without a received value.
    pub substitutes: SubstituteValues,
    /// The times after which receivers regard the signal as lost, in the order of the file.
    pub timeouts: Vec<ReceiveTimeout>,
    /// The comment of the database; can be empty.
    pub comment: String,
}

/// The name of a raw value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ValueName {
    /// The raw value.
    pub raw: i128,
    /// Its name.
    pub name: String,
}

/// The meaning of a signal's bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SignalKind {
    /// An unsigned integer.
    Unsigned,
    /// A signed integer (two's complement).
    Signed,
    /// A floating-point number of 32 bits (IEEE 754).
    Float32,
    /// A floating-point number of 64 bits (IEEE 754).
    Float64,
}

/// The frames of a message that contain a signal.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SignalPresence {
    /// All frames.
    Always,
    /// Frames in which another signal, the multiplexer switch, is present and has one of these raw
    /// bits.
    Switched {
        /// The index of the switch in the message's signals.
        switch: usize,
        /// The raw bits of the switch.
        values: Vec<RangeInclusive<u64>>,
    },
}

/// A raw value, as the payload has it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum RawValue {
    /// Of [`SignalKind::Unsigned`].
    Unsigned(u64),
    /// Of [`SignalKind::Signed`].
    Signed(i64),
    /// Of [`SignalKind::Float32`] and [`SignalKind::Float64`].
    Float(f64),
}

/// The state of a signal in a payload.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum SignalState {
    /// The payload contains it, with this raw value.
    Value(RawValue),
    /// The multiplexer switch has a value for which the frame does not contain the signal.
    Switched,
    /// The payload is too short to contain the signal or its switch.
    TooShort,
}

/// A physical value, in the signal's unit.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum PhysicalValue {
    /// Exactly raw value × factor + offset.
    Exact(Decimal),
    /// The nearest floating-point number: the raw value is one, or the exact value has more than 38
    /// digits.
    Float(f64),
}

impl SignalDefinition {
    /// Returns the raw value; `None` if the payload is too short to contain the signal. Whether the
    /// payload contains the signal at all depends on its [`presence`](Self::presence), too
    /// ([`MessageDefinition::read`](crate::MessageDefinition::read)).
    #[must_use]
    pub fn raw(&self, payload: &[u8]) -> Option<RawValue> {
        Some(self.raw_of(self.field.read(payload)?))
    }

    /// Returns the raw value that these bits stand for.
    #[must_use]
    pub fn raw_of(&self, bits: u64) -> RawValue {
        match self.kind {
            SignalKind::Unsigned => RawValue::Unsigned(bits),
            SignalKind::Signed => {
                let unused = 64 - self.field.bits();
                RawValue::Signed((bits << unused).cast_signed() >> unused)
            }
            SignalKind::Float32 => RawValue::Float(f32::from_bits(bits as u32).into()),
            SignalKind::Float64 => RawValue::Float(f64::from_bits(bits)),
        }
    }

    /// Returns the physical value of a raw one.
    #[must_use]
    pub fn physical(&self, raw: RawValue) -> PhysicalValue {
        let exact = match raw {
            RawValue::Unsigned(raw) => Some(Decimal::from(raw)),
            RawValue::Signed(raw) => Some(Decimal::from(raw)),
            RawValue::Float(_) => None,
        };
        if self.factor == Decimal::ONE && self.offset.is_zero() {
            return match exact {
                Some(raw) => PhysicalValue::Exact(raw),
                None => PhysicalValue::Float(raw.to_f64()),
            };
        }
        let scaled = exact
            .and_then(|raw| raw.checked_mul(self.factor))
            .and_then(|product| product.checked_add(self.offset));
        match scaled {
            Some(value) => PhysicalValue::Exact(value),
            None => {
                PhysicalValue::Float(raw.to_f64() * self.factor.to_f64() + self.offset.to_f64())
            }
        }
    }

    /// Returns the name of a raw value, if it has one.
    #[must_use]
    pub fn name_of(&self, raw: RawValue) -> Option<&str> {
        let raw = match raw {
            RawValue::Unsigned(raw) => raw.into(),
            RawValue::Signed(raw) => raw.into(),
            RawValue::Float(_) => return None,
        };
        let named = self.value_names.iter().find(|named| named.raw == raw);
        named.map(|named| named.name.as_str())
    }
}

impl RawValue {
    fn to_f64(self) -> f64 {
        match self {
            Self::Unsigned(raw) => raw as f64,
            Self::Signed(raw) => raw as f64,
            Self::Float(raw) => raw,
        }
    }
}

impl PhysicalValue {
    /// Returns the nearest floating-point number.
    #[must_use]
    pub fn to_f64(self) -> f64 {
        match self {
            Self::Exact(value) => value.to_f64(),
            Self::Float(value) => value,
        }
    }
}

impl fmt::Display for RawValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unsigned(raw) => raw.fmt(f),
            Self::Signed(raw) => raw.fmt(f),
            Self::Float(raw) => raw.fmt(f),
        }
    }
}

impl fmt::Display for PhysicalValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exact(value) => value.fmt(f),
            Self::Float(value) => value.fmt(f),
        }
    }
}
