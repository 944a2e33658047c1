//! Comparisons and assignments: the reference, and the test or the write that stands for each.

use super::Tally;
use super::number::{Exact, Rng};
use super::signal::ExactSignal;
use signals::{CompareOperator, CompareResult, FieldSource, FieldTest, FieldWrite, OutOfRange};

/// A comparison of a signal with a number.
pub(super) struct Comparison {
    pub(super) signal: ExactSignal,
    pub(super) operator: CompareOperator,
    pub(super) threshold: Exact,
}

/// An assignment to a signal.
pub(super) struct Assignment {
    pub(super) to: ExactSignal,
    source: Source,
}

enum Source {
    Constant(i128),
    Copy(Box<ExactSignal>, OutOfRange),
}

impl Comparison {
    /// Returns a random comparison, and its test; `None` if it is never true.
    pub(super) fn random(rng: &mut Rng, size: usize) -> Option<(Self, FieldTest)> {
        let signal = ExactSignal::random(rng, size, 64);
        let near = signal.value(signal.random_raw(rng));
        let threshold = match rng.below(4) {
            0 | 1 => near,
            2 => near.plus(Exact::new(rng.between(-30, 30).into(), -6)),
            _ => Exact::new(
                rng.between(-1_000_000, 1_000_000).into(),
                rng.between(-3, 5) as i32,
            ),
        };
        let operator = CompareOperator::ALL[rng.below(6) as usize];
        let result = signal.defined.compare(operator, threshold.decimal());
        let test = match result.unwrap() {
            CompareResult::Test(test) | CompareResult::Always(test, _) => test,
            CompareResult::Never(_) => return None,
        };
        let comparison = Self {
            signal,
            operator,
            threshold,
        };
        Some((comparison, test))
    }

    pub(super) fn holds(&self, payload: &[u8], tally: &mut Tally) -> bool {
        let Some(raw) = self.signal.read(payload) else {
            tally.absent += 1;
            return false;
        };
        let order = self.signal.value(raw).compare(self.threshold);
        let holds = match self.operator {
            CompareOperator::Equal => order.is_eq(),
            CompareOperator::NotEqual => order.is_ne(),
            CompareOperator::Less => order.is_lt(),
            CompareOperator::LessOrEqual => order.is_le(),
            CompareOperator::Greater => order.is_gt(),
            CompareOperator::GreaterOrEqual => order.is_ge(),
        };
        tally.comparisons += 1;
        tally.hits += u64::from(holds);
        holds
    }

    /// Returns a raw value at the threshold, next to it, or anywhere.
    pub(super) fn interesting_raw(&self, rng: &mut Rng) -> i128 {
        let (lowest, highest) = self.signal.limits();
        let threshold = self.threshold.plus(self.signal.offset.negated());
        let raw = match rng.below(3) {
            0 => self.signal.random_raw(rng),
            _ => threshold.nearest_quotient(self.signal.factor) + i128::from(rng.between(-1, 1)),
        };
        raw.clamp(lowest, highest)
    }
}

impl Assignment {
    pub(super) fn random(rng: &mut Rng, size: usize) -> (Self, FieldWrite) {
        let to = ExactSignal::random(rng, size, 32);
        let (source, of_field) = match rng.below(4) {
            0 => {
                let raw = to.random_raw(rng);
                let bits = to.defined.bits_of(to.value(raw).decimal()).unwrap();
                (Source::Constant(raw), FieldSource::Constant(bits))
            }
            kind => {
                let mut from = ExactSignal::random(rng, size, 32);
                if kind == 1 {
                    from = from.like(&to);
                }
                let policy = match rng.below(3) {
                    0 => OutOfRange::Saturate,
                    1 => OutOfRange::Drop,
                    _ => OutOfRange::Substitute(to.bits(to.random_raw(rng))),
                };
                let copy = to.defined.copy_of(&from.defined, policy).unwrap();
                (Source::Copy(Box::new(from), policy), copy.source)
            }
        };
        let write = FieldWrite {
            to: to.defined.field,
            source: of_field,
        };
        (Self { to, source }, write)
    }

    pub(super) fn has_signals(&self, payload: &[u8]) -> bool {
        let has_source = match &self.source {
            Source::Constant(_) => true,
            Source::Copy(from, _) => from.read(payload).is_some(),
        };
        has_source && self.to.read(payload).is_some()
    }

    /// Returns the bits that are written; `None` if the frame is stopped.
    pub(super) fn bits(&self, payload: &[u8]) -> Option<u64> {
        let (from, policy) = match &self.source {
            Source::Constant(raw) => return Some(self.to.bits(*raw)),
            Source::Copy(from, policy) => (from, policy),
        };
        let value = from.value(from.read(payload)?);
        let difference = value.plus(self.to.offset.negated());
        let raw = difference.nearest_quotient(self.to.factor);
        let (lowest, highest) = self.to.limits();
        match policy {
            _ if (lowest..=highest).contains(&raw) => Some(self.to.bits(raw)),
            OutOfRange::Saturate => Some(self.to.bits(raw.clamp(lowest, highest))),
            OutOfRange::Substitute(bits) => Some(*bits),
            OutOfRange::Drop => None,
        }
    }
}
