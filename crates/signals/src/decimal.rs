//! Exact decimal numbers.

use alloc::format;
use alloc::string::String;
use core::convert::Infallible;
use core::fmt;
use core::str::FromStr;

/// The largest magnitude of an exponent: that of binary floating point with 64 bits is 324.
const LARGEST_EXPONENT: i32 = 400;

/// The number of zeros up to which a number is written without an exponent.
const MOST_ZEROS: usize = 30;

/// A decimal number: a mantissa of up to 38 digits, times a power of ten. All operations are exact,
/// or report that they cannot be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Decimal {
    /// Not divisible by ten, except 0.
    mantissa: i128,
    /// 0 for the number 0.
    exponent: i32,
}

/// The reason why a text is not a [`Decimal`].
#[derive(thiserror::Error, Clone, Copy, PartialEq, Eq, Debug)]
pub enum DecimalError {
    /// The text is not a decimal number.
    #[error("not a decimal number, such as -40, 0.25 or 1.5E-3")]
    Syntax,
    /// The number has more than 38 digits, or an exponent above 400.
    #[error("more than 38 digits, or an exponent above {LARGEST_EXPONENT}")]
    Range,
}

impl Decimal {
    /// The number 0.
    pub const ZERO: Self = Self {
        mantissa: 0,
        exponent: 0,
    };

    /// The number 1.
    pub const ONE: Self = Self {
        mantissa: 1,
        exponent: 0,
    };

    /// Returns `mantissa` × 10^`exponent`.
    #[must_use]
    pub const fn new(mut mantissa: i128, mut exponent: i32) -> Self {
        // Division of 128 bits takes ten times as long, and few numbers need it.
        while mantissa as i64 as i128 != mantissa {
            if mantissa % 10 != 0 {
                return Self { mantissa, exponent };
            }
            mantissa /= 10;
            exponent += 1;
        }
        let mut short = mantissa as i64;
        if short == 0 {
            return Self::ZERO;
        }
        // An odd number needs no division.
        while short & 1 == 0 && short % 10 == 0 {
            short /= 10;
            exponent += 1;
        }
        Self {
            mantissa: short as i128,
            exponent,
        }
    }

    /// Returns the mantissa: the number is this times 10^[`exponent`](Self::exponent).
    pub(crate) const fn mantissa(self) -> i128 {
        self.mantissa
    }

    /// See [`mantissa`](Self::mantissa).
    pub(crate) const fn exponent(self) -> i32 {
        self.exponent
    }

    /// Returns whether the number is 0.
    #[must_use]
    pub const fn is_zero(self) -> bool {
        self.mantissa == 0
    }

    /// Returns whether the number is below 0.
    #[must_use]
    pub const fn is_negative(self) -> bool {
        self.mantissa < 0
    }

    /// Returns the product; `None` if it has too many digits.
    #[must_use]
    pub fn checked_mul(self, other: Self) -> Option<Self> {
        let mantissa = self.mantissa.checked_mul(other.mantissa)?;
        Some(Self::new(mantissa, self.exponent + other.exponent))
    }

    /// Returns the sum; `None` if it has too many digits.
    #[must_use]
    pub fn checked_add(self, other: Self) -> Option<Self> {
        if self.is_zero() {
            return Some(other);
        }
        if other.is_zero() {
            return Some(self);
        }
        let exponent = self.exponent.min(other.exponent);
        let sum = self
            .scaled(exponent)?
            .checked_add(other.scaled(exponent)?)?;
        Some(Self::new(sum, exponent))
    }

    /// Compares exactly; `None` if that needs too many digits.
    #[must_use]
    pub fn checked_cmp(self, other: Self) -> Option<core::cmp::Ordering> {
        let exponent = self.exponent.min(other.exponent);
        let (a, b) = (self.scaled(exponent)?, other.scaled(exponent)?);
        Some(a.cmp(&b))
    }

    /// Returns the number as an integer; `None` if it is not one, or has too many digits.
    #[must_use]
    pub fn to_i128(self) -> Option<i128> {
        self.scaled(0)
    }

    /// Returns the mantissa for a smaller exponent.
    pub(crate) fn scaled(self, exponent: i32) -> Option<i128> {
        match u32::try_from(self.exponent - exponent).ok()? {
            0 => Some(self.mantissa),
            by => self.mantissa.checked_mul(10_i128.checked_pow(by)?),
        }
    }

    /// Returns the nearest number of binary floating point.
    #[must_use]
    pub fn to_f64(self) -> f64 {
        if let Ok(mantissa) = i64::try_from(self.mantissa)
            && let Some(power) = PowerOfTen::new(self.exponent)
            && let Some(value) = power.times(mantissa)
        {
            return value;
        }
        let text = format!("{}e{}", self.mantissa, self.exponent);
        text.parse().unwrap_or(f64::NAN)
    }
}

/// A power of ten of which a floating-point number of 64 bits has the exact value, or the exact
/// value of its reciprocal. A product with an integer of up to 53 bits is then one operation on
/// exact numbers, which IEEE 754 rounds to the nearest.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum PowerOfTen {
    Factor(f64),
    Divisor(f64),
}

impl PowerOfTen {
    /// 5^22 is the highest power of five below 2^53.
    const ALL: [f64; 23] = [
        1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
        1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
    ];

    /// Returns 10^`exponent`; `None` if neither it nor its reciprocal is exact.
    pub(crate) fn new(exponent: i32) -> Option<Self> {
        let power = *Self::ALL.get(exponent.unsigned_abs() as usize)?;
        Some(match exponent < 0 {
            true => Self::Divisor(power),
            false => Self::Factor(power),
        })
    }

    /// Returns the nearest number to the product; `None` if the mantissa has more than 53 bits.
    #[inline]
    pub(crate) fn times(self, mantissa: i64) -> Option<f64> {
        if mantissa.unsigned_abs() > 1 << f64::MANTISSA_DIGITS {
            return None;
        }
        let mantissa = mantissa as f64;
        Some(match self {
            Self::Factor(power) => mantissa * power,
            Self::Divisor(power) => mantissa / power,
        })
    }
}

impl From<u64> for Decimal {
    fn from(number: u64) -> Self {
        Self::new(number.into(), 0)
    }
}

impl From<i64> for Decimal {
    fn from(number: i64) -> Self {
        Self::new(number.into(), 0)
    }
}

impl FromStr for Decimal {
    type Err = DecimalError;

    /// Parses a number as DBC files have it: a sign, digits with a point among or before them, an
    /// exponent.
    fn from_str(text: &str) -> Result<Self, DecimalError> {
        let (number, exponent) = match text.split_once(['e', 'E']) {
            Some((number, exponent)) => (number, parse_exponent(exponent)?),
            None => (text, 0),
        };
        let is_negative = number.starts_with('-');
        let digits = number.strip_prefix(['-', '+']).unwrap_or(number);
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        let all = || whole.bytes().chain(fraction.bytes());
        if all().next().is_none() || !all().all(|byte| byte.is_ascii_digit()) {
            return Err(DecimalError::Syntax);
        }
        let places = i32::try_from(fraction.len()).map_err(|_| DecimalError::Range)?;
        // Zeros at the end belong to the exponent.
        let zeros = all().rev().take_while(|byte| *byte == b'0').count();
        let significant = whole.len() + fraction.len() - zeros;
        let mut mantissa = 0_i128;
        for byte in all().take(significant) {
            let tens = mantissa.checked_mul(10);
            let sum = tens.and_then(|tens| tens.checked_add(i128::from(byte - b'0')));
            mantissa = sum.ok_or(DecimalError::Range)?;
        }
        let zeros = i32::try_from(zeros).map_err(|_| DecimalError::Range)?;
        let mantissa = if is_negative { -mantissa } else { mantissa };
        let number = Self::new(mantissa, exponent + zeros - places);
        match number.exponent.abs() <= LARGEST_EXPONENT {
            true => Ok(number),
            false => Err(DecimalError::Range),
        }
    }
}

fn parse_exponent(text: &str) -> Result<i32, DecimalError> {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(DecimalError::Syntax);
    }
    let exponent = text.parse::<i32>().map_err(|_| DecimalError::Range)?;
    match exponent.abs() <= 2 * LARGEST_EXPONENT {
        true => Ok(exponent),
        false => Err(DecimalError::Range),
    }
}

impl Decimal {
    /// Passes the text to `put`, piece by piece: all digits, without an exponent where that takes
    /// few zeros.
    #[inline]
    fn write<E>(self, mut put: impl FnMut(&str) -> Result<(), E>) -> Result<(), E> {
        const ZEROS: &str = "000000000000000000000000000000";
        const { assert!(ZEROS.len() == MOST_ZEROS) };
        let mut buffer = itoa::Buffer::new();
        let mantissa = self.mantissa.unsigned_abs();
        // Digits of 64 bits need no division of 128 bits.
        let digits = match u64::try_from(mantissa) {
            Ok(short) => buffer.format(short),
            Err(_) => buffer.format(mantissa),
        };
        if self.mantissa < 0 {
            put("-")?;
        }
        let shift = self.exponent.unsigned_abs() as usize;
        if shift > MOST_ZEROS {
            put(digits)?;
            put(&format!("E{}", self.exponent))
        } else if self.exponent >= 0 {
            put(digits)?;
            put(&ZEROS[..shift])
        } else if digits.len() <= shift {
            put("0.")?;
            put(&ZEROS[..shift - digits.len()])?;
            put(digits)
        } else {
            let point = digits.len() - shift;
            put(&digits[..point])?;
            put(".")?;
            put(&digits[point..])
        }
    }

    /// Appends the text that `to_string` returns, in a fraction of the time.
    pub fn append_to(self, text: &mut String) {
        let Ok(()) = self.write(|piece| {
            text.push_str(piece);
            Ok::<(), Infallible>(())
        });
    }
}

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(|piece| f.write_str(piece))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;
    use proptest::prelude::*;

    fn decimal(text: &str) -> Decimal {
        text.parse().unwrap()
    }

    #[test]
    fn numbers_are_read_and_written_exactly() {
        for (text, written) in [
            ("0", "0"),
            ("-0.0", "0"),
            ("+1", "1"),
            (".25", "0.25"),
            ("-40", "-40"),
            ("0.0100", "0.01"),
            ("1.1920928955078125E-07", "0.00000011920928955078125"),
            ("1e3", "1000"),
            ("5E-32", "5E-32"),
            ("1.7976931348623157e+308", "17976931348623157E292"),
            ("18446744073709551615", "18446744073709551615"),
        ] {
            assert_eq!(decimal(text).to_string(), written, "{text}");
            assert_eq!(decimal(written), decimal(text), "{text}");
            let mut appended = ">".to_string();
            decimal(text).append_to(&mut appended);
            assert_eq!(appended.strip_prefix('>'), Some(written));
        }
        for text in [
            "", ".", "-", "1e", "1e+", "0x1", "1.2.3", "1,5", "e5", "nan", " 1",
        ] {
            assert_eq!(text.parse::<Decimal>(), Err(DecimalError::Syntax), "{text}");
        }
        for text in [
            "1e999",
            "1e99999999999",
            "999999999999999999999999999999999999999999",
        ] {
            assert_eq!(text.parse::<Decimal>(), Err(DecimalError::Range), "{text}");
        }
    }

    #[test]
    fn sums_and_products_are_exact_or_refused() {
        let sum = decimal("0.1").checked_add(decimal("0.2"));
        assert_eq!(sum, Some(decimal("0.3")));
        let all = Decimal::from(u64::MAX).checked_mul(decimal("0.000000119209289"));
        assert_eq!(all.unwrap().to_string(), "2199023245391.879240532951735");
        assert_eq!(decimal("1e300").checked_add(decimal("1e-300")), None);
        assert_eq!(
            decimal("1e300").checked_add(Decimal::ZERO),
            Some(decimal("1e300"))
        );
        let long = decimal("12345678901234567890123456789");
        assert_eq!(long.checked_mul(long), None);
        assert_eq!(decimal("-1.5").to_f64(), -1.5);
        assert_eq!(
            decimal("5").checked_div(decimal("-0.16")),
            Some(decimal("-31.25"))
        );
        assert_eq!(decimal("1").checked_div(decimal("3")), None);
        assert_eq!(decimal("1").checked_div(Decimal::ZERO), None);
        assert_eq!(decimal("-1.5e1").to_i128(), Some(-15));
        assert_eq!(decimal("0.1").to_i128(), None);
        assert_eq!(decimal("1e39").to_i128(), None);
    }

    proptest! {
        #[test]
        fn each_number_is_read_as_it_is_written(mantissa in any::<i64>(), exponent in -60..60_i32) {
            let number = Decimal::new(mantissa.into(), exponent);
            prop_assert_eq!(decimal(&number.to_string()), number);
            let float: f64 = format!("{mantissa}e{exponent}").parse().unwrap();
            prop_assert_eq!(number.to_f64(), float);
        }

        /// These are the numbers that are calculated without their text.
        #[test]
        fn short_numbers_are_the_nearest_ones(mantissa in -(1_i64 << 53)..=1 << 53, exponent in -25..25_i32) {
            let float: f64 = format!("{mantissa}e{exponent}").parse().unwrap();
            prop_assert_eq!(Decimal::new(mantissa.into(), exponent).to_f64(), float);
            if let Some(power) = PowerOfTen::new(exponent) {
                prop_assert_eq!(power.times(mantissa), Some(float));
            }
        }

        #[test]
        fn arithmetic_agrees_with_that_of_integers(a in any::<i32>(), b in any::<i32>(), e in -9..9_i32) {
            let (x, y) = (Decimal::new(a.into(), e), Decimal::new(b.into(), e));
            let sum = i128::from(a) + i128::from(b);
            prop_assert_eq!(x.checked_add(y), Some(Decimal::new(sum, e)));
            let product = i128::from(a) * i128::from(b);
            prop_assert_eq!(x.checked_mul(y), Some(Decimal::new(product, 2 * e)));
        }
    }
}
