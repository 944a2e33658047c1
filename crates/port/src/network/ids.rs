//! Keys with ranges of identifiers.

use config::read::{ReadKey, by};
use config::{Diagnostics, TomlValue, ValueShape};
use frame::CanId;

pub(crate) use net::IdRange;

/// Returns whether an ID is in one of these ranges.
pub(crate) fn is_urgent(ranges: &[IdRange], id: CanId) -> bool {
    ranges.iter().any(|range| range.contains(id))
}

/// Returns the words of `cangate check` for identifiers that do not wait.
pub(crate) fn urgent_words(ranges: &[IdRange]) -> String {
    let all: Vec<String> = ranges.iter().map(ToString::to_string).collect();
    match &*all {
        [] => String::new(),
        all => format!("; {} at once", all.join(", ")),
    }
}

/// Returns the type of a key with identifiers and ranges of them, in hex.
pub(crate) fn id_ranges<'t>() -> impl ReadKey<'t, Value = Vec<IdRange>> {
    let shape = || ValueShape::OneOrList(Box::new(ValueShape::Text));
    by(shape, |value: &TomlValue<'t>, found: &mut Diagnostics| {
        let mut ranges = Vec::new();
        for one in value.one_or_list() {
            let Some(text) = one.string(found).map(|text| text.value) else {
                continue;
            };
            match IdRange::parse(text) {
                Some(range) => ranges.push(range),
                None => {
                    let message = format!("`{text}` names no identifiers");
                    one.wrong(message, IdRange::HINT, found);
                }
            }
        }
        Some(ranges)
    })
}
