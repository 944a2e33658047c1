//! `signal`.

use super::WriteSignals;
use crate::operations::toml::Toml;
use crate::text::limits::FrameLimits;
use ::config::{Diagnostics, KeySpec, TomlValue, ValueShape};
use alloc::vec;
use alloc::vec::Vec;
use alloc::{format, string::String};

impl Toml for WriteSignals {
    const KEYS: &'static [&'static str] = &["signal"];

    fn keys() -> Vec<KeySpec> {
        vec![KeySpec::new(
            "signal",
            ValueShape::Anything,
            "Writes signals of the message.",
        )]
    }

    fn parse(
        _key: &'static str,
        value: &TomlValue<'_>,
        _limits: FrameLimits,
        found: &mut Diagnostics,
    ) -> Option<Self> {
        let hint = "name the message: `message = \"NAME\"`";
        value.wrong("the signals of which message?", hint, found);
        None
    }

    fn write(&self) -> (&'static str, String) {
        ("signal", self.text.clone())
    }

    fn describe(&self) -> String {
        format!("writes the signals {}", self.text)
    }
}
