//! Hexadecimal digits in texts.

/// Returns the value of a hex digit.
pub(crate) const fn digit(byte: u8) -> Option<u8> {
    match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'A'..=b'F' => Some(byte - b'A' + 10),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    }
}

/// Returns the number in up to eight hex digits; `None` if one is not a digit, or there is none.
pub(crate) fn number(digits: &[u8]) -> Option<u32> {
    if digits.is_empty() || digits.len() > 8 {
        return None;
    }
    digits
        .iter()
        .try_fold(0, |all, &byte| Some(all << 4 | u32::from(digit(byte)?)))
}

/// Fills `bytes` from pairs of hex digits, of which there must be exactly as many.
pub(crate) fn fill(bytes: &mut [u8], digits: &[u8]) -> Option<()> {
    let (pairs, rest) = digits.as_chunks::<2>();
    if pairs.len() != bytes.len() || !rest.is_empty() {
        return None;
    }
    for (byte, [high, low]) in bytes.iter_mut().zip(pairs) {
        *byte = digit(*high)? << 4 | digit(*low)?;
    }
    Some(())
}

/// Appends a number as this many upper-case hex digits.
pub(crate) fn put(out: &mut Vec<u8>, number: u32, digits: u32) {
    for at in (0..digits).rev() {
        out.push(b"0123456789ABCDEF"[(number >> (4 * at) & 15) as usize]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers() {
        assert_eq!(number(b"1fFfFFf0"), Some(0x1FFF_FFF0));
        for wrong in [&b""[..], b"123456789", b"12g", b"+1", b"-1", b" 1"] {
            assert_eq!(number(wrong), None);
        }
        let mut out = Vec::new();
        put(&mut out, 0x12AB, 3);
        assert_eq!(out, b"2AB");
        let mut bytes = [0; 2];
        assert_eq!(fill(&mut bytes, b"0aF1"), Some(()));
        assert_eq!(bytes, [0x0A, 0xF1]);
        for wrong in [&b"0aF"[..], b"0aF1F", b"0aF100", b"0aF", b"0aFx", b""] {
            assert_eq!(fill(&mut bytes, wrong), None);
        }
    }
}
