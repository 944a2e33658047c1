//! Encoding of a route's instructions for the maps.

use super::layout::{CrcTable, OP_COPY, OP_CRC8, OP_MAP, OP_MODIFY, OP_OFFSET, OP_XOR, Op};
use route::bpf::{BpfInstruction, ByteIndices, ByteMask, OneMore, PartMasks};

/// Writer of a member of an operation's union.
#[derive(Default)]
struct OpBody(Vec<u8>);

impl OpBody {
    fn bytes(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    fn u32(&mut self, number: u32) {
        self.bytes(&number.to_le_bytes());
    }

    fn indices(&mut self, at: ByteIndices) {
        for index in [at.from, at.to, at.result] {
            self.bytes(&index.to_le_bytes());
        }
    }

    fn op(mut self, kind: u32, words: u32) -> Op {
        let mut body = [0; 18];
        self.0.resize(size_of_val(&body), 0);
        let (chunks, _) = self.0.as_chunks();
        for (word, bytes) in body.iter_mut().zip(chunks) {
            *word = u64::from_le_bytes(*bytes);
        }
        Op { kind, words, body }
    }
}

/// Encodes an instruction. A checksum's table that is not among `tables` is added.
pub(crate) fn op(instruction: &BpfInstruction, tables: &mut Vec<CrcTable>) -> Op {
    let mut body = OpBody::default();
    match instruction {
        BpfInstruction::Masks(masks) => modify(masks),
        BpfInstruction::OffsetId(by) => {
            body.bytes(&by.to_le_bytes());
            body.op(OP_OFFSET, 0)
        }
        BpfInstruction::MapId {
            from,
            to,
            count,
            eff,
        } => {
            for number in [from, to, count] {
                body.u32(*number);
            }
            body.u32(match eff {
                None => 0,
                Some(false) => 1,
                Some(true) => 2,
            });
            body.op(OP_MAP, 0)
        }
        BpfInstruction::Copy {
            from,
            to,
            count,
            clear,
        } => {
            for number in [from, to, count] {
                body.u32(u32::from(*number));
            }
            body.u32((*clear).into());
            body.op(OP_COPY, 0)
        }
        BpfInstruction::Crc8 {
            at,
            init,
            final_xor,
            table,
            more,
        } => {
            body.indices(*at);
            body.bytes(&[*init, *final_xor]);
            let (profile, bytes) = match more {
                OneMore::None => (0, [0; 16]),
                OneMore::Byte(byte) => (1, [*byte; 16]),
                OneMore::OfSixteen(bytes) => (2, *bytes),
                OneMore::OfId => (3, [0; 16]),
            };
            body.u32(profile);
            body.u32(number(table, tables));
            body.bytes(&bytes);
            body.op(OP_CRC8, 0)
        }
        BpfInstruction::XorSum { at, init } => {
            body.indices(*at);
            body.bytes(&[*init, 0]);
            body.op(OP_XOR, 0)
        }
    }
}

fn modify(masks: &PartMasks) -> Op {
    let mut body = OpBody::default();
    body.bytes(&masks.id.map(|mask| mask.and));
    body.bytes(&masks.id.map(|mask| mask.xor));
    let (len, flags) = (masks.len, masks.flags);
    body.bytes(&[len.and, len.xor, flags.and, flags.xor]);
    body.u32(masks.has_len.into());
    body.bytes(&masks.data.map(|mask| mask.and));
    body.bytes(&masks.data.map(|mask| mask.xor));
    let (_, tail) = masks.data.split_at(8);
    let words = if tail.iter().all(|mask| *mask == ByteMask::SAME) {
        1
    } else {
        8
    };
    body.op(OP_MODIFY, words)
}

fn number(wanted: &[u8; 256], tables: &mut Vec<CrcTable>) -> u32 {
    let known = tables.iter().position(|table| table.0 == *wanted);
    known.unwrap_or_else(|| {
        tables.push(CrcTable(*wanted));
        tables.len() - 1
    }) as u32
}
