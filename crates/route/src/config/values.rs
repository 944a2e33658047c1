//! How values of routes are read that do not depend on other keys.

use super::{DEFAULT_MAX_IDS, LONGEST_NAME};
use crate::{KindSet, RateLimit, TriState};
use ::config::read::{self, ReadKey, by};
use ::config::{Diagnostic, Diagnostics, TomlValue, ValueShape};
use alloc::{borrow::ToOwned, boxed::Box, format, string::String, vec};

::config::settings! {
    /// The keys of `limit`.
    struct LimitKeys {
        /// Frames in a time: "100/s".
        rate: Option<(u32, u64)> = None => read::rate(), default "", needed "",
            not "frames" "limit" "hz" "per_second" "max" "fps" "count"
                => "For example `rate = \"100/s\"`";
        /// Frames that can come at once after a pause.
        burst: u32 = 1 => read::integer(1..=1_000_000u32),
            not "bucket" "bucket_size" "burst_size";
        /// Each ID has its own limit; a number is the number of IDs.
        per_id: Option<u32> = None => per_id(),
            not "each_id" "by_id" "ids" "max_ids";
    }
}

/// Reads the name of a route. A name with a mistake is still the name of the route.
pub(super) fn name(value: &TomlValue<'_>, found: &mut Diagnostics) -> Option<String> {
    let name = value.string(found)?.value;
    if name.trim().is_empty() {
        value.wrong("a route's name cannot be empty", "", found);
    } else if name.len() > LONGEST_NAME {
        let message = format!("a route's name has at most {LONGEST_NAME} bytes");
        let label = format!("this has {}", name.len());
        found.push(Diagnostic::error(value.span(), message).label(label));
    } else if name.chars().any(char::is_control) {
        value.wrong(
            "a route's name cannot contain control characters",
            "",
            found,
        );
    }
    Some(name.to_owned())
}

pub(super) fn one_or_list(shape: ValueShape) -> ValueShape {
    ValueShape::OneOrList(Box::new(shape))
}

const KINDS: [(&str, KindSet); 3] = [
    (
        "classic",
        KindSet {
            classic: true,
            ..NO_KIND
        },
    ),
    (
        "fd",
        KindSet {
            fd: true,
            ..NO_KIND
        },
    ),
    (
        "xl",
        KindSet {
            xl: true,
            ..NO_KIND
        },
    ),
];

const NO_KIND: KindSet = KindSet {
    classic: false,
    fd: false,
    xl: false,
};

/// One kind of frame, or a list of kinds.
pub(super) fn kinds<'t>() -> impl ReadKey<'t, Value = KindSet> {
    let read = |value: &TomlValue<'t>, found: &mut Diagnostics| {
        let values = value.one_or_list();
        if values.is_empty() {
            let hint = "leave it out to take all kinds";
            value.wrong("`kind` names no kind of frame", hint, found);
            return None;
        }
        values.iter().try_fold(NO_KIND, |all, one| {
            let kind = one.one_of(&KINDS, found)?.value;
            Some(KindSet {
                classic: all.classic || kind.classic,
                fd: all.fd || kind.fd,
                xl: all.xl || kind.xl,
            })
        })
    };
    by(|| one_or_list(ValueShape::words(&KINDS)), read)
}

/// True, false or `"either"`.
pub(super) fn tri<'t>() -> impl ReadKey<'t, Value = TriState> {
    let read =
        |value: &TomlValue<'t>, found: &mut Diagnostics| match (value.as_bool(), value.as_str()) {
            (Some(true), _) => Some(TriState::Yes),
            (Some(false), _) => Some(TriState::No),
            (_, Some("either")) => Some(TriState::Either),
            _ => {
                let expected = "true (only those), false (none of those) or \"either\"";
                value.expected(expected, found);
                None
            }
        };
    let either = || ValueShape::Words(vec!["either"]);
    by(
        move || ValueShape::Any(vec![ValueShape::Flag, either()]),
        read,
    )
}

pub(super) fn limit_shape() -> ValueShape {
    ValueShape::Any(vec![
        ValueShape::Rate,
        ValueShape::Table(LimitKeys::key_specs()),
    ])
}

/// Reads `limit = "100/s"` or `{ rate = "100/s", burst = 5, per_id = true }`.
pub(super) fn limit(value: &TomlValue<'_>, found: &mut Diagnostics) -> Option<RateLimit> {
    if let Some(frames) = value.as_integer() {
        let message = "a limit is a number of frames in a time";
        value.wrong(message, format!("write `limit = \"{frames}/s\"`"), found);
        return None;
    }
    let mut keys = LimitKeys::defaults();
    if value.as_str().is_some() {
        keys.rate = value.rate(found).map(|rate| rate.value);
    } else {
        let mut table = value.table("`limit`", found)?;
        keys = LimitKeys::read(&mut table, found);
        table.finish(found);
    }
    let (frames, per) = keys.rate?;
    Some(RateLimit {
        frames,
        per,
        burst: keys.burst,
        per_id: keys.per_id,
    })
}

/// True or false, or a number of IDs; `None` for false.
fn per_id<'t>() -> impl ReadKey<'t, Value = Option<u32>> {
    let shape = || ValueShape::Any(vec![ValueShape::Flag, ValueShape::Integer(1..=65_536)]);
    by(shape, |value: &TomlValue<'t>, found: &mut Diagnostics| {
        if let Some(each) = value.as_bool() {
            return Some(each.then_some(DEFAULT_MAX_IDS));
        }
        if value.as_integer().is_none() {
            value.expected("true, false or a number of IDs", found);
            return None;
        }
        Some(Some(value.integer(1..=65_536, found)?.value as u32))
    })
}
