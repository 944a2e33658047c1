//! Encodings with two bytes for a character.

use crate::encoding::END;
use alloc::string::String;
use alloc::vec::Vec;

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
    let is_rest = |b: &u8| matches!(*b, END | 0) || b.is_ascii_whitespace();
    let end = out.iter().rposition(|b| !is_rest(b))?;
    out.truncate(end + 1);
    found.then(|| String::from_utf8(out).ok())?
}
