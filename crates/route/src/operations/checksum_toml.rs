//! The part of a checksum's text that is common to all checksums.

use super::checksum::ByteIndices;
use crate::text::limits::FrameLimits;
use ::config::{Diagnostic, Diagnostics, KeySpec, TomlTable, ValueShape};
use alloc::{format, string::String, vec, vec::Vec};

/// The values that all checksums have.
pub(super) struct ByteRange {
    pub(super) at: ByteIndices,
    pub(super) init: u8,
}

/// Parses `from`, `to`, `result` and `init` of a checksum's table.
pub(super) fn range(
    table: &mut TomlTable<'_>,
    limits: FrameLimits<'_>,
    found: &mut Diagnostics,
) -> Option<ByteRange> {
    let most = limits.payload as i64;
    let mut index = |key: &'static str| {
        let index = table.need(key, found)?.integer(-most..=most - 1, found)?;
        Some(index.value as i16)
    };
    let (from, to, result) = (index("from"), index("to"), index("result"));
    let init = table.byte("init", found).map_or(0, |b| b.value);
    let at = ByteIndices {
        from: from?,
        to: to?,
        result: result?,
    };
    let ByteIndices { from, to, result } = at;
    // The result is certain to be part of the sum only if all indices count from the same end.
    let inside = (from.min(to)..=from.max(to)).contains(&result);
    if inside && (from < 0) == (to < 0) && (result < 0) == (from < 0) {
        let span = table.key_span("result").unwrap_or_else(|| table.span());
        let message = "the checksum's own byte is part of the sum";
        let hint = "the new value then depends on the old one; most protocols leave this byte out";
        found.push(Diagnostic::warning(span, message).hint(hint));
    }
    Some(ByteRange { at, init })
}

/// Returns the keys that [`range`] reads.
pub(super) fn range_keys() -> Vec<KeySpec> {
    const MOST: i64 = frame::dlc::XL_MAX as i64;
    let index =
        |name, about| KeySpec::new(name, ValueShape::Integer(-MOST..=MOST - 1), about).needed();
    vec![
        index(
            "from",
            "The first byte; negative ones count from the end, -1 is the last.",
        ),
        index("to", "The last byte."),
        index("result", "The byte that the checksum is written to."),
        KeySpec::new("init", ValueShape::Byte, "The start value. Default \"00\"."),
    ]
}

/// Returns an index in words.
pub(super) fn index_words(index: i16) -> String {
    match index {
        -1 => "the last byte".into(),
        -2 => "the last byte but one".into(),
        n => format!("byte {n}"),
    }
}
