//! Code that the tests share: random frames, and arbitration in the slow and obvious way.

use frame::Frame;
use proptest::prelude::*;

/// Returns the bits that decide arbitration: identifier, RTR, IDE as on the wire.
pub(crate) fn arbitration_field(frame: &Frame) -> String {
    let id = frame.id();
    let rtr = if frame.header().is_rtr() { "1" } else { "0" };
    if id.is_eff() {
        let all = format!("{:029b}", id.number());
        format!("{}11{}{rtr}", &all[..11], &all[11..])
    } else {
        format!("{:011b}{rtr}0", id.number())
    }
}

/// Generates identifiers close to one another, so that formats and RTR decide often.
pub(crate) fn close_ids() -> impl Strategy<Value = frame::CanId> {
    let number = prop_oneof![0..4_u32, 0x7FC..0x800_u32];
    (number, 0..4_u32, any::<bool>()).prop_map(|(base, low, eff)| {
        if eff {
            frame::CanId::eff(base << 18 | low).unwrap()
        } else {
            frame::CanId::sff(base).unwrap()
        }
    })
}

/// Generates classic frames, data and remote.
pub(crate) fn classic_frames() -> impl Strategy<Value = Frame> {
    let byte = prop_oneof![Just(0_u8), Just(0xFF), any::<u8>()];
    let data = prop::collection::vec(byte, 0..=8);
    (close_ids(), data, any::<bool>()).prop_map(|(id, data, remote)| {
        if remote {
            Frame::remote(id, data.len()).unwrap()
        } else {
            Frame::classic(id, &data).unwrap()
        }
    })
}
