//! Conversion of the core's register values.

use super::registers::{SSP_MOST, SSP_NONE};
use crate::{BitTiming, BusError, ErrorPlace, ErrorType};

/// The maximum of phase 1 in each timing; the rest goes to the propagation segment.
pub(super) const NOMINAL_PHASE_1: u32 = 63;
pub(super) const DATA_PHASE_1: u32 = 31;

/// Bit rates of the data phase above this need the secondary sample point, because the
/// transceiver's delay reaches into the next bit.
const FAST: u32 = 1_000_000;

/// Returns the initial priorities: the first buffer has the highest one, 7, the second 6, and so
/// on.
pub(super) fn first_priorities(buffers: usize) -> u32 {
    (0..buffers as u32).fold(0, |all, n| all | (7 - n) << (4 * n))
}

/// Rotates the priorities: each buffer gets that of the previous one, the first buffer that of the
/// last.
pub(super) fn turned(priorities: u32, buffers: usize) -> u32 {
    let bits = 4 * buffers as u32;
    let all = u32::MAX >> (32 - bits);
    (priorities << 4 | priorities >> (bits - 4)) & all
}

/// Returns the value of BTR and BTR_FD: propagation segment, phases 1 and 2, prescaler, jump width.
pub(super) fn bit_time(timing: &BitTiming, longest_phase_1: u32) -> u32 {
    // The propagation segment has at least one tq.
    let phase_1 = (timing.before_sample - 1).min(longest_phase_1);
    let propagation = timing.before_sample - phase_1;
    propagation
        | phase_1 << 7
        | timing.after_sample << 13
        | timing.prescaler << 19
        | timing.jump << 27
}

/// Returns the value of TRV_DELAY: the offset of the secondary sample point equals that of the
/// sample point, in periods of the clock.
pub(super) fn secondary_sample_point(data: &BitTiming, clock: u32) -> u32 {
    if data.rate(clock) <= FAST {
        return SSP_NONE;
    }
    let offset = (1 + data.before_sample) * data.prescaler;
    offset.min(SSP_MOST) << 16
}

pub(super) fn nanoseconds(ticks: u64, clock: u32) -> u64 {
    let ns = u128::from(ticks) * 1_000_000_000 / u128::from(clock.max(1));
    u64::try_from(ns).unwrap_or(u64::MAX)
}

/// Decodes ALC: a field (1 base ID, 2 SRR or RTR, 3 IDE, 4 ID extension, 5 RTR of EFF), and within
/// the IDs the number of remaining bits.
pub(super) fn lost_bit(captured: u32) -> Option<u8> {
    let left = (captured >> 16 & 0x1F) as u8;
    match captured >> 21 & 0x7 {
        1 => 11_u8.checked_sub(left),
        2 => Some(11),
        3 => Some(12),
        4 => 18_u8.checked_sub(left).map(|n| 13 + n),
        5 => Some(31),
        _ => None,
    }
}

/// Decodes ERR_CAPT: error type in bits 5 to 7, position in bits 0 to 4. Positions are translated
/// to those of SocketCAN where an equivalent one exists.
pub(super) fn bus_error(captured: u32) -> BusError {
    let trouble = match captured >> 5 & 0x7 {
        0 => ErrorType::Bit,
        1 => ErrorType::Crc,
        2 => ErrorType::Form,
        3 => ErrorType::Acknowledge,
        4 => ErrorType::Stuff,
        _ => ErrorType::Other,
    };
    let place = match captured & 0x1F {
        // Start of frame, control field, data, CRC, acknowledge, end of frame, error frame,
        // overload.
        0 => Some(0x03),
        2 => Some(0x0B),
        3 => Some(0x0A),
        4 => Some(0x08),
        5 => Some(0x19),
        6 => Some(0x1A),
        _ => None,
    };
    BusError {
        trouble,
        place: place.map(ErrorPlace),
        // The core does not report it.
        transmitting: trouble == ErrorType::Acknowledge,
    }
}
