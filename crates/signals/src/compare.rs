//! Comparisons of a signal's physical value with a decimal number, as tests of its raw value.
//!
//! All decisions are exact. Binary floating point gives another answer for about a sixth of the
//! thresholds that are on the grid of a signal's values.

use crate::decimal::Decimal;
use crate::float::{FloatNeighbours, FloatSize};
use crate::quotient::WholePart;
use crate::signal::{PhysicalValue, RawValue, SignalDefinition, SignalKind};
use crate::{BitMeaning, FieldTest};
use alloc::vec::Vec;
use core::fmt;

/// An operator of a comparison, as C writes it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CompareOperator {
    /// `==`
    Equal,
    /// `!=`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
}

/// A comparison as a test of the raw value.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum CompareResult {
    /// The result depends on the value.
    Test(FieldTest),
    /// All values of the signal pass. The test is the one that passes them all: it still depends on
    /// whether the frame contains the signal, and a NaN does not pass.
    Always(FieldTest, CompareReason),
    /// No value of the signal passes.
    Never(CompareReason),
}

/// The reason why a comparison has one result for all values.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum CompareReason {
    /// The number is not between the lowest and the highest value that the signal's bits can have.
    Outside(PhysicalValue, PhysicalValue),
    /// No value of the signal is equal to the number; the nearest values are below and above it.
    Between(PhysicalValue, PhysicalValue),
    /// The factor of the signal is 0: it has this value only.
    Constant(Decimal),
}

/// The reason why a comparison cannot be decided.
#[derive(thiserror::Error, Clone, Copy, PartialEq, Eq, Debug)]
pub enum CompareError {
    /// The exact result needs more digits.
    #[error("the exact comparison needs more than 38 digits")]
    Digits,
    /// The signal is a floating-point number with a factor or an offset, and the raw value of the
    /// threshold is not a decimal number.
    #[error(
        "the number has no exact decimal form as a raw value of this signal, a floating-point number with a \
         factor"
    )]
    Inexact,
}

impl CompareOperator {
    /// All operators, those of two characters first.
    pub const ALL: [Self; 6] = [
        Self::Equal,
        Self::NotEqual,
        Self::LessOrEqual,
        Self::GreaterOrEqual,
        Self::Less,
        Self::Greater,
    ];

    /// Returns the operator as C writes it.
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            Self::Equal => "==",
            Self::NotEqual => "!=",
            Self::Less => "<",
            Self::LessOrEqual => "<=",
            Self::Greater => ">",
            Self::GreaterOrEqual => ">=",
        }
    }

    /// Returns the operator with the opposite result.
    #[must_use]
    pub const fn negated(self) -> Self {
        match self {
            Self::Equal => Self::NotEqual,
            Self::NotEqual => Self::Equal,
            Self::Less => Self::GreaterOrEqual,
            Self::LessOrEqual => Self::Greater,
            Self::Greater => Self::LessOrEqual,
            Self::GreaterOrEqual => Self::Less,
        }
    }

    /// Returns the operator for the negative numbers of both sides.
    const fn mirrored(self) -> Self {
        match self {
            Self::Equal | Self::NotEqual => self,
            Self::Less => Self::Greater,
            Self::LessOrEqual => Self::GreaterOrEqual,
            Self::Greater => Self::Less,
            Self::GreaterOrEqual => Self::LessOrEqual,
        }
    }

    const fn holds(self, order: core::cmp::Ordering) -> bool {
        match self {
            Self::Equal => order.is_eq(),
            Self::NotEqual => order.is_ne(),
            Self::Less => order.is_lt(),
            Self::LessOrEqual => order.is_le(),
            Self::Greater => order.is_gt(),
            Self::GreaterOrEqual => order.is_ge(),
        }
    }
}

impl fmt::Display for CompareOperator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

/// The raw values that pass a comparison: a range in the order of the values.
enum PassingRange<T> {
    /// From the first to the last of them; those outside if the flag is set.
    Range(T, T, bool),
    All,
    None,
}

impl SignalDefinition {
    /// Returns the comparison of the physical value with a number, by the signal's own bits: the
    /// presence of the signal is not part of it.
    ///
    /// # Errors
    /// [`CompareError`].
    pub fn compare(
        &self,
        operator: CompareOperator,
        number: Decimal,
    ) -> Result<CompareResult, CompareError> {
        if self.factor.is_zero() {
            let difference = self.offset.checked_sub(number);
            let difference = difference.ok_or(CompareError::Digits)?;
            let reason = CompareReason::Constant(self.offset);
            let passes = operator.holds(difference.mantissa().cmp(&0));
            return Ok(if passes {
                CompareResult::Always(self.any_value(), reason)
            } else {
                CompareResult::Never(reason)
            });
        }
        let distance = number.checked_sub(self.offset);
        let distance = distance.ok_or(CompareError::Digits)?;
        let operator = if self.factor.mantissa() < 0 {
            operator.mirrored()
        } else {
            operator
        };
        match self.kind {
            SignalKind::Float32 => self.compare_float(operator, distance, FloatSize::Single),
            SignalKind::Float64 => self.compare_float(operator, distance, FloatSize::Double),
            SignalKind::Unsigned | SignalKind::Signed => self.compare_integer(operator, distance),
        }
    }

    /// Returns the tests of which one must pass if the signal has the value of this name; if
    /// `is_negated`, those that must all pass if it has another value. An empty list: no value that
    /// the signal can have has this name.
    #[must_use]
    pub fn tests_of_name(&self, name: &str, is_negated: bool) -> Vec<FieldTest> {
        let named = self.value_names.iter().filter(|named| named.name == name);
        let bits = named.filter_map(|named| self.bits_of_raw(named.raw));
        let test = |bits| FieldTest::new(self.field, self.meaning(), (bits, bits), is_negated);
        bits.filter_map(test).collect()
    }

    /// Returns the meaning of its bits, for a test.
    #[must_use]
    pub const fn meaning(&self) -> BitMeaning {
        match self.kind {
            SignalKind::Unsigned => BitMeaning::Unsigned,
            SignalKind::Signed => BitMeaning::Signed,
            SignalKind::Float32 | SignalKind::Float64 => BitMeaning::Float,
        }
    }

    /// Returns the lowest and the highest raw value that the bits of an integer can have.
    #[must_use]
    pub const fn raw_limits(&self) -> (i128, i128) {
        self.meaning().raw_limits(self.field.bits())
    }

    /// Returns the bits of an integer raw value; `None` if the signal cannot have it.
    #[must_use]
    pub fn bits_of_raw(&self, raw: i128) -> Option<u64> {
        let (lowest, highest) = self.raw_limits();
        let is_possible = self.meaning() != BitMeaning::Float && (lowest..=highest).contains(&raw);
        is_possible.then_some(raw as u64 & self.field.mask())
    }

    /// Returns the physical value of an integer raw value.
    pub(crate) fn physical_of(&self, raw: i128) -> PhysicalValue {
        match u64::try_from(raw) {
            Ok(raw) => self.physical(RawValue::Unsigned(raw)),
            // No raw value is below that of 64 bits with sign.
            Err(_) => self.physical(RawValue::Signed(raw as i64)),
        }
    }

    /// Returns the test that each value passes.
    fn any_value(&self) -> FieldTest {
        let (first, last) = match self.kind {
            SignalKind::Float32 => FloatSize::Single.infinities(),
            SignalKind::Float64 => FloatSize::Double.infinities(),
            SignalKind::Unsigned | SignalKind::Signed => {
                let (lowest, highest) = self.raw_limits();
                (lowest as u64, highest as u64)
            }
        };
        self.test(first, last, false)
    }

    /// Returns the test of a range of bits that are known to be in order.
    fn test(&self, first: u64, last: u64, is_negated: bool) -> FieldTest {
        let mask = self.field.mask();
        let range = (first & mask, last & mask);
        match FieldTest::new(self.field, self.meaning(), range, is_negated) {
            Some(test) => test,
            // Floats have 32 or 64 bits, and the callers order the bounds.
            None => unreachable!("a range of raw values is in order"),
        }
    }

    /// Compares with the raw value `distance / factor`.
    fn compare_integer(
        &self,
        operator: CompareOperator,
        distance: Decimal,
    ) -> Result<CompareResult, CompareError> {
        use CompareOperator as Op;
        let whole = WholePart::of_quotient(distance, self.factor).ok_or(CompareError::Digits)?;
        let (lowest, highest) = self.raw_limits();
        // Far quotients are represented by numbers that are beyond all limits, too.
        let (floor, is_exact) = match whole {
            WholePart::FarBelow => (lowest - 2, false),
            WholePart::FarAbove => (highest + 2, false),
            WholePart::Floor { floor, is_exact } => (floor, is_exact),
        };
        let ceiling = if is_exact { floor } else { floor + 1 };
        let is_inside = lowest <= floor && floor <= highest;
        let range = match operator {
            Op::Equal | Op::NotEqual if is_exact && is_inside => {
                PassingRange::Range(floor, floor, operator == Op::NotEqual)
            }
            Op::Equal => PassingRange::None,
            Op::NotEqual => PassingRange::All,
            Op::Greater => PassingRange::Range(floor + 1, highest, false),
            Op::GreaterOrEqual => PassingRange::Range(ceiling, highest, false),
            Op::Less => PassingRange::Range(lowest, ceiling - 1, false),
            Op::LessOrEqual => PassingRange::Range(lowest, floor, false),
        };
        let range = match range {
            PassingRange::Range(first, last, false) if first > last => PassingRange::None,
            PassingRange::Range(first, last, false) if first <= lowest && last >= highest => {
                PassingRange::All
            }
            other => other,
        };
        let reason = || {
            let values = |a, b| {
                let (a, b) = (self.physical_of(a), self.physical_of(b));
                if self.factor.mantissa() < 0 {
                    (b, a)
                } else {
                    (a, b)
                }
            };
            let is_between = lowest <= floor && floor < highest && !is_exact;
            if is_between && matches!(operator, Op::Equal | Op::NotEqual) {
                let (below, above) = values(floor, floor + 1);
                CompareReason::Between(below, above)
            } else {
                let (low, high) = values(lowest, highest);
                CompareReason::Outside(low, high)
            }
        };
        Ok(match range {
            PassingRange::Range(first, last, is_negated) => {
                CompareResult::Test(self.test(first as u64, last as u64, is_negated))
            }
            PassingRange::All => CompareResult::Always(self.any_value(), reason()),
            PassingRange::None => CompareResult::Never(reason()),
        })
    }

    /// Compares with the raw value `distance / factor`, a floating-point number.
    fn compare_float(
        &self,
        operator: CompareOperator,
        distance: Decimal,
        size: FloatSize,
    ) -> Result<CompareResult, CompareError> {
        use CompareOperator as Op;
        let threshold = distance.checked_div(self.factor);
        let threshold = threshold.ok_or(CompareError::Inexact)?;
        let FloatNeighbours { below, above } = size.neighbours(threshold);
        let is_exact = below == above;
        let (lowest, highest) = size.infinities();
        let (first, last, is_negated) = match operator {
            Op::Equal | Op::NotEqual if is_exact => (below, below, operator == Op::NotEqual),
            Op::Equal | Op::NotEqual => {
                let value = |bits| self.physical(RawValue::Float(size.value(bits)));
                let (a, b) = (value(below), value(above));
                let reason = match self.factor.mantissa() < 0 {
                    true => CompareReason::Between(b, a),
                    false => CompareReason::Between(a, b),
                };
                return Ok(match operator {
                    Op::Equal => CompareResult::Never(reason),
                    _ => CompareResult::Always(self.any_value(), reason),
                });
            }
            Op::Greater if is_exact => (size.next_above(below), highest, false),
            Op::Greater | Op::GreaterOrEqual => (above, highest, false),
            Op::Less if is_exact => (lowest, size.next_below(above), false),
            Op::Less | Op::LessOrEqual => (lowest, below, false),
        };
        Ok(CompareResult::Test(self.test(first, last, is_negated)))
    }
}
