//! The text of an operation: in `gateway.toml`, and in words.

use crate::text::limits::FrameLimits;
use ::config::{Diagnostics, KeySpec, TomlValue, ValueShape};
use alloc::string::String;
use alloc::vec::Vec;

/// A function that reads the value of a key; mistakes are added to the diagnostics.
pub(crate) type Read<A> =
    fn(&'static str, &TomlValue<'_>, FrameLimits<'_>, &mut Diagnostics) -> Option<A>;

/// An operation in `gateway.toml`: `{ KEY = VALUE }`, an element of a route's `do`.
pub(crate) trait Toml: Sized {
    /// Its keys. No other operation has the same keys.
    const KEYS: &'static [&'static str];

    /// Returns its keys with the shapes of their values, for a schema.
    fn keys() -> Vec<KeySpec> {
        let any = |name: &&'static str| KeySpec::new(name, ValueShape::Anything, "");
        Self::KEYS.iter().map(any).collect()
    }

    /// Parses the value of one of its keys. Returns `None` if the value cannot be used at all; then
    /// at least one error was added to `found`.
    fn parse(
        key: &'static str,
        value: &TomlValue<'_>,
        limits: FrameLimits<'_>,
        found: &mut Diagnostics,
    ) -> Option<Self>;

    /// Returns the key and the value that are parsed as this operation again.
    fn write(&self) -> (&'static str, String);

    /// Returns a description in words that continue after "then" or "and".
    fn describe(&self) -> String;
}
