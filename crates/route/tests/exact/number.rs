//! Random numbers, and exact decimal ones.

use signals::Decimal;
use std::cmp::Ordering;

/// SplitMix64 (Steele, Lea, Flood 2014).
pub struct Rng(pub u64);

impl Rng {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }

    pub fn between(&mut self, first: i64, last: i64) -> i64 {
        first + self.below((last - first + 1) as u64) as i64
    }
}

/// A rational number: a mantissa times a power of ten. All of a case are so small that an overflow,
/// at which a test panics, cannot occur.
#[derive(Clone, Copy, PartialEq)]
pub(super) struct Exact {
    mantissa: i128,
    exponent: i32,
}

impl Exact {
    pub(super) const fn new(mantissa: i128, exponent: i32) -> Self {
        Self { mantissa, exponent }
    }

    pub(super) fn text(&self) -> String {
        format!("{}E{}", self.mantissa, self.exponent)
    }

    pub(super) fn decimal(self) -> Decimal {
        self.text().parse().unwrap()
    }

    /// Returns the mantissas of two numbers for one exponent, and that exponent.
    fn aligned(self, other: Self) -> (i128, i128, i32) {
        let exponent = self.exponent.min(other.exponent);
        let scaled = |it: Self| {
            let power = 10_i128.pow((it.exponent - exponent).unsigned_abs());
            it.mantissa.checked_mul(power).expect("a small number")
        };
        (scaled(self), scaled(other), exponent)
    }

    pub(super) fn plus(self, other: Self) -> Self {
        let (a, b, exponent) = self.aligned(other);
        Self::new(a + b, exponent)
    }

    pub(super) fn times(self, factor: i128) -> Self {
        Self::new(self.mantissa * factor, self.exponent)
    }

    pub(super) const fn negated(self) -> Self {
        Self::new(-self.mantissa, self.exponent)
    }

    pub(super) fn compare(self, other: Self) -> Ordering {
        let (a, b, _) = self.aligned(other);
        a.cmp(&b)
    }

    /// Returns the integer that is nearest to a quotient, halves away from zero.
    pub(super) fn nearest_quotient(self, divisor: Self) -> i128 {
        let (a, b, _) = self.aligned(divisor);
        let nearest = (2 * a.abs() + b.abs()) / (2 * b.abs());
        if (a < 0) == (b < 0) {
            nearest
        } else {
            -nearest
        }
    }
}

impl std::fmt::Debug for Exact {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.text().fmt(f)
    }
}
