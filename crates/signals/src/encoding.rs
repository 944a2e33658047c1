//! Decoding the bytes of a file as text. The encoding is that of the machine that wrote the file,
//! and the file does not specify it.

use alloc::borrow::Cow;
use alloc::string::String;

/// The end-of-file character of old DOS programs (Ctrl-Z).
pub(crate) const END: u8 = 0x1A;

/// The characters of bytes 80 to 9F in Windows-1252. The five bytes without a character are taken
/// as control characters, as the WHATWG encoding standard does.
const WINDOWS_1252: [char; 32] = [
    '\u{20AC}', '\u{81}', '\u{201A}', '\u{192}', '\u{201E}', '\u{2026}', '\u{2020}', '\u{2021}',
    '\u{2C6}', '\u{2030}', '\u{160}', '\u{2039}', '\u{152}', '\u{8D}', '\u{17D}', '\u{8F}',
    '\u{90}', '\u{2018}', '\u{2019}', '\u{201C}', '\u{201D}', '\u{2022}', '\u{2013}', '\u{2014}',
    '\u{2DC}', '\u{2122}', '\u{161}', '\u{203A}', '\u{153}', '\u{9D}', '\u{17E}', '\u{178}',
];

/// Decodes UTF-8 or UTF-16 with or without a byte order mark, or Windows-1252, in which each byte
/// is a character.
pub(crate) fn decode(bytes: &[u8]) -> Cow<'_, str> {
    let is_rest = |b: &u8| matches!(*b, END | 0) || b.is_ascii_whitespace();
    let end = bytes.iter().rposition(|b| !is_rest(b));
    if let Some(text) = utf_16(bytes) {
        return Cow::Owned(text);
    }
    let bytes = bytes
        .get(..end.map_or(0, |end| end + 1))
        .unwrap_or_default();
    let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    match core::str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => Cow::Owned(bytes.iter().map(|byte| windows_1252(*byte)).collect()),
    }
}

fn windows_1252(byte: u8) -> char {
    let special = byte.checked_sub(0x80).map(usize::from);
    let special = special.and_then(|index| WINDOWS_1252.get(index));
    special.copied().unwrap_or_else(|| char::from(byte))
}

/// Decodes UTF-16 with a byte order mark, or without one where the first two characters are ASCII.
fn utf_16(bytes: &[u8]) -> Option<String> {
    let big = match bytes {
        [0xFF, 0xFE, ..] => false,
        [0xFE, 0xFF, ..] => true,
        [1..=0xFF, 0, 1..=0xFF, 0, ..] => false,
        [0, 1..=0xFF, 0, 1..=0xFF, ..] => true,
        _ => return None,
    };
    let units = bytes.chunks_exact(2).filter_map(|pair| pair.first_chunk());
    let units = units.map(|pair| match big {
        true => u16::from_be_bytes(*pair),
        false => u16::from_le_bytes(*pair),
    });
    let text: String = char::decode_utf16(units)
        .map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER))
        .collect();
    let text = text.trim_start_matches('\u{FEFF}');
    let is_rest = |c: char| matches!(c, '\u{1A}' | '\0') || c.is_ascii_whitespace();
    Some(text.trim_end_matches(is_rest).into())
}
