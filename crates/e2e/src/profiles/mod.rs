//! The profiles of AUTOSAR's *E2E Protocol Specification* (document 849, `PRS_E2EProtocol`).
//!
//! Layouts and sums are those that the vectors of `tests/vectors` confirm; limits that the module
//! pages mark are from memory.

pub(crate) mod p01;
pub(crate) mod p02;
pub(crate) mod p04;
pub(crate) mod p05;

use crate::error::SettingsError;

/// The greatest offset of a header: a payload of CAN XL has 2048 bytes.
const MAX_OFFSET: u64 = 2047;

/// Checks that a number is within a range.
pub(crate) fn check_range(
    setting: &'static str,
    found: u64,
    least: u64,
    most: u64,
) -> Result<(), SettingsError> {
    if (least..=most).contains(&found) {
        return Ok(());
    }
    Err(SettingsError::Range {
        setting,
        found,
        least,
        most,
    })
}

/// Checks the offset of a header.
fn check_offset(offset: u16) -> Result<(), SettingsError> {
    check_range("offset", u64::from(offset), 0, MAX_OFFSET)
}
