//! Values of signals as binary floating point.

use crate::decimal::PowerOfTen;
use crate::signal::{RawValue, SignalDefinition};

/// The scale of a signal, prepared for many raw values. For each of them,
/// [`value`](SignalScale::value) returns the nearest floating-point number to the exact value, as
/// [`SignalDefinition::physical`] and [`to_f64`](crate::PhysicalValue::to_f64) do together, in a
/// fraction of the time.
#[derive(Clone, Copy, Debug)]
pub struct SignalScale<'a> {
    signal: &'a SignalDefinition,
    /// The scale in integers; `None` if its numbers are too long.
    integers: Option<IntegerScale>,
}

/// The value is (raw value × factor + offset) × power.
#[derive(Clone, Copy, Debug)]
struct IntegerScale {
    factor: i64,
    offset: i64,
    power: PowerOfTen,
}

impl<'a> SignalScale<'a> {
    /// Returns the scale of a signal.
    #[must_use]
    pub fn new(signal: &'a SignalDefinition) -> Self {
        let integers = IntegerScale::new(signal);
        Self { signal, integers }
    }

    /// Returns the value of a raw value, in the signal's unit.
    #[must_use]
    #[inline]
    pub fn value(&self, raw: RawValue) -> f64 {
        let quick = self.integers.and_then(|scale| scale.value(raw));
        quick.unwrap_or_else(|| self.signal.physical(raw).to_f64())
    }
}

impl IntegerScale {
    fn new(signal: &SignalDefinition) -> Option<Self> {
        let (factor, offset) = (signal.factor, signal.offset);
        // The number 0 has the exponent 0, which must not lengthen the other one.
        let exponent = match (factor.is_zero(), offset.is_zero()) {
            (_, true) => factor.exponent(),
            (true, _) => offset.exponent(),
            _ => factor.exponent().min(offset.exponent()),
        };
        let scaled = |number: crate::Decimal| match number.is_zero() {
            true => Some(0),
            false => i64::try_from(number.scaled(exponent)?).ok(),
        };
        Some(Self {
            factor: scaled(factor)?,
            offset: scaled(offset)?,
            power: PowerOfTen::new(exponent)?,
        })
    }

    #[inline]
    fn value(self, raw: RawValue) -> Option<f64> {
        let raw = match raw {
            RawValue::Unsigned(raw) => i64::try_from(raw).ok()?,
            RawValue::Signed(raw) => raw,
            RawValue::Float(_) => return None,
        };
        let sum = raw.checked_mul(self.factor)?.checked_add(self.offset)?;
        self.power.times(sum)
    }
}

#[cfg(feature = "dbc")]
#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;
    use proptest::prelude::*;

    fn signal(factor: &str, offset: &str) -> SignalDefinition {
        let signal = format!("SG_ s : 0|64@1- ({factor},{offset}) [0|0] \"\" A");
        let text = format!("BU_: A\nBO_ 1 M: 8 A\n {signal}\n");
        let mut database = crate::dbc::read(text.as_bytes()).unwrap();
        database.messages.remove(0).signals.remove(0)
    }

    /// The reference is exact decimal arithmetic.
    fn check(signal: &SignalDefinition, raw: RawValue) {
        let (quick, exact) = (SignalScale::new(signal).value(raw), signal.physical(raw));
        assert!(
            quick.to_bits() == exact.to_f64().to_bits(),
            "{raw} * {:?} + {:?}: {quick} and {exact}",
            signal.factor,
            signal.offset
        );
    }

    #[test]
    fn values_at_the_limits_are_the_nearest_ones() {
        for factor in ["0", "1", "0.1", "-0.25", "1E-05", "1e300", "1e-300", "3e22"] {
            for offset in ["0", "-40", "0.001", "1e-300", "9223372036854775807"] {
                let signal = signal(factor, offset);
                for raw in [0, 1, -1, 513, 1 << 53, (1 << 53) + 1, i64::MAX, i64::MIN] {
                    check(&signal, RawValue::Signed(raw));
                    check(&signal, RawValue::Unsigned(raw.cast_unsigned()));
                    check(&signal, RawValue::Float(raw as f64 / 3.0));
                }
            }
        }
    }

    proptest! {
        #[test]
        fn values_are_the_nearest_ones(
            raw: i64, shift in 0..64, factor in -100_000..100_000_i64, offset in -100_000..100_000_i64,
            exponents in (-12..5_i32, -12..5_i32),
        ) {
            let (first, second) = exponents;
            let signal = signal(&format!("{factor}e{first}"), &format!("{offset}e{second}"));
            check(&signal, RawValue::Signed(raw >> shift));
            check(&signal, RawValue::Unsigned(raw.cast_unsigned() >> shift));
        }
    }
}
