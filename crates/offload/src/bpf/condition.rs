//! Conditions on signals, in the form of the program: masks and values where a signal has one
//! value, else ranges of shifted words.

use super::layout::{Condition, TEST_LAST, TEST_SWAP, TESTS, Test};
use route::bpf::FieldWord;
use route::parts::{BitMeaning, FieldTest};
use route::{PayloadPattern, SignalCondition};

/// The longest payload that BPF routes.
const LONGEST: usize = frame::dlc::FD_MAX;

/// A condition in the form of the program: all patterns must match, and the tests must pass.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct ConditionPlan {
    pub(crate) patterns: Vec<PayloadPattern>,
    pub(crate) tests: Option<Condition>,
}

/// Returns the form of a condition; `None` inside if no frame that BPF routes can meet it.
///
/// # Errors
/// The reason why BPF cannot express it.
pub(crate) fn plan(condition: &SignalCondition) -> Result<Option<ConditionPlan>, String> {
    let is_possible = |tests: &&Vec<FieldTest>| {
        let mut tests = tests.iter();
        tests.all(|test| test.field().end() <= LONGEST && !is_never(test))
    };
    let alternatives: Vec<&Vec<FieldTest>> =
        condition.alternatives.iter().filter(is_possible).collect();
    let mut plan = ConditionPlan::default();
    let mut tests = Vec::new();
    for alternative in &alternatives {
        let first = tests.len();
        for test in *alternative {
            match pattern(test).filter(|_| alternatives.len() == 1) {
                Some(pattern) => plan.patterns.push(pattern),
                None => tests.push(range(test)?),
            }
        }
        let of_alternative = tests.get_mut(first..).unwrap_or_default();
        if let Some(last) = of_alternative.last_mut() {
            last.flags |= TEST_LAST;
        }
    }
    if alternatives.is_empty() {
        return Ok(None);
    }
    if tests.len() > TESTS {
        return Err(format!(
            "its condition has {} comparisons in all alternatives, and BPF supports {TESTS} at most",
            tests.len()
        ));
    }
    if !tests.is_empty() {
        let mut all = Condition {
            count: tests.len() as u32,
            ..Condition::default()
        };
        for (place, test) in all.test.iter_mut().zip(tests) {
            *place = test;
        }
        plan.tests = Some(all);
    }
    Ok(Some(plan))
}

/// Returns whether a test is that of no value at all.
fn is_never(test: &FieldTest) -> bool {
    test.is_negated() && test.low_and_span() == (0, test.field().mask())
}

/// Returns the pattern of a test that one value passes.
fn pattern(test: &FieldTest) -> Option<PayloadPattern> {
    let (first, last) = test.raw_range();
    let field = test.field();
    // −0 passes the test of 0, too.
    if test.is_negated() || first != last || is_float_zero(test, first) {
        return None;
    }
    let mut value = vec![0; field.end()];
    let mut mask = vec![0; field.end()];
    field.write(&mut value, first);
    field.write(&mut mask, u64::MAX);
    Some(PayloadPattern { at: 0, value, mask })
}

/// Returns whether raw bits are those of 0 or −0.
fn is_float_zero(test: &FieldTest, raw: u64) -> bool {
    let sign = 1 << (test.field().bits() - 1);
    test.meaning() == BitMeaning::Float && raw & !sign == 0
}

/// Returns a range in the form of the program.
fn range(test: &FieldTest) -> Result<Test, String> {
    if test.meaning() == BitMeaning::Float {
        return Err("it compares a floating-point signal, and BPF compares integers only".into());
    }
    let word = FieldWord::of(&test.field())?;
    let mask = test.field().mask();
    let (low, span) = test.low_and_span();
    // The values outside a range are those from its end to its beginning, round the wrap.
    let (low, span) = match test.is_negated() {
        false => (low, span),
        true => (
            low.wrapping_add(span).wrapping_add(1) & mask,
            mask - span - 1,
        ),
    };
    // In the topmost bits, an inverted sign bit is an addition.
    let sign = match test.meaning() {
        BitMeaning::Signed => 1 << 63,
        BitMeaning::Unsigned | BitMeaning::Float => 0,
    };
    let unused = 64 - word.bits;
    let ones = u64::MAX.checked_shr(word.bits.into()).unwrap_or(0);
    Ok(Test {
        low: (low << unused).wrapping_sub(sign),
        span: span << unused | ones,
        at: word.at,
        shift: 64 - word.bits - word.shift,
        end: test.field().end() as u8,
        flags: if word.is_motorola { TEST_SWAP } else { 0 },
        pad: 0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use route::parts::{ByteOrder, FieldLayout, SignalField};

    /// Returns whether the program would pass a payload for one test.
    fn passes(test: &Test, payload: &[u8], is_classic: bool) -> bool {
        let mut buffer = [0xA5; 64];
        buffer[..payload.len()].copy_from_slice(payload);
        if payload.len() < usize::from(test.end) {
            return false;
        }
        let at = usize::from(test.at);
        assert!(at + 8 <= if is_classic { 8 } else { 64 });
        let bytes = buffer[at..].first_chunk().unwrap();
        let word = match test.flags & TEST_SWAP {
            0 => u64::from_le_bytes(*bytes),
            _ => u64::from_be_bytes(*bytes),
        };
        (word << test.shift).wrapping_sub(test.low) <= test.span
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]

        #[test]
        fn a_shifted_word_passes_as_the_test_does(
            start in 0..512_u16,
            bits in 1..=64_u8,
            is_intel: bool,
            is_signed: bool,
            is_negated: bool,
            size in prop::sample::select(vec![1_usize, 8, 12, 64]),
            bounds: (u64, u64),
            is_one: bool,
            payload in prop::collection::vec(any::<u8>(), 0..=64),
            delta in -1..=1_i64,
        ) {
            let order = if is_intel { ByteOrder::Intel } else { ByteOrder::Motorola };
            let start = if size < 64 { start % 64 } else { start };
            let field = SignalField::new(FieldLayout { start, bits, order }, size).unwrap();
            let meaning = if is_signed { BitMeaning::Signed } else { BitMeaning::Unsigned };
            let (first, last) = (bounds.0 & field.mask(), bounds.1 & field.mask());
            let last = if is_one { first } else { last };
            let Some(test) = FieldTest::new(field, meaning, (first, last), is_negated) else {
                return Ok(());
            };
            if is_never(&test) || field.end() > 64 {
                return Ok(());
            }
            let Ok(range) = range(&test) else {
                prop_assert!(field.needs_ninth_byte());
                return Ok(());
            };
            let mut payload = payload;
            for value in [None, Some(first), Some(last)] {
                if let Some(value) = value {
                    field.write(&mut payload, value.wrapping_add_signed(delta));
                }
                let is_classic = payload.len() <= 8;
                prop_assert_eq!(passes(&range, &payload, is_classic), test.matches(&payload));
                if let Some(pattern) = pattern(&test) {
                    let matches = payload.len() >= pattern.value.len()
                        && pattern.value.iter().zip(&pattern.mask).zip(&payload)
                            .all(|((value, mask), byte)| byte & mask == *value);
                    prop_assert_eq!(matches, test.matches(&payload));
                }
            }
        }
    }
}
