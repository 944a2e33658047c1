//! The length of frames without the stuff bits that depend on their contents: a lower bound that
//! costs a few instructions.

use super::{INTERMISSION_BITS, TRAILER_BITS, classic, fd};
use crate::{Header, Kind, dlc};

/// Bits of a frame, by the bit rate at which they are sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PhaseBits {
    /// Bits at the nominal bit rate, intermission included.
    pub nominal: u32,
    /// Bits at the data bit rate: of FD frames with BRS.
    pub data: u32,
}

/// Returns the bits of a frame without dynamic stuff bits: [`WireLength`](super::WireLength) less
/// its [`stuff_bits`](super::WireLength::stuff_bits). All zero for XL frames and for error frames.
#[must_use]
#[inline]
pub const fn unstuffed(header: &Header) -> PhaseBits {
    if header.id().is_err() {
        return PhaseBits {
            nominal: 0,
            data: 0,
        };
    }
    let eff = header.id().is_eff();
    match header.kind() {
        Kind::Classic => {
            let head = if eff {
                classic::EFF_BITS
            } else {
                classic::SFF_BITS
            };
            let bytes = if header.is_rtr() {
                0
            } else {
                header.len() as u32
            };
            PhaseBits {
                nominal: head + 8 * bytes + classic::TAIL_BITS,
                data: 0,
            }
        }
        Kind::Fd => {
            let head = if eff { fd::EFF_BITS } else { fd::SFF_BITS };
            let bytes = dlc::fd_padded(header.len());
            let rest = 8 * bytes as u32 + fd::crc_field_bits_for(bytes);
            let tail = fd::DELIMITER_BITS + TRAILER_BITS + INTERMISSION_BITS;
            let fast = if header.is_brs() {
                fd::HEADER_BITS_IN_DATA_PHASE + rest
            } else {
                0
            };
            PhaseBits {
                nominal: head + rest + tail - fast,
                data: fast,
            }
        }
        Kind::Xl => PhaseBits {
            nominal: 0,
            data: 0,
        },
    }
}
