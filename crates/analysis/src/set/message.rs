//! `[[messages]]`: the properties of a message, without its bus and node.

use super::timeouts::{self, ParsedTimeout};
use super::{distances, id};
use crate::{Arrival, FrameShape};
use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use config::{Diagnostic, Diagnostics, KeyMisnomer, SpannedValue, TomlTable};
use frame::{Header, Kind, Nanos, dlc, flags};

/// Words that other tools use for the keys.
pub(super) const WORDS: &[KeyMisnomer] = &[
    KeyMisnomer::new("period", &["cycle", "cycle_time", "interval", "t"]),
    KeyMisnomer::new(
        "distance",
        &["min_distance", "minimum_distance", "min_interval"],
    ),
    KeyMisnomer::new("distances", &["curve", "arrival_curve", "delta_min"]).hint(
        "write the least time that 2, 3 ... releases span: `distances = [\"5ms\", \"38ms\"]`",
    ),
    KeyMisnomer::new("len", &["dlc", "length", "size", "bytes"]),
    KeyMisnomer::new("data", &["payload"]),
    KeyMisnomer::new("id", &["can_id", "identifier"]),
    KeyMisnomer::new("node", &["sender", "transmitter", "ecu"]),
    KeyMisnomer::new("kind", &["format", "type", "fd"]).hint("it is \"classic\" or \"fd\""),
    KeyMisnomer::new("timeouts", &["timeout", "receivers", "consumers"])
        .hint("write `timeouts = [{ node = \"Cluster\", time = \"500ms\" }]`"),
    KeyMisnomer::new("longest_period", &["max_period", "cycle_max", "max_cycle"]),
    KeyMisnomer::new("offset", &["phase", "start_delay", "start_offset"]),
];

/// A message as its table specifies it.
pub(super) struct ParsedMessage {
    pub(super) name: String,
    /// Its ID as it was written.
    pub(super) text: String,
    pub(super) shape: FrameShape,
    pub(super) arrival: Arrival,
    /// Its offset, if the table has one.
    pub(super) offset: Option<SpannedValue<Nanos>>,
    pub(super) deadline: Nanos,
    /// The longest time between two events, ns; `None` if there is no limit.
    pub(super) longest_period: Option<Nanos>,
    pub(super) timeouts: Vec<ParsedTimeout>,
}

pub(super) fn parse(table: &mut TomlTable<'_>, found: &mut Diagnostics) -> Option<ParsedMessage> {
    let name = table.string("name", found);
    let text = table.need("id", found).and_then(|v| v.string(found));
    let id = text
        .clone()
        .and_then(|text| match id::parse(text.value.trim()) {
            Ok(id) => Some(id),
            Err((message, hint)) => {
                found.push(Diagnostic::error(text.span, message).hint(hint));
                None
            }
        });
    let kinds = [("classic", Kind::Classic), ("fd", Kind::Fd)];
    let kind = table.one_of("kind", &kinds, found);
    let brs = table.boolean("brs", found);
    let kind = kind.map_or(Kind::Classic, |kind| kind.value);
    if let (Kind::Classic, Some(brs)) = (kind, &brs) {
        let message = "only FD frames have a bit rate switch";
        let hint = "add `kind = \"fd\"`, or leave this out";
        found.push(Diagnostic::error(brs.span.clone(), message).hint(hint));
    }
    let payload = payload(table, kind, found);
    let times = times(table, found);
    let arrival = times.as_ref().map(|(arrival, ..)| arrival);
    let longest_period = timeouts::longest_period(table, arrival, found);
    let timeouts = timeouts::parse(table, found);
    let (payload, (arrival, offset, deadline)) = (payload?, times?);
    let header = Header::new(kind, id?, payload.len).ok()?;
    let header = header.with_flags(match brs {
        Some(SpannedValue { value: false, .. }) => 0,
        _ => flags::BRS,
    });
    // Neither XL nor an error frame: `id` has no flags.
    let shape = FrameShape::masked(header, payload.value, payload.known).ok()?;
    Some(ParsedMessage {
        name: name.map_or_else(String::new, |name| name.value.to_owned()),
        text: text.map_or_else(String::new, |text| text.value.trim().to_owned()),
        shape,
        arrival,
        offset,
        deadline,
        longest_period: longest_period?,
        timeouts,
    })
}

/// The payload as far as it is known.
struct PayloadSpec {
    len: usize,
    value: [u8; dlc::FD_MAX],
    known: [u8; dlc::FD_MAX],
}

fn payload(table: &mut TomlTable<'_>, kind: Kind, found: &mut Diagnostics) -> Option<PayloadSpec> {
    let most = kind.max_len();
    let given_len = table.get("len");
    let len = given_len
        .as_ref()
        .map(|value| value.integer(0..=most as i64, found));
    let data = table.hex("data", found);
    let mask = table.hex("mask", found);
    let spans = [table.key_span("len"), table.key_span("data")];
    let mut all = PayloadSpec {
        len: 0,
        value: [0; dlc::FD_MAX],
        known: [0; dlc::FD_MAX],
    };
    match (len, data) {
        (Some(len), None) if spans[1].is_none() => {
            if let Some(mask) = mask {
                let message = "a mask of a payload that is not given";
                found.push(Diagnostic::error(mask.span, message).hint("add `data`"));
            }
            all.len = usize::try_from(len?.value).ok()?;
            Some(all)
        }
        (None, Some(data)) => {
            let bytes = check(&data, most, found)?;
            all.len = bytes.len();
            copy(&mut all.value, bytes);
            match mask {
                None if table.key_span("mask").is_some() => return None,
                None => all.known = [0xFF; dlc::FD_MAX],
                Some(mask) if mask.value.len() == all.len => copy(&mut all.known, &mask.value),
                Some(mask) => {
                    let message = format!(
                        "`mask` has {} bytes, `data` has {}",
                        mask.value.len(),
                        all.len
                    );
                    let hint =
                        "a bit that is 1 in `mask` is as in `data`, one that is 0 can be anything";
                    found.push(Diagnostic::error(mask.span, message).hint(hint));
                    return None;
                }
            }
            Some(all)
        }
        (Some(_), Some(data)) => {
            let message = "`len` and `data` both set the length";
            found.push(Diagnostic::error(data.span, message).hint("leave `len` out"));
            None
        }
        _ => {
            if spans.iter().all(Option::is_none) {
                let hint =
                    "add `len = 8` for any payload of 8 bytes, or `data = \"…\"` for a known one";
                table.missing("len", hint, found);
            }
            None
        }
    }
}

fn check<'d>(
    data: &'d SpannedValue<Vec<u8>>,
    most: usize,
    found: &mut Diagnostics,
) -> Option<&'d [u8]> {
    if data.value.len() > most {
        let message = format!("{} bytes: {most} is the most", data.value.len());
        let hint = "FD frames, `kind = \"fd\"`, carry up to 64";
        found.push(Diagnostic::error(data.span.clone(), message).hint(hint));
        return None;
    }
    Some(&data.value)
}

fn copy(to: &mut [u8; dlc::FD_MAX], from: &[u8]) {
    for (to, from) in to.iter_mut().zip(from) {
        *to = *from;
    }
}

/// Releases, offset and deadline.
type Times = (Arrival, Option<SpannedValue<Nanos>>, Nanos);

fn times(table: &mut TomlTable<'_>, found: &mut Diagnostics) -> Option<Times> {
    if let Some(given) = table.get("distances") {
        let (arrival, deadline) = distances::times(table, &given, found)?;
        return Some((arrival, None, deadline));
    }
    let period = table.need("period", found).and_then(|v| v.duration(found));
    let mut optional = |key: &'static str| match table.get(key) {
        None => Some(None),
        Some(value) => value.duration(found).map(Some),
    };
    let (jitter, distance, deadline) = (
        optional("jitter"),
        optional("distance"),
        optional("deadline"),
    );
    let offset = optional("offset");
    let (period, jitter, distance, deadline) = (period?, jitter?, distance?, deadline?);
    let offset = offset?;
    if let Some(given) = offset.as_ref().filter(|given| given.value >= period.value) {
        let message = "an offset that is not below the period";
        let hint = "write the offset of the first of its events: the others follow by the period";
        found.push(Diagnostic::error(given.span.clone(), message).hint(hint));
        return None;
    }
    let value = |given: &Option<SpannedValue<u64>>| given.as_ref().map_or(0, |given| given.value);
    let arrival = Arrival::new(period.value, value(&jitter), value(&distance));
    match arrival {
        Ok(arrival) => {
            let deadline = deadline.map_or(period.value, |deadline| deadline.value);
            Some((arrival, offset, deadline))
        }
        Err(error) => {
            let place = match error {
                crate::ArrivalError::Distance => distance.map_or(period.span, |d| d.span),
                _ => period.span,
            };
            found.push(Diagnostic::error(place, error.to_string()));
            None
        }
    }
}
