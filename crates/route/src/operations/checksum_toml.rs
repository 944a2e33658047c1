//! The part of a checksum's text that all checksums have.

use super::checksum::Indices;
use crate::text::limits::FrameLimits;
use ::config::{Diagnostic, Diagnostics, Table};
use alloc::{format, string::String};

/// What all checksums have.
pub(super) struct Range {
    pub(super) at: Indices,
    pub(super) init: u8,
}

/// `from`, `to`, `result` and `init` of a checksum's table.
pub(super) fn range(
    table: &mut Table<'_>,
    limits: FrameLimits,
    found: &mut Diagnostics,
) -> Option<Range> {
    let most = limits.payload as i64;
    let mut index = |key: &'static str| {
        let index = table.need(key, found)?.integer(-most..=most - 1, found)?;
        Some(index.value as i16)
    };
    let (from, to, result) = (index("from"), index("to"), index("result"));
    let init = table.byte("init", found).map_or(0, |b| b.value);
    let at = Indices {
        from: from?,
        to: to?,
        result: result?,
    };
    let Indices { from, to, result } = at;
    // Only where all count from the same end is it certain that the result is part of the sum.
    let inside = (from.min(to)..=from.max(to)).contains(&result);
    if inside && (from < 0) == (to < 0) && (result < 0) == (from < 0) {
        let span = table.key_span("result").unwrap_or_else(|| table.span());
        let message = "the checksum's own byte is part of the sum";
        let hint = "its old value goes into the new one; most protocols leave it out";
        found.push(Diagnostic::warning(span, message).hint(hint));
    }
    Some(Range { at, init })
}

/// An index in words.
pub(super) fn index_words(index: i16) -> String {
    match index {
        -1 => "the last byte".into(),
        -2 => "the last byte but one".into(),
        n => format!("byte {n}"),
    }
}
