//! `reverse`.

use super::ReverseBytes;
use crate::operations::toml::Toml;
use crate::text::limits::FrameLimits;
use ::config::{Diagnostics, TomlValue};
use alloc::{format, string::String};

impl Toml for ReverseBytes {
    const KEYS: &'static [&'static str] = &["reverse"];

    fn parse(
        _: &'static str,
        value: &TomlValue<'_>,
        limits: FrameLimits<'_>,
        found: &mut Diagnostics,
    ) -> Option<Self> {
        let count = value.integer(1..=limits.payload as i64, found)?.value as u16;
        Some(Self { count })
    }

    fn write(&self) -> (&'static str, String) {
        ("reverse", format!("{}", self.count))
    }

    fn describe(&self) -> String {
        format!("reverses the first {} bytes", self.count)
    }
}
