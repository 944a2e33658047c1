//! An argument of `cangw` and its parts, each with its position.
//!
//! cangw parses arguments with scanf. scanf also accepts arguments that are too long or have
//! trailing text, and then uses a part of them. Here such arguments are errors.

use ::config::hex_bytes;
use alloc::{format, string::String, vec::Vec};
use core::ops::Range;

/// The mistake in an argument, the part that is wrong, and the remedy.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct ScanError {
    pub(crate) what: String,
    pub(crate) part: Range<usize>,
    pub(crate) hint: &'static str,
}

/// The parsed value, or the mistake.
pub(crate) type Read<T> = Result<T, ScanError>;

/// A part of an argument and the position where it begins.
#[derive(Clone, Copy)]
pub(crate) struct ArgumentPart<'t> {
    pub(crate) text: &'t str,
    pub(crate) at: usize,
}

impl<'t> ArgumentPart<'t> {
    pub(crate) fn wrong<T>(self, what: impl Into<String>, hint: &'static str) -> Read<T> {
        Err(ScanError {
            what: what.into(),
            part: self.at..self.at + self.text.len(),
            hint,
        })
    }

    pub(crate) fn hex(self, most: u32, hint: &'static str) -> Read<u32> {
        let digits = self.text.strip_prefix("0x").unwrap_or(self.text);
        let plain = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_hexdigit());
        match u32::from_str_radix(digits, 16) {
            Ok(n) if plain && n <= most => Ok(n),
            Ok(_) if plain => self.wrong(format!("`{}` is more than {most:X}", self.text), hint),
            _ => self.wrong(format!("`{}` is not a valid hex number", self.text), hint),
        }
    }

    pub(crate) fn byte(self, hint: &'static str) -> Read<u8> {
        self.hex(0xFF, hint).map(|n| n as u8)
    }

    /// Parses a payload index in the kernel's range (`cgw_chk_csum_parms`).
    pub(crate) fn index(self, fd: bool, hint: &'static str) -> Read<i16> {
        let size: i16 = if fd { 64 } else { 8 };
        match self.text.parse::<i16>() {
            Ok(n) if (-size..size).contains(&n) => Ok(n),
            Ok(n) => {
                let what = format!("index {n} is outside {} to {}", -size, size - 1);
                self.wrong(what, "with -X indices go from -64 to 63, else from -8 to 7")
            }
            Err(_) => self.wrong(format!("`{}` is not a valid index", self.text), hint),
        }
    }

    pub(crate) fn bytes(self, count: usize, hint: &'static str) -> Read<Vec<u8>> {
        match hex_bytes(self.text) {
            Ok(bytes) if bytes.len() == count && self.text.len() == 2 * count => Ok(bytes),
            Ok(_) => {
                let what = format!(
                    "{} hex digits where {} are needed",
                    self.text.len(),
                    2 * count
                );
                self.wrong(what, hint)
            }
            Err(e) => self.wrong(e.what, hint),
        }
    }

    /// Splits into exactly `N` parts.
    pub(crate) fn split<const N: usize>(
        self,
        separator: char,
        hint: &'static str,
    ) -> Read<[ArgumentPart<'t>; N]> {
        let mut parts = Vec::with_capacity(N);
        let mut at = self.at;
        for text in self.text.splitn(N + 1, separator) {
            parts.push(ArgumentPart { text, at });
            at += text.len() + separator.len_utf8();
        }
        let count = parts.len();
        match <[ArgumentPart<'t>; N]>::try_from(parts) {
            Ok(parts) => Ok(parts),
            Err(_) if count < N => self.wrong(format!("`{}` is not complete", self.text), hint),
            Err(_) => self.wrong(format!("`{}` has too many parts", self.text), hint),
        }
    }
}

/// Returns an argument as one part.
pub(crate) const fn whole(text: &str) -> ArgumentPart<'_> {
    ArgumentPart { text, at: 0 }
}
