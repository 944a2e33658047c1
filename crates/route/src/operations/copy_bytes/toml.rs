//! `copy` and `move`.

use super::CopyBytes;
use crate::operations::toml::Toml;
use crate::text::{limits::FrameLimits, words::payload_bytes};
use ::config::{Diagnostic, Diagnostics, KeySpec, TomlValue, ValueShape};
use alloc::vec;
use alloc::vec::Vec;
use alloc::{format, string::String};

/// Index of the last byte of the longest payload.
const LAST: i64 = frame::dlc::XL_MAX as i64 - 1;

impl Toml for CopyBytes {
    const KEYS: &'static [&'static str] = &["copy", "move"];

    fn keys() -> Vec<KeySpec> {
        let place = |name, about| KeySpec::new(name, ValueShape::Integer(0..=LAST), about);
        let keys = || {
            vec![
                place("from", "The first byte, from 0.").needed(),
                place("to", "Where it goes.").needed(),
                KeySpec::new(
                    "count",
                    ValueShape::Integer(1..=LAST + 1),
                    "The number of bytes. Default 1.",
                ),
            ]
        };
        vec![
            KeySpec::new("copy", ValueShape::Table(keys()), "Copies payload bytes."),
            KeySpec::new(
                "move",
                ValueShape::Table(keys()),
                "Copies payload bytes, and sets the old ones to zero.",
            ),
        ]
    }

    /// Parses `{ from = 0, to = 4, count = 2 }`.
    fn parse(
        key: &'static str,
        value: &TomlValue<'_>,
        limits: FrameLimits<'_>,
        found: &mut Diagnostics,
    ) -> Option<Self> {
        let clear = key == "move";
        let mut table = value.table(format!("`{key}`"), found)?;
        let most = limits.payload as i64;
        let from = table
            .need("from", found)
            .and_then(|v| v.integer(0..=most - 1, found));
        let to = table
            .need("to", found)
            .and_then(|v| v.integer(0..=most - 1, found));
        let count = table
            .integer("count", 1..=most, found)
            .map_or(1, |n| n.value);
        table.finish(found);
        let (from, to) = (from?, to?);
        for place in [&from, &to] {
            if place.value + count > most {
                let message = format!(
                    "byte {} is beyond the {most} bytes that frames of this route can carry",
                    place.value + count - 1
                );
                found.push(
                    Diagnostic::error(place.span.clone(), message).hint("bytes count from 0"),
                );
            }
        }
        if from.value == to.value {
            let d = Diagnostic::warning(to.span.clone(), "the bytes stay where they are");
            found.push(d.hint("`from` and `to` are the same"));
        }
        Some(Self {
            from: from.value as u16,
            to: to.value as u16,
            count: count as u16,
            clear,
        })
    }

    fn write(&self) -> (&'static str, String) {
        let Self {
            from, to, count, ..
        } = self;
        let key = if self.clear { "move" } else { "copy" };
        (
            key,
            format!("{{ from = {from}, to = {to}, count = {count} }}"),
        )
    }

    fn describe(&self) -> String {
        let what = if self.clear { "moves" } else { "copies" };
        format!(
            "{what} {} to byte {}",
            payload_bytes(self.from, usize::from(self.count)),
            self.to
        )
    }
}
