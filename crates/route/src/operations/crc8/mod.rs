//! can-gw's CRC8 checksum.

mod apply;
#[cfg(feature = "config")]
mod cangw;
#[cfg(feature = "serde")]
mod table;
#[cfg(feature = "config")]
mod toml;

use super::bpf::{BpfInstruction, BpfProgram, OneMore};
use super::checksum::ByteIndices;
use super::operation::Operation;
use alloc::{boxed::Box, string::String};

/// CRC8 as can-gw computes it (`cgw_csum_crc8_rel`). Negative indices count from the end of the
/// payload: −1 is the last byte. If the resulting position is outside the frame's buffer, the frame
/// stays as it is. If `from` is above `to`, the sum runs downwards.
///
/// can-gw computes checksums only in a rule that modifies something. Here they are computed
/// wherever a route has them, and the importer leaves out those that can-gw would not compute.
///
/// Kernels without the fix of CVE-2026-31570 use negative indices without resolving them; this is
/// the fixed behaviour.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Crc8 {
    /// First byte of the sum.
    pub from: i16,
    /// Last byte of the sum.
    pub to: i16,
    /// Position of the result.
    pub result: i16,
    /// Start value.
    pub init: u8,
    /// Value that is XORed into the result.
    pub final_xor: u8,
    /// The 256-entry table.
    #[cfg_attr(feature = "serde", serde(with = "table"))]
    pub table: [u8; 256],
    /// The additional input after the bytes.
    pub profile: Crc8Profile,
}

impl Crc8 {
    /// Returns the table of a polynomial in the form of [`Crc8::table`]. The polynomial is written
    /// most significant bit first and without its x^8: 0x1D is SAE J1850, 0x2F is AUTOSAR's
    /// CRC8H2F.
    #[must_use]
    pub const fn table_of(polynomial: u8) -> [u8; 256] {
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
}

/// can-gw's CRC8 profiles (`CGW_CRC8PRF_*`).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Crc8Profile {
    /// No additional byte.
    None,
    /// One additional byte.
    OneByte(u8),
    /// One of sixteen bytes, selected by the low four bits of payload byte 1.
    Sixteen([u8; 16]),
    /// One additional byte: the XOR of the ID's lowest byte and the next one (`SFFID_XOR`).
    SffIdXor,
}

impl Crc8 {
    /// Returns its indices.
    fn indices(&self) -> ByteIndices {
        ByteIndices {
            from: self.from,
            to: self.to,
            result: self.result,
        }
    }
}

impl Operation for Crc8 {
    const NAME: &'static str = "crc8";
    type Compiled = apply::BoxedTable;

    fn check(&self, longest: usize, report: &mut dyn FnMut(String)) {
        self.indices().check("CRC8", longest, report);
    }

    fn compile(&self) -> apply::BoxedTable {
        apply::BoxedTable(Box::new(self.clone()))
    }

    fn reach(&self) -> usize {
        self.indices().reach()
    }

    fn to_bpf(&self, program: &mut BpfProgram) -> Result<(), String> {
        program.push(BpfInstruction::Crc8 {
            at: self.indices(),
            init: self.init,
            final_xor: self.final_xor,
            table: Box::new(self.table),
            more: match self.profile {
                Crc8Profile::None => OneMore::None,
                Crc8Profile::OneByte(byte) => OneMore::Byte(byte),
                Crc8Profile::Sixteen(bytes) => OneMore::OfSixteen(bytes),
                Crc8Profile::SffIdXor => OneMore::OfId,
            },
        });
        Ok(())
    }
}
