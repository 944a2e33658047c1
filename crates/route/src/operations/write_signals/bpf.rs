//! Assignments to signals in BPF: constants as masks, others one after the other.

use super::WriteSignals;
use crate::operations::bpf::{BpfInstruction, BpfProgram, ByteMask, PartMasks};
use crate::operations::field_word::{FieldWord, LONGEST, SignalWrite};
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use signals::{FieldSource, FieldWrite, LinearMap, OutOfRange};

/// Adds the assignments of an action to a program.
pub(super) fn add(action: &WriteSignals, program: &mut BpfProgram) -> Result<(), String> {
    let end = action.end();
    if end > LONGEST {
        return Err(format!(
            "a signal ends behind the {LONGEST} bytes that BPF routes"
        ));
    }
    let need = end as u16;
    let (constants, copies): (Vec<FieldWrite>, Vec<FieldWrite>) = action
        .writes
        .iter()
        .partition(|write| matches!(write.source, FieldSource::Constant(_)));
    for write in in_order(&action.writes, copies)? {
        program.push(BpfInstruction::WriteSignal(Box::new(copy(&write, need)?)));
    }
    if constants.is_empty() {
        return Ok(());
    }
    let mut masks = PartMasks {
        need,
        ..PartMasks::NONE
    };
    for write in constants {
        let FieldSource::Constant(bits) = write.source else {
            continue;
        };
        let (mut ones, mut value) = ([0; LONGEST], [0; LONGEST]);
        write.to.write(&mut ones, u64::MAX);
        write.to.write(&mut value, bits);
        for (mask, (ones, value)) in masks.data.iter_mut().zip(ones.iter().zip(value)) {
            *mask = mask.then(ByteMask {
                and: !ones,
                xor: value,
            });
        }
    }
    program.push(BpfInstruction::Masks(Box::new(masks)));
    Ok(())
}

/// Returns copies in an order in which none writes what a later one reads. Constants are written
/// behind them.
fn in_order(all: &[FieldWrite], mut left: Vec<FieldWrite>) -> Result<Vec<FieldWrite>, String> {
    for (at, write) in all.iter().enumerate() {
        let others = all.get(..at).unwrap_or_default();
        if others.iter().any(|other| other.to.shares_bits(&write.to)) {
            return Err("it writes signals that have common bits".into());
        }
    }
    let mut ordered = Vec::new();
    while !left.is_empty() {
        let is_free = |write: &FieldWrite| {
            let mut others = left.iter().filter(|other| *other != write);
            others.all(|other| match other.source {
                FieldSource::Constant(_) => true,
                FieldSource::Bits(from) | FieldSource::Signal { from, .. } => {
                    !write.to.shares_bits(&from)
                }
            })
        };
        let Some(at) = left.iter().position(is_free) else {
            return Err("it swaps signals, and BPF writes one after the other".into());
        };
        ordered.push(left.remove(at));
    }
    Ok(ordered)
}

fn copy(write: &FieldWrite, need: u16) -> Result<SignalWrite, String> {
    let to = FieldWord::of(&write.to)?;
    match write.source {
        FieldSource::Constant(_) => Err("a constant is not a copy".into()),
        FieldSource::Bits(from) => Ok(SignalWrite {
            need,
            from: FieldWord::of(&from)?,
            is_signed: false,
            map: LinearMap::SAME,
            lowest: i64::MIN,
            highest: i64::MAX,
            outside: OutOfRange::Drop,
            to,
        }),
        FieldSource::Signal {
            from,
            is_signed,
            map,
            range,
        } => {
            let bits = from.bits();
            let limits: [i128; 2] = match is_signed {
                true => [-(1 << (bits - 1)), (1 << (bits - 1)) - 1],
                false => [0, (1 << bits) - 1],
            };
            let half = i128::from(map.divisor / 2);
            let fits = limits.iter().all(|raw| {
                let sum = raw * i128::from(map.factor) + i128::from(map.offset);
                let product = raw * i128::from(map.factor);
                i64::try_from(*raw).is_ok()
                    && i64::try_from(product).is_ok()
                    && i64::try_from(sum.abs() + half).is_ok()
            });
            let (Ok(lowest), Ok(highest), true) = (
                i64::try_from(range.lowest),
                i64::try_from(range.highest),
                fits,
            ) else {
                return Err("it rescales a signal with numbers of more than 64 bits".into());
            };
            Ok(SignalWrite {
                need,
                from: FieldWord::of(&from)?,
                is_signed,
                map,
                lowest,
                highest,
                outside: range.outside,
                to,
            })
        }
    }
}
