//! Decoding the bytes of a file as text. The encoding is that of the machine that wrote the file,
//! and the file does not specify it.

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;

/// The end-of-file character of old DOS programs (Ctrl-Z).
const END: u8 = 0x1A;

/// Decodes UTF-8 or UTF-16 with or without a byte order mark, or Latin-1, in which each byte is a
/// character.
pub(super) fn decode(bytes: &[u8]) -> Cow<'_, str> {
    let end = bytes.iter().rposition(|b| *b != END && *b != 0);
    if let Some(text) = utf_16(bytes) {
        return Cow::Owned(text);
    }
    let bytes = bytes
        .get(..end.map_or(0, |end| end + 1))
        .unwrap_or_default();
    let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    match core::str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => Cow::Owned(bytes.iter().map(|byte| char::from(*byte)).collect()),
    }
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
    Some(text.trim_end_matches(['\u{1A}', '\0']).into())
}

/// Decodes the same bytes in an encoding with two bytes per character (Shift JIS, GBK, Big5): the
/// second one can be `\` or another character that has a meaning in the grammar. Each such pair
/// becomes one placeholder character; names are ASCII in all of these encodings. `None` where there
/// are no such pairs.
pub(super) fn without_pairs(bytes: &[u8]) -> Option<String> {
    // First bytes of a pair, and second bytes.
    let leads = |b: u8| matches!(b, 0x81..=0x9F | 0xA1..=0xFE);
    let trails = |b: u8| matches!(b, 0x40..=0x7E | 0x80..=0xFE);
    let mut out = Vec::with_capacity(bytes.len());
    let (mut rest, mut found) = (bytes, false);
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        match after.split_first() {
            Some((second, behind)) if leads(*first) && trails(*second) => {
                (rest, found) = (behind, true);
                out.push(b'?');
            }
            _ => out.push(if first.is_ascii() { *first } else { b'?' }),
        }
    }
    let end = out.iter().rposition(|b| *b != END && *b != 0)?;
    out.truncate(end + 1);
    found.then(|| String::from_utf8(out).ok())?
}
