//! `[buses.NAME]` and `[nodes.NAME]`.

use crate::{BufferRefill, BusSpec, LengthRule, NodeSpec, SendOrder};
use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::ToString;
use alloc::vec::Vec;
use config::{Diagnostic, Diagnostics, KeyMisnomer, TomlTable};
use core::num::NonZeroU8;
use frame::wire::BitRate;

const WORDS: &[KeyMisnomer] = &[
    KeyMisnomer::new(
        "bitrate",
        &["rate", "speed", "baudrate", "bit_rate", "baud"],
    ),
    KeyMisnomer::new("data_bitrate", &["dbitrate", "fd_bitrate", "data_rate"]),
    KeyMisnomer::new("errors", &["error", "error_distance", "t_e", "te"])
        .hint("it is the least time between two errors, such as \"10ms\""),
    KeyMisnomer::new(
        "random_errors",
        &["error_rate", "errors_per_second", "mean_errors", "ber"],
    )
    .hint("it is the mean time between two errors, such as \"10s\""),
];

const ORDER_WORDS: &[KeyMisnomer] = &[
    KeyMisnomer::new("mailboxes", &["buffers", "tx_buffers", "mailbox"]),
    KeyMisnomer::new("refill", &["refill_time", "reload", "gap", "pause"]),
    KeyMisnomer::new("refill_every", &["refill_frames"]),
    KeyMisnomer::elsewhere(
        &["queue", "fifo", "order"],
        "`mailboxes = 1` is a queue in order of arrival; without `mailboxes` a node sends in order of \
         priority",
    ),
];

pub(super) fn parse(
    name: &str,
    mut table: TomlTable<'_>,
    found: &mut Diagnostics,
) -> Option<BusSpec> {
    table.misnomers(WORDS);
    let bitrate = table.need("bitrate", found).and_then(|v| v.bitrate(found));
    let data = table.bitrate("data_bitrate", found);
    let errors = table
        .get("errors")
        .map(|value| (value.clone(), value.duration(found)));
    let random = table
        .get("random_errors")
        .map(|value| (value.clone(), value.duration(found)));
    let joins = table.get("joins").and_then(|value| value.duration(found));
    let rules = [
        ("greatest", LengthRule::Greatest),
        ("formula", LengthRule::Formula),
    ];
    let lengths = table.one_of("lengths", &rules, found);
    table.finish(found);
    let bitrate = bitrate?;
    let rate = match BitRate::new(bitrate.value, data.as_ref().map(|d| d.value)) {
        Ok(rate) => rate,
        Err(error) => {
            found.push(Diagnostic::error(bitrate.span, error.to_string()));
            return None;
        }
    };
    let errors = match errors {
        Some((value, Some(distance))) if distance.value == 0 => {
            value.wrong(
                "errors without any time between them",
                "leave `errors` out for none",
                found,
            );
            return None;
        }
        Some((_, distance)) => Some(distance?.value),
        None => None,
    };
    let random_errors = match random {
        Some((value, Some(mean))) if mean.value == 0 => {
            value.wrong(
                "errors without any time between them",
                "leave `random_errors` out for none",
                found,
            );
            return None;
        }
        Some((value, mean)) if errors.is_some() => {
            value.wrong(
                "both `errors` and `random_errors`",
                "`errors` is a least time between errors, for bounds; `random_errors` a mean one, for the \
                 probability that a deadline is missed: leave one of them out",
                found,
            );
            mean?;
            return None;
        }
        Some((_, mean)) => Some(mean?.value),
        None => None,
    };
    Some(BusSpec {
        name: name.to_owned(),
        rate,
        lengths: lengths.map_or(LengthRule::Greatest, |rule| rule.value),
        errors,
        random_errors,
        joins: joins.map_or(BusSpec::bit(rate), |joins| joins.value),
        nodes: Vec::new(),
        messages: Vec::new(),
    })
}

/// Reads the order in which a node sends, and the time that it takes to fill its buffers.
pub(super) fn node(name: &str, table: &mut TomlTable<'_>, found: &mut Diagnostics) -> NodeSpec {
    table.misnomers(ORDER_WORDS);
    let mailboxes = table.integer("mailboxes", 1..=255, found);
    let mailboxes = mailboxes.and_then(|n| u8::try_from(n.value).ok());
    let order = mailboxes
        .and_then(NonZeroU8::new)
        .map_or(SendOrder::Priority, SendOrder::Mailboxes);
    let alone = |key: &str, other: &str, table: &TomlTable<'_>, found: &mut Diagnostics| {
        if let (Some(span), None) = (table.key_span(key), table.key_span(other)) {
            let message = format!("`{key}` without `{other}`");
            let hint = match other {
                "mailboxes" => "add `mailboxes = N`: `refill` is the time to fill one",
                _ => "add `refill = \"20us\"`: how long it takes to fill a mailbox",
            };
            found.push(Diagnostic::error(span, message).hint(hint));
        }
    };
    alone("refill", "mailboxes", table, found);
    alone("refill_every", "refill", table, found);
    let time = table.get("refill").and_then(|value| value.duration(found));
    let every = table.integer("refill_every", 1..=i64::from(u32::MAX), found);
    let every = every.and_then(|n| u32::try_from(n.value).ok());
    NodeSpec {
        refill: time.map(|time| BufferRefill {
            time: time.value,
            every: every.unwrap_or(1),
        }),
        ..NodeSpec::new(name, order)
    }
}
