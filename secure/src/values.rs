//! The types of values that keys of the file of settings have.

use config::read::{ReadKey, by};
use config::{Diagnostics, TomlValue, ValueShape};
use ipnet::IpNet;
use std::net::IpAddr;
use std::ops::RangeInclusive;
use std::time::Duration;

/// The longest identity, bytes (RFC 4279, 5.3: 128 must be possible).
const LONGEST_IDENTITY: usize = 128;

/// A name in messages and counters.
pub(crate) fn name<'t>() -> impl ReadKey<'t, Value = String> {
    let is_name = |text: &str| {
        let is_allowed = |c: u8| c.is_ascii_alphanumeric() || b"._-".contains(&c);
        !text.is_empty() && text.len() <= 64 && text.bytes().all(is_allowed)
    };
    text_that(is_name, "a name", "use letters, digits, `.`, `_` and `-`")
}

/// An identity of a pre-shared key.
pub(crate) fn identity<'t>() -> impl ReadKey<'t, Value = String> {
    let is_identity = |text: &str| {
        let is_allowed = |c: u8| c.is_ascii_graphic();
        !text.is_empty() && text.len() <= LONGEST_IDENTITY && text.bytes().all(is_allowed)
    };
    text_that(
        is_identity,
        "an identity",
        "use letters, digits and signs of ASCII, at most 128",
    )
}

fn text_that<'t>(
    holds: impl Fn(&str) -> bool,
    what: &'static str,
    hint: &'static str,
) -> impl ReadKey<'t, Value = String> {
    by(
        || ValueShape::Text,
        move |value: &TomlValue<'t>, found: &mut Diagnostics| {
            let text = value.string(found)?.value;
            if holds(text) {
                return Some(text.to_owned());
            }
            value.wrong(format!("`{text}` is not {what}"), hint, found);
            None
        },
    )
}

/// A host and a port.
pub(crate) fn host<'t>() -> impl ReadKey<'t, Value = String> {
    let is_host = |text: &str| match text.rsplit_once(':') {
        Some((host, port)) => {
            let is_v6 = host.starts_with('[') && host.ends_with(']');
            !host.is_empty() && (is_v6 || !host.contains(':')) && port.parse() != Ok(0_u16) && {
                port.parse::<u16>().is_ok()
            }
        }
        None => false,
    };
    text_that(
        is_host,
        "a host with a port",
        "write \"HOST:PORT\", such as \"192.0.2.7:17230\"",
    )
}

/// The shape of [`ranges`].
pub(crate) fn ranges_shape() -> ValueShape {
    ValueShape::OneOrList(Box::new(ValueShape::Text))
}

/// Addresses and ranges of them, one or a list.
pub(crate) fn ranges(value: &TomlValue<'_>, found: &mut Diagnostics) -> Option<Vec<IpNet>> {
    let mut ranges = Vec::new();
    for one in value.one_or_list() {
        let text = one.string(found)?.value;
        let range = text.parse::<IpNet>().ok();
        let alone = text.parse::<IpAddr>().ok().map(IpNet::from);
        match range.or(alone) {
            // 192.0.2.7/24 may be a mistake for one address, or for all of them.
            Some(range) if range.addr() == range.network() => ranges.push(range),
            Some(range) => one.wrong(
                format!("`{text}` has bits after its prefix"),
                format!("write \"{}\", or \"{}\"", range.trunc(), range.addr()),
                found,
            ),
            None => one.wrong(
                format!("`{text}` is not a range of addresses"),
                "write \"192.0.2.0/24\" or \"192.0.2.7\"",
                found,
            ),
        }
    }
    Some(ranges)
}

/// A duration within bounds.
pub(crate) fn time<'t>(bounds: RangeInclusive<Duration>) -> impl ReadKey<'t, Value = Duration> {
    by(
        || ValueShape::Duration,
        move |value: &TomlValue<'t>, found: &mut Diagnostics| {
            let time = Duration::from_nanos(value.duration(found)?.value);
            if bounds.contains(&time) {
                return Some(time);
            }
            let (least, most) = (bounds.start().as_secs(), bounds.end().as_secs());
            let message = format!("{time:?} is not between {least} s and {most} s");
            value.wrong(message, "write such as \"5s\"", found);
            None
        },
    )
}
