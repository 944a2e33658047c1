//! can-gw's AND, OR, XOR and SET.

use super::Work;
use crate::ModifyOp;
use alloc::boxed::Box;
use frame::{CanId, Kind};

/// All four operations in one form: `(old & and) ^ xor`.
///
/// | | and | xor |
/// |---|---|---|
/// | AND v | v | 0 |
/// | OR v | !v | v |
/// | XOR v | all ones | v |
/// | SET v | 0 | v |
#[derive(Clone, Debug)]
pub(crate) struct Modify {
    id: (u32, u32),
    /// Little-endian words for the first eight bytes of the payload.
    head: (u64, u64),
    /// For the bytes after them.
    tail: Option<Box<[(u8, u8)]>>,
    /// The operand is a byte, the length of an XL frame has two.
    len: Option<(u16, u16)>,
    flags: (u8, u8),
}

fn byte(op: ModifyOp, operand: Option<u8>) -> (u8, u8) {
    match (op, operand) {
        (_, None) => (0xFF, 0),
        (ModifyOp::And, Some(v)) => (v, 0),
        (ModifyOp::Or, Some(v)) => (!v, v),
        (ModifyOp::Xor, Some(v)) => (0xFF, v),
        (ModifyOp::Set, Some(v)) => (0, v),
    }
}

impl Modify {
    pub(crate) fn new(modify: &crate::Modify) -> Self {
        let op = modify.op;
        let data = modify.data.as_deref().unwrap_or(&[]);
        let pair = |at: usize| byte(op, data.get(at).copied());
        let word = |part: fn((u8, u8)) -> u8| {
            u64::from_le_bytes(core::array::from_fn(|at| part(pair(at))))
        };
        let id: [(u8, u8); 4] = core::array::from_fn(|at| {
            byte(
                op,
                modify.id.and_then(|id| id.to_le_bytes().get(at).copied()),
            )
        });
        Self {
            id: (
                u32::from_le_bytes(id.map(|pair| pair.0)),
                u32::from_le_bytes(id.map(|pair| pair.1)),
            ),
            head: (word(|pair| pair.0), word(|pair| pair.1)),
            tail: (data.len() > 8).then(|| (8..data.len()).map(pair).collect()),
            len: modify.len.map(u16::from).map(|len| match op {
                ModifyOp::And => (len, 0),
                ModifyOp::Or => (!len, len),
                ModifyOp::Xor => (0xFFFF, len),
                ModifyOp::Set => (0, len),
            }),
            flags: byte(op, modify.flags),
        }
    }

    pub(super) fn is_header_only(&self) -> bool {
        self.head == (u64::MAX, 0) && self.tail.is_none()
    }

    pub(super) fn apply(&self, work: &mut Work<'_>) {
        let raw = (work.raw & self.id.0) ^ self.id.1;
        work.raw = if work.kind == Kind::Xl {
            (work.raw & !CanId::SFF_MASK) | (raw & CanId::SFF_MASK)
        } else {
            raw
        };
        if let Some(len) = self.len {
            modify_len(len, work);
        }
        if work.kind == Kind::Fd {
            work.flags = (work.flags & self.flags.0) ^ self.flags.1;
        }
        if let Some((head, tail)) = work.data.split_first_chunk_mut::<8>() {
            *head = ((u64::from_le_bytes(*head) & self.head.0) ^ self.head.1).to_le_bytes();
            if let Some(pairs) = &self.tail {
                for (byte, (and, xor)) in tail.iter_mut().zip(pairs) {
                    *byte = (*byte & and) ^ xor;
                }
            }
        }
    }
}

/// On a classic frame the operation sees the raw DLC (`mod_retrieve_ccdlc` and
/// `mod_store_ccdlc` of `net/can/gw.c`, since Linux 5.11). Lengths that do not fit stay as they
/// are; they may fit again after the next operation, and are refused in the end.
fn modify_len((and, xor): (u16, u16), work: &mut Work<'_>) {
    match work.kind {
        Kind::Classic => {
            let old = match (work.len, work.len8_dlc) {
                (8, dlc @ 9..=15) => u16::from(dlc),
                (len, _) => len,
            };
            let new = (old & and) ^ xor;
            (work.len, work.len8_dlc) = match new {
                9..=15 => (8, new as u8),
                _ => (new, 0),
            };
        }
        Kind::Fd | Kind::Xl => work.len = (work.len & and) ^ xor,
    }
}
