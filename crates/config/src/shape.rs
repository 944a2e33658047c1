//! The available keys, with descriptions and shapes: for a schema, which editors read.

use std::ops::RangeInclusive;

/// A key of a table.
#[derive(Clone, PartialEq, Debug)]
pub struct KeySpec {
    /// The key.
    pub name: &'static str,
    /// The shape of its value.
    pub shape: ValueShape,
    /// A description for users, in one or two sentences.
    pub about: &'static str,
    /// Whether the key is required in every case.
    pub is_needed: bool,
}

/// The shape of a value. A shape covers only what a schema can check: whether a file makes sense,
/// only its reader can decide.
#[derive(Clone, PartialEq, Debug)]
pub enum ValueShape {
    /// Anything.
    Anything,
    /// A string.
    Text,
    /// True or false.
    Flag,
    /// An integer within bounds.
    Integer(RangeInclusive<i64>),
    /// A number within bounds.
    Number(RangeInclusive<f64>),
    /// Bits per second: an integer, or a string such as "500k".
    Bitrate,
    /// Bytes: an integer, or a string such as "100M".
    Size,
    /// A time: a string such as "50ms".
    Duration,
    /// A number per time: a string such as "100/s".
    Rate,
    /// A byte: an integer, or a string of one or two hex digits.
    Byte,
    /// Pairs of hex digits.
    Hex,
    /// One of these strings.
    Words(Vec<&'static str>),
    /// A table with these keys.
    Table(Vec<KeySpec>),
    /// A table with exactly one of these keys.
    OneKey(Vec<KeySpec>),
    /// A table whose keys are names of the user's choice.
    Named(Box<ValueShape>),
    /// A list.
    List(Box<ValueShape>),
    /// One value, or a list of such values.
    OneOrList(Box<ValueShape>),
    /// Any of these.
    Any(Vec<ValueShape>),
}

impl KeySpec {
    /// Creates a key that may be absent.
    #[must_use]
    pub const fn new(name: &'static str, shape: ValueShape, about: &'static str) -> Self {
        Self {
            name,
            shape,
            about,
            is_needed: false,
        }
    }

    /// Returns the same key as a required one.
    #[must_use]
    pub fn needed(mut self) -> Self {
        self.is_needed = true;
        self
    }
}

impl ValueShape {
    /// Returns the shape for a list of names as [`crate::TomlValue::one_of`] takes it.
    #[must_use]
    pub fn words<T>(names: &[(&'static str, T)]) -> Self {
        Self::Words(names.iter().map(|(name, _)| *name).collect())
    }
}
