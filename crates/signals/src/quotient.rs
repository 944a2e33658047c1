//! Exact division of decimal numbers by the factor of a signal.

use crate::decimal::Decimal;

/// The magnitude of integers that are far: each raw value, and the integers next to it, are nearer
/// to 0. Sums of a number that is not far and a small one need no more than 128 bits.
const FAR: i128 = 1 << 65;

/// The position of a quotient among the integers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum WholePart {
    /// Below −2^65.
    FarBelow,
    /// Above 2^65.
    FarAbove,
    /// The largest integer that is not above the quotient: from −2^65 to 2^65.
    Floor {
        floor: i128,
        /// Whether the quotient is this integer.
        is_exact: bool,
    },
}

impl WholePart {
    /// Returns the position of `number / divisor`; `None` if it needs more than 38 digits. The
    /// divisor is not 0.
    pub(crate) fn of_quotient(number: Decimal, divisor: Decimal) -> Option<Self> {
        if number.is_zero() {
            return Some(Self::Floor {
                floor: 0,
                is_exact: true,
            });
        }
        let (mut above, mut below) = (number.mantissa(), divisor.mantissa());
        let shift = number.exponent() - divisor.exponent();
        let is_negative = (above < 0) != (below < 0);
        let far = match is_negative {
            true => Self::FarBelow,
            false => Self::FarAbove,
        };
        let power = 10_i128.checked_pow(shift.unsigned_abs());
        let scaled = |mantissa: i128| power.and_then(|power| mantissa.checked_mul(power));
        if shift >= 0 {
            above = match scaled(above) {
                Some(scaled) => scaled,
                // The scaled mantissa is at least 2^127. Divided by less than 2^62, it is beyond
                // 2^65.
                None if below.unsigned_abs() < 1 << 62 => return Some(far),
                None => return None,
            };
        } else {
            below = match scaled(below) {
                Some(scaled) => scaled,
                // The scaled divisor is at least 2^127, so that the quotient is between −1 and 1.
                None => {
                    return Some(Self::Floor {
                        floor: -i128::from(is_negative),
                        is_exact: false,
                    });
                }
            };
        }
        // Only −2^127 divided by −1 has no quotient of 128 bits.
        let (Some(quotient), Some(rest)) = (above.checked_div(below), above.checked_rem(below))
        else {
            return Some(far);
        };
        // The quotient is rounded towards 0.
        let is_exact = rest == 0;
        let floor = quotient.checked_sub(i128::from(is_negative && !is_exact));
        Some(match floor {
            Some(floor) if (-FAR..=FAR).contains(&floor) => Self::Floor { floor, is_exact },
            _ => far,
        })
    }
}

impl Decimal {
    /// Returns the exact quotient; `None` if it has no decimal form of 38 digits, or the divisor is
    /// 0.
    #[must_use]
    pub fn checked_div(self, divisor: Self) -> Option<Self> {
        let (mut mantissa, mut exponent) = (self.mantissa(), self.exponent());
        let below = divisor.mantissa();
        while mantissa.checked_rem(below)? != 0 {
            mantissa = mantissa.checked_mul(10)?;
            exponent -= 1;
        }
        Some(Self::new(mantissa / below, exponent - divisor.exponent()))
    }

    /// Returns the difference; `None` if it has too many digits.
    pub(crate) fn checked_sub(self, other: Self) -> Option<Self> {
        self.checked_add(other.checked_neg()?)
    }

    fn checked_neg(self) -> Option<Self> {
        Some(Self::new(self.mantissa().checked_neg()?, self.exponent()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decimal(text: &str) -> Decimal {
        text.parse().unwrap()
    }

    #[test]
    fn quotients_are_between_the_right_integers() {
        let floor = |floor, is_exact| Some(WholePart::Floor { floor, is_exact });
        for (number, divisor, expected) in [
            ("5", "0.01", floor(500, true)),
            ("5.005", "0.01", floor(500, false)),
            ("-5.005", "0.01", floor(-501, false)),
            ("5.005", "-0.01", floor(-501, false)),
            ("-5.005", "-0.01", floor(500, false)),
            ("-5", "-0.01", floor(500, true)),
            ("0", "1e300", floor(0, true)),
            ("1", "1e300", floor(0, false)),
            ("-1", "1e300", floor(-1, false)),
            ("1", "-1e300", floor(-1, false)),
            ("1e300", "0.01", Some(WholePart::FarAbove)),
            ("1e300", "-0.01", Some(WholePart::FarBelow)),
            ("1e300", "12345678901234567890123456789", None),
            ("36893488147419103232", "1", floor(FAR, true)),
            ("-36893488147419103232", "1", floor(-FAR, true)),
            ("36893488147419103233", "1", Some(WholePart::FarAbove)),
            ("36893488147419103233", "-1", Some(WholePart::FarBelow)),
        ] {
            let result = WholePart::of_quotient(decimal(number), decimal(divisor));
            assert_eq!(result, expected, "{number} / {divisor}");
        }
    }

    /// Integers at the limits of 128 bits.
    #[test]
    fn quotients_of_the_largest_numbers_are_far() {
        for above in [i128::MIN, i128::MIN + 1, i128::MAX - 1, i128::MAX] {
            for below in [-3, -1, 1, 3] {
                let expected = match (above < 0) == (below < 0) {
                    true => WholePart::FarAbove,
                    false => WholePart::FarBelow,
                };
                let result = WholePart::of_quotient(Decimal::new(above, 0), Decimal::new(below, 0));
                assert_eq!(result, Some(expected), "{above} / {below}");
            }
        }
    }

    #[test]
    fn a_quotient_without_a_decimal_form_is_refused() {
        let div = |a: &str, b: &str| decimal(a).checked_div(decimal(b));
        assert_eq!(div("1", "8"), Some(decimal("0.125")));
        assert_eq!(div("-3", "0.001"), Some(decimal("-3000")));
        assert_eq!(div("1", "3"), None);
        assert_eq!(div("1", "0"), None);
    }
}
