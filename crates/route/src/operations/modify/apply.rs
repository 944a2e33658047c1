//! Application of AND, OR, XOR and SET to a frame.

use super::{Modify, ModifyOp};
use crate::StopReason;
use crate::operations::{
    apply::ApplyOperation,
    draft::{FLAGS, FrameDraft},
};
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
pub(crate) struct ModifyMasks {
    id: (u32, u32),
    /// Little-endian words for the first eight bytes of the payload.
    head: (u64, u64),
    /// Masks for the bytes after them.
    tail: Option<Box<[(u8, u8)]>>,
    /// 16 bits: the operand is a byte, but the length of an XL frame has two.
    len: Option<(u16, u16)>,
    flags: (u8, u8),
}

impl ModifyMasks {
    pub(super) fn new(modify: &Modify) -> Self {
        let op = modify.op;
        let byte = |operand| {
            let mask = op.mask(operand);
            (mask.and, mask.xor)
        };
        let data = modify.data.as_deref().unwrap_or(&[]);
        let pair = |at: usize| byte(data.get(at).copied());
        let word = |part: fn((u8, u8)) -> u8| {
            u64::from_le_bytes(core::array::from_fn(|at| part(pair(at))))
        };
        let id = modify.id_masks();
        Self {
            id: (
                u32::from_le_bytes(id.map(|mask| mask.and)),
                u32::from_le_bytes(id.map(|mask| mask.xor)),
            ),
            head: (word(|pair| pair.0), word(|pair| pair.1)),
            tail: (data.len() > 8).then(|| (8..data.len()).map(pair).collect()),
            len: modify.len.map(u16::from).map(|len| match op {
                ModifyOp::And => (len, 0),
                ModifyOp::Or => (!len, len),
                ModifyOp::Xor => (0xFFFF, len),
                ModifyOp::Set => (0, len),
            }),
            flags: byte(modify.flags),
        }
    }
}

impl ApplyOperation for ModifyMasks {
    fn is_header_only(&self) -> bool {
        self.head == (u64::MAX, 0) && self.tail.is_none()
    }

    #[inline]
    fn apply(&self, draft: &mut FrameDraft<'_>) -> Result<(), StopReason> {
        let raw = (draft.raw & self.id.0) ^ self.id.1;
        draft.raw = if draft.kind == Kind::Xl {
            // An XL frame has a priority of 11 bits and none of these flags.
            if self.id.1 & FLAGS != 0 {
                return Err(StopReason::IdRange);
            }
            (draft.raw & !CanId::SFF_MASK) | (raw & CanId::SFF_MASK)
        } else {
            raw
        };
        if let Some(len) = self.len {
            modify_len(len, draft);
        }
        if draft.kind == Kind::Fd {
            draft.flags = (draft.flags & self.flags.0) ^ self.flags.1;
        }
        if let Some((head, tail)) = draft.data.split_first_chunk_mut::<8>() {
            *head = ((u64::from_le_bytes(*head) & self.head.0) ^ self.head.1).to_le_bytes();
            if let Some(pairs) = &self.tail {
                for (byte, (and, xor)) in tail.iter_mut().zip(pairs) {
                    *byte = (*byte & and) ^ xor;
                }
            }
        }
        Ok(())
    }
}

/// Applies masks to the length. On a classic frame the operation works on the raw DLC
/// (`mod_retrieve_ccdlc` and `mod_store_ccdlc` of `net/can/gw.c`, since Linux 5.11). Lengths that
/// do not fit are kept: they may fit again after the next operation, and are refused at the end.
fn modify_len((and, xor): (u16, u16), draft: &mut FrameDraft<'_>) {
    match draft.kind {
        Kind::Classic => {
            let old = match (draft.len, draft.len8_dlc) {
                (8, dlc @ 9..=15) => u16::from(dlc),
                (len, _) => len,
            };
            let new = (old & and) ^ xor;
            (draft.len, draft.len8_dlc) = match new {
                9..=15 => (8, new as u8),
                _ => (new, 0),
            };
        }
        Kind::Fd | Kind::Xl => draft.len = (draft.len & and) ^ xor,
    }
}
