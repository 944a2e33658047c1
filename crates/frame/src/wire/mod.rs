//! Frames on the wire: exact bits, stuff bits, CRC and durations of classic and ISO FD frames.
//!
//! [`length`] returns the [`WireLength`] of one frame, exact to the bit because it evaluates the
//! payload; [`WireLength::duration`] converts it to time at a [`BitRate`]. [`arbitration_key`]
//! determines the winner of arbitration, [`arbitration_bits`] the bit at which it is decided.
//!
//! ```
//! use frame::{Frame, wire};
//!
//! let frame: Frame = "123#0011223344556677".parse()?;
//! let length = wire::length(frame.view()).expect("no XL, no error frame");
//! assert_eq!((length.bits(), length.stuff_bits(), length.crc()), (113, 2, 0x0BD4));
//!
//! let rate: wire::BitRate = "500k".parse()?;
//! assert_eq!(length.duration(rate, true), 226_000);
//! assert_eq!(length.duration(rate, false), 220_000);
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```
//!
//! # Bits that are counted
//! From the start of frame to the third bit of intermission (ISO 11898-1, data frame, remote
//! frame, frame coding):
//!
//! * Classic: 47 + 8n bits with an SFF identifier, 67 + 8n with an EFF one; a stuff bit after each
//!   five equal bits from the start of frame to the last CRC bit, and stuff bits count as part of
//!   the next run. A remote frame has no data, whatever its DLC is; a DLC of 9 to 15 means 8 bytes.
//! * FD: a header of 22 or 41 bits, 8n bits of data, a CRC field of 28 (n ≤ 16) or 33 bits with
//!   stuff count, parity, fixed stuff bits and delimiter, 9 bits of acknowledge and end of
//!   frame, 3 of intermission. [`WireLength::stuff_bits`] counts the dynamic stuff bits only: from
//!   the start of frame to the last bit of data, but none after that bit.
//! * An FD length that no DLC represents is sent with the next DLC, and the payload is padded with
//!   zero bytes. Linux's mcp251xfd driver does this; others send the contents of `struct
//!   canfd_frame` after the length, which are zero in this crate's frames.
//! * XL frames and error frames have no length here.
//!
//! # The change of the bit rate
//! A frame with BRS changes to the data bit rate at the sample point of BRS and back at the sample
//! point of the CRC delimiter. [`WireLength::data_phase_bits`] counts whole bits, ESI to the last
//! CRC bit, and [`WireLength::duration`] counts these with the data bit time and all others,
//! including BRS and CRC delimiter, with the nominal one. In reality these two bits together last
//! one nominal and one data bit, wherever the sample points are: the part of the nominal bit time
//! that BRS keeps is missing from the delimiter, and vice versa.
//! [`WireLength::duration_with_switch`] counts them in this way; it is shorter by one nominal less
//! one data bit time. A frame with BRS on a bus without a data bit rate is counted as if the data
//! bit rate were the nominal one.

mod arbitration;
mod classic;
mod fd;
mod rate;
mod tables;
mod unstuffed;

pub use arbitration::{arbitration_bits, arbitration_field, arbitration_key};
pub use rate::{BitRate, RateError, parse_rate};
pub use unstuffed::{PhaseBits, unstuffed};

use crate::{FrameRef, Header, Kind, Nanos};

/// Recessive bits between a frame and the next (ISO 11898-1, interframe space; Bosch CAN 2.0 part
/// B, 3.2.5). [`WireLength::bits`] includes them at its end.
pub const INTERMISSION_BITS: u32 = 3;

/// Recessive bits that an error-passive transmitter waits after the intermission before it
/// sends again (ISO 11898-1, interframe space, suspend transmission; Bosch 3.2.5).
pub const SUSPEND_BITS: u32 = 8;

/// The greatest number of dominant bits that error flags of several nodes form together: the last
/// one starts when the first ends (Bosch 3.2.3).
pub const ERROR_FLAGS_MAX_BITS: u32 = 12;

/// Recessive bits after the error flags, the first of which ends the wait for the other nodes'
/// flags (ISO 11898-1, error frame; Bosch 3.2.3).
pub const ERROR_DELIMITER_BITS: u32 = 8;

/// Recessive bits that a node in bus-off must see before it takes part again: 128 times 11
/// (ISO 11898-1, fault confinement; Bosch 8, rule 12).
pub const BUS_OFF_RECOVERY_BITS: u32 = 128 * 11;

/// Bits from the acknowledge slot to the end of frame: slot, delimiter, 7 bits of end of frame.
const TRAILER_BITS: u32 = 9;

/// The exact length of one frame, as returned by [`length`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct WireLength {
    bits: u16,
    stuff_bits: u16,
    data_phase_bits: u16,
    crc: u32,
}

impl WireLength {
    /// Returns all bits from the start of frame to the end of the intermission, stuff bits
    /// included.
    #[must_use]
    pub const fn bits(self) -> u32 {
        self.bits as u32
    }

    /// Returns the number of dynamic stuff bits. An FD frame's fixed stuff bits are part of its CRC
    /// field.
    #[must_use]
    pub const fn stuff_bits(self) -> u32 {
        self.stuff_bits as u32
    }

    /// Returns the CRC: 15 bits, for FD 17 (up to 16 bytes) or 21.
    #[must_use]
    pub const fn crc(self) -> u32 {
        self.crc
    }

    /// Returns the number of bits at the data bit rate, stuff bits included: ESI to the last CRC
    /// bit of an FD frame with BRS; 0 for all others.
    #[must_use]
    pub const fn data_phase_bits(self) -> u32 {
        self.data_phase_bits as u32
    }

    /// Returns the number of bits at the nominal bit rate, intermission included.
    #[must_use]
    pub const fn nominal_bits(self) -> u32 {
        self.bits() - self.data_phase_bits()
    }

    /// Returns the duration of the frame, rounded to the nearest nanosecond; with the intermission
    /// (up to the time when the next frame can start), or without (up to the end of the end of
    /// frame, which a receiver's time stamp marks). See the [module](self) for FD frames with BRS.
    #[must_use]
    pub const fn duration(self, rate: BitRate, with_intermission: bool) -> Nanos {
        let left_out = if with_intermission {
            0
        } else {
            INTERMISSION_BITS
        };
        rate.time(self.nominal_bits() - left_out, self.data_phase_bits())
    }

    /// Like [`WireLength::duration`], with the bit rate changed at the sample points of BRS and CRC
    /// delimiter instead of at whole bits.
    #[must_use]
    pub const fn duration_with_switch(self, rate: BitRate, with_intermission: bool) -> Nanos {
        let left_out = if with_intermission {
            0
        } else {
            INTERMISSION_BITS
        };
        let moved = if self.data_phase_bits > 0 { 1 } else { 0 };
        rate.time(
            self.nominal_bits() - left_out - moved,
            self.data_phase_bits() + moved,
        )
    }
}

/// Returns the exact length of a classic or FD frame; `None` for XL frames and for error frames,
/// which the controller generates and no bus carries.
#[must_use]
#[inline]
pub fn length(frame: FrameRef<'_>) -> Option<WireLength> {
    let header = frame.header();
    if header.id().is_err() {
        return None;
    }
    match header.kind() {
        Kind::Classic => Some(classic::length(header, frame.data())),
        Kind::Fd => Some(fd::length(header, frame.data())),
        Kind::Xl => None,
    }
}

/// Returns the 11 high and the 18 low bits of an EFF identifier.
const fn eff_parts(header: &Header) -> (u64, u64) {
    let number = header.id().number() as u64;
    (number >> 18, number & 0x3_FFFF)
}
