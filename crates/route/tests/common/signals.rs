//! Random conditions on signals and assignments to them, and their slow reference: bit by bit, with
//! the numbers that the bits mean.

use super::Rng;
use cangate_route::*;
use signals::{
    BitMeaning, ByteOrder, FieldLayout, FieldSource, FieldTest, FieldWrite, LinearMap, OutOfRange,
    RangePolicy, SignalField,
};

/// A field in the first bytes of a payload of `size` bytes, most often where frames have bytes.
pub fn random_field(rng: &mut Rng, size: u32, bits: Option<u8>) -> SignalField {
    let bytes = if rng.one_in(3) { size } else { size.min(8) };
    let layout = FieldLayout {
        start: rng.below(8 * bytes) as u16,
        bits: bits.unwrap_or_else(|| match rng.below(4) {
            0 => 1 + rng.below(64) as u8,
            1 => 1 + rng.below(4) as u8,
            _ => 1 + rng.below(16) as u8,
        }),
        order: rng.pick(&[ByteOrder::Intel, ByteOrder::Motorola]),
    };
    SignalField::new(layout, rng.pick(&[8, 12, 64])).unwrap()
}

pub fn random_test(rng: &mut Rng, size: u32) -> FieldTest {
    let meaning = match rng.below(8) {
        0 => BitMeaning::Float,
        1..=3 => BitMeaning::Signed,
        _ => BitMeaning::Unsigned,
    };
    let is_float = meaning == BitMeaning::Float;
    let bits = is_float.then(|| rng.pick(&[32, 64]));
    let field = random_field(rng, size, bits);
    loop {
        let bound = |rng: &mut Rng| match rng.below(5) {
            _ if is_float && field.bits() == 32 => u64::from(
                rng.pick(&[0_f32, -0.0, -1.5, 1e-38, f32::INFINITY])
                    .to_bits(),
            ),
            _ if is_float => rng
                .pick(&[0_f64, -0.0, -1.5, 1e-300, f64::INFINITY])
                .to_bits(),
            0 => 0,
            1 => u64::MAX,
            2 => u64::from(rng.below(4)),
            _ => rng.next(),
        };
        let (first, last) = (bound(rng) & field.mask(), bound(rng) & field.mask());
        let last = if rng.one_in(3) { first } else { last };
        if let Some(test) = FieldTest::new(field, meaning, (first, last), rng.one_in(3)) {
            return test;
        }
    }
}

pub fn random_condition(rng: &mut Rng, size: u32) -> SignalCondition {
    let alternatives = 1 + rng.below(3);
    SignalCondition {
        text: "random".into(),
        alternatives: (0..alternatives)
            .map(|_| (0..=rng.below(3)).map(|_| random_test(rng, size)).collect())
            .collect(),
    }
}

pub fn random_writes(rng: &mut Rng, size: u32) -> WriteSignals {
    let write = |rng: &mut Rng| {
        let bits = 1 + rng.below(24) as u8;
        let to = random_field(rng, size, Some(bits));
        let from_bits = if rng.one_in(2) {
            bits
        } else {
            1 + rng.below(24) as u8
        };
        let from = random_field(rng, size, Some(from_bits));
        let source = match rng.below(4) {
            0 => FieldSource::Constant(rng.next()),
            1 if from_bits == bits => FieldSource::Bits(from),
            _ => {
                let bounds = (i128::from(rng.below(40)) - 20, i128::from(rng.below(4000)));
                let meaning = rng.pick(&[BitMeaning::Signed, BitMeaning::Unsigned]);
                let outside = match rng.below(3) {
                    0 => OutOfRange::Saturate,
                    1 => OutOfRange::Drop,
                    _ => OutOfRange::Substitute(rng.next()),
                };
                let whole = RangePolicy::of_field(&to, meaning, outside);
                FieldSource::Signal {
                    from,
                    is_signed: rng.one_in(2),
                    map: LinearMap {
                        factor: i64::from(rng.next() as i16),
                        offset: i64::from(rng.next() as i16),
                        divisor: 1 + u64::from(rng.below(300)),
                    },
                    range: match rng.one_in(2) {
                        true => whole,
                        false => RangePolicy {
                            lowest: whole.lowest.max(bounds.0).min(whole.highest),
                            highest: whole.highest.min(bounds.1),
                            outside,
                        },
                    },
                }
            }
        };
        FieldWrite { to, source }
    };
    WriteSignals {
        text: "{ }".into(),
        writes: (0..=rng.below(3)).map(|_| write(rng)).collect(),
    }
}

/// The places of a field's bits in a payload, the least significant one first: byte and bit.
fn places(field: &SignalField) -> Vec<(usize, u32)> {
    let loaded = if field.needs_ninth_byte() { 9 } else { 8 };
    let place = |bit: u32| {
        let at = field.shift() + bit;
        let byte = match field.order() {
            ByteOrder::Intel => at / 8,
            ByteOrder::Motorola => loaded - 1 - at / 8,
        };
        (field.base() + byte as usize, at % 8)
    };
    (0..field.bits()).map(place).collect()
}

/// The bits of a field; `None` if the payload is too short.
fn bits_of(field: &SignalField, payload: &[u8]) -> Option<u64> {
    let mut bits = 0;
    for (number, (byte, bit)) in places(field).into_iter().enumerate() {
        bits |= u64::from(payload.get(byte)? >> bit & 1) << number;
    }
    Some(bits)
}

fn number(field: &SignalField, is_signed: bool, bits: u64) -> i128 {
    let is_negative = is_signed && bits >> (field.bits() - 1) & 1 == 1;
    i128::from(bits) - if is_negative { 1 << field.bits() } else { 0 }
}

fn float(field: &SignalField, bits: u64) -> f64 {
    match field.bits() {
        32 => f32::from_bits(bits as u32).into(),
        _ => f64::from_bits(bits),
    }
}

fn passes(test: &FieldTest, payload: &[u8]) -> bool {
    let field = test.field();
    let Some(bits) = bits_of(&field, payload) else {
        return false;
    };
    let (first, last) = test.raw_range();
    let is_inside = match test.meaning() {
        BitMeaning::Float => {
            let value = float(&field, bits);
            if value.is_nan() {
                return false;
            }
            float(&field, first) <= value && value <= float(&field, last)
        }
        meaning => {
            let number = |bits| number(&field, meaning == BitMeaning::Signed, bits);
            number(first) <= number(bits) && number(bits) <= number(last)
        }
    };
    is_inside != test.is_negated()
}

pub fn holds(condition: &SignalCondition, payload: &[u8]) -> bool {
    let mut alternatives = condition.alternatives.iter();
    alternatives.any(|tests| tests.iter().all(|test| passes(test, payload)))
}

/// Makes assignments to the first `len` bytes of the data.
pub fn write(action: &WriteSignals, data: &mut [u8], len: usize) -> Result<(), StopReason> {
    let len = len.min(data.len());
    let payload = data[..len].to_vec();
    let has = |field: &SignalField| bits_of(field, &payload).is_some();
    for write in &action.writes {
        let has_source = match write.source {
            FieldSource::Constant(_) => true,
            FieldSource::Bits(from) | FieldSource::Signal { from, .. } => has(&from),
        };
        if !has(&write.to) || !has_source {
            return Err(StopReason::Absent);
        }
    }
    for write in &action.writes {
        let bits = match write.source {
            FieldSource::Constant(bits) => bits,
            FieldSource::Bits(from) => bits_of(&from, &payload).unwrap(),
            FieldSource::Signal {
                from,
                is_signed,
                map,
                range,
            } => {
                let raw = number(&from, is_signed, bits_of(&from, &payload).unwrap());
                let sum = raw * i128::from(map.factor) + i128::from(map.offset);
                let divisor = i128::from(map.divisor);
                let nearest = (2 * sum.abs() + divisor) / (2 * divisor) * sum.signum();
                match range.outside {
                    _ if range.lowest <= nearest && nearest <= range.highest => nearest as u64,
                    OutOfRange::Saturate => nearest.clamp(range.lowest, range.highest) as u64,
                    OutOfRange::Substitute(bits) => bits,
                    OutOfRange::Drop => return Err(StopReason::OutOfRange),
                }
            }
        };
        for (number, (byte, bit)) in places(&write.to).into_iter().enumerate() {
            data[byte] = data[byte] & !(1 << bit) | ((bits >> number & 1) as u8) << bit;
        }
    }
    Ok(())
}
