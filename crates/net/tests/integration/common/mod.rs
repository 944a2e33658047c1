//! Random frames, and bytes in hex.
#![allow(dead_code, clippy::unwrap_used)]

use frame::{CanId, Frame, dlc, flags};
use proptest::prelude::*;

/// Returns the bytes of a text of hex digits and blanks.
pub(crate) fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(|b| !b.is_ascii_whitespace()).collect();
    let (pairs, rest) = digits.as_chunks::<2>();
    assert!(rest.is_empty(), "{text}");
    let byte = |pair: &[u8; 2]| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap();
    pairs.iter().map(byte).collect()
}

/// Returns the frame in cansend's grammar.
pub(crate) fn frame(text: &str) -> Frame {
    text.parse().unwrap()
}

pub(crate) fn id() -> impl Strategy<Value = CanId> {
    prop_oneof![
        (0..=CanId::SFF_MASK).prop_map(|number| CanId::sff(number).unwrap()),
        (0..=CanId::EFF_MASK).prop_map(|number| CanId::eff(number).unwrap()),
    ]
}

pub(crate) fn classic() -> impl Strategy<Value = Frame> {
    (id(), prop::collection::vec(any::<u8>(), 0..=8))
        .prop_map(|(id, data)| Frame::classic(id, &data).unwrap())
}

pub(crate) fn remote() -> impl Strategy<Value = Frame> {
    (id(), 0..=8_usize).prop_map(|(id, len)| Frame::remote(id.with_rtr(), len).unwrap())
}

/// FD frames with lengths that a DLC represents, and any BRS and ESI.
pub(crate) fn fd() -> impl Strategy<Value = Frame> {
    (id(), 0..=15_u8, any::<[u8; 64]>(), 0..=3_u8).prop_map(|(id, code, data, bits)| {
        let len = usize::from(dlc::fd_len(code));
        Frame::fd(id, bits & (flags::BRS | flags::ESI), &data[..len]).unwrap()
    })
}

pub(crate) fn any_frame() -> impl Strategy<Value = Frame> {
    prop_oneof![classic(), remote(), fd()]
}
