//! Comparisons, constants and copies with the largest numbers that a text can have: each one has a
//! result, or is refused.

use signals::*;

/// 2^127 − 1 and its neighbours, 2^63 to 2^66, and numbers with long exponents.
const NUMBERS: [&str; 20] = [
    "170141183460469231731687303715884105727",
    "170141183460469231731687303715884105726",
    "17014118346046923173168730371588410572e1",
    "85070591730234615865843651857942052864",
    "73786976294838206464",
    "36893488147419103232",
    "18446744073709551616",
    "18446744073709551615",
    "9223372036854775808",
    "9223372036854775807",
    "1e38",
    "1e400",
    "17014118346046923173168730371588410572e300",
    "1e-400",
    "170141183460469231731687303715884105727e-38",
    "170141183460469231731687303715884105727e-400",
    "2",
    "1",
    "0.1",
    "0",
];

fn signals() -> Vec<SignalDefinition> {
    let mut text = "BU_: X\n".to_owned();
    let mut id = 0;
    for layout in ["0|64@1-", "0|64@1+", "7|1@0+"] {
        for factor in NUMBERS {
            for (sign, offset) in [("", "0"), ("-", "1"), ("", NUMBERS[0]), ("-", NUMBERS[0])] {
                text.push_str(&format!(
                    "BO_ {id} M{id}: 8 X\n SG_ S : {layout} ({sign}{factor},{sign}{offset}) \
                     [-{factor}|{offset}] \"\" X\n"
                ));
                id += 1;
            }
        }
    }
    let database = dbc::read(text.as_bytes()).unwrap();
    assert_eq!(database.messages.len(), id);
    let all = database.messages.into_iter();
    all.flat_map(|message| message.signals).collect()
}

/// Returns a raw value times the factor; `None` if it has too many digits.
fn product(factor: Decimal, raw: i128) -> Option<Decimal> {
    Decimal::new(raw, 0).checked_mul(factor)
}

#[test]
fn each_comparison_with_a_large_number_has_a_result_or_is_refused() {
    for signal in signals() {
        for number in NUMBERS {
            for number in [number.to_owned(), format!("-{number}")] {
                let number: Decimal = number.parse().unwrap();
                for operator in CompareOperator::ALL {
                    let _ = signal.compare(operator, number);
                }
                let Ok(bits) = signal.bits_of(number) else {
                    continue;
                };
                let raw = match signal.raw_of(bits) {
                    RawValue::Signed(raw) => raw.into(),
                    RawValue::Unsigned(raw) => raw.into(),
                    RawValue::Float(_) => panic!("{signal:?}"),
                };
                let value =
                    product(signal.factor, raw).and_then(|value| value.checked_add(signal.offset));
                assert_eq!(value, Some(number), "{signal:?}");
            }
        }
        if let Ok((first, last)) = signal.stated_range() {
            let (lowest, highest) = signal.raw_limits();
            assert!(lowest <= first && first <= last && last <= highest);
        }
    }
}

#[test]
fn each_copy_with_large_numbers_has_a_result_or_is_refused() {
    let all = signals();
    let mut copies = 0;
    for to in &all {
        for from in all.iter().step_by(7) {
            copies += usize::from(to.copy_of(from, OutOfRange::Saturate).is_ok());
        }
    }
    assert!(copies > 100, "{copies}");
}

/// A number beyond all values, next to the largest one that 128 bits can have.
#[test]
fn a_number_beyond_all_values_has_the_reason() {
    let text = "BU_: X\nBO_ 1 M: 8 X\n SG_ S : 0|8@1+ (1,0) [0|0] \"\" X\n \
        SG_ T : 8|8@1+ (-1,1) [0|0] \"\" X\n";
    let database = dbc::read(text.as_bytes()).unwrap();
    let [above, below] = &database.messages[0].signals[..] else {
        panic!("{database:?}");
    };
    let largest: Decimal = NUMBERS[0].parse().unwrap();
    let smallest: Decimal = format!("-{}", NUMBERS[0]).parse().unwrap();
    for operator in [CompareOperator::Greater, CompareOperator::GreaterOrEqual] {
        let result = above.compare(operator, largest);
        assert!(matches!(result, Ok(CompareResult::Never(_))), "{result:?}");
        // The distance is −2^127, and the factor −1.
        let result = below.compare(operator, smallest);
        assert!(
            matches!(result, Ok(CompareResult::Always(..))),
            "{result:?}"
        );
    }
}
