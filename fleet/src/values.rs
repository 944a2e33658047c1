//! The types of values that keys of the file of settings have.

use crate::key::{LONGEST_NAME, is_name};
use config::read::{ReadKey, by};
use config::{Diagnostics, TomlValue, ValueShape};
use net::IdRange;

/// A name that is one chunk of a key.
pub(crate) fn chunk<'t>() -> impl ReadKey<'t, Value = String> {
    by(
        || ValueShape::Text,
        |value: &TomlValue<'t>, found: &mut Diagnostics| {
            let text = value.string(found)?.value;
            if is_name(text) {
                return Some(text.to_owned());
            }
            let message = format!("`{text}` is not one chunk of a Zenoh key");
            let hint = format!("use letters, digits, `.`, `_` and `-`, at most {LONGEST_NAME}");
            value.wrong(message, hint, found);
            None
        },
    )
}

/// The ID of a stream: 16 hex digits.
pub(crate) fn stream(value: &TomlValue<'_>, found: &mut Diagnostics) -> Option<u64> {
    let text = value.string(found)?.value;
    let is_hex = text.len() == 16 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let id = u64::from_str_radix(text, 16).ok().filter(|_| is_hex);
    if id.is_none() {
        let message = format!("`{text}` is not a valid stream ID");
        value.wrong(
            message,
            "write 16 hex digits, as in the gateway's file",
            found,
        );
    }
    id
}

/// The shape of [`endpoints`].
pub(crate) fn endpoint_shape() -> ValueShape {
    ValueShape::OneOrList(Box::new(ValueShape::Text))
}

/// Endpoints of Zenoh, one or a list.
pub(crate) fn endpoints(value: &TomlValue<'_>, found: &mut Diagnostics) -> Option<Vec<String>> {
    let mut endpoints = Vec::new();
    for one in value.one_or_list() {
        let text = one.string(found)?.value;
        if text.parse::<zenoh::config::EndPoint>().is_err() || !text.contains(':') {
            let message = format!("`{text}` is not an endpoint of Zenoh");
            one.wrong(
                message,
                "write \"tls/HOST:7447\" or \"tcp/HOST:7447\"",
                found,
            );
        } else {
            endpoints.push(text.to_owned());
        }
    }
    Some(endpoints)
}

/// The shape of [`ids`].
pub(crate) fn ids_shape() -> ValueShape {
    ValueShape::OneOrList(Box::new(ValueShape::Text))
}

/// Identifiers and ranges of them, one or a list.
pub(crate) fn ids(value: &TomlValue<'_>, found: &mut Diagnostics) -> Option<Vec<IdRange>> {
    let mut ranges = Vec::new();
    for one in value.one_or_list() {
        let text = one.string(found)?.value;
        match IdRange::parse(text) {
            Some(range) => ranges.push(range),
            None => one.wrong(
                format!("`{text}` names no identifiers"),
                IdRange::HINT,
                found,
            ),
        }
    }
    Some(ranges)
}
