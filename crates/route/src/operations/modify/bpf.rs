//! AND, OR, XOR and SET as masks.

use super::Modify;
use crate::operations::bpf::{BpfInstruction, PartMasks};
use alloc::boxed::Box;

pub(super) fn masks(modify: &Modify) -> BpfInstruction {
    let mut masks = PartMasks::NONE;
    masks.id = modify.id_masks();
    masks.len = modify.op.mask(modify.len);
    masks.has_len = modify.len.is_some();
    masks.flags = modify.op.mask(modify.flags);
    let data = modify.data.as_deref().unwrap_or(&[]);
    for (mask, byte) in masks.data.iter_mut().zip(data) {
        *mask = modify.op.mask(Some(*byte));
    }
    BpfInstruction::Masks(Box::new(masks))
}
