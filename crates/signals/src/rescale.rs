//! Constants and copies in physical values, as assignments of raw values.

use crate::decimal::Decimal;
use crate::float::FloatSize;
use crate::quotient::WholePart;
use crate::signal::{PhysicalValue, RawValue, SignalDefinition, SignalKind};
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

    /// Returns the copy of another signal's physical value to this signal.
    ///
    /// # Errors
    /// [`AssignError`].
    pub fn copy_of(&self, from: &Self, outside: OutOfRange) -> Result<SignalCopy, AssignError> {
        let is_scaled_alike = (self.factor, self.offset) == (from.factor, from.offset);
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
        let map = LinearMap::between((from.factor, from.offset), (self.factor, self.offset))?;
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
            let common = gcd(gcd(factor, offset), divisor).checked_mul(divisor.signum())?;
            Some(Self {
                factor: i64::try_from(factor / common).ok()?,
                offset: i64::try_from(offset / common).ok()?,
                divisor: u64::try_from(divisor / common).ok()?,
            })
        };
        map().ok_or(AssignError::Digits)
    }
}

/// Returns the greatest common divisor, without sign; of two zeros, 0.
fn gcd(mut a: i128, mut b: i128) -> i128 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a.saturating_abs()
}
