//! Instructions in the form of the program's short path for classic frames: two words of masks and
//! at most one checksum, all independent of the frame.

use super::layout::Sum;
use route::bpf::{BpfInstruction, ByteIndices, ByteMask, OneMore, PartMasks};

/// The changes of a frame's two words: its header, and its data.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct ShortOp {
    pub(crate) and: [u64; 2],
    pub(crate) xor: [u64; 2],
    /// Index of the checksum.
    pub(crate) sum: Option<u16>,
}

/// Returns the short form; `None` if the instructions need more than that. A checksum that is not
/// among `sums` is added.
pub(crate) fn short(instructions: &[BpfInstruction], sums: &mut Vec<Sum>) -> Option<ShortOp> {
    let (masks, sum) = match instructions {
        [] => (&PartMasks::NONE, None),
        [BpfInstruction::Masks(masks)] => (&**masks, None),
        [BpfInstruction::Masks(masks), sum] => (&**masks, Some(sum)),
        [sum] => (&PartMasks::NONE, Some(sum)),
        _ => return None,
    };
    // The short path does not count a frame that is too short.
    if masks.need > 0 {
        return None;
    }
    let sum = match sum {
        None => None,
        Some(sum) => Some(number(checksum(sum)?, sums)?),
    };
    let header = |part: fn(&ByteMask) -> u8| {
        let [a, b, c, d] = masks.id;
        let same = ByteMask::SAME;
        u64::from_le_bytes([a, b, c, d, masks.len, same, same, same].map(|mask| part(&mask)))
    };
    let data = |part: fn(&ByteMask) -> u8| {
        let mut bytes = [0; 8];
        for (byte, mask) in bytes.iter_mut().zip(&masks.data) {
            *byte = part(mask);
        }
        u64::from_le_bytes(bytes)
    };
    Some(ShortOp {
        and: [header(|mask| mask.and), data(|mask| mask.and)],
        xor: [header(|mask| mask.xor), data(|mask| mask.xor)],
        sum,
    })
}

/// Returns the checksum; `None` if the instruction is not a checksum, or depends on more than the
/// bytes at their positions.
fn checksum(instruction: &BpfInstruction) -> Option<Sum> {
    match instruction {
        BpfInstruction::Crc8 {
            at,
            init,
            final_xor,
            table,
            more,
        } => {
            let step = |sum: u8, byte: u8| table[usize::from(sum ^ byte)];
            let last = match more {
                OneMore::None => None,
                OneMore::Byte(byte) => Some(*byte),
                OneMore::OfSixteen(_) | OneMore::OfId => return None,
            };
            // The table is not that of a CRC.
            if !is_linear(table) {
                return None;
            }
            let places = places(*at)?;
            Some(tables(&places, |data| {
                let sum = places.pick(data).fold(*init, step);
                last.map_or(sum, |byte| step(sum, byte)) ^ final_xor
            }))
        }
        BpfInstruction::XorSum { at, init } => {
            let places = places(*at)?;
            Some(tables(&places, |data| {
                places.pick(data).fold(*init, |sum, byte| sum ^ byte)
            }))
        }
        _ => None,
    }
}

fn number(wanted: Sum, sums: &mut Vec<Sum>) -> Option<u16> {
    let known = sums.iter().position(|sum| *sum == wanted);
    let number = known.unwrap_or(sums.len());
    let number = u16::try_from(number).ok()?;
    if known.is_none() {
        sums.push(wanted);
    }
    Some(number)
}

/// The positions of a checksum's bytes and of its result; all are in the first eight bytes.
struct ChecksumBytes {
    bytes: Vec<usize>,
    result: usize,
}

impl ChecksumBytes {
    fn pick(&self, data: [u8; 8]) -> impl Iterator<Item = u8> {
        let bytes = self.bytes.iter();
        bytes.map(move |at| data.get(*at).copied().unwrap_or(0))
    }
}

/// Returns the positions; `None` if they depend on the frame's length.
fn places(at: ByteIndices) -> Option<ChecksumBytes> {
    let place = |index: i16| usize::try_from(index).ok().filter(|at| *at < 8);
    let (from, to, result) = (place(at.from)?, place(at.to)?, place(at.result)?);
    let bytes = if from > to {
        (to..=from).rev().collect()
    } else {
        (from..=to).collect()
    };
    Some(ChecksumBytes { bytes, result })
}

/// Returns whether the entry of `a ^ b` always is the entry of `a` ^ that of `b`.
fn is_linear(table: &[u8; 256]) -> bool {
    (0..=255_u8).zip(table).all(|(index, entry)| {
        let bits = (0..8).filter(|bit| index >> bit & 1 != 0);
        *entry == bits.fold(0, |sum, bit| sum ^ table[1 << bit])
    })
}

fn tables(places: &ChecksumBytes, of: impl Fn([u8; 8]) -> u8) -> Sum {
    let base = of([0; 8]);
    let mut table = [[0; 256]; 8];
    for (at, table) in table.iter_mut().enumerate() {
        for (value, entry) in (0..=255_u8).zip(table) {
            let mut data = [0; 8];
            data[at] = value;
            *entry = of(data) ^ base;
        }
    }
    for entry in &mut table[0] {
        *entry ^= base;
    }
    let weight = 1 << (8 * places.result);
    Sum {
        keep: !(0xFF * weight),
        weight,
        table,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use route::{Action, Crc8, Crc8Profile};

    fn short_of(crc8: &Crc8, sums: &mut Vec<Sum>) -> Option<ShortOp> {
        let mut program = route::bpf::BpfProgram::default();
        Action::Crc8(crc8.clone()).to_bpf(&mut program).unwrap();
        short(program.instructions(), sums)
    }

    /// The same function as `summed()` of gateway.bpf.c.
    fn summed(sum: &Sum, data: u64) -> u64 {
        let bytes = data.to_le_bytes();
        let tables = sum.table.iter().zip(bytes);
        let result = tables.fold(0, |result, (table, byte)| {
            result ^ u64::from(table[usize::from(byte)])
        });
        (data & sum.keep) | (result * sum.weight)
    }

    proptest! {
        #[test]
        fn tables_of_places_give_what_going_from_byte_to_byte_gives(
            [from, to, result] in [0_i16..8, 0..8, 0..8],
            [init, final_xor, polynomial] in any::<[u8; 3]>(),
            byte: Option<u8>,
            data: u64,
        ) {
            let crc8 = Crc8 {
                from, to, result, init, final_xor,
                table: Crc8::table_of(polynomial),
                profile: byte.map_or(Crc8Profile::None, Crc8Profile::OneByte),
            };
            let mut bytes = data.to_le_bytes();
            let (mut sum, mut at) = (init, from);
            loop {
                sum = crc8.table[usize::from(sum ^ bytes[at as usize])];
                if at == to {
                    break;
                }
                at += (to - from).signum();
            }
            if let Some(byte) = byte {
                sum = crc8.table[usize::from(sum ^ byte)];
            }
            bytes[result as usize] = sum ^ final_xor;
            let mut sums = Vec::new();
            for _ in 0..2 {
                let done = short_of(&crc8, &mut sums).unwrap();
                prop_assert_eq!(done.sum, Some(0));
            }
            prop_assert_eq!(sums.len(), 1);
            prop_assert_eq!(summed(&sums[0], data).to_le_bytes(), bytes);
        }
    }

    #[test]
    fn a_table_that_is_none_of_a_crc_takes_the_long_way() {
        let mut crc8 = Crc8 {
            from: 0,
            to: 6,
            result: 7,
            init: 0,
            final_xor: 0,
            table: Crc8::table_of(0x1D),
            profile: Crc8Profile::None,
        };
        let mut sums = Vec::new();
        assert!(short_of(&crc8, &mut sums).is_some());
        crc8.table[77] ^= 1;
        assert!(short_of(&crc8, &mut sums).is_none());
        crc8.table[77] ^= 1;
        crc8.to = -2;
        assert!(short_of(&crc8, &mut sums).is_none());
    }
}
