//! What keys there are, in words and shapes: for a schema, which editors read.

use std::ops::RangeInclusive;

/// A key of a table.
#[derive(Clone, PartialEq, Debug)]
pub struct Key {
    /// The key.
    pub name: &'static str,
    /// What its value can be.
    pub shape: Shape,
    /// One or two sentences for a user.
    pub about: &'static str,
    /// Must it be there, whatever else is?
    pub is_needed: bool,
}

/// What a value can be. A shape says no more than what a schema can check: whether a file makes
/// sense, only its reader knows.
#[derive(Clone, PartialEq, Debug)]
pub enum Shape {
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
    /// Bits a second: an integer, or a string such as "500k".
    Bitrate,
    /// Bytes: an integer, or a string such as "100M".
    Size,
    /// A time: a string such as "50ms".
    Duration,
    /// A number in a time: a string such as "100/s".
    Rate,
    /// A byte: an integer, or a string of one or two hex digits.
    Byte,
    /// Pairs of hex digits.
    Hex,
    /// One of these strings.
    Words(Vec<&'static str>),
    /// A table with these keys.
    Table(Vec<Key>),
    /// A table with exactly one of these keys.
    OneKey(Vec<Key>),
    /// A table with names of the user's choice.
    Named(Box<Shape>),
    /// A list.
    List(Box<Shape>),
    /// One value, or a list of such.
    OneOrList(Box<Shape>),
    /// Any of these.
    Any(Vec<Shape>),
}

impl Key {
    /// A key that may be absent.
    #[must_use]
    pub const fn new(name: &'static str, shape: Shape, about: &'static str) -> Self {
        Self {
            name,
            shape,
            about,
            is_needed: false,
        }
    }

    /// The same key, which must be there.
    #[must_use]
    pub fn needed(mut self) -> Self {
        self.is_needed = true;
        self
    }
}

impl Shape {
    /// The words of a list for [`crate::Value::one_of`].
    #[must_use]
    pub fn words<T>(names: &[(&'static str, T)]) -> Self {
        Self::Words(names.iter().map(|(name, _)| *name).collect())
    }
}
