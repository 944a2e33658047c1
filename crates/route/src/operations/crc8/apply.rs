//! Application of CRC8 to a frame.

use super::{Crc8, Crc8Profile};
use crate::StopReason;
use crate::operations::{apply::ApplyOperation, draft::FrameDraft};
use alloc::boxed::Box;

/// A boxed CRC8: its table is too large to be stored inline among the other operations.
#[derive(Clone, Debug)]
pub(crate) struct BoxedTable(pub(super) Box<Crc8>);

impl ApplyOperation for BoxedTable {
    fn apply(&self, draft: &mut FrameDraft<'_>) -> Result<(), StopReason> {
        draft.check_len()?;
        self.0.write_sum(draft);
        Ok(())
    }
}

impl Crc8 {
    fn step(&self, crc: u8, byte: u8) -> u8 {
        self.table[usize::from(crc ^ byte)]
    }

    fn write_sum(&self, draft: &mut FrameDraft<'_>) {
        let Some((from, to, result)) = self.indices().resolve(draft) else {
            return;
        };
        let bytes = draft.data.get(from.min(to)..=from.max(to)).unwrap_or(&[]);
        let mut crc = if from <= to {
            bytes
                .iter()
                .fold(self.init, |crc, byte| self.step(crc, *byte))
        } else {
            bytes
                .iter()
                .rev()
                .fold(self.init, |crc, byte| self.step(crc, *byte))
        };
        crc = match &self.profile {
            Crc8Profile::None => crc,
            Crc8Profile::OneByte(byte) => self.step(crc, *byte),
            Crc8Profile::Sixteen(bytes) => {
                let chosen = draft.data.get(1).copied().unwrap_or(0) & 0xF;
                self.step(crc, bytes[usize::from(chosen)])
            }
            Crc8Profile::SffIdXor => {
                let [low, next, ..] = draft.raw.to_le_bytes();
                self.step(crc, low ^ next)
            }
        };
        if let Some(place) = draft.data.get_mut(result) {
            *place = crc ^ self.final_xor;
        }
    }
}
