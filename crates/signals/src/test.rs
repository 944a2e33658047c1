//! Comparisons of a signal with a range.

use crate::SignalField;

/// The meaning of a field's bits, which determines their order.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum BitMeaning {
    /// An unsigned integer.
    Unsigned,
    /// A signed integer (two's complement).
    Signed,
    /// A floating-point number (IEEE 754) of 32 or 64 bits.
    Float,
}

impl BitMeaning {
    /// Returns the lowest and the highest number of a field with up to 64 bits; those of a float
    /// count as a number without sign.
    #[must_use]
    pub const fn raw_limits(self, bits: u32) -> (i128, i128) {
        let span = 1_i128 << bits;
        match self {
            Self::Signed => (-span / 2, span / 2 - 1),
            Self::Unsigned | Self::Float => (0, span - 1),
        }
    }
}

/// A comparison of a signal's raw value with a range.
///
/// Each comparison of a signal with a number has this form, by integers only: the bits become a
/// *key*, an unsigned number in the order of the values, and the test is `key − low ≤ span` without
/// sign, modulo 2⁶⁴. The key of a signed value has its sign bit inverted; that of a floating-point
/// number has its sign bit inverted, or all bits if the number is negative; −0 has the key of 0. A
/// NaN passes no test, not even a negated one.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct FieldTest {
    /// The lowest key that passes.
    low: u64,
    /// The highest key that passes, minus the lowest.
    span: u64,
    field: SignalField,
    meaning: BitMeaning,
    /// Keys outside the range pass, and those inside do not.
    is_negated: bool,
}

impl FieldTest {
    /// Returns the test whether the raw bits of a signal are `first`, `last` or between them, in
    /// the order of the values; if `is_negated`, whether they are not. `None` if `last` is below
    /// `first`, if a bound is a NaN, or if a float has neither 32 nor 64 bits.
    #[must_use]
    pub fn new(
        field: SignalField,
        meaning: BitMeaning,
        (first, last): (u64, u64),
        is_negated: bool,
    ) -> Option<Self> {
        let low = key(&field, meaning, first)?;
        let span = key(&field, meaning, last)?.checked_sub(low)?;
        Some(Self {
            low,
            span,
            field,
            meaning,
            is_negated,
        })
    }

    /// Returns whether a payload contains the signal, and its value passes.
    #[inline]
    #[must_use]
    pub fn matches(&self, payload: &[u8]) -> bool {
        let Some(raw) = self.field.read(payload) else {
            return false;
        };
        let Some(key) = key(&self.field, self.meaning, raw) else {
            return false;
        };
        (key.wrapping_sub(self.low) <= self.span) != self.is_negated
    }

    /// Returns the place of the signal.
    #[must_use]
    pub const fn field(&self) -> SignalField {
        self.field
    }

    /// Returns the meaning of the signal's bits.
    #[must_use]
    pub const fn meaning(&self) -> BitMeaning {
        self.meaning
    }

    /// Returns the lowest key of the range, and the highest one minus the lowest one.
    #[must_use]
    pub const fn low_and_span(&self) -> (u64, u64) {
        (self.low, self.span)
    }

    /// Returns whether the values outside the range pass.
    #[must_use]
    pub const fn is_negated(&self) -> bool {
        self.is_negated
    }

    /// Returns the first and the last value of the range as raw bits.
    #[must_use]
    pub fn raw_range(&self) -> (u64, u64) {
        let last = self.low.wrapping_add(self.span);
        (self.bits_of(self.low), self.bits_of(last))
    }

    /// Returns the ranges of keys that pass, in order, at most two.
    fn passing(&self) -> impl Iterator<Item = (u64, u64)> {
        let last = self.low.wrapping_add(self.span);
        let ranges = if self.is_negated {
            let below = self.low.checked_sub(1).map(|end| (0, end));
            let above = (last < self.field.mask()).then(|| (last + 1, self.field.mask()));
            [below, above]
        } else {
            [Some((self.low, last)), None]
        };
        ranges.into_iter().flatten()
    }

    fn is_of_same_signal(&self, other: &Self) -> bool {
        (self.field, self.meaning) == (other.field, other.meaning)
    }

    /// Returns whether both tests concern the same signal, and no value passes both.
    #[must_use]
    pub fn excludes(&self, other: &Self) -> bool {
        let is_apart = |(first, last): (u64, u64)| {
            let mut others = other.passing();
            others.all(|(low, high)| last < low || high < first)
        };
        self.is_of_same_signal(other) && self.passing().all(is_apart)
    }

    /// Returns whether both tests concern the same signal, and each value that passes this one
    /// passes the other one, too.
    #[must_use]
    pub fn implies(&self, other: &Self) -> bool {
        let is_inside = |(first, last): (u64, u64)| {
            let mut others = other.passing();
            others.any(|(low, high)| low <= first && last <= high)
        };
        self.is_of_same_signal(other) && self.passing().all(is_inside)
    }

    /// Returns the test that passes the values that pass both; `None` if they concern different
    /// signals, or if no single test does that.
    #[must_use]
    pub fn and(&self, other: &Self) -> Option<Self> {
        if !self.is_of_same_signal(other) || self.is_negated || other.is_negated {
            return None;
        }
        let low = self.low.max(other.low);
        let last = (self.low + self.span).min(other.low + other.span);
        Some(Self {
            low,
            span: last.checked_sub(low)?,
            ..*self
        })
    }

    /// Returns the bits with this key.
    fn bits_of(&self, key: u64) -> u64 {
        let sign = sign_bit(&self.field);
        match self.meaning {
            BitMeaning::Unsigned => key,
            BitMeaning::Signed => key ^ sign,
            BitMeaning::Float if key & sign != 0 => key ^ sign,
            BitMeaning::Float => !key & self.field.mask(),
        }
    }
}

const fn sign_bit(field: &SignalField) -> u64 {
    1 << (field.bits() - 1)
}

/// Returns the key of raw bits; `None` for a NaN, and for a float of a size other than 32 or 64.
#[inline]
fn key(field: &SignalField, meaning: BitMeaning, raw: u64) -> Option<u64> {
    let sign = sign_bit(field);
    match meaning {
        BitMeaning::Unsigned => Some(raw),
        BitMeaning::Signed => Some(raw ^ sign),
        BitMeaning::Float => {
            // All bits of the exponent are set in infinities and NaNs.
            let infinity = match field.bits() {
                32 => f32::INFINITY.to_bits().into(),
                64 => f64::INFINITY.to_bits(),
                _ => return None,
            };
            let magnitude = raw & !sign;
            if magnitude > infinity {
                return None;
            }
            Some(if raw & sign == 0 || magnitude == 0 {
                magnitude | sign
            } else {
                !raw & field.mask()
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ByteOrder, FieldLayout};
    use alloc::vec::Vec;
    use proptest::prelude::*;

    fn field(start: u16, bits: u8, order: ByteOrder) -> SignalField {
        SignalField::new(FieldLayout { start, bits, order }, 8).unwrap()
    }

    fn order(is_intel: bool) -> ByteOrder {
        if is_intel {
            ByteOrder::Intel
        } else {
            ByteOrder::Motorola
        }
    }

    #[test]
    fn a_range_is_in_the_order_of_the_values() {
        let signed = field(0, 12, ByteOrder::Intel);
        // −16 to 3.
        let test = FieldTest::new(signed, BitMeaning::Signed, (0xFF0, 3), false).unwrap();
        assert_eq!(test.raw_range(), (0xFF0, 3));
        for (raw, passes) in [
            (0xFEF, false),
            (0xFF0, true),
            (0, true),
            (3, true),
            (4, false),
        ] {
            let mut payload = [0; 8];
            assert!(signed.write(&mut payload, raw));
            assert_eq!(test.matches(&payload), passes, "{raw:03X}");
        }
        assert_eq!(
            FieldTest::new(signed, BitMeaning::Unsigned, (0xFF0, 3), false),
            None
        );
    }

    #[test]
    fn a_payload_without_the_signal_passes_no_test() {
        let field = field(8, 8, ByteOrder::Intel);
        for is_negated in [false, true] {
            let test = FieldTest::new(field, BitMeaning::Unsigned, (0, 9), is_negated).unwrap();
            assert!(!test.matches(&[0]));
            assert_eq!(test.matches(&[0, 5]), !is_negated);
        }
    }

    #[test]
    fn sets_of_values_are_compared() {
        let field = field(0, 4, ByteOrder::Intel);
        let all: Vec<FieldTest> = (0..16_u64)
            .flat_map(|first| (first..16).map(move |last| (first, last)))
            .flat_map(|range| [false, true].map(|negated| (range, negated)))
            .filter_map(|(range, negated)| {
                FieldTest::new(field, BitMeaning::Signed, range, negated)
            })
            .collect();
        let passing = |test: &FieldTest| -> u16 {
            (0..16)
                .filter(|raw| test.matches(&[*raw]))
                .fold(0, |all, raw| all | 1 << raw)
        };
        for a in &all {
            for b in &all {
                let (of_a, of_b) = (passing(a), passing(b));
                assert_eq!(a.excludes(b), of_a & of_b == 0, "{a:?} {b:?}");
                // A range that ends where a negated one begins can be in two parts of it.
                assert!(!a.implies(b) || of_a & !of_b == 0, "{a:?} {b:?}");
                if let Some(both) = a.and(b) {
                    assert_eq!(passing(&both), of_a & of_b, "{a:?} {b:?}");
                }
            }
        }
    }

    #[test]
    fn a_nan_passes_no_test() {
        let field = field(0, 32, ByteOrder::Intel);
        let bits = |number: f32| u64::from(number.to_bits());
        let all = (bits(f32::NEG_INFINITY), bits(f32::INFINITY));
        for is_negated in [false, true] {
            let test = FieldTest::new(field, BitMeaning::Float, all, is_negated).unwrap();
            assert!(!test.matches(&f32::NAN.to_le_bytes()));
            assert_eq!(test.matches(&1_f32.to_le_bytes()), !is_negated);
        }
        let nan = (bits(f32::NAN), bits(f32::INFINITY));
        assert_eq!(FieldTest::new(field, BitMeaning::Float, nan, false), None);
    }

    proptest! {
        #[test]
        fn integers_are_compared_as_numbers(
            payload: [u8; 8],
            place in (0..64_u16, 1..=64_u8, any::<bool>(), any::<bool>()),
            bounds: (u64, u64),
            is_negated: bool,
        ) {
            let (start, bits, is_intel, is_signed) = place;
            let field = field(start, bits, order(is_intel));
            prop_assume!(field.end() <= 8);
            let value = |raw: u64| {
                let raw = i128::from(raw & field.mask());
                let half = 1_i128 << (bits - 1);
                if is_signed && raw >= half { raw - 2 * half } else { raw }
            };
            let meaning = if is_signed { BitMeaning::Signed } else { BitMeaning::Unsigned };
            let (first, last) = (bounds.0 & field.mask(), bounds.1 & field.mask());
            let test = FieldTest::new(field, meaning, (first, last), is_negated);
            prop_assert_eq!(test.is_some(), value(first) <= value(last));
            if let Some(test) = test {
                let here = value(field.read(&payload).unwrap());
                let inside = value(first) <= here && here <= value(last);
                prop_assert_eq!(test.matches(&payload), inside != is_negated);
                prop_assert_eq!(test.raw_range(), (first, last));
            }
        }

        #[test]
        fn floats_are_compared_as_numbers(
            number: u64, first: u64, last: u64, is_short: bool, is_negated: bool, near: u8,
        ) {
            let bits = if is_short { 32 } else { 64 };
            let field = field(0, bits, ByteOrder::Intel);
            let (number, first, last) = match near {
                // Numbers near the bounds, and both zeros.
                0..64 => (first, first, last),
                64..128 => (1 << (bits - 1), 0, last & (field.mask() >> 1)),
                _ => (number, first, last),
            };
            let value = |raw: u64| if is_short {
                f64::from(f32::from_bits(raw as u32))
            } else {
                f64::from_bits(raw)
            };
            let (number, first, last) =
                (number & field.mask(), first & field.mask(), last & field.mask());
            let test = FieldTest::new(field, BitMeaning::Float, (first, last), is_negated);
            prop_assert_eq!(test.is_some(), value(first) <= value(last));
            if let Some(test) = test {
                let here = value(number);
                let inside = value(first) <= here && here <= value(last);
                let passes = !here.is_nan() && inside != is_negated;
                prop_assert_eq!(test.matches(&number.to_le_bytes()), passes);
            }
        }
    }
}
