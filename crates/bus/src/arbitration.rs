//! The arbitration field as a number.

use frame::{Frame, Kind};

/// The arbitration field of a frame, the first bit on the wire highest, 0 dominant, so that the
/// lowest number wins (ISO 11898-1:2015, 10.8 and the frame formats of 10.4). Layout, 32 bits:
/// 11 bits of identifier; RTR (SFF), RRS (FD) or SRR (EFF); IDE; 18 bits of identifier extension;
/// RTR or RRS (EFF). For SFF the last 19 bits are no part of the frame and 0: two frames can
/// differ in them only if one of them has lost at IDE.
#[inline]
pub(crate) fn key(frame: &Frame) -> u32 {
    let id = frame.id();
    let remote = u32::from(frame.kind() == Kind::Classic && id.is_rtr());
    if id.is_eff() {
        let n = id.number();
        (n >> 18) << 21 | 0b11 << 19 | (n & 0x3_FFFF) << 1 | remote
    } else {
        id.number() << 21 | remote << 20
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use frame::CanId;

    #[test]
    fn order_of_formats_with_one_base() {
        let sff = CanId::sff(0x123).unwrap();
        let eff = CanId::eff(0x123 << 18).unwrap();
        let data = |id| key(&Frame::classic(id, &[]).unwrap());
        let remote = |id| key(&Frame::remote(id, 0).unwrap());
        let order = [
            data(CanId::eff((0x122 << 18) | 0x3_FFFF).unwrap()),
            data(sff),
            remote(sff),
            data(eff),
            remote(eff),
            data(CanId::eff((0x123 << 18) | 1).unwrap()),
            data(CanId::sff(0x124).unwrap()),
        ];
        assert!(order.is_sorted_by(|a, b| a < b), "{order:x?}");
        assert_eq!(data(sff), key(&Frame::fd(sff, 0, &[]).unwrap()));
        assert_eq!(remote(CanId::eff(0x1FFF_FFFF).unwrap()), u32::MAX);
    }
}
