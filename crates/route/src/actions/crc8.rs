//! can-gw's CRC8 checksum.

use super::Work;
use crate::{Crc8, Crc8Profile};

impl Crc8 {
    /// The table for a polynomial, most significant bit first and without its x^8: 0x1D is SAE
    /// J1850, 0x2F is AUTOSAR's CRC8H2F.
    #[must_use]
    pub const fn table_for(polynomial: u8) -> [u8; 256] {
        let mut table = [0; 256];
        let mut at = 0;
        while at < 256 {
            let mut crc = at as u8;
            let mut bit = 0;
            while bit < 8 {
                crc = if crc & 0x80 != 0 {
                    (crc << 1) ^ polynomial
                } else {
                    crc << 1
                };
                bit += 1;
            }
            table[at] = crc;
            at += 1;
        }
        table
    }

    fn step(&self, crc: u8, byte: u8) -> u8 {
        self.table[usize::from(crc ^ byte)]
    }
}

pub(super) fn apply(crc8: &Crc8, work: &mut Work<'_>) {
    let (Some(from), Some(to), Some(result)) = (
        work.index(crc8.from),
        work.index(crc8.to),
        work.index(crc8.result),
    ) else {
        return;
    };
    let bytes = work.data.get(from.min(to)..=from.max(to)).unwrap_or(&[]);
    let mut crc = if from <= to {
        bytes
            .iter()
            .fold(crc8.init, |crc, byte| crc8.step(crc, *byte))
    } else {
        bytes
            .iter()
            .rev()
            .fold(crc8.init, |crc, byte| crc8.step(crc, *byte))
    };
    crc = match &crc8.profile {
        Crc8Profile::None => crc,
        Crc8Profile::OneByte(byte) => crc8.step(crc, *byte),
        Crc8Profile::Sixteen(bytes) => {
            let chosen = work.data.get(1).copied().unwrap_or(0) & 0xF;
            crc8.step(crc, bytes[usize::from(chosen)])
        }
        Crc8Profile::SffIdXor => {
            let [low, next, ..] = work.raw.to_le_bytes();
            crc8.step(crc, low ^ next)
        }
    };
    if let Some(place) = work.data.get_mut(result) {
        *place = crc ^ crc8.final_xor;
    }
}
