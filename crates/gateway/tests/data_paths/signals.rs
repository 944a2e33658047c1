//! Random conditions on signals, and assignments to them.

use proptest::prelude::*;
use route::parts::{
    BitMeaning, ByteOrder, FieldLayout, FieldSource, FieldTest, FieldWrite, LinearMap, OutOfRange,
    RangePolicy, SignalField,
};
use route::{Action, SignalCondition, WriteSignals};

fn field(bits: impl Strategy<Value = u8>) -> impl Strategy<Value = SignalField> {
    let start = prop_oneof![5 => 0_u16..64, 1 => 0_u16..512];
    (
        start,
        bits,
        any::<bool>(),
        prop_oneof![Just(8_usize), Just(64)],
    )
        .prop_filter_map("in 64 bytes", |(start, bits, is_intel, size)| {
            let order = match is_intel {
                true => ByteOrder::Intel,
                false => ByteOrder::Motorola,
            };
            let field = SignalField::new(FieldLayout { start, bits, order }, size).ok()?;
            // BPF has no words of nine bytes.
            (field.end() <= 64 && !field.needs_ninth_byte()).then_some(field)
        })
}

fn test() -> impl Strategy<Value = FieldTest> {
    let bits = prop_oneof![4 => 1_u8..=4, 2 => 5_u8..=16, 1 => 17_u8..=64];
    let bounds = prop_oneof![
        2 => (0_u64..4, 0_u64..4),
        1 => any::<u64>().prop_map(|one| (one, one)),
        2 => any::<(u64, u64)>(),
    ];
    (field(bits), any::<bool>(), bounds, any::<bool>()).prop_filter_map(
        "in order",
        |(field, is_signed, (first, last), is_negated)| {
            let meaning = match is_signed {
                true => BitMeaning::Signed,
                false => BitMeaning::Unsigned,
            };
            let bounds = (first & field.mask(), last & field.mask());
            FieldTest::new(field, meaning, bounds, is_negated)
        },
    )
}

pub(crate) fn condition() -> impl Strategy<Value = SignalCondition> {
    let alternative = prop::collection::vec(test(), 1..3);
    prop::collection::vec(alternative, 1..4).prop_map(|alternatives| SignalCondition {
        text: "random".into(),
        alternatives,
    })
}

fn source() -> impl Strategy<Value = FieldSource> {
    let bits = || 1_u8..=24;
    let outside = prop_oneof![
        Just(OutOfRange::Saturate),
        Just(OutOfRange::Drop),
        any::<u64>().prop_map(OutOfRange::Substitute),
    ];
    let map =
        (any::<i16>(), any::<i16>(), 1_u16..300).prop_map(|(factor, offset, divisor)| LinearMap {
            factor: factor.into(),
            offset: offset.into(),
            divisor: divisor.into(),
        });
    let range =
        (-300_i128..1, 0_i128..3_000, outside).prop_map(|(lowest, highest, outside)| RangePolicy {
            lowest,
            highest,
            outside,
        });
    let copy =
        (field(bits()), any::<bool>(), map, range).prop_map(|(from, is_signed, map, range)| {
            FieldSource::Signal {
                from,
                is_signed,
                map,
                range,
            }
        });
    prop_oneof![
        2 => any::<u64>().prop_map(FieldSource::Constant),
        1 => field(bits()).prop_map(FieldSource::Bits),
        2 => copy,
    ]
}

pub(crate) fn writes() -> impl Strategy<Value = Action> {
    let write = (field(1_u8..=24), source()).prop_map(|(to, source)| FieldWrite { to, source });
    prop::collection::vec(write, 1..3).prop_map(|writes| {
        Action::WriteSignals(WriteSignals {
            text: "{ }".into(),
            writes,
        })
    })
}
