//! The number of a round trip in a payload: little-endian, in the first four bytes, or in all bytes
//! of a shorter payload.

/// The maximum number of bytes for the number.
const BYTES: usize = 4;

/// Writes the low bytes of a number.
pub(crate) fn write(number: u64, data: &mut [u8]) {
    for (to, from) in data.iter_mut().take(BYTES).zip(number.to_le_bytes()) {
        *to = from;
    }
}

/// Returns whether a payload has the number of this round trip: an empty payload matches any.
pub(crate) fn is(number: u64, data: &[u8]) -> bool {
    let bytes = number.to_le_bytes();
    data.iter().take(BYTES).zip(bytes).all(|(a, b)| *a == b)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_number_is_found_again(number: u64, len in 0usize..=8, other: u64) {
            let mut data = vec![0xAA; len];
            write(number, &mut data);
            prop_assert!(is(number, &data));
            let bits = 8 * len.min(BYTES) as u32;
            let mask = 1u64.checked_shl(bits).map_or(u64::MAX, |n| n - 1);
            prop_assert_eq!(is(other, &data), other & mask == number & mask);
        }
    }
}
