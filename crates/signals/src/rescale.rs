//! Constants and copies in physical values, as assignments of raw values.

use crate::decimal::Decimal;
use crate::float::FloatSize;
use crate::quotient::WholePart;
use crate::signal::{PhysicalValue, RawValue, SignalDefinition, SignalKind};
use crate::unit::UnitRelation;
use crate::{BitMeaning, FieldSource, LinearMap, OutOfRange, RangePolicy};

/// The reason why a signal cannot be assigned.
#[derive(thiserror::Error, Clone, Copy, PartialEq, Debug)]
pub enum AssignError {
    /// No value of the signal is equal to the number; the nearest values are below and above it.
    #[error("it is between the values {} and {} of the signal", .0, .1)]
    Between(PhysicalValue, PhysicalValue),
    /// The number is not between the lowest and the highest value that the signal's bits can have.
    #[error("the values of the signal reach from {} to {}", .0, .1)]
    Outside(PhysicalValue, PhysicalValue),
    /// The factor of the signal is 0.
    #[error("the factor of the signal is 0")]
    NoFactor,
    /// The exact result needs more digits.
    #[error("the exact conversion needs larger numbers than 64 bits")]
    Digits,
    /// A floating-point number is copied to a signal of another type, size or scale, or an integer
    /// to a floating-point number.
    #[error(
        "a floating-point number can only be copied to one of the same size, factor and offset"
    )]
    Float,
    /// No raw value has a physical value in the range that the database states.
    #[error("no value of the signal is in the range that the database states")]
    NoValue,
}

/// A copy of a signal, ready to be made.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct SignalCopy {
    /// The source of the raw value.
    pub source: FieldSource,
    /// Whether each value of the source has a value of the destination, so that the treatment of
    /// others does not matter.
    pub is_total: bool,
    /// Whether different values of the source can become the same value.
    pub is_coarser: bool,
}

impl SignalDefinition {
    /// Returns the lowest and the highest raw value of an integer signal: those of its bits whose
    /// physical value is in the range that the database states.
    ///
    /// # Errors
    /// [`AssignError`].
    pub fn stated_range(&self) -> Result<(i128, i128), AssignError> {
        let (lowest, highest) = self.raw_limits();
        let (min, max) = self.range;
        if min.is_zero() && max.is_zero() {
            return Ok((lowest, highest));
        }
        if self.factor.is_zero() {
            return Err(AssignError::NoFactor);
        }
        let (min, max) = match self.factor.mantissa() < 0 {
            true => (max, min),
            false => (min, max),
        };
        let bound = |number: Decimal| {
            let distance = number.checked_sub(self.offset);
            let distance = distance.ok_or(AssignError::Digits)?;
            let whole = WholePart::of_quotient(distance, self.factor);
            Ok(match whole.ok_or(AssignError::Digits)? {
                WholePart::FarBelow => (lowest - 1, false),
                WholePart::FarAbove => (highest + 1, false),
                WholePart::Floor { floor, is_exact } => (floor, is_exact),
            })
        };
        let (first, is_exact) = bound(min)?;
        let first = if is_exact { first } else { first + 1 };
        let (first, last) = (first.max(lowest), bound(max)?.0.min(highest));
        match first <= last {
            true => Ok((first, last)),
            false => Err(AssignError::NoValue),
        }
    }

    /// Returns the bits of a physical value. A floating-point signal gets the nearest number.
    ///
    /// # Errors
    /// [`AssignError`].
    pub fn bits_of(&self, number: Decimal) -> Result<u64, AssignError> {
        if self.factor.is_zero() {
            return Err(AssignError::NoFactor);
        }
        let distance = number.checked_sub(self.offset);
        let distance = distance.ok_or(AssignError::Digits)?;
        let size = match self.kind {
            SignalKind::Float32 => Some(FloatSize::Single),
            SignalKind::Float64 => Some(FloatSize::Double),
            SignalKind::Unsigned | SignalKind::Signed => None,
        };
        if let Some(size) = size {
            let raw = distance.checked_div(self.factor);
            let bits = size.nearest(raw.ok_or(AssignError::Digits)?);
            if size.value(bits).is_finite() {
                return Ok(bits);
            }
            let largest = self.physical(RawValue::Float(size.largest()));
            let smallest = self.physical(RawValue::Float(-size.largest()));
            return Err(AssignError::Outside(smallest, largest));
        }
        let (lowest, highest) = self.raw_limits();
        let values = |first, last| {
            let (a, b) = (self.physical_of(first), self.physical_of(last));
            match self.factor.mantissa() < 0 {
                true => (b, a),
                false => (a, b),
            }
        };
        let whole = WholePart::of_quotient(distance, self.factor).ok_or(AssignError::Digits)?;
        match whole {
            WholePart::Floor {
                floor,
                is_exact: true,
            } if (lowest..=highest).contains(&floor) => Ok(floor as u64 & self.field.mask()),
            WholePart::Floor {
                floor,
                is_exact: false,
            } if lowest <= floor && floor < highest => {
                let (below, above) = values(floor, floor + 1);
                Err(AssignError::Between(below, above))
            }
            _ => {
                let (low, high) = values(lowest, highest);
                Err(AssignError::Outside(low, high))
            }
        }
    }

    /// Returns the copy of another signal's physical value to this signal. A value is converted if
    /// the units differ and the conversion is known ([`SignalDefinition::unit_relation`]);
    /// otherwise the number is copied.
    ///
    /// # Errors
    /// [`AssignError`].
    pub fn copy_of(&self, from: &Self, outside: OutOfRange) -> Result<SignalCopy, AssignError> {
        let (from_scale, scale) = match self.unit_relation(from) {
            UnitRelation::Convertible => (
                from.scale_in_base_unit().ok_or(AssignError::Digits)?,
                self.scale_in_base_unit().ok_or(AssignError::Digits)?,
            ),
            UnitRelation::Same | UnitRelation::Unknown => {
                ((from.factor, from.offset), (self.factor, self.offset))
            }
        };
        let is_scaled_alike = scale == from_scale;
        if self.meaning() == BitMeaning::Float || from.meaning() == BitMeaning::Float {
            return match is_scaled_alike && self.kind == from.kind {
                true => Ok(SignalCopy {
                    source: FieldSource::Bits(from.field),
                    is_total: true,
                    is_coarser: false,
                }),
                false => Err(AssignError::Float),
            };
        }
        let map = LinearMap::between(from_scale, scale)?;
        let (lowest, highest) = self.stated_range()?;
        let (first, last) = from.raw_limits();
        let image = (map.apply(first), map.apply(last));
        let is_total =
            (lowest..=highest).contains(&image.0) && (lowest..=highest).contains(&image.1);
        let is_same = is_scaled_alike
            && is_total
            && self.kind == from.kind
            && self.field.bits() == from.field.bits();
        let source = match is_same {
            true => FieldSource::Bits(from.field),
            false => FieldSource::Signal {
                from: from.field,
                is_signed: from.kind == SignalKind::Signed,
                map,
                range: RangePolicy {
                    lowest,
                    highest,
                    outside,
                },
            },
        };
        Ok(SignalCopy {
            source,
            is_total,
            is_coarser: map.factor.unsigned_abs() < map.divisor,
        })
    }
}

impl LinearMap {
    /// Returns the map of raw values between two signals of the same physical value, each with a
    /// factor and an offset.
    ///
    /// # Errors
    /// [`AssignError`] if a factor is 0, or if the exact map needs larger numbers.
    pub fn between(from: (Decimal, Decimal), to: (Decimal, Decimal)) -> Result<Self, AssignError> {
        if from.0.is_zero() || to.0.is_zero() {
            return Err(AssignError::NoFactor);
        }
        let shift = from.1.checked_sub(to.1).ok_or(AssignError::Digits)?;
        let numbers = [from.0, shift, to.0];
        let used = numbers.iter().filter(|number| !number.is_zero());
        let exponent = used.map(|number| number.exponent()).min().unwrap_or(0);
        let scaled = |number: Decimal| {
            let power = 10_i128.checked_pow(u32::try_from(number.exponent() - exponent).ok()?)?;
            number.mantissa().checked_mul(power)
        };
        let [factor, offset, divisor] = numbers.map(|number| match number.is_zero() {
            true => Some(0),
            false => scaled(number),
        });
        let map = || {
            let (factor, offset, divisor) = (factor?, offset?, divisor?);
            let [above, beside, below] = [factor, offset, divisor].map(i128::unsigned_abs);
            let common = gcd(gcd(above, beside), below);
            // The divisor of the result has no sign: that of this one moves to the other numbers.
            let reduced = |magnitude: u128, is_negative: bool| {
                let magnitude = i128::try_from(magnitude / common).ok()?;
                i64::try_from(match is_negative {
                    true => -magnitude,
                    false => magnitude,
                })
                .ok()
            };
            Some(Self {
                factor: reduced(above, (factor < 0) != (divisor < 0))?,
                offset: reduced(beside, (offset < 0) != (divisor < 0))?,
                divisor: u64::try_from(below / common).ok()?,
            })
        };
        map().ok_or(AssignError::Digits)
    }
}

/// Returns the greatest common divisor; of two zeros, 0.
const fn gcd(mut a: u128, mut b: u128) -> u128 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2^127 needs 128 bits without sign.
    #[test]
    fn maps_of_the_largest_numbers_are_exact_or_refused() {
        let whole = |number| Decimal::new(number, 0);
        let (least, zero) = (whole(i128::MIN), Decimal::ZERO);
        let between = |from, to| LinearMap::between((from, zero), (to, zero));
        let same = Ok(LinearMap::SAME);
        let negated = LinearMap {
            factor: -1,
            ..LinearMap::SAME
        };
        assert_eq!(between(least, least), same);
        assert_eq!(between(whole(-3), whole(-3)), same);
        assert_eq!(between(whole(-3), whole(3)), Ok(negated));
        assert_eq!(between(whole(3), whole(-3)), Ok(negated));
        for (from, to) in [
            (least, whole(-1)),
            (least, whole(1)),
            (whole(-1), least),
            (least, whole(i128::MAX)),
            (whole(i128::MAX), least),
        ] {
            assert_eq!(between(from, to), Err(AssignError::Digits), "{from} {to}");
        }
        let shifted = LinearMap::between((least, least), (least, zero));
        let offset = 1;
        assert_eq!(
            shifted,
            Ok(LinearMap {
                offset,
                ..LinearMap::SAME
            })
        );
    }
}
