//! Conversion of the chip's register values.

use crate::{BitTiming, BusError, ErrorPlace, ErrorType};

/// Returns BTR0 and BTR1 (data sheet, tables 20 and 21): each field is its number less 1.
pub(super) const fn bus_timing(timing: &BitTiming) -> (u8, u8) {
    let jump = ((timing.jump - 1) as u8) << 6;
    let after = ((timing.after_sample - 1) as u8) << 4;
    (
        jump | (timing.prescaler - 1) as u8,
        after | (timing.before_sample - 1) as u8,
    )
}

/// Decodes the error code capture register (data sheet, tables 18 and 19).
pub(super) const fn bus_error(code: u8) -> BusError {
    let place = code & 0x1F;
    let trouble = match code >> 6 {
        0 => ErrorType::Bit,
        1 => ErrorType::Form,
        2 => ErrorType::Stuff,
        // For the other type, the segment identifies the error: 8 is the CRC sequence, 25 the
        // acknowledge slot.
        _ => match place {
            0x08 => ErrorType::Crc,
            0x19 => ErrorType::Acknowledge,
            _ => ErrorType::Other,
        },
    };
    BusError {
        trouble,
        place: Some(ErrorPlace(place)),
        transmitting: code & 0x20 == 0,
    }
}
