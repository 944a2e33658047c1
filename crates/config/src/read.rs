//! The types of values that keys have: the shape of each for a schema, and how it is read.

use crate::{Diagnostics, KeySpec, TomlTable, TomlValue, ValueShape};
use std::marker::PhantomData;
use std::net::SocketAddr;
use std::ops::RangeInclusive;

/// A type of value that a key of [`settings!`](crate::settings!) has.
pub trait ReadKey<'t> {
    /// The value in Rust.
    type Value;

    /// Returns the shape of the value, for a schema.
    fn shape(&self) -> ValueShape;

    /// Reads the value, and reports it if it is wrong. `place` is the name of the key's table in
    /// messages.
    fn read(
        &self,
        value: &TomlValue<'t>,
        place: &str,
        found: &mut Diagnostics,
    ) -> Option<Self::Value>;
}

/// A type of value that is made of two functions; see [`by`].
#[derive(Clone, Copy, Debug)]
pub struct FunctionReader<T, S, R> {
    shape: S,
    read: R,
    value: PhantomData<fn() -> T>,
}

impl<'t, T, S, R> ReadKey<'t> for FunctionReader<T, S, R>
where
    S: Fn() -> ValueShape,
    R: Fn(&TomlValue<'t>, &mut Diagnostics) -> Option<T>,
{
    type Value = T;

    fn shape(&self) -> ValueShape {
        (self.shape)()
    }

    fn read(&self, value: &TomlValue<'t>, _: &str, found: &mut Diagnostics) -> Option<T> {
        (self.read)(value, found)
    }
}

/// Returns a type of value with this shape and this reading function, for a key that none of the
/// other types fits.
pub const fn by<'t, T, S, R>(shape: S, read: R) -> FunctionReader<T, S, R>
where
    S: Fn() -> ValueShape,
    R: Fn(&TomlValue<'t>, &mut Diagnostics) -> Option<T>,
{
    FunctionReader {
        shape,
        read,
        value: PhantomData,
    }
}

/// A string.
#[must_use]
pub fn text<'t>() -> impl ReadKey<'t, Value = String> {
    by(
        || ValueShape::Text,
        |value, found| value.string(found).map(|text| text.value.to_owned()),
    )
}

/// An IP address with a port that is not 0.
#[must_use]
pub fn address<'t>() -> impl ReadKey<'t, Value = SocketAddr> {
    by(
        || ValueShape::Text,
        |value: &TomlValue<'t>, found: &mut Diagnostics| {
            let text = value.string(found)?.value;
            match text.parse::<SocketAddr>() {
                Ok(address) if address.port() > 0 => Some(address),
                _ => {
                    let message = format!("`{text}` is not an address with a port");
                    value.wrong(message, "write such as \"127.0.0.1:17321\"", found);
                    None
                }
            }
        },
    )
}

/// An integer within bounds. A literal in `bounds` needs its type, such as `1..=6u8`.
pub fn integer<'t, T>(bounds: RangeInclusive<T>) -> impl ReadKey<'t, Value = T>
where
    T: Copy + TryFrom<i64> + TryInto<i64>,
{
    // What TOML has no integers for is beyond the end of its range.
    let limit = |bound: T| bound.try_into().unwrap_or(i64::MAX);
    let bounds = limit(*bounds.start())..=limit(*bounds.end());
    let shape = ValueShape::Integer(bounds.clone());
    by(
        move || shape.clone(),
        move |value, found| T::try_from(value.integer(bounds.clone(), found)?.value).ok(),
    )
}

/// One of several words.
#[must_use]
pub fn words<'t, T: Copy>(names: &'static [(&'static str, T)]) -> impl ReadKey<'t, Value = T> {
    by(
        || ValueShape::words(names),
        |value, found| value.one_of(names, found).map(|word| word.value),
    )
}

macro_rules! readers {
    ($($(#[$doc:meta])* $name:ident: $shape:ident => $type:ty;)*) => {$(
        $(#[$doc])*
        #[must_use]
        pub fn $name<'t>() -> impl ReadKey<'t, Value = $type> {
            by(|| ValueShape::$shape, |value, found| Some(value.$name(found)?.value))
        }
    )*};
}

readers! {
    /// True or false.
    boolean: Flag => bool;
    /// Bits per second, from an integer or a string such as "500k".
    bitrate: Bitrate => u32;
    /// A time in nanoseconds, from a string such as "20ms".
    duration: Duration => u64;
    /// A number and a time in nanoseconds, from a string such as "100/s".
    rate: Rate => (u32, u64);
    /// Bytes, from pairs of hex digits.
    hex: Hex => Vec<u8>;
}

/// The value itself, which the caller reads when it has read others.
pub fn later<'t>(shape: impl Fn() -> ValueShape) -> impl ReadKey<'t, Value = TomlValue<'t>> {
    by(shape, |value, _| Some(value.clone()))
}

/// A table with these keys, which `read` reads; an unknown key in it is reported.
pub fn table<'t, T, R>(keys: fn() -> Vec<KeySpec>, read: R) -> impl ReadKey<'t, Value = T>
where
    R: Fn(&mut TomlTable<'t>, &mut Diagnostics) -> T,
{
    TableReader { keys, read }
}

struct TableReader<R> {
    keys: fn() -> Vec<KeySpec>,
    read: R,
}

impl<'t, T, R: Fn(&mut TomlTable<'t>, &mut Diagnostics) -> T> ReadKey<'t> for TableReader<R> {
    type Value = T;

    fn shape(&self) -> ValueShape {
        ValueShape::Table((self.keys)())
    }

    fn read(&self, value: &TomlValue<'t>, place: &str, found: &mut Diagnostics) -> Option<T> {
        let mut table = value.table(format!("`{}` of {place}", value.name), found)?;
        let read = (self.read)(&mut table, found);
        table.finish(found);
        Some(read)
    }
}
