//! can-gw's AND, OR, XOR and SET.

mod apply;
mod bpf;
#[cfg(feature = "config")]
mod cangw;
#[cfg(feature = "config")]
mod toml;

#[cfg(feature = "config")]
pub use cangw::Modification;

use super::bpf::{ByteMask, Program};
use super::operation::Operation;
use alloc::{format, string::String, vec::Vec};
use frame::dlc;

/// Which operation a [`Modify`] does.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ModifyOp {
    /// Bitwise and.
    And,
    /// Bitwise or.
    Or,
    /// Bitwise exclusive or.
    Xor,
    /// Replace.
    Set,
}

impl ModifyOp {
    /// What it does to a byte; nothing without an operand.
    fn mask(self, operand: Option<u8>) -> ByteMask {
        let (and, xor) = match (self, operand) {
            (_, None) => return ByteMask::SAME,
            (Self::And, Some(v)) => (v, 0),
            (Self::Or, Some(v)) => (!v, v),
            (Self::Xor, Some(v)) => (0xFF, v),
            (Self::Set, Some(v)) => (0, v),
        };
        ByteMask { and, xor }
    }
}

/// can-gw's modification: one operation on any of ID, length, flags, data. `None` leaves a part
/// alone.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Modify {
    /// The operation.
    pub op: ModifyOp,
    /// Operand for SocketCAN's raw 32-bit ID, flags included. Of an XL frame only the 11 bits of
    /// its priority can change.
    pub id: Option<u32>,
    /// Operand for the length. On a classic frame it works on the raw DLC as can-gw does since
    /// Linux 5.11: 9 to 15 are 8 bytes with that DLC. What does not fit in the end stops the
    /// route.
    pub len: Option<u8>,
    /// Operand for the FD flags; no effect on other frames.
    pub flags: Option<u8>,
    /// Operand for the payload from byte 0: up to 8 bytes for a rule on classic frames, 64 for
    /// others. Shorter operands leave the bytes past them alone; of longer ones a classic frame
    /// takes the first 8 bytes. The bytes past the frame's length are changed too. A remote
    /// frame's buffer starts as zeros.
    pub data: Option<Vec<u8>>,
}

impl Operation for Modify {
    const NAME: &'static str = "modify";
    type Compiled = apply::Masks;

    fn check(&self, longest: usize, report: &mut dyn FnMut(String)) {
        let operand = self.data.as_ref().map_or(0, Vec::len);
        let most = longest.min(dlc::FD_MAX);
        if operand > most {
            report(format!(
                "changes {operand} payload bytes, but {most} is the most"
            ));
        }
    }

    fn compile(&self) -> apply::Masks {
        apply::Masks::new(self)
    }

    fn to_bpf(&self, program: &mut Program) -> Result<(), String> {
        program.push(bpf::masks(self));
        Ok(())
    }
}
