//! The place of a signal in a payload.

/// The order in which the bits of a signal follow one another over the bytes of a payload.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
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

impl FieldLayout {
    /// Returns the start bit of a Motorola signal of which the file counts the first bit in the
    /// order of the bus: bit 7 of byte 0 is 0.
    #[cfg(any(feature = "kcd", feature = "arxml", feature = "sym"))]
    pub(crate) const fn motorola_start(first: u16) -> u16 {
        first / 8 * 8 + 7 - first % 8
    }
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
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct SignalField {
    /// The index of the first byte that is loaded.
    base: u16,
    /// The number of bytes that a payload needs to contain the whole signal.
    end: u16,
    /// The number of bits below the signal in the loaded word; with a ninth byte, in the word with
    /// that byte.
    shift: u8,
    bits: u8,
    order: ByteOrder,
    /// Whether a ninth byte is needed.
    is_long: bool,
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
            base: base as u16,
            end: (base + last.div_ceil(8) as usize) as u16,
            shift: shift as u8,
            bits: bits as u8,
            order,
            is_long,
        })
    }

    /// Returns the number of bytes that a payload needs to contain the whole signal.
    #[must_use]
    pub const fn end(&self) -> usize {
        self.end as usize
    }

    /// Returns the number of bits.
    #[must_use]
    pub const fn bits(&self) -> u32 {
        self.bits as u32
    }

    /// Returns the index of the first byte that is loaded.
    #[must_use]
    pub const fn base(&self) -> usize {
        self.base as usize
    }

    /// Returns the byte order of the load.
    #[must_use]
    pub const fn order(&self) -> ByteOrder {
        self.order
    }

    /// Returns the number of bits below the signal in the loaded word of 64 bits, or of 72 bits if
    /// the signal [needs a ninth byte](Self::needs_ninth_byte).
    #[must_use]
    pub const fn shift(&self) -> u32 {
        self.shift as u32
    }

    /// Returns whether eight bytes do not contain the signal.
    #[must_use]
    pub const fn needs_ninth_byte(&self) -> bool {
        self.is_long
    }

    /// Returns a mask of as many low bits as the signal has.
    #[must_use]
    pub const fn mask(&self) -> u64 {
        u64::MAX >> (64 - self.bits as u32)
    }

    /// Returns the signal's bits; `None` if the payload is too short to contain all of them. Bytes
    /// that a frame does not have are not zeros.
    #[inline]
    #[must_use]
    pub fn read(&self, payload: &[u8]) -> Option<u64> {
        if payload.len() < self.end() {
            return None;
        }
        let loaded = payload.get(self.base()..).unwrap_or_default();
        let mut bytes = [0; 8];
        match loaded.first_chunk() {
            Some(all) => bytes = *all,
            None => bytes[..loaded.len()].copy_from_slice(loaded),
        }
        if self.is_long {
            let ninth = loaded.get(8).copied().unwrap_or_default();
            return Some((self.join(bytes, ninth) >> self.shift) as u64 & self.mask());
        }
        let word = match self.order {
            ByteOrder::Intel => u64::from_le_bytes(bytes),
            ByteOrder::Motorola => u64::from_be_bytes(bytes),
        };
        Some(word >> self.shift & self.mask())
    }

    /// Writes the signal's bits, of which those above its size are ignored, and no other bit.
    /// Returns whether the payload is long enough; otherwise nothing is written.
    #[inline]
    pub fn write(&self, payload: &mut [u8], raw: u64) -> bool {
        if payload.len() < self.end() {
            return false;
        }
        let loaded = payload.get_mut(self.base()..).unwrap_or_default();
        let mut bytes = [0; 8];
        let count = loaded.len().min(8);
        bytes[..count].copy_from_slice(&loaded[..count]);
        let ninth = loaded.get(8).copied().unwrap_or_default();
        let (mask, raw) = (u128::from(self.mask()), u128::from(raw & self.mask()));
        let word = self.join(bytes, ninth) & !(mask << self.shift) | raw << self.shift;
        let ninth = match (self.order, self.is_long) {
            (ByteOrder::Intel, _) => {
                bytes = (word as u64).to_le_bytes();
                (word >> 64) as u8
            }
            (ByteOrder::Motorola, true) => {
                bytes = ((word >> 8) as u64).to_be_bytes();
                word as u8
            }
            (ByteOrder::Motorola, false) => {
                bytes = (word as u64).to_be_bytes();
                0
            }
        };
        loaded[..count].copy_from_slice(&bytes[..count]);
        if self.is_long
            && let Some(byte) = loaded.get_mut(8)
        {
            *byte = ninth;
        }
        true
    }

    /// Returns whether a payload can have a bit of both fields.
    #[must_use]
    pub fn shares_bits(&self, other: &Self) -> bool {
        let others = other.occupied();
        let mut own = self.occupied().into_iter().zip(self.base()..);
        own.any(|(byte, at)| {
            let there = at.checked_sub(other.base());
            there.and_then(|at| others.get(at)).unwrap_or(&0) & byte != 0
        })
    }

    /// Returns the bits of the signal in the bytes that are loaded, and in a ninth one.
    fn occupied(&self) -> [u8; 9] {
        let mask = u128::from(self.mask()) << self.shift;
        let all = match (self.order, self.is_long) {
            (ByteOrder::Intel, _) => mask.to_le_bytes(),
            (ByteOrder::Motorola, false) => (mask << 64).to_be_bytes(),
            (ByteOrder::Motorola, true) => (mask << 56).to_be_bytes(),
        };
        all.first_chunk().copied().unwrap_or_default()
    }

    /// Returns the number that the loaded bytes are in the signal's byte order: 64 bits, or 72 with
    /// the ninth byte.
    fn join(&self, bytes: [u8; 8], ninth: u8) -> u128 {
        match (self.order, self.is_long) {
            (ByteOrder::Intel, false) => u64::from_le_bytes(bytes).into(),
            (ByteOrder::Intel, true) => {
                u128::from(u64::from_le_bytes(bytes)) | u128::from(ninth) << 64
            }
            (ByteOrder::Motorola, false) => u64::from_be_bytes(bytes).into(),
            (ByteOrder::Motorola, true) => {
                u128::from(u64::from_be_bytes(bytes)) << 8 | u128::from(ninth)
            }
        }
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
        fn a_write_changes_the_bits_of_the_field_only(
            payload in proptest::collection::vec(any::<u8>(), 0..=64),
            len in 0..=64_usize,
            start in 0..512_u16,
            bits in 1..=64_u8,
            is_intel: bool,
            raw: u64,
        ) {
            let order = if is_intel { ByteOrder::Intel } else { ByteOrder::Motorola };
            let layout = layout(start, bits, order);
            let field = SignalField::new(layout, len).unwrap();
            let mut written = payload.clone();
            if !field.write(&mut written, raw) {
                prop_assert_eq!(&written, &payload);
                prop_assert!(slow(layout, &payload).is_none());
                return Ok(());
            }
            prop_assert_eq!(slow(layout, &written), Some(raw & field.mask()));
            // With the former bits, the payload is the former one.
            let former = slow(layout, &payload).unwrap();
            prop_assert!(field.write(&mut written, former));
            prop_assert_eq!(&written, &payload);
        }

        #[test]
        fn fields_share_the_bits_that_a_write_of_one_changes_in_the_other(
            start in 0..96_u16,
            other in 0..96_u16,
            (bits, other_bits) in (1..=64_u8, 1..=64_u8),
            (is_intel, is_other_intel) in any::<(bool, bool)>(),
            (len, other_len) in (0..=24_usize, 0..=24_usize),
        ) {
            let order = |is_intel| if is_intel { ByteOrder::Intel } else { ByteOrder::Motorola };
            let own = layout(start, bits, order(is_intel));
            let field = SignalField::new(own, len).unwrap();
            let other = layout(other, other_bits, order(is_other_intel));
            let other_field = SignalField::new(other, other_len).unwrap();
            let mut payload = [0; 32];
            prop_assert!(field.write(&mut payload, u64::MAX));
            let expected = slow(other, &payload).unwrap() != 0;
            prop_assert_eq!(field.shares_bits(&other_field), expected);
            prop_assert_eq!(other_field.shares_bits(&field), expected);
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
