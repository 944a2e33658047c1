//! `id_offset`.

use super::OffsetId;
use crate::operations::toml::Toml;
use crate::text::limits::FrameLimits;
use ::config::{Diagnostic, Diagnostics, KeySpec, TomlValue, ValueShape};
use alloc::vec;
use alloc::vec::Vec;
use alloc::{format, string::String};

/// The highest ID.
const MOST: i64 = 0x1FFF_FFFF;

impl Toml for OffsetId {
    const KEYS: &'static [&'static str] = &["id_offset"];

    fn keys() -> Vec<KeySpec> {
        let about = "Adds to the number of the ID.";
        vec![KeySpec::new(
            "id_offset",
            ValueShape::Integer(-MOST..=MOST),
            about,
        )]
    }

    fn parse(
        _: &'static str,
        value: &TomlValue<'_>,
        _: FrameLimits<'_>,
        found: &mut Diagnostics,
    ) -> Option<Self> {
        let by = value.integer(-MOST..=MOST, found)?.value;
        if by == 0 {
            let d = Diagnostic::warning(value.span(), "an offset of 0 changes nothing");
            found.push(d.hint("leave it out"));
        }
        Some(Self { by })
    }

    fn write(&self) -> (&'static str, String) {
        ("id_offset", format!("{}", self.by))
    }

    fn describe(&self) -> String {
        format!("adds {} to the ID", self.by)
    }
}
