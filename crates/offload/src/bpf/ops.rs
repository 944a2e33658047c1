//! Encoding of a route's instructions for the maps.

use super::layout::{
    CrcTable, OP_COPY, OP_CRC8, OP_MAP, OP_MODIFY, OP_OFFSET, OP_WRITE, OP_XOR, OUTSIDE_DROP,
    OUTSIDE_SATURATE, OUTSIDE_SUBSTITUTE, Op, WRITE_SIGNED, WRITE_SWAP_FROM, WRITE_SWAP_TO,
};
use route::bpf::{BpfInstruction, ByteIndices, ByteMask, OneMore, PartMasks, SignalWrite};
use route::parts::OutOfRange;

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

    fn op(mut self, kind: u32, words: u16) -> Op {
        let mut body = [0; 18];
        self.0.resize(size_of_val(&body), 0);
        let (chunks, _) = self.0.as_chunks();
        for (word, bytes) in body.iter_mut().zip(chunks) {
            *word = u64::from_le_bytes(*bytes);
        }
        Op {
            kind,
            words,
            need: 0,
            body,
        }
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
        BpfInstruction::WriteSignal(write) => write_signal(write),
    }
}

fn write_signal(write: &SignalWrite) -> Op {
    let mut body = OpBody::default();
    let SignalWrite { from, to, map, .. } = write;
    body.bytes(&map.factor.to_le_bytes());
    body.bytes(&map.offset.to_le_bytes());
    let divisor = map.divisor.max(1);
    for number in [divisor, divisor / 2] {
        body.bytes(&number.to_le_bytes());
    }
    for bound in [write.lowest, write.highest] {
        body.bytes(&bound.to_le_bytes());
    }
    let (outside, substitute) = match write.outside {
        OutOfRange::Saturate => (OUTSIDE_SATURATE, 0),
        OutOfRange::Drop => (OUTSIDE_DROP, 0),
        OutOfRange::Substitute(bits) => (OUTSIDE_SUBSTITUTE, bits),
    };
    body.bytes(&substitute.to_le_bytes());
    body.bytes(&(u64::MAX >> (64 - to.bits)).to_le_bytes());
    let flags = [
        (from.is_motorola, WRITE_SWAP_FROM),
        (to.is_motorola, WRITE_SWAP_TO),
        (write.is_signed, WRITE_SIGNED),
    ];
    let flags = flags.iter().filter(|(set, _)| *set);
    let flags = flags.map(|(_, flag)| flag).sum();
    let up = 64 - from.bits - from.shift;
    body.bytes(&[from.at, up, 64 - from.bits, to.at, to.shift, flags, outside]);
    Op {
        need: write.need,
        ..body.op(OP_WRITE, 0)
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
    Op {
        need: masks.need,
        ..body.op(OP_MODIFY, words)
    }
}

fn number(wanted: &[u8; 256], tables: &mut Vec<CrcTable>) -> u32 {
    let known = tables.iter().position(|table| table.0 == *wanted);
    known.unwrap_or_else(|| {
        tables.push(CrcTable(*wanted));
        tables.len() - 1
    }) as u32
}
