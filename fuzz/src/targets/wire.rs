//! The fast calculation of a frame's length must equal the slow one, and parsing of bit rates must
//! not panic.

use crate::Target;
use crate::bytes::ByteSource;
use frame::wire;

#[path = "../../../crates/frame/tests/reference/mod.rs"]
#[allow(dead_code, reason = "the tests of frame use more of it")]
mod reference;

/// The target; see the module's documentation.
pub const TARGET: Target = Target {
    name: "wire",
    run,
    words: &["500k", "1M", "83.333k", "\0\0\0\0\0\0\0\0", "\u{1f}"],
};

fn run(input: &[u8]) {
    let mut bytes = ByteSource::new(input);
    while !bytes.is_empty() {
        let frame = bytes.frame();
        let slow = reference::wire(frame.view()).expect("it can be on a bus");
        let fast = wire::length(frame.view()).expect("it can be on a bus");
        assert_eq!(fast.bits() as usize, slow.bits.len(), "{frame}");
        assert_eq!(fast.stuff_bits() as usize, slow.stuff_bits(), "{frame}");
        assert_eq!(fast.data_phase_bits() as usize, slow.fast_bits(), "{frame}");
        assert_eq!(fast.crc(), slow.crc, "{frame}");
    }
    if let Ok(text) = std::str::from_utf8(input)
        && let Ok(rate) = wire::parse_rate(text)
    {
        assert!(
            (wire::BitRate::MIN..=wire::BitRate::MAX).contains(&rate),
            "{text}"
        );
    }
}
