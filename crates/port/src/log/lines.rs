//! Whole lines of a text.

/// Returns the length of the first line, with its end.
pub(super) fn first_line(bytes: &[u8]) -> usize {
    let end = bytes.iter().position(|byte| *byte == b'\n');
    end.map_or(bytes.len(), |at| at + 1)
}

/// Returns the beginning of `bytes` that has whole lines and at most `limit` bytes; if the first
/// line is longer than that, returns that line.
pub(super) fn whole_lines(bytes: &[u8], limit: usize) -> &[u8] {
    if bytes.len() <= limit {
        return bytes;
    }
    let (head, _) = bytes.split_at(limit);
    let end = match head.iter().rposition(|byte| *byte == b'\n') {
        Some(at) => at + 1,
        None => first_line(bytes),
    };
    &bytes[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_end_with_a_line() {
        assert_eq!(whole_lines(b"ab\ncd\nef\n", 7), b"ab\ncd\n");
        assert_eq!(whole_lines(b"ab\ncd\n", 7), b"ab\ncd\n");
        assert_eq!(whole_lines(b"abcdefgh\ncd\n", 4), b"abcdefgh\n");
    }
}
