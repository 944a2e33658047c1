//! The names of partitions, as Apache Hive writes them: `key=value`, in which characters that a
//! file system or a path could take for something else are `%` and two hex digits
//! (`org.apache.hadoop.hive.common.FileUtils.escapePathName`).

use chrono::{DateTime, Days, NaiveDate};
use frame::Nanos;

/// The value for "no value".
const NOTHING: &str = "__HIVE_DEFAULT_PARTITION__";

/// Characters that are escaped, apart from control characters.
const SPECIAL: &str = "\"#%'*/:=?\\{[]^\x7F";

/// Nanoseconds in a day.
const DAY: Nanos = 86_400 * 1_000_000_000;

/// Returns the day of a time stamp, in days since 1970 (UTC).
pub(crate) const fn day_of(stamp: Nanos) -> u32 {
    // At most 213 503.
    (stamp / DAY) as u32
}

/// Returns the name of a day's partition, such as `day=2026-11-26`.
pub(crate) fn day_name(day: u32) -> String {
    let first: NaiveDate = DateTime::UNIX_EPOCH.date_naive();
    // A stamp of 64 bits ends in 2554.
    let date = first.checked_add_days(Days::new(day.into()));
    format!("day={}", date.unwrap_or(NaiveDate::MAX).format("%Y-%m-%d"))
}

/// Returns the name of a message's partition, such as `message=EngineData`.
pub(crate) fn message_name(message: &str) -> String {
    format!("message={}", escape(message))
}

fn escape(value: &str) -> String {
    if value.is_empty() {
        return NOTHING.to_owned();
    }
    let mut escaped = String::with_capacity(value.len());
    for character in value.chars() {
        if character < ' ' || SPECIAL.contains(character) {
            escaped.push_str(&format!("%{:02X}", u32::from(character)));
        } else {
            escaped.push(character);
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_those_of_utc() {
        // `date -u -d @1795651199 +%F` and a second later.
        for (seconds, name) in [
            (0, "day=1970-01-01"),
            (951_782_399, "day=2000-02-28"),
            (951_782_400, "day=2000-02-29"),
            (1_795_651_199, "day=2026-11-25"),
            (1_795_651_200, "day=2026-11-26"),
        ] {
            assert_eq!(day_name(day_of(seconds * 1_000_000_000)), name);
        }
        assert_eq!(day_name(day_of(Nanos::MAX)), "day=2554-07-21");
    }

    #[test]
    fn names_are_escaped() {
        for (message, name) in [
            ("EngineData", "message=EngineData"),
            ("a/b=c %", "message=a%2Fb%3Dc %25"),
            ("..", "message=.."),
            ("Öl\n", "message=Öl%0A"),
            ("", "message=__HIVE_DEFAULT_PARTITION__"),
        ] {
            assert_eq!(message_name(message), name);
        }
    }
}
