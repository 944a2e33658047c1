//! Numbers of a protection in a payload: checksum, sequence counter, Data ID, length.

/// The order of the bytes of a number in a payload.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ByteOrder {
    /// The first byte is the least significant one: Intel in DBC files.
    LittleEndian,
    /// The first byte is the most significant one: Motorola in DBC files.
    BigEndian,
}

/// The place of a number in a payload: bits of one byte, or whole bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PayloadField {
    /// The index of the first byte.
    byte: usize,
    /// The number of bits below the number in its byte; 0 for whole bytes.
    shift: u8,
    /// The number of bits: 1 to 8 within a byte, or 16, 32, 64.
    bits: u8,
    order: ByteOrder,
}

impl PayloadField {
    /// Returns the field of 1 to 8 bits that lie in one byte; `None` for others. `bit` is eight
    /// times the byte's index, plus the number of the least significant bit in the byte.
    #[must_use]
    pub const fn within_byte(bit: usize, bits: u8) -> Option<Self> {
        let shift = (bit % 8) as u8;
        if bits == 0 || bits > 8 - shift {
            return None;
        }
        Some(Self {
            byte: bit / 8,
            shift,
            bits,
            order: ByteOrder::BigEndian,
        })
    }

    /// The low or the high four bits of a byte.
    pub(crate) const fn nibble(byte: usize, is_high: bool) -> Self {
        Self {
            byte,
            shift: if is_high { 4 } else { 0 },
            bits: 4,
            order: ByteOrder::BigEndian,
        }
    }

    /// One byte.
    pub(crate) const fn one(byte: usize) -> Self {
        Self::whole(byte, 1, ByteOrder::BigEndian)
    }

    /// Whole bytes, at most eight.
    pub(crate) const fn whole(byte: usize, bytes: u8, order: ByteOrder) -> Self {
        Self {
            byte,
            shift: 0,
            bits: bytes * 8,
            order,
        }
    }

    /// Returns the index of the first byte.
    #[must_use]
    pub const fn first_byte(&self) -> usize {
        self.byte
    }

    /// Returns the number of bits.
    #[must_use]
    pub const fn bits(&self) -> u8 {
        self.bits
    }

    /// Returns the order of the bytes; for a field within one byte it has no meaning.
    #[must_use]
    pub const fn order(&self) -> ByteOrder {
        self.order
    }

    /// Returns the index of the byte behind the field.
    #[must_use]
    pub const fn end(&self) -> usize {
        self.byte + self.byte_count()
    }

    /// Returns the start bit as a DBC file states it for this byte order: the least significant bit
    /// for little-endian, the most significant one for big-endian.
    #[must_use]
    pub const fn dbc_start(&self, order: ByteOrder) -> usize {
        let least = self.byte * 8 + self.shift as usize;
        match order {
            ByteOrder::LittleEndian => least,
            ByteOrder::BigEndian if self.bits > 8 => self.byte * 8 + 7,
            ByteOrder::BigEndian => least + self.bits as usize - 1,
        }
    }

    /// Returns the bits of this byte of the payload that belong to the field.
    #[must_use]
    pub const fn mask(&self, byte: usize) -> u8 {
        if byte < self.byte || byte >= self.end() {
            0
        } else if self.bits >= 8 {
            0xFF
        } else {
            (0xFF >> (8 - self.bits)) << self.shift
        }
    }

    /// Returns the number; `None` if the payload does not contain the whole field.
    #[must_use]
    pub fn read(&self, payload: &[u8]) -> Option<u64> {
        let bytes = payload.get(self.byte..self.end())?;
        if self.bits < 8 {
            let byte = bytes.first()? & self.mask(self.byte);
            return Some(u64::from(byte >> self.shift));
        }
        let push = |number: u64, byte: &u8| number << 8 | u64::from(*byte);
        Some(match self.order {
            ByteOrder::BigEndian => bytes.iter().fold(0, push),
            ByteOrder::LittleEndian => bytes.iter().rev().fold(0, push),
        })
    }

    /// Writes the low bits of the number; does nothing if the payload does not contain the whole
    /// field.
    pub(crate) fn write(&self, payload: &mut [u8], mut number: u64) {
        let mask = self.mask(self.byte);
        let Some(bytes) = payload.get_mut(self.byte..self.end()) else {
            return;
        };
        if self.bits < 8 {
            for byte in bytes {
                *byte = *byte & !mask | (number as u8) << self.shift & mask;
            }
            return;
        }
        let mut put = |byte: &mut u8| {
            *byte = number as u8;
            number >>= 8;
        };
        match self.order {
            ByteOrder::LittleEndian => bytes.iter_mut().for_each(&mut put),
            ByteOrder::BigEndian => bytes.iter_mut().rev().for_each(&mut put),
        }
    }

    /// Returns whether the two fields have a bit in common.
    pub(crate) fn overlaps(&self, other: &Self) -> bool {
        (self.byte..self.end()).any(|byte| self.mask(byte) & other.mask(byte) != 0)
    }

    const fn byte_count(&self) -> usize {
        self.bits.div_ceil(8) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_in_their_order_and_read_back() {
        let mut payload = [0xFF; 6];
        let big = PayloadField::whole(1, 2, ByteOrder::BigEndian);
        big.write(&mut payload, 0x1234);
        let little = PayloadField::whole(3, 2, ByteOrder::LittleEndian);
        little.write(&mut payload, 0x1234);
        let high = PayloadField::nibble(5, true);
        high.write(&mut payload, 0x7A);
        assert_eq!(payload, [0xFF, 0x12, 0x34, 0x34, 0x12, 0xAF]);
        assert_eq!(big.read(&payload), Some(0x1234));
        assert_eq!(little.read(&payload), Some(0x1234));
        assert_eq!(high.read(&payload), Some(0xA));
        assert_eq!(high.read(&payload[..5]), None);
    }

    /// The start bits are those that a DBC file has for the same signals.
    #[test]
    fn start_bits_are_those_of_dbc_files() {
        let counter = PayloadField::nibble(1, false);
        assert_eq!(counter.dbc_start(ByteOrder::LittleEndian), 8);
        assert_eq!(counter.dbc_start(ByteOrder::BigEndian), 11);
        let crc = PayloadField::whole(2, 4, ByteOrder::BigEndian);
        assert_eq!(crc.dbc_start(ByteOrder::BigEndian), 23);
        assert_eq!(
            PayloadField::whole(0, 2, ByteOrder::LittleEndian).dbc_start(ByteOrder::LittleEndian),
            0
        );
    }

    #[test]
    fn a_field_of_a_byte_ends_in_it() {
        assert!(PayloadField::within_byte(12, 4).is_some());
        assert!(PayloadField::within_byte(13, 4).is_none());
        assert!(PayloadField::within_byte(8, 0).is_none());
        assert_eq!(PayloadField::within_byte(13, 2).unwrap().mask(1), 0x60);
    }
}
