//! Payloads of other implementations: each must come out byte for byte, and be accepted.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod makes;
mod profiles;

use e2e::{CounterSource, Protection, ProtectionSettings, SendingCounter};
use frame::CanId;

/// Returns the bytes of hex digits; blanks make no difference.
fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<char> = hex.chars().filter(|c| !c.is_whitespace()).collect();
    let pairs = digits.chunks(2).map(|pair| pair.iter().collect::<String>());
    pairs
        .map(|pair| u8::from_str_radix(&pair, 16).unwrap())
        .collect()
}

/// Returns `payload` as these settings protect it with this counter.
fn protected(settings: ProtectionSettings, id: CanId, payload: &[u8], counter: u32) -> Vec<u8> {
    let protection = Protection::new(settings).unwrap();
    let mut payload = payload.to_vec();
    let mut own = SendingCounter::from_value(counter);
    let sent = protection
        .protect(id, &mut payload, CounterSource::Own(&mut own))
        .unwrap();
    assert_eq!(protection.verify(id, &payload), Ok(sent));
    payload
}
