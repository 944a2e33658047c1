//! A route's actions as the program does them: modifications in a row become one.

use super::layout::{CrcTable, OP_COPY, OP_CRC8, OP_MAP, OP_MODIFY, OP_OFFSET, OP_XOR, Op};
use route::{Action, Crc8Profile, Modify, ModifyOp};

/// `(x & and) ^ xor`, which every sequence of AND, OR, XOR and SET is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Masks<T> {
    pub(super) and: T,
    pub(super) xor: T,
}

impl Masks<u8> {
    pub(super) const SAME: Self = Self { and: 0xFF, xor: 0 };

    fn of(op: ModifyOp, operand: Option<u8>) -> Self {
        let (and, xor) = match (op, operand) {
            (_, None) => return Self::SAME,
            (ModifyOp::And, Some(v)) => (v, 0),
            (ModifyOp::Or, Some(v)) => (!v, v),
            (ModifyOp::Xor, Some(v)) => (0xFF, v),
            (ModifyOp::Set, Some(v)) => (0, v),
        };
        Self { and, xor }
    }

    /// This, then the other.
    const fn then(self, next: Self) -> Self {
        Self {
            and: self.and & next.and,
            xor: (self.xor & next.and) ^ next.xor,
        }
    }
}

/// Modifications in a row.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Modifications {
    pub(super) id: [Masks<u8>; 4],
    pub(super) len: Masks<u8>,
    /// The length is named at all: then a classic frame's raw DLC is made anew.
    has_len: bool,
    flags: Masks<u8>,
    pub(super) data: [Masks<u8>; 64],
}

impl Modifications {
    pub(super) const NONE: Self = Self {
        id: [Masks::SAME; 4],
        len: Masks::SAME,
        has_len: false,
        flags: Masks::SAME,
        data: [Masks::SAME; 64],
    };

    pub(super) fn then(&mut self, next: &Modify) {
        let op = next.op;
        let id = next.id.map(u32::to_le_bytes);
        for (at, masks) in self.id.iter_mut().enumerate() {
            let operand = id.and_then(|id| id.get(at).copied());
            *masks = masks.then(Masks::of(op, operand));
        }
        self.len = self.len.then(Masks::of(op, next.len));
        self.has_len |= next.len.is_some();
        self.flags = self.flags.then(Masks::of(op, next.flags));
        let data = next.data.as_deref().unwrap_or(&[]);
        for (masks, byte) in self.data.iter_mut().zip(data) {
            *masks = masks.then(Masks::of(op, Some(*byte)));
        }
    }

    fn op(&self) -> Op {
        let mut body = Body::default();
        body.bytes(&self.id.map(|masks| masks.and));
        body.bytes(&self.id.map(|masks| masks.xor));
        body.bytes(&[self.len.and, self.len.xor, self.flags.and, self.flags.xor]);
        body.u32(self.has_len.into());
        body.bytes(&self.data.map(|masks| masks.and));
        body.bytes(&self.data.map(|masks| masks.xor));
        let (_, tail) = self.data.split_at(8);
        let words = if tail.iter().all(|masks| *masks == Masks::SAME) {
            1
        } else {
            8
        };
        body.op(OP_MODIFY, words)
    }
}

/// Writes one of the parts of an operation's union.
#[derive(Default)]
struct Body(Vec<u8>);

impl Body {
    fn bytes(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    fn u32(&mut self, number: u32) {
        self.bytes(&number.to_le_bytes());
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

/// The operations of one route. Checksum tables that are not among `tables` are added.
pub(crate) fn ops(actions: &[Action], tables: &mut Vec<CrcTable>) -> Vec<Op> {
    let mut ops = Vec::new();
    let mut open: Option<Modifications> = None;
    for action in actions {
        if let Action::Modify(modify) = action {
            open.get_or_insert(Modifications::NONE).then(modify);
            continue;
        }
        ops.extend(open.take().map(|done| done.op()));
        ops.push(other(action, tables));
    }
    ops.extend(open.map(|done| done.op()));
    ops
}

fn other(action: &Action, tables: &mut Vec<CrcTable>) -> Op {
    let mut body = Body::default();
    match action {
        // Done by `ops`.
        Action::Modify(_) => Modifications::NONE.op(),
        Action::OffsetId { by } => {
            body.bytes(&by.to_le_bytes());
            body.op(OP_OFFSET, 0)
        }
        Action::MapId {
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
        Action::CopyBytes {
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
        Action::Crc8(crc8) => {
            for index in [crc8.from, crc8.to, crc8.result] {
                body.bytes(&index.to_le_bytes());
            }
            body.bytes(&[crc8.init, crc8.final_xor]);
            let (profile, bytes) = match &crc8.profile {
                Crc8Profile::None => (0, [0; 16]),
                Crc8Profile::OneByte(byte) => (1, [*byte; 16]),
                Crc8Profile::Sixteen(bytes) => (2, *bytes),
                Crc8Profile::SffIdXor => (3, [0; 16]),
            };
            body.u32(profile);
            body.u32(table(&crc8.table, tables));
            body.bytes(&bytes);
            body.op(OP_CRC8, 0)
        }
        Action::XorSum(sum) => {
            for index in [sum.from, sum.to, sum.result] {
                body.bytes(&index.to_le_bytes());
            }
            body.bytes(&[sum.init, 0]);
            body.op(OP_XOR, 0)
        }
    }
}

fn table(wanted: &[u8; 256], tables: &mut Vec<CrcTable>) -> u32 {
    let known = tables.iter().position(|table| table.0 == *wanted);
    known.unwrap_or_else(|| {
        tables.push(CrcTable(*wanted));
        tables.len() - 1
    }) as u32
}
