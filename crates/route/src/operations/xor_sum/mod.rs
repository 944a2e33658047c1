//! can-gw's XOR checksum.

mod apply;
#[cfg(feature = "config")]
mod cangw;
#[cfg(feature = "config")]
mod toml;

use super::bpf::{BpfInstruction, BpfProgram};
use super::checksum::ByteIndices;
use super::operation::Operation;
use alloc::string::String;

/// XOR checksum as can-gw computes it (`cgw_csum_xor_rel`).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct XorSum {
    /// First byte of the sum.
    pub from: i16,
    /// Last byte of the sum.
    pub to: i16,
    /// Position of the result.
    pub result: i16,
    /// Start value.
    pub init: u8,
}

impl XorSum {
    /// Returns its indices.
    fn indices(self) -> ByteIndices {
        ByteIndices {
            from: self.from,
            to: self.to,
            result: self.result,
        }
    }
}

impl Operation for XorSum {
    const NAME: &'static str = "xor_sum";
    type Compiled = Self;

    fn check(&self, longest: usize, report: &mut dyn FnMut(String)) {
        self.indices().check("XOR checksum", longest, report);
    }

    fn compile(&self) -> Self {
        *self
    }

    fn reach(&self) -> usize {
        self.indices().reach()
    }

    fn to_bpf(&self, program: &mut BpfProgram) -> Result<(), String> {
        program.push(BpfInstruction::XorSum {
            at: self.indices(),
            init: self.init,
        });
        Ok(())
    }
}
