//! Values of options that both programs accept.

use frame::CanId;
use frame::wire::parse_rate;

/// Parses a CAN ID in hexadecimal: 3 digits for the standard format, 8 for the extended one.
///
/// # Errors
/// The text has other characters, another number of digits, or a number out of range.
pub fn can_id(text: &str) -> Result<CanId, String> {
    // `from_str_radix` also takes a sign; only digits are allowed here.
    if !text.bytes().all(|b| b.is_ascii_hexdigit()) {
        return Err("give hexadecimal digits only".to_owned());
    }
    let number =
        u32::from_str_radix(text, 16).map_err(|_| "give hexadecimal digits only".to_owned())?;
    match text.len() {
        3 => CanId::sff(number).map_err(|e| e.to_string()),
        8 => CanId::eff(number).map_err(|e| e.to_string()),
        _ => Err("give 3 hexadecimal digits for SFF or 8 for EFF".to_owned()),
    }
}

/// Parses a bit rate in bit/s, such as 500k or 1M.
///
/// # Errors
/// The text is not a bit rate, or the rate is out of range.
pub fn bit_rate(text: &str) -> Result<u32, String> {
    parse_rate(text).map_err(|e| e.to_string())
}
