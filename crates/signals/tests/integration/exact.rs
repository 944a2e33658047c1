//! Comparisons, constants and copies of signals against a slow reference with integers of any size.

use num_bigint::BigInt;
use signals::*;
use std::cmp::Ordering;

/// SplitMix64 (Steele, Lea, Flood 2014).
struct Rng(u64);

impl Rng {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }

    fn between(&mut self, first: i64, last: i64) -> i64 {
        first + self.below((last - first + 1) as u64) as i64
    }
}

/// A decimal number: a mantissa and an exponent of ten.
#[derive(Clone, Debug)]
struct Ten(BigInt, i32);

impl Ten {
    fn new(mantissa: i64, exponent: i32) -> Self {
        Self(mantissa.into(), exponent)
    }

    fn text(&self) -> String {
        format!("{}E{}", self.0, self.1)
    }

    fn decimal(&self) -> Decimal {
        self.text().parse().unwrap()
    }

    /// The mantissas of two numbers for one exponent.
    fn aligned(&self, other: &Self) -> (BigInt, BigInt, i32) {
        let exponent = self.1.min(other.1);
        let scaled = |it: &Self| &it.0 * BigInt::from(10).pow((it.1 - exponent) as u32);
        (scaled(self), scaled(other), exponent)
    }

    fn add(&self, other: &Self) -> Self {
        let (a, b, exponent) = self.aligned(other);
        Self(a + b, exponent)
    }

    fn sub(&self, other: &Self) -> Self {
        self.add(&Self(-&other.0, other.1))
    }

    fn mul(&self, other: &Self) -> Self {
        Self(&self.0 * &other.0, self.1 + other.1)
    }

    fn compare(&self, other: &Self) -> Ordering {
        let (a, b, _) = self.aligned(other);
        a.cmp(&b)
    }

    /// The nearest integer of a quotient, halves away from zero.
    fn rounded_quotient(&self, divisor: &Self) -> BigInt {
        let (a, b, _) = self.aligned(divisor);
        let is_negative = (a < BigInt::ZERO) != (b < BigInt::ZERO);
        let (a, b) = (
            BigInt::from(a.magnitude().clone()),
            BigInt::from(b.magnitude().clone()),
        );
        let nearest: BigInt = (a * 2 + &b) / (b * 2);
        if is_negative { -nearest } else { nearest }
    }
}

/// A signal as DBC text, and what the reference knows of it.
#[derive(Debug)]
struct Case {
    text: String,
    is_signed: bool,
    bits: u32,
    factor: Ten,
    offset: Ten,
}

impl Case {
    fn random(rng: &mut Rng, name: &str, start_byte: u64) -> Self {
        let bits = match rng.below(4) {
            0 => rng.between(1, 8),
            1 => rng.between(9, 16),
            2 => rng.between(17, 32),
            _ => rng.between(1, 32),
        } as u32;
        let is_intel = rng.below(2) == 0;
        let is_signed = rng.below(2) == 0;
        let mut mantissa = match rng.below(4) {
            0 => 1,
            1 => 5,
            2 => 25,
            _ => rng.between(1, 999),
        };
        if rng.below(4) == 0 {
            mantissa = -mantissa;
        }
        let factor = Ten::new(mantissa, rng.between(-4, 1) as i32);
        let offset = match rng.below(2) {
            0 => Ten::new(0, 0),
            _ => Ten::new(rng.between(-500, 500), rng.between(-2, 1) as i32),
        };
        let start = 8 * start_byte + if is_intel { 0 } else { 7 };
        let text = format!(
            " SG_ {name} : {start}|{bits}@{}{} ({},{}) [0|0] \"\" X\n",
            u8::from(is_intel),
            if is_signed { '-' } else { '+' },
            factor.text(),
            offset.text(),
        );
        Self {
            text,
            is_signed,
            bits,
            factor,
            offset,
        }
    }

    fn limits(&self) -> (i64, i64) {
        match self.is_signed {
            true => (-(1 << (self.bits - 1)), (1 << (self.bits - 1)) - 1),
            false => (0, (1 << self.bits) - 1),
        }
    }

    fn random_raw(&self, rng: &mut Rng) -> i64 {
        let (lowest, highest) = self.limits();
        match rng.below(6) {
            0 => lowest,
            1 => highest,
            2 => rng.between(lowest, lowest.saturating_add(3).min(highest)),
            _ => rng.between(lowest, highest),
        }
    }

    fn physical(&self, raw: i64) -> Ten {
        Ten::new(raw, 0).mul(&self.factor).add(&self.offset)
    }
}

fn signals(cases: &[&Case]) -> Vec<SignalDefinition> {
    let mut text = "BU_: X\nBO_ 256 M: 16 X\n".to_owned();
    for case in cases {
        text.push_str(&case.text);
    }
    let database = dbc::read(text.as_bytes()).unwrap();
    database.messages[0].signals.clone()
}

fn holds(operator: CompareOperator, order: Ordering) -> bool {
    match operator {
        CompareOperator::Equal => order.is_eq(),
        CompareOperator::NotEqual => order.is_ne(),
        CompareOperator::Less => order.is_lt(),
        CompareOperator::LessOrEqual => order.is_le(),
        CompareOperator::Greater => order.is_gt(),
        CompareOperator::GreaterOrEqual => order.is_ge(),
    }
}

fn compare_random(seed: u64, rounds: u32) {
    let mut rng = Rng(seed);
    let (mut all, mut tests) = (0_u32, 0_u32);
    while all < rounds {
        let case = Case::random(&mut rng, "S", 2);
        let signal = &signals(&[&case])[0];
        for _ in 0..8 {
            // On the grid, close to it, or beyond all values.
            let on_grid = case.physical(case.random_raw(&mut rng));
            let threshold = match rng.below(4) {
                0 | 1 => on_grid,
                2 => on_grid.add(&Ten::new(rng.between(-30, 30), -6)),
                _ => Ten::new(
                    rng.between(-1_000_000, 1_000_000),
                    rng.between(-3, 5) as i32,
                ),
            };
            let operator = CompareOperator::ALL[rng.below(6) as usize];
            let result = signal.compare(operator, threshold.decimal()).unwrap();
            for _ in 0..8 {
                let raw = case.random_raw(&mut rng);
                let mut payload = [0x5A; 16];
                signal.field.write(&mut payload, raw as u64);
                let expected = holds(operator, case.physical(raw).compare(&threshold));
                let passes = match result {
                    CompareResult::Test(test) => {
                        tests += 1;
                        test.matches(&payload)
                    }
                    CompareResult::Always(test, _) => {
                        assert!(test.matches(&payload));
                        true
                    }
                    CompareResult::Never(_) => false,
                };
                assert_eq!(passes, expected, "{case:?} {raw} {operator} {threshold:?}");
                all += 1;
            }
        }
    }
    assert!(
        tests > all / 2,
        "{tests} of {all} comparisons depend on the value"
    );
}

fn copy_random(seed: u64, rounds: u32) {
    let mut rng = Rng(seed);
    let (mut all, mut outside) = (0_u32, 0_u32);
    while all < rounds {
        let (from, to) = (
            Case::random(&mut rng, "A", 0),
            Case::random(&mut rng, "B", 8),
        );
        let defined = signals(&[&from, &to]);
        let policy = match rng.below(3) {
            0 => OutOfRange::Saturate,
            1 => OutOfRange::Drop,
            _ => OutOfRange::Substitute(0),
        };
        let Ok(copy) = defined[1].copy_of(&defined[0], policy) else {
            panic!("{from:?} {to:?}");
        };
        for _ in 0..16 {
            let raw = from.random_raw(&mut rng);
            let mut payload = [0x5A; 16];
            defined[0].field.write(&mut payload, raw as u64);
            let mut written = payload;
            let write = FieldWrite {
                to: defined[1].field,
                source: copy.source,
            };
            let result = write_fields(&[write], &mut written);
            let exact = from
                .physical(raw)
                .sub(&to.offset)
                .rounded_quotient(&to.factor);
            let (lowest, highest) = to.limits();
            let (low, high) = (BigInt::from(lowest), BigInt::from(highest));
            let is_inside = low <= exact && exact <= high;
            outside += u32::from(!is_inside);
            assert!(is_inside || !copy.is_total);
            let expected = match policy {
                _ if is_inside => Some(i64::try_from(&exact).unwrap()),
                OutOfRange::Saturate if exact < low => Some(lowest),
                OutOfRange::Saturate => Some(highest),
                OutOfRange::Substitute(_) => Some(0),
                OutOfRange::Drop => None,
            };
            match expected {
                None => assert_eq!(
                    result,
                    Err(WriteRefusal::OutOfRange),
                    "{from:?} {to:?} {raw}"
                ),
                Some(expected) => {
                    assert_eq!(result, Ok(()), "{from:?} {to:?} {raw}");
                    defined[1].field.write(&mut payload, expected as u64);
                }
            }
            assert_eq!(written, payload, "{from:?} {to:?} {raw}");
            all += 1;
        }
    }
    assert!(
        outside > all / 20,
        "{outside} of {all} copies leave the range"
    );
}

#[test]
fn comparisons_equal_those_of_exact_numbers() {
    compare_random(1, 100_000);
}

#[test]
fn copies_equal_those_of_exact_numbers() {
    copy_random(2, 100_000);
}

/// Values in such numbers that they need an optimized build.
mod long {
    use super::*;

    #[test]
    #[ignore = "heavy"]
    fn millions_of_comparisons_and_copies_equal_those_of_exact_numbers() {
        compare_random(3, 5_000_000);
        copy_random(4, 5_000_000);
    }
}

fn one(layout: &str) -> SignalDefinition {
    let text = format!("BU_: X\nBO_ 256 M: 8 X\n SG_ S : {layout} [0|0] \"\" X\n");
    dbc::read(text.as_bytes()).unwrap().messages[0].signals[0].clone()
}

/// The raw values of the tests are those that cantools 45.1 gives for all raw values.
#[test]
fn comparisons_have_the_raw_thresholds_of_cantools() {
    use CompareOperator as Op;
    // The first and the last raw value that pass; `None`: a comparison that never passes.
    type Case = (&'static str, Op, &'static str, Option<(i64, i64)>);
    let cases: [Case; 13] = [
        ("0|16@1+ (0.01,0)", Op::Greater, "5", Some((501, 65535))),
        (
            "0|16@1+ (0.01,0)",
            Op::GreaterOrEqual,
            "5",
            Some((500, 65535)),
        ),
        ("0|16@1+ (0.01,0)", Op::Greater, "5.005", Some((501, 65535))),
        ("0|16@1+ (0.01,0)", Op::Equal, "5.005", None),
        ("0|16@1+ (0.01,0)", Op::Greater, "700", None),
        ("0|16@1+ (0.01,0)", Op::Equal, "0.3", Some((30, 30))),
        ("16|12@1- (0.1,-40)", Op::Less, "0", Some((-2048, 399))),
        (
            "16|12@1- (0.1,-40)",
            Op::GreaterOrEqual,
            "-40.05",
            Some((0, 2047)),
        ),
        (
            "16|12@1- (0.1,-40)",
            Op::GreaterOrEqual,
            "-250",
            Some((-2048, 2047)),
        ),
        ("45|9@0- (-0.5,10)", Op::Greater, "0", Some((-256, 19))),
        (
            "45|9@0- (-0.5,10)",
            Op::LessOrEqual,
            "10.25",
            Some((0, 255)),
        ),
        (
            "39|10@0+ (0.25,0)",
            Op::GreaterOrEqual,
            "0.3",
            Some((2, 1023)),
        ),
        ("7|64@0-", Op::Less, "0", Some((i64::MIN, -1))),
    ];
    for (layout, operator, number, expected) in cases {
        let layout = match layout.contains('(') {
            true => layout.to_owned(),
            false => format!("{layout} (1,0)"),
        };
        let signal = one(&layout);
        let result = signal.compare(operator, number.parse().unwrap()).unwrap();
        let range = match result {
            CompareResult::Test(test) | CompareResult::Always(test, _) => {
                assert!(!test.is_negated());
                let unused = 64 - signal.field.bits();
                let signed = |bits: u64| match signal.kind {
                    SignalKind::Signed => (bits << unused).cast_signed() >> unused,
                    _ => bits as i64,
                };
                let (first, last) = test.raw_range();
                Some((signed(first), signed(last)))
            }
            CompareResult::Never(_) => None,
        };
        assert_eq!(range, expected, "{layout}: {operator} {number}");
    }
    // `!=` is `==` negated.
    let result = one("0|16@1+ (0.01,0)").compare(Op::NotEqual, "0.3".parse().unwrap());
    let Ok(CompareResult::Test(test)) = result else {
        panic!("{result:?}");
    };
    assert!(test.is_negated());
    assert_eq!(test.raw_range(), (30, 30));
}

#[test]
fn a_comparison_with_one_result_names_the_reason() {
    use CompareOperator as Op;
    let never = |layout: &str, operator, number: &str| match one(layout)
        .compare(operator, number.parse().unwrap())
    {
        Ok(CompareResult::Never(CompareReason::Between(a, b))) => format!("{a} or {b}"),
        Ok(CompareResult::Never(CompareReason::Outside(a, b))) => format!("{a} to {b}"),
        other => format!("{other:?}"),
    };
    assert_eq!(never("0|16@1+ (0.01,0)", Op::Equal, "5.005"), "5 or 5.01");
    assert_eq!(never("0|16@1+ (0.01,0)", Op::Greater, "700"), "0 to 655.35");
    assert_eq!(never("45|9@0- (-0.5,10)", Op::Equal, "0.2"), "0 or 0.5");
    assert_eq!(
        never("45|9@0- (-0.5,10)", Op::Less, "-117.5"),
        "-117.5 to 138"
    );
}

#[test]
fn a_float_is_compared_with_the_decimal_number_itself() {
    use CompareOperator as Op;
    let text =
        "BU_: X\nBO_ 256 M: 8 X\n SG_ S : 0|32@1- (1,0) [0|0] \"\" X\n\nSIG_VALTYPE_ 256 S : 1;\n";
    let signal = &dbc::read(text.as_bytes()).unwrap().messages[0].signals[0];
    assert_eq!(signal.kind, SignalKind::Float32);
    let passes = |operator, number: &str, value: f32| {
        let mut payload = [0; 8];
        payload[..4].copy_from_slice(&value.to_le_bytes());
        match signal.compare(operator, number.parse().unwrap()).unwrap() {
            CompareResult::Test(test) | CompareResult::Always(test, _) => test.matches(&payload),
            CompareResult::Never(_) => false,
        }
    };
    let bits = |number: &str| signal.bits_of(number.parse().unwrap());
    assert_eq!(bits("0.1"), Ok(0.1_f32.to_bits().into()));
    assert!(matches!(bits("1e39"), Err(AssignError::Outside(..))));
    // The nearest float of 0.1 is above it.
    assert!(passes(Op::Greater, "0.1", 0.1));
    assert!(!passes(Op::LessOrEqual, "0.1", 0.1));
    assert!(!passes(Op::Equal, "0.1", 0.1));
    assert!(passes(Op::NotEqual, "0.1", 0.1));
    assert!(passes(Op::Equal, "0", -0.0));
    assert!(!passes(Op::Less, "0", -0.0));
    assert!(passes(Op::GreaterOrEqual, "-2.5", -2.5));
    assert!(!passes(Op::Less, "-2.5", -2.5));
    assert!(passes(Op::Greater, "1e39", f32::INFINITY));
    for operator in CompareOperator::ALL {
        assert!(!passes(operator, "1", f32::NAN));
    }
}

#[test]
fn copies_have_the_results_of_the_table() {
    // The source, the destination, a raw value and its copy.
    for (from, to, raw, expected) in [
        ("0.01,0", "0.1,0", 505, 51),
        ("0.01,0", "0.1,0", 515, 52),
        ("0.5,0", "1,0", 13, 7),
        ("0.1,0", "0.2,0", 25, 13),
        ("0.1,-40", "0.5,-40", -7, -1),
        ("0.01,0", "0.05625,0", 65535, 11651),
    ] {
        let pair = |text: &str| -> (Decimal, Decimal) {
            let (factor, offset) = text.split_once(',').unwrap();
            (factor.parse().unwrap(), offset.parse().unwrap())
        };
        let map = LinearMap::between(pair(from), pair(to)).unwrap();
        assert_eq!(map.apply(raw), expected, "{from} to {to}");
    }
}

#[test]
fn a_constant_is_a_value_of_the_signal() {
    let signal = one("45|9@0- (-0.5,10)");
    assert_eq!(signal.bits_of("-3.5".parse().unwrap()), Ok(0x1B));
    assert_eq!(signal.bits_of("138".parse().unwrap()), Ok(0x100));
    let refused = |number: &str| {
        signal
            .bits_of(number.parse().unwrap())
            .unwrap_err()
            .to_string()
    };
    assert_eq!(
        refused("0.2"),
        "it is between the values 0 and 0.5 of the signal"
    );
    assert_eq!(
        refused("138.5"),
        "the values of the signal reach from -117.5 to 138"
    );
}

#[test]
fn the_stated_range_bounds_a_copy() {
    let text = "BU_: X\nBO_ 256 M: 8 X\n SG_ A : 0|8@1+ (1,0) [0|0] \"\" X\n \
                SG_ B : 8|8@1+ (0.5,0) [0.2|100.2] \"\" X\n SG_ C : 16|8@1+ (1,0) [900|901] \"\" X\n";
    let signals = &dbc::read(text.as_bytes()).unwrap().messages[0].signals;
    assert_eq!(signals[1].stated_range(), Ok((1, 200)));
    assert_eq!(signals[2].stated_range(), Err(AssignError::NoValue));
    let copy = signals[1].copy_of(&signals[0], OutOfRange::Drop).unwrap();
    assert!(!copy.is_total && !copy.is_coarser);
    let write = FieldWrite {
        to: signals[1].field,
        source: copy.source,
    };
    assert_eq!(write_fields(&[write], &mut [100, 0, 0]), Ok(()));
    assert_eq!(
        write_fields(&[write], &mut [101, 0, 0]),
        Err(WriteRefusal::OutOfRange)
    );
    assert_eq!(
        write_fields(&[write], &mut [0, 0, 0]),
        Err(WriteRefusal::OutOfRange)
    );
}
