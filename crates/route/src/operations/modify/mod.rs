//! can-gw's AND, OR, XOR and SET.

mod apply;
mod bpf;
#[cfg(feature = "config")]
mod cangw;
#[cfg(feature = "config")]
mod toml;

#[cfg(feature = "config")]
pub use cangw::Modification;

use super::bpf::{BpfProgram, ByteMask};
use super::operation::Operation;
use alloc::{format, string::String, vec::Vec};
use frame::{CanId, dlc};

/// The operation of a [`Modify`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
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
    /// Returns its effect on a byte; without an operand it has none.
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

/// The operand of a [`Modify`] for the ID.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum IdOperand {
    /// For all 32 bits of SocketCAN's ID with its flags, as in can-gw.
    Raw(u32),
    /// For the ID alone. [`ModifyOp::Set`] uses its number and its format, the other operations
    /// only its number. All other flags of the frame are kept, so that a remote frame remains one.
    Id(CanId),
}

impl IdOperand {
    /// Returns the effect on the four bytes of SocketCAN's ID, lowest byte first.
    fn masks(self, op: ModifyOp) -> [ByteMask; 4] {
        const KEPT: u32 = CanId::RTR_FLAG | CanId::ERR_FLAG;
        let raw = |operand: u32| operand.to_le_bytes().map(|byte| op.mask(Some(byte)));
        match (self, op) {
            (Self::Raw(operand), _) => raw(operand),
            (Self::Id(id), ModifyOp::Set) => {
                let (and, xor) = (KEPT.to_le_bytes(), (id.raw() & !KEPT).to_le_bytes());
                core::array::from_fn(|at| ByteMask {
                    and: and.get(at).copied().unwrap_or(0),
                    xor: xor.get(at).copied().unwrap_or(0),
                })
            }
            (Self::Id(id), ModifyOp::And) => raw(id.number() | KEPT | CanId::EFF_FLAG),
            (Self::Id(id), ModifyOp::Or | ModifyOp::Xor) => raw(id.number()),
        }
    }
}

/// can-gw's modification: one operation on any of ID, length, flags, data. `None` leaves a part
/// alone.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Modify {
    /// The operation.
    pub op: ModifyOp,
    /// Operand for the ID. In an XL frame only the 11 bits of its priority can change; an operand
    /// that gives it a flag, such as that of an EFF ID, stops the route. So does an operand that
    /// makes an FD frame remote, because only classic frames can be remote.
    pub id: Option<IdOperand>,
    /// Operand for the length. On a classic frame it works on the raw DLC, as in can-gw since Linux
    /// 5.11: 9 to 15 are 8 bytes with that DLC. If the length does not fit at the end, the route is
    /// stopped.
    pub len: Option<u8>,
    /// Operand for the FD flags; no effect on other frames.
    pub flags: Option<u8>,
    /// Operand for the payload from byte 0: up to 8 bytes for a rule on classic frames, 64 for
    /// others. If it is shorter, the bytes past it are left alone; if it is longer, a classic frame
    /// uses the first 8 bytes. The bytes past the frame's length are changed too. A remote frame's
    /// buffer starts as zeros.
    pub data: Option<Vec<u8>>,
}

impl Operation for Modify {
    const NAME: &'static str = "modify";
    type Compiled = apply::ModifyMasks;

    fn check(&self, longest: usize, report: &mut dyn FnMut(String)) {
        let operand = self.data.as_ref().map_or(0, Vec::len);
        let most = longest.min(dlc::FD_MAX);
        if operand > most {
            report(format!(
                "changes {operand} payload bytes, but {most} is the most"
            ));
        }
    }

    fn rtr_of(&self, had: bool) -> bool {
        const RTR: u8 = (CanId::RTR_FLAG >> 24) as u8;
        let [_, _, _, flags] = self.id_masks();
        let old = if had { RTR } else { 0 };
        ((old & flags.and) ^ flags.xor) & RTR != 0
    }

    fn id_bits(&self) -> Option<(u32, u32)> {
        let masks = self.id_masks();
        Some((
            u32::from_le_bytes(masks.map(|mask| mask.and)),
            u32::from_le_bytes(masks.map(|mask| mask.xor)),
        ))
    }

    fn gives_xl_a_flag(&self) -> bool {
        const FLAGS: u8 = ((CanId::EFF_FLAG | CanId::RTR_FLAG | CanId::ERR_FLAG) >> 24) as u8;
        let [_, _, _, flags] = self.id_masks();
        flags.xor & FLAGS != 0
    }

    fn compile(&self) -> apply::ModifyMasks {
        apply::ModifyMasks::new(self)
    }

    fn to_bpf(&self, program: &mut BpfProgram) -> Result<(), String> {
        program.push(bpf::masks(self));
        Ok(())
    }
}

impl Modify {
    /// Returns the effect on the four bytes of SocketCAN's ID, lowest byte first.
    fn id_masks(&self) -> [ByteMask; 4] {
        self.id
            .map_or([ByteMask::SAME; 4], |operand| operand.masks(self.op))
    }
}
