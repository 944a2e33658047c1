//! An operation's text: in `gateway.toml`, and in words.

use crate::text::limits::FrameLimits;
use ::config::{Diagnostics, Key, Shape, Value};
use alloc::string::String;
use alloc::vec::Vec;

/// Reads the value of a key; what is wrong with it is added to the diagnostics.
pub(crate) type Read<A> = fn(&'static str, &Value<'_>, FrameLimits, &mut Diagnostics) -> Option<A>;

/// An operation in `gateway.toml`: `{ KEY = VALUE }`, an element of a route's `do`.
pub(crate) trait Toml: Sized {
    /// Its keys; all operations' keys are different.
    const KEYS: &'static [&'static str];

    /// Its keys with what their values can be, for a schema.
    fn keys() -> Vec<Key> {
        let any = |name: &&'static str| Key::new(name, Shape::Anything, "");
        Self::KEYS.iter().map(any).collect()
    }

    /// Reads the value of one of its keys. `None` where it is so wrong that nothing can be made of
    /// it; then at least one error is among those `found`.
    fn parse(
        key: &'static str,
        value: &Value<'_>,
        limits: FrameLimits,
        found: &mut Diagnostics,
    ) -> Option<Self>;

    /// The key and the value that are read as this operation again.
    fn write(&self) -> (&'static str, String);

    /// What it does, in words that go on from "then" or "and".
    fn describe(&self) -> String;
}
