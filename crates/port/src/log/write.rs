//! The keys of `gateway.toml` for writing a log: `append` and `rotate`.

use super::rotation::RotationRule;
use crate::kind::FileOrStream;
use config::{Diagnostics, KeySpec, TomlTable, TomlValue, ValueShape};
use frame::Nanos;
use std::ops::RangeInclusive;

/// Range of the size of one file, bytes: from a page to the limits of present file systems.
const SIZES: RangeInclusive<u64> = 4096..=1 << 40;

const SECOND: Nanos = 1_000_000_000;

/// Range of the time of one file, ns: from a second to a leap year.
const TIMES: RangeInclusive<Nanos> = SECOND..=366 * 24 * 3600 * SECOND;

/// Maximum of `keep`.
const MOST_KEPT: i64 = 999_999;

/// Returns the key that [`rotate`] reads.
pub(super) fn key() -> KeySpec {
    let keys = vec![
        KeySpec::new(
            "size",
            ValueShape::Size,
            "A file has at most this size: 65536, \"100M\" or \"1GiB\".",
        ),
        KeySpec::new(
            "every",
            ValueShape::Duration,
            "A file has the frames of at most this time: \"1h\".",
        ),
        KeySpec::new(
            "keep",
            ValueShape::Integer(1..=MOST_KEPT),
            "So many old files are kept. Default: all.",
        ),
    ];
    let about = "When the log goes on in a new file.";
    KeySpec::new("rotate", ValueShape::Table(keys), about)
}

/// Reads `append`, for a log that goes to `write`.
pub(super) fn append(
    table: &mut TomlTable<'_>,
    write: Option<&FileOrStream>,
    found: &mut Diagnostics,
) -> bool {
    let Some(value) = table.get("append") else {
        return false;
    };
    let append = value.boolean(found).is_some_and(|append| append.value);
    needs_a_file(&value, write, found) && append
}

/// Reads `rotate`, for a log that goes to `write`.
pub(super) fn rotate(
    table: &mut TomlTable<'_>,
    write: Option<&FileOrStream>,
    found: &mut Diagnostics,
) -> Option<RotationRule> {
    let value = table.get("rotate")?;
    let mut keys = value.table(format!("`rotate` of {}", table.place()), found)?;
    let size = keys.get("size").and_then(|size| {
        let bytes = size.size(found)?;
        if SIZES.contains(&bytes.value) {
            return Some(bytes.value);
        }
        let hint = "write it as 65536, \"100M\" or \"1GiB\"";
        size.wrong("`size` must be from 4096 bytes to 1024 GiB", hint, found);
        None
    });
    let every = keys.get("every").and_then(|every| {
        let time = every.duration(found)?;
        if TIMES.contains(&time.value) {
            return Some(time.value);
        }
        let hint = "write it as \"90s\", \"15min\" or \"24h\"";
        every.wrong("`every` must be from 1s to 8784h (366 days)", hint, found);
        None
    });
    let keep = keys.integer("keep", 1..=MOST_KEPT, found);
    if keys.get("size").is_none() && keys.get("every").is_none() {
        let hint = "say when a new file begins: `size = \"100M\"`, `every = \"1h\"` or both";
        keys.missing("size` or `every", hint, found);
    }
    keys.finish(found);
    needs_a_file(&value, write, found).then_some(RotationRule {
        size,
        every,
        keep: keep.map(|keep| keep.value as u32),
    })
}

/// Returns a description of these settings, as words that follow the name of the log.
pub(super) fn describe(append: bool, rotate: Option<RotationRule>) -> String {
    let mut text = String::new();
    if append {
        text.push_str(" behind what is there");
    }
    let Some(RotationRule { size, every, keep }) = rotate else {
        return text;
    };
    let size = size.map(|size| format!("{size} bytes"));
    let every = every.map(|every| format!("{} s", every as f64 / SECOND as f64));
    let when: Vec<String> = size.into_iter().chain(every).collect();
    text.push_str(&format!(", a new file after {}", when.join(" or ")));
    match keep {
        Some(1) => text.push_str(", keeps 1 old file"),
        Some(keep) => text.push_str(&format!(", keeps {keep} old files")),
        None => text.push_str(", keeps all old files"),
    }
    text
}

fn needs_a_file(
    value: &TomlValue<'_>,
    write: Option<&FileOrStream>,
    found: &mut Diagnostics,
) -> bool {
    let message = match write {
        Some(FileOrStream::File(_)) => return true,
        Some(FileOrStream::Standard) => "this is for a file, and standard output is none",
        None => "this is for a log that is written, and none is written here",
    };
    value.wrong(message, "leave it out, or name a file with `write`", found);
    false
}
