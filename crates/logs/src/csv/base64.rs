//! Base64 with padding (RFC 4648, section 4).

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Appends the text of these bytes.
pub(super) fn encode(bytes: &[u8], out: &mut Vec<u8>) {
    for group in bytes.chunks(3) {
        let bits = group
            .iter()
            .fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte))
            << (8 * (3 - group.len()));
        for at in 0..4 {
            let digit = DIGITS.get((bits >> (18 - 6 * at)) as usize & 63);
            out.push(match digit {
                Some(digit) if at <= group.len() => *digit,
                _ => b'=',
            });
        }
    }
}

/// Decodes a text into `into`, from its beginning; returns the number of bytes. `None`: it is not
/// valid, or longer than `into`.
pub(super) fn decode(text: &[u8], into: &mut [u8]) -> Option<usize> {
    let digits = text.strip_suffix(b"==").or(text.strip_suffix(b"="));
    let digits = digits.unwrap_or(text);
    if !text.len().is_multiple_of(4) {
        return None;
    }
    let (mut bits, mut filled, mut len) = (0_u32, 0, 0);
    for digit in digits {
        let value = DIGITS.iter().position(|known| known == digit)?;
        bits = bits << 6 | value as u32;
        filled += 6;
        if filled >= 8 {
            filled -= 8;
            *into.get_mut(len)? = (bits >> filled) as u8;
            len += 1;
        }
    }
    Some(len)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_vectors_of_the_standard() {
        for (bytes, text) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ] {
            let mut out = Vec::new();
            encode(bytes.as_bytes(), &mut out);
            assert_eq!(out, text.as_bytes());
            let mut room = [0; 6];
            let len = decode(text.as_bytes(), &mut room).unwrap();
            assert_eq!(&room[..len], bytes.as_bytes());
        }
        for wrong in ["Z", "Zg", "Zg=", "Zm9vYmFyZm9v", "Z===", "Zm9*", "===="] {
            assert_eq!(decode(wrong.as_bytes(), &mut [0; 6]), None, "{wrong}");
        }
    }
}
