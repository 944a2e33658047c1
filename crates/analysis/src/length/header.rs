//! The bits before the payload.

use frame::{Header, Kind};

/// Up to 41 bits from the start of frame to the last bit of the DLC, without stuff bits.
#[derive(Clone, Copy, Debug)]
pub(super) struct HeaderBits {
    bits: u64,
    pub(super) count: u32,
    /// Number of bits at the nominal bit rate: those up to BRS.
    pub(super) nominal: u32,
}

impl HeaderBits {
    /// Returns the bits of a classic or FD frame (ISO 11898-1, arbitration field and control
    /// field).
    pub(super) fn from_header(header: &Header) -> Self {
        let number = u64::from(header.id().number());
        let eff = header.id().is_eff();
        let dlc = u64::from(header.dlc() & 15);
        // SRR and IDE of EFF are recessive; the start of frame is the zero above.
        let field = if eff {
            (number >> 18) << 20 | 0b11 << 18 | number & 0x3_FFFF
        } else {
            number
        };
        let field_bits = if eff { 32 } else { 12 };
        if header.kind() == Kind::Fd {
            // RRS 0, (IDE 0,) FDF 1, res 0, BRS, ESI, DLC.
            let control = 0b10_u64 << 6
                | u64::from(header.is_brs()) << 5
                | u64::from(header.is_esi()) << 4
                | dlc;
            let control_bits = if eff { 9 } else { 10 };
            let count = field_bits + control_bits;
            return Self {
                bits: field << control_bits | control,
                count,
                nominal: if header.is_brs() { count - 5 } else { count },
            };
        }
        // RTR, then IDE and r0 (SFF) or r1 and r0 (EFF), which are dominant, then the DLC.
        let control = u64::from(header.is_rtr()) << 6 | dlc;
        Self {
            bits: field << 7 | control,
            count: field_bits + 7,
            nominal: field_bits + 7,
        }
    }

    /// Returns the bits, in the order in which they are sent.
    pub(super) fn iter(self) -> impl Iterator<Item = bool> {
        (0..self.count).rev().map(move |i| self.bits >> i & 1 != 0)
    }
}
