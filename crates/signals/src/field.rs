//! The place of a signal in a payload.

/// The order in which the bits of a signal follow one another over the bytes of a payload.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ByteOrder {
    /// Little-endian: the start bit is the least significant one, and the next byte has the more
    /// significant bits.
    Intel,
    /// Big-endian: the start bit is the most significant one, and the next byte has the less
    /// significant bits.
    Motorola,
}

/// The place of a signal as DBC and KCD files state it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FieldLayout {
    /// The start bit: eight times the byte's index, plus the bit's number in the byte, of which 0
    /// is the least significant one.
    pub start: u16,
    /// The number of bits, 1 to 64.
    pub bits: u8,
    /// The byte order.
    pub order: ByteOrder,
}

/// The reason why a layout has no [`SignalField`].
#[derive(thiserror::Error, Clone, Copy, PartialEq, Eq, Debug)]
pub enum FieldError {
    /// The number of bits is not 1 to 64.
    #[error("{0} bits: a signal has 1 to 64 bits")]
    Bits(u8),
    /// The start bit is in no payload.
    #[error("start bit {0}: a payload of CAN XL has 16384 bits")]
    Start(u16),
}

/// The number of bits in the longest payload, that of CAN XL.
const MOST_BITS: u16 = 2048 * 8;

/// The place of a signal, ready to be read: eight bytes are loaded in the signal's byte order,
/// shifted, and masked. A signal that is not aligned to bytes can touch nine bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SignalField {
    /// The index of the first byte that is loaded.
    base: usize,
    /// The number of bits below the signal in the loaded word; with a ninth byte, in the word with
    /// that byte.
    shift: u32,
    bits: u32,
    order: ByteOrder,
    /// Whether a ninth byte is needed.
    is_long: bool,
    /// The number of bytes that a payload needs to contain the whole signal.
    end: usize,
}

impl SignalField {
    /// Returns the field for a layout in payloads of `len` bytes. Other payloads can be read, too:
    /// the length only decides which eight bytes are loaded.
    ///
    /// # Errors
    /// [`FieldError`] if no payload can contain such a signal.
    pub fn new(layout: FieldLayout, len: usize) -> Result<Self, FieldError> {
        let FieldLayout { start, bits, order } = layout;
        if !(1..=64).contains(&bits) {
            return Err(FieldError::Bits(bits));
        }
        if start >= MOST_BITS {
            return Err(FieldError::Start(start));
        }
        let bits = u32::from(bits);
        let (byte, bit) = (usize::from(start / 8), u32::from(start % 8));
        // The number of bits before the signal in its byte order.
        let offset = match order {
            ByteOrder::Intel => bit,
            ByteOrder::Motorola => 7 - bit,
        };
        // The load stays within a buffer of whole words, as BPF programs need it, unless the signal
        // does not fit into it.
        let last_word = len.div_ceil(8).max(1) * 8 - 8;
        let room = (8 * (byte - byte.min(last_word))) as u32;
        let base = if room + offset + bits <= 64 {
            byte.min(last_word)
        } else {
            byte
        };
        let first = (byte - base) as u32 * 8 + offset;
        let last = first + bits;
        let is_long = last > 64;
        let shift = match order {
            ByteOrder::Intel => first,
            ByteOrder::Motorola if is_long => 72 - last,
            ByteOrder::Motorola => 64 - last,
        };
        Ok(Self {
            base,
            shift,
            bits,
            order,
            is_long,
            end: base + last.div_ceil(8) as usize,
        })
    }

    /// Returns the number of bytes that a payload needs to contain the whole signal.
    #[must_use]
    pub const fn end(&self) -> usize {
        self.end
    }

    /// Returns the number of bits.
    #[must_use]
    pub const fn bits(&self) -> u32 {
        self.bits
    }

    /// Returns the signal's bits; `None` if the payload is too short to contain all of them. Bytes
    /// that a frame does not have are not zeros.
    #[must_use]
    pub fn read(&self, payload: &[u8]) -> Option<u64> {
        if payload.len() < self.end {
            return None;
        }
        let loaded = payload.get(self.base..).unwrap_or_default();
        let mut bytes = [0; 8];
        match loaded.first_chunk() {
            Some(all) => bytes = *all,
            None => bytes[..loaded.len()].copy_from_slice(loaded),
        }
        let mask = u64::MAX >> (64 - self.bits);
        let word = match self.order {
            ByteOrder::Intel => u64::from_le_bytes(bytes),
            ByteOrder::Motorola => u64::from_be_bytes(bytes),
        };
        if !self.is_long {
            return Some(word >> self.shift & mask);
        }
        let ninth = loaded.get(8).copied().unwrap_or_default();
        let word = match self.order {
            ByteOrder::Intel => u128::from(word) | u128::from(ninth) << 64,
            ByteOrder::Motorola => u128::from(word) << 8 | u128::from(ninth),
        };
        Some((word >> self.shift) as u64 & mask)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use proptest::prelude::*;

    fn layout(start: u16, bits: u8, order: ByteOrder) -> FieldLayout {
        FieldLayout { start, bits, order }
    }

    /// Reads bit by bit, as the DBC format describes it.
    fn slow(layout: FieldLayout, payload: &[u8]) -> Option<u64> {
        let (mut bit, mut value) = (usize::from(layout.start), 0_u64);
        for number in 0..layout.bits {
            let one = u64::from(payload.get(bit / 8)? >> (bit % 8) & 1);
            match layout.order {
                ByteOrder::Intel => {
                    value |= one << number;
                    bit += 1;
                }
                ByteOrder::Motorola => {
                    value = value << 1 | one;
                    // After bit 0 of a byte comes bit 7 of the next one.
                    bit = if bit.is_multiple_of(8) {
                        bit + 15
                    } else {
                        bit - 1
                    };
                }
            }
        }
        Some(value)
    }

    #[test]
    fn impossible_layouts_are_refused() {
        let intel = ByteOrder::Intel;
        let error = |start, bits| SignalField::new(layout(start, bits, intel), 8).unwrap_err();
        assert_eq!(error(0, 0), FieldError::Bits(0));
        assert_eq!(error(0, 65), FieldError::Bits(65));
        assert_eq!(error(16384, 1), FieldError::Start(16384));
        assert!(SignalField::new(layout(16383, 1, intel), 2048).is_ok());
    }

    #[test]
    fn a_signal_that_the_payload_does_not_contain_whole_is_absent() {
        for (order, start) in [(ByteOrder::Intel, 16), (ByteOrder::Motorola, 23)] {
            let field = SignalField::new(layout(start, 16, order), 8).unwrap();
            assert_eq!(field.end(), 4);
            assert_eq!(field.read(&[0, 0, 0x12]), None);
            assert!(field.read(&[0, 0, 0x12, 0x34]).is_some());
        }
    }

    proptest! {
        #[test]
        fn each_field_is_read_as_bit_by_bit(
            payload in proptest::collection::vec(any::<u8>(), 0..=64),
            len in 0..=64_usize,
            start in 0..512_u16,
            bits in 1..=64_u8,
            is_intel: bool,
        ) {
            let order = if is_intel { ByteOrder::Intel } else { ByteOrder::Motorola };
            let layout = layout(start, bits, order);
            let field = SignalField::new(layout, len).unwrap();
            prop_assert_eq!(field.read(&payload), slow(layout, &payload));
        }

        #[test]
        fn the_end_is_the_least_length(start in 0..512_u16, bits in 1..=64_u8, is_intel: bool) {
            let order = if is_intel { ByteOrder::Intel } else { ByteOrder::Motorola };
            let layout = layout(start, bits, order);
            let field = SignalField::new(layout, 64).unwrap();
            let zeros: Vec<u8> = (0..80).map(|_| 0).collect();
            let least = (0..80).find(|len| slow(layout, &zeros[..*len]).is_some());
            prop_assert_eq!(Some(field.end()), least);
        }
    }
}
