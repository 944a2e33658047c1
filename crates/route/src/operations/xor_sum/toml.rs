//! `xor_sum`.

use super::XorSum;
use crate::operations::checksum_toml::{ByteRange, index_words, range, range_keys};
use crate::operations::toml::Toml;
use crate::text::limits::FrameLimits;
use ::config::{Diagnostics, KeySpec, TomlValue, ValueShape};
use alloc::vec;
use alloc::vec::Vec;
use alloc::{format, string::String};

impl Toml for XorSum {
    const KEYS: &'static [&'static str] = &["xor_sum"];

    fn keys() -> Vec<KeySpec> {
        let about = "Writes the XOR of payload bytes into one of them.";
        vec![KeySpec::new(
            "xor_sum",
            ValueShape::Table(range_keys()),
            about,
        )]
    }

    fn parse(
        _: &'static str,
        value: &TomlValue<'_>,
        limits: FrameLimits<'_>,
        found: &mut Diagnostics,
    ) -> Option<Self> {
        let mut table = value.table("`xor_sum`", found)?;
        let range = range(&mut table, limits, found);
        table.finish(found);
        let ByteRange { at, init } = range?;
        Some(Self {
            from: at.from,
            to: at.to,
            result: at.result,
            init,
        })
    }

    fn write(&self) -> (&'static str, String) {
        let text = format!(
            "{{ from = {}, to = {}, result = {}, init = \"{:02X}\" }}",
            self.from, self.to, self.result, self.init
        );
        ("xor_sum", text)
    }

    fn describe(&self) -> String {
        format!(
            "writes the XOR of {} to {} (from {:02X}) into {}",
            index_words(self.from),
            index_words(self.to),
            self.init,
            index_words(self.result)
        )
    }
}
