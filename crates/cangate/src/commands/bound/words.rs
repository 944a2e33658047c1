//! Words and numbers of the report, in each of its forms.

/// Formats nanoseconds as µs, with all significant digits.
pub(super) fn micros(ns: u64) -> String {
    let text = format!("{}.{:03}", ns / 1000, ns % 1000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
