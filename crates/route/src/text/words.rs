//! Bytes, numbers and lists as words.

use alloc::{format, string::String};
use core::fmt::Write as _;

/// Returns bytes in upper-case hex.
pub(crate) fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        // Writing into a string cannot fail.
        let _ = write!(text, "{byte:02X}");
    }
    text
}

/// Returns an ID's number with the number of digits that its frame format has.
pub(crate) fn id_number(eff: bool, number: u32) -> String {
    if eff {
        format!("{number:08X}")
    } else {
        format!("{number:03X}")
    }
}

pub(crate) fn format_name(eff: bool) -> &'static str {
    if eff { "EFF" } else { "SFF" }
}

/// Returns `a`, `a and b`, `a, b and c`.
pub(crate) fn join(words: &[String], last: &str) -> String {
    match words {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., end] => format!("{} {last} {end}", first.join(", ")),
    }
}

/// Returns `byte 3`, `bytes 3-5`.
pub(crate) fn payload_bytes(at: u16, count: usize) -> String {
    match count {
        1 => format!("byte {at}"),
        n => format!("bytes {at}-{}", usize::from(at) + n - 1),
    }
}
