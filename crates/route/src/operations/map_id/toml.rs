//! `map_id`.

use super::MapId;
use crate::operations::toml::Toml;
use crate::text::{
    ids,
    limits::FrameLimits,
    words::{format_name, id_number},
};
use ::config::{Diagnostic, Diagnostics, KeySpec, TomlValue, ValueShape};
use alloc::vec;
use alloc::vec::Vec;
use alloc::{format, string::String};
use frame::CanId;

const FORMATS: [(&str, Option<bool>); 3] =
    [("keep", None), ("sff", Some(false)), ("eff", Some(true))];

impl Toml for MapId {
    const KEYS: &'static [&'static str] = &["map_id"];

    fn keys() -> Vec<KeySpec> {
        let keys = vec![
            KeySpec::new("from", ValueShape::Text, "An ID or a range: \"100-1FF\".").needed(),
            KeySpec::new("to", ValueShape::Text, "The new ID of the first ID.").needed(),
            KeySpec::new(
                "format",
                ValueShape::words(&FORMATS),
                "The format of the new IDs, if their number of digits does not give it.",
            ),
        ];
        vec![KeySpec::new(
            "map_id",
            ValueShape::Table(keys),
            "Moves a block of IDs.",
        )]
    }

    /// Parses `{ from = "100-1FF", to = "500" }`; `format` is needed if the digits do not determine
    /// it.
    fn parse(
        _: &'static str,
        value: &TomlValue<'_>,
        _: FrameLimits<'_>,
        found: &mut Diagnostics,
    ) -> Option<Self> {
        let mut table = value.table("`map_id`", found)?;
        let from_value = table.need("from", found);
        let to_value = table.need("to", found);
        let format = table.one_of("format", &FORMATS, found);
        table.finish(found);
        let (from_value, to_value) = (from_value?, to_value?);
        let from = ids::read(&from_value, ids::range, found);
        let to = ids::read(&to_value, ids::id, found);
        let ((first, last), to) = (from?, to?);
        let eff = match format {
            Some(format) => format.value,
            None => (first.eff != to.eff).then_some(to.eff),
        };
        let count = last.number - first.number + 1;
        let most = if eff.unwrap_or(to.eff) {
            0x1FFF_FFFF
        } else {
            0x7FF
        };
        // Both numbers are below 2^29, so that the sum fits.
        let end = to.number + (count - 1);
        if end > most {
            let message = format!("the block would end at {end:X}, above the highest ID {most:X}");
            let hint = "start lower, or map fewer IDs";
            found.push(Diagnostic::error(to_value.span(), message).hint(hint));
        }
        if first.number == to.number && eff.is_none() {
            let d = Diagnostic::warning(to_value.span(), "every ID is mapped to itself");
            found.push(d.hint("leave it out"));
        }
        Some(Self {
            from: first.number,
            to: to.number,
            count,
            eff,
        })
    }

    fn write(&self) -> (&'static str, String) {
        let Self {
            from,
            to,
            count,
            eff,
        } = *self;
        let last = from.saturating_add(count.saturating_sub(1));
        let end = to.saturating_add(count.saturating_sub(1));
        let (from_eff, to_eff) = match eff {
            None => {
                let eff = last.max(end) > CanId::SFF_MASK;
                (eff, eff)
            }
            Some(eff) => (last > CanId::SFF_MASK, eff),
        };
        let first_text = id_number(from_eff, from);
        let from_text = if count == 1 {
            first_text
        } else {
            format!("{first_text}-{}", id_number(from_eff, last))
        };
        let mut text = format!(
            "{{ from = \"{from_text}\", to = \"{}\"",
            id_number(to_eff, to)
        );
        if let Some(eff) = eff
            && from_eff == to_eff
        {
            text.push_str(if eff {
                ", format = \"eff\""
            } else {
                ", format = \"sff\""
            });
        }
        text.push_str(" }");
        ("map_id", text)
    }

    fn describe(&self) -> String {
        let Self {
            from,
            to,
            count,
            eff,
        } = *self;
        let last = from.saturating_add(count.saturating_sub(1));
        let end = to.saturating_add(count.saturating_sub(1));
        let as_format = match eff {
            Some(eff) => format!(" as {}", format_name(eff)),
            None => String::new(),
        };
        if count == 1 {
            format!("turns ID {from:03X} into {to:03X}{as_format}")
        } else {
            format!("turns IDs {from:03X}-{last:03X} into {to:03X}-{end:03X}{as_format}")
        }
    }
}
