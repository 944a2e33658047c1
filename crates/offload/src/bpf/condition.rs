//! Conditions on signals, in the form of the program: masks and values where a signal has one
//! value, else ranges of shifted words.

use super::layout::{Condition, TEST_NONE, TESTS, Test};
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
    /// The number of bytes that a frame must have: those that the first alternative needs.
    pub(crate) len: u32,
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
    let mut alternatives: Vec<&Vec<FieldTest>> =
        condition.alternatives.iter().filter(is_possible).collect();
    // The program compares the length at the beginning of an alternative only, and ends at the
    // first one that needs more bytes than the frame has.
    alternatives.sort_by_key(|tests| end_of(tests));
    let Some(first) = alternatives.first() else {
        return Ok(None);
    };
    let mut plan = ConditionPlan {
        len: end_of(first).into(),
        ..ConditionPlan::default()
    };
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
        if let Some(first) = of_alternative.first_mut() {
            first.end = end_of(alternative);
        }
        if let Some(last) = of_alternative.last_mut() {
            last.is_last = 1;
        }
    }
    if tests.len() > TESTS {
        return Err(format!(
            "its condition has {} comparisons in all alternatives, and BPF supports {TESTS} at most",
            tests.len()
        ));
    }
    if !tests.is_empty() {
        let none = Test {
            end: TEST_NONE,
            ..Test::default()
        };
        let mut all = Condition {
            test: [none; TESTS],
        };
        for (place, test) in all.test.iter_mut().zip(tests) {
            *place = test;
        }
        plan.tests = Some(all);
    }
    Ok(Some(plan))
}

/// Returns the number of bytes that a frame needs to contain the signals of an alternative. Those
/// of alternatives that BPF can express are in 64 bytes.
fn end_of(tests: &[FieldTest]) -> u8 {
    let ends = tests.iter().map(|test| test.field().end() as u8);
    ends.max().unwrap_or(0)
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
        is_motorola: word.is_motorola.into(),
        ..Test::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use route::parts::{ByteOrder, FieldLayout, SignalField};

    /// Returns whether the program would pass a payload with all bytes of the signal for one test.
    fn passes(test: &Test, payload: &[u8], is_classic: bool) -> bool {
        let mut buffer = [0xA5; 64];
        buffer[..payload.len()].copy_from_slice(payload);
        let at = usize::from(test.at);
        assert!(at + 8 <= if is_classic { 8 } else { 64 });
        let bytes = buffer[at..].first_chunk().unwrap();
        let word = match test.is_motorola {
            0 => u64::from_le_bytes(*bytes),
            _ => u64::from_be_bytes(*bytes),
        };
        (word << test.shift).wrapping_sub(test.low) <= test.span
    }

    #[test]
    fn alternatives_stand_in_the_order_of_the_bytes_that_they_need() {
        let test = |start, order| {
            let layout = FieldLayout {
                start,
                bits: 8,
                order,
            };
            let field = SignalField::new(layout, 64).unwrap();
            FieldTest::new(field, BitMeaning::Unsigned, (1, 9), false).unwrap()
        };
        let condition = SignalCondition {
            text: String::new(),
            alternatives: vec![
                vec![test(320, ByteOrder::Intel), test(8, ByteOrder::Intel)],
                vec![test(23, ByteOrder::Motorola)],
            ],
        };
        let plan = plan(&condition).unwrap().unwrap();
        assert_eq!((plan.len, plan.patterns.len()), (3, 0));
        let tests = plan.tests.unwrap().test;
        let of = |test: &Test| (test.end, test.is_motorola, test.is_last);
        let expected = [(3, 1, 1), (41, 0, 0), (0, 0, 1), (TEST_NONE, 0, 0)];
        assert_eq!(tests[..4].iter().map(of).collect::<Vec<_>>(), expected);
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
                let has_signal = payload.len() >= field.end();
                prop_assert_eq!(
                    has_signal && passes(&range, &payload, is_classic),
                    test.matches(&payload)
                );
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
