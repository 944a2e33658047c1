//! Values of more than one table of a plan file.

use config::{Diagnostics, TomlTable, TomlValue};
use std::time::Duration;

pub(super) fn duration(
    table: &mut TomlTable<'_>,
    key: &'static str,
    found: &mut Diagnostics,
) -> Option<Duration> {
    let time = table.get(key)?.duration(found)?;
    Some(Duration::from_nanos(time.value))
}

/// Returns a part of everything, 0 to 1, in millionths.
pub(super) fn part(value: &TomlValue<'_>, found: &mut Diagnostics) -> Option<u32> {
    let number = value.number(found)?.value;
    if !(0.0..=1.0).contains(&number) {
        let text = format!("`{}` is a part of all packets", value.name());
        value.wrong(text, "give a number from 0 to 1, such as 0.01", found);
        return None;
    }
    Some((number * 1e6).round() as u32)
}
