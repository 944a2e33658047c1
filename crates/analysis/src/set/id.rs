//! Identifiers as text: three hex digits for SFF, eight for EFF, as candump prints them.

use alloc::format;
use alloc::string::String;
use frame::CanId;

/// Parses an identifier; on failure, returns the mistake and a hint.
pub(super) fn parse(text: &str) -> Result<CanId, (String, String)> {
    let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_hexdigit());
    let number = digits.then(|| u32::from_str_radix(text, 16).ok()).flatten();
    let Some(number) = number else {
        let hint = "write three hex digits for an SFF ID, eight for an EFF ID, without 0x";
        return Err((format!("`{text}` is not a valid ID"), hint.into()));
    };
    let id = match text.len() {
        3 => CanId::sff(number),
        8 => CanId::eff(number),
        _ => {
            let message = format!(
                "an ID has three or eight digits, `{text}` has {}",
                text.len()
            );
            let hint = if number <= CanId::SFF_MASK {
                format!("write \"{number:03X}\" for the SFF ID, \"{number:08X}\" for the EFF ID")
            } else {
                format!("write \"{number:08X}\" for the EFF ID")
            };
            return Err((message, hint));
        }
    };
    id.map_err(|_| {
        let highest = if text.len() == 3 { "7FF" } else { "1FFFFFFF" };
        (
            format!(
                "`{text}` is not a valid ID of {} digits: {highest} is the highest",
                text.len()
            ),
            String::new(),
        )
    })
}
