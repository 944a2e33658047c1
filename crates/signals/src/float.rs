//! The floating-point numbers next to a decimal number.

use crate::decimal::Decimal;
use alloc::format;
use alloc::string::String;
use core::cmp::Ordering;

/// The size of a floating-point number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum FloatSize {
    /// 32 bits.
    Single,
    /// 64 bits.
    Double,
}

/// The bits of the floating-point numbers next to a decimal number; both are the same if it is one
/// itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct FloatNeighbours {
    /// The largest one that is not above the number; can be −∞.
    pub(crate) below: u64,
    /// The smallest one that is not below the number; can be +∞.
    pub(crate) above: u64,
}

impl FloatSize {
    /// Returns the number with these bits.
    pub(crate) fn value(self, bits: u64) -> f64 {
        match self {
            Self::Single => f32::from_bits(bits as u32).into(),
            Self::Double => f64::from_bits(bits),
        }
    }

    /// Returns the largest number that is not infinite.
    pub(crate) fn largest(self) -> f64 {
        match self {
            Self::Single => f32::MAX.into(),
            Self::Double => f64::MAX,
        }
    }

    /// Returns the bits of −∞ and +∞.
    pub(crate) fn infinities(self) -> (u64, u64) {
        match self {
            Self::Single => (
                f32::NEG_INFINITY.to_bits().into(),
                f32::INFINITY.to_bits().into(),
            ),
            Self::Double => (f64::NEG_INFINITY.to_bits(), f64::INFINITY.to_bits()),
        }
    }

    /// Returns the bits of the next larger number.
    pub(crate) fn next_above(self, bits: u64) -> u64 {
        match self {
            Self::Single => f32::from_bits(bits as u32).next_up().to_bits().into(),
            Self::Double => f64::from_bits(bits).next_up().to_bits(),
        }
    }

    /// Returns the bits of the next smaller number.
    pub(crate) fn next_below(self, bits: u64) -> u64 {
        match self {
            Self::Single => f32::from_bits(bits as u32).next_down().to_bits().into(),
            Self::Double => f64::from_bits(bits).next_down().to_bits(),
        }
    }

    /// Returns the bits of the number that is nearest to a decimal one.
    pub(crate) fn nearest(self, number: Decimal) -> u64 {
        let text = format!("{}e{}", number.mantissa(), number.exponent());
        // Each decimal number can be parsed; those that are too large become infinite.
        match self {
            Self::Single => text.parse().unwrap_or(f32::NAN).to_bits().into(),
            Self::Double => text.parse().unwrap_or(f64::NAN).to_bits(),
        }
    }

    /// Returns the numbers next to a decimal number.
    pub(crate) fn neighbours(self, number: Decimal) -> FloatNeighbours {
        let nearest = self.nearest(number);
        let (below, above) = match compare(self.value(nearest), number) {
            Ordering::Equal => (nearest, nearest),
            Ordering::Less => (nearest, self.next_above(nearest)),
            Ordering::Greater => (self.next_below(nearest), nearest),
        };
        FloatNeighbours { below, above }
    }
}

/// Compares exactly. `float` is not a NaN.
fn compare(float: f64, number: Decimal) -> Ordering {
    /// More significant digits than the decimal form of any number of 64 bits has: 767.
    const DIGITS: usize = 800;
    let is_below = float.is_sign_negative() && float != 0.0;
    let signs = (is_below, number.mantissa() < 0);
    if signs.0 != signs.1 {
        let (a, b) = (sign(float), number.mantissa().signum());
        return i128::from(a).cmp(&b);
    }
    let magnitudes = if float.is_infinite() {
        Ordering::Greater
    } else {
        let float = format!("{:.DIGITS$e}", float.abs());
        let number = format!("{}e{}", number.mantissa().unsigned_abs(), number.exponent());
        scientific(&float).cmp(&scientific(&number))
    };
    if is_below {
        magnitudes.reverse()
    } else {
        magnitudes
    }
}

fn sign(float: f64) -> i8 {
    if float == 0.0 {
        0
    } else if float.is_sign_negative() {
        -1
    } else {
        1
    }
}

/// Returns a number without sign, `DIGITS[.DIGITS]eEXPONENT`, as a pair that is ordered as the
/// numbers are: the exponent of its first digit that is not 0, and the digits from there on.
fn scientific(text: &str) -> (i32, String) {
    let (digits, exponent) = text.split_once('e').unwrap_or((text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let all = format!("{whole}{fraction}");
    let significant = all.trim_start_matches('0');
    let zeros = all.len() - significant.len();
    if significant.is_empty() {
        return (i32::MIN, String::new());
    }
    let first = whole.len() as i32 - 1 - zeros as i32;
    (exponent + first, significant.trim_end_matches('0').into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn single(text: &str) -> (f32, f32) {
        let found = FloatSize::Single.neighbours(text.parse().unwrap());
        let float = |bits: u64| f32::from_bits(bits as u32);
        (float(found.below), float(found.above))
    }

    #[test]
    fn a_decimal_number_is_between_its_neighbours() {
        // 0.1 is below the nearest float, 0.100000001490116…; 0.3 is below 0.300000011920929….
        assert_eq!(single("0.1"), (0.1_f32.next_down(), 0.1));
        assert_eq!(single("-0.1"), (-0.1, (-0.1_f32).next_up()));
        assert_eq!(single("0.7"), (0.7, 0.7_f32.next_up()));
        assert_eq!(single("0.100000001490116119384765625"), (0.1, 0.1));
        assert_eq!(single("16777217"), (16_777_216.0, 16_777_218.0));
        assert_eq!(single("0"), (0.0, 0.0));
        assert_eq!(single("-2.5"), (-2.5, -2.5));
    }

    #[test]
    fn numbers_that_no_float_reaches_have_neighbours() {
        assert_eq!(single("1e39"), (f32::MAX, f32::INFINITY));
        assert_eq!(single("-1e39"), (f32::NEG_INFINITY, f32::MIN));
        let tiny = f32::from_bits(1);
        assert_eq!(single("1e-60"), (0.0, tiny));
        let (below, above) = single("-1e-60");
        assert_eq!((below, above), (-tiny, 0.0));
        let double = FloatSize::Double.neighbours("1e400".parse().unwrap());
        assert_eq!(FloatSize::Double.value(double.below), f64::MAX);
    }
}
