//! Assignments to a signal.

use crate::{BitMeaning, SignalField};

/// An assignment to a signal: its place, and the source of its raw value.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct FieldWrite {
    /// The signal that is written.
    pub to: SignalField,
    /// The source of its raw value.
    pub source: FieldSource,
}

/// The source of a raw value.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum FieldSource {
    /// These bits.
    Constant(u64),
    /// The value of another signal of the same payload, by a linear map.
    Signal {
        /// The place of the other signal.
        from: SignalField,
        /// Whether its raw value is signed.
        is_signed: bool,
        /// The map from its raw value to the written one.
        map: LinearMap,
        /// The values that the written signal can have, and the treatment of others.
        range: RangePolicy,
    },
    /// The bits of another signal of the same payload, which has the same size and meaning.
    Bits(SignalField),
}

/// `(factor × raw + offset) / divisor`, rounded to the nearest integer, halves away from zero.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct LinearMap {
    /// The factor.
    pub factor: i64,
    /// The offset.
    pub offset: i64,
    /// The divisor; 0 counts as 1.
    pub divisor: u64,
}

/// The raw values that a signal can have, and the treatment of a value outside.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct RangePolicy {
    /// The lowest raw value. A signal of 64 bits without sign can have values above `i64::MAX`,
    /// which is why this is wider than the signal.
    pub lowest: i128,
    /// The highest raw value.
    pub highest: i128,
    /// The treatment of other values.
    pub outside: OutOfRange,
}

/// The treatment of a value that a signal cannot have.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum OutOfRange {
    /// The nearest value of the range is written.
    Saturate,
    /// The frame is not sent.
    Drop,
    /// These bits are written.
    Substitute(u64),
}

impl LinearMap {
    /// The map of each value to itself.
    pub const SAME: Self = Self {
        factor: 1,
        offset: 0,
        divisor: 1,
    };

    /// Returns the mapped value.
    #[must_use]
    pub fn apply(&self, raw: i128) -> i128 {
        // The largest magnitude of the product is 2^63 × (2^64 − 1) = 2^127 − 2^63; with an offset
        // of −2^63, the sum is −2^127, which still fits.
        let sum = raw * i128::from(self.factor) + i128::from(self.offset);
        let divisor = i128::from(self.divisor.max(1));
        let (quotient, rest) = (sum / divisor, sum % divisor);
        // `rest` has the sign of the sum; |rest| < divisor < 2^64.
        if 2 * rest.abs() >= divisor {
            quotient + sum.signum()
        } else {
            quotient
        }
    }
}

impl FieldSource {
    /// Returns the bits to write.
    ///
    /// # Errors
    /// [`WriteRefusal`].
    #[inline]
    fn bits(&self, payload: &[u8]) -> Result<u64, WriteRefusal> {
        match self {
            Self::Constant(bits) => Ok(*bits),
            Self::Bits(from) => from.read(payload).ok_or(WriteRefusal::Absent),
            Self::Signal {
                from,
                is_signed,
                map,
                range,
            } => {
                let raw = from.read(payload).ok_or(WriteRefusal::Absent)?;
                let raw = if *is_signed {
                    let unused = 64 - from.bits();
                    i128::from((raw << unused).cast_signed() >> unused)
                } else {
                    i128::from(raw)
                };
                range.bits(map.apply(raw)).ok_or(WriteRefusal::OutOfRange)
            }
        }
    }

    /// Returns the number of bytes that a payload needs to contain the source.
    #[must_use]
    pub const fn end(&self) -> usize {
        match self {
            Self::Constant(_) => 0,
            Self::Bits(from) | Self::Signal { from, .. } => from.end(),
        }
    }
}

/// The reason why a frame cannot be sent after assignments.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WriteRefusal {
    /// The payload does not contain a signal that is read or written.
    Absent,
    /// A value is outside its range, and [`OutOfRange::Drop`] applies.
    OutOfRange,
}

/// The most assignments of one action.
pub const MAX_WRITES: usize = 16;

/// Makes all assignments at once: each source is read before any signal is written. Those after the
/// first [`MAX_WRITES`] are not made.
///
/// # Errors
/// [`WriteRefusal`]; then nothing is written.
pub fn write_fields(writes: &[FieldWrite], payload: &mut [u8]) -> Result<(), WriteRefusal> {
    // An absent signal is the reason even if a value is out of range, whatever the order is.
    let ends = writes.iter().take(MAX_WRITES);
    let mut ends = ends.map(|write| write.to.end().max(write.source.end()));
    if ends.any(|end| payload.len() < end) {
        return Err(WriteRefusal::Absent);
    }
    let mut bits = [0; MAX_WRITES];
    for (bits, write) in bits.iter_mut().zip(writes) {
        *bits = write.source.bits(payload)?;
    }
    for (bits, write) in bits.iter().zip(writes) {
        write.to.write(payload, *bits);
    }
    Ok(())
}

impl RangePolicy {
    /// Returns the bits to write for a raw value; `None` if it is outside, and
    /// [`OutOfRange::Drop`] applies.
    #[inline]
    #[must_use]
    pub const fn bits(&self, value: i128) -> Option<u64> {
        if self.lowest <= value && value <= self.highest {
            return Some(value as u64);
        }
        match self.outside {
            OutOfRange::Saturate if value < self.lowest => Some(self.lowest as u64),
            OutOfRange::Saturate => Some(self.highest as u64),
            OutOfRange::Substitute(bits) => Some(bits),
            OutOfRange::Drop => None,
        }
    }

    /// Returns the range of all values that a field can have.
    #[must_use]
    pub const fn of_field(field: &SignalField, meaning: BitMeaning, outside: OutOfRange) -> Self {
        let (lowest, highest) = meaning.raw_limits(field.bits());
        Self {
            lowest,
            highest,
            outside,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ByteOrder, FieldLayout};
    use proptest::prelude::*;

    fn field(start: u16, bits: u8) -> SignalField {
        let order = ByteOrder::Intel;
        SignalField::new(FieldLayout { start, bits, order }, 8).unwrap()
    }

    fn scaled(
        to: SignalField,
        from: SignalField,
        map: LinearMap,
        outside: OutOfRange,
    ) -> FieldWrite {
        let source = FieldSource::Signal {
            from,
            is_signed: false,
            map,
            range: RangePolicy::of_field(&to, BitMeaning::Unsigned, outside),
        };
        FieldWrite { to, source }
    }

    #[test]
    fn halves_are_rounded_away_from_zero() {
        let map = |factor, divisor| LinearMap {
            factor,
            offset: 0,
            divisor,
        };
        // 0.01 to 0.1; 0.5 to 1; 0.1 to 0.2; 0.01 to 0.05625.
        for (map, raw, expected) in [
            (map(1, 10), 505, 51),
            (map(1, 10), 504, 50),
            (map(1, 10), 515, 52),
            (map(1, 2), 13, 7),
            (map(1, 2), -13, -7),
            (map(1, 2), 25, 13),
            (map(8, 45), 65535, 11651),
        ] {
            assert_eq!(map.apply(raw), expected, "{raw} by {map:?}");
        }
        // −7 with (0.1, −40), to (0.5, −40): the offsets are equal.
        assert_eq!(map(1, 5).apply(-7), -1);
    }

    #[test]
    fn a_value_outside_the_range_is_never_wrapped() {
        let (to, from) = (field(8, 4), field(0, 8));
        let result = |outside| {
            let mut payload = [20, 0xA0, 0, 0, 0, 0, 0, 0];
            let write = scaled(to, from, LinearMap::SAME, outside);
            write_fields(&[write], &mut payload).map(|()| payload[1])
        };
        assert_eq!(result(OutOfRange::Saturate), Ok(0xAF));
        assert_eq!(result(OutOfRange::Substitute(3)), Ok(0xA3));
        assert_eq!(result(OutOfRange::Drop), Err(WriteRefusal::OutOfRange));
    }

    #[test]
    fn sources_are_read_before_signals_are_written() {
        let (a, b) = (field(0, 8), field(8, 8));
        let bits = |to, from| FieldWrite {
            to,
            source: FieldSource::Bits(from),
        };
        let mut payload = [1, 2, 3, 0, 0, 0, 0, 0];
        assert_eq!(
            write_fields(&[bits(a, b), bits(b, a)], &mut payload),
            Ok(())
        );
        assert_eq!(payload[..3], [2, 1, 3]);
    }

    #[test]
    fn a_payload_that_is_too_short_is_left_alone() {
        let constant = |to| FieldWrite {
            to,
            source: FieldSource::Constant(7),
        };
        let mut payload = [1, 2];
        let writes = [constant(field(0, 8)), constant(field(16, 8))];
        assert_eq!(
            write_fields(&writes, &mut payload),
            Err(WriteRefusal::Absent)
        );
        assert_eq!(payload, [1, 2]);
    }

    proptest! {
        #[test]
        fn a_map_is_the_nearest_integer(factor: i64, offset: i64, divisor: u64, raw: u64, is_signed: bool) {
            let raw = if is_signed { i128::from(raw.cast_signed()) } else { i128::from(raw) };
            let map = LinearMap { factor, offset, divisor };
            let divisor = i128::from(divisor.max(1));
            let sum = raw * i128::from(factor) + i128::from(offset);
            let result = map.apply(raw);
            // |result × divisor − sum| ≤ divisor / 2, and a half leads away from zero.
            let miss = result.checked_mul(divisor).and_then(|near| near.checked_sub(sum));
            if let Some(miss) = miss {
                prop_assert!(2 * miss.abs() <= divisor);
                if 2 * miss.abs() == divisor {
                    prop_assert!(result.abs() * divisor > sum.abs());
                }
            }
        }
    }
}
