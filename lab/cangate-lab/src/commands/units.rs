//! Figures in the format that the lab's commands print.

use std::time::Duration;

/// Formats nanoseconds as microseconds.
pub(super) fn micros(ns: i64) -> String {
    format!("{:.2}", ns as f64 / 1000.0)
}

/// Formats a time in its two most significant units.
pub(super) fn clock(time: Duration) -> String {
    let seconds = time.as_secs();
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, s) => format!("{s} s"),
        (0, m, s) => format!("{m} min {s:02} s"),
        (h, m, _) => format!("{h} h {m:02} min"),
    }
}
