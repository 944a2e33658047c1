//! The bits of a frame, for frames in which an error is possible. For frames without errors the
//! simulation needs only the length.

use alloc::vec::Vec;
use frame::{Frame, Kind, dlc};

/// One bit on the wire and its role.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct WireBit {
    pub(crate) recessive: bool,
    pub(crate) role: BitRole,
    /// Sent at the bit rate of the data phase.
    pub(crate) fast: bool,
}

/// The role of a bit, as far as it matters for errors.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum BitRole {
    /// Start of frame and arbitration field, with stuff bits.
    Arbitration,
    /// FDF of an FD frame: a classic node has a form error here.
    Fdf,
    /// Dynamically stuffed, after the arbitration field.
    Stuffed,
    /// CRC field of FD: stuff count and CRC.
    FdCrc,
    /// Fixed stuff bit of FD.
    FixedStuff,
    /// CRC delimiter.
    CrcDelimiter,
    /// Acknowledge slot.
    Ack,
    /// Acknowledge delimiter.
    AckDelimiter,
    /// End of frame.
    End,
}

impl BitRole {
    /// Returns whether six equal bits are a stuff error here.
    pub(crate) const fn is_stuffed(self) -> bool {
        matches!(self, Self::Arbitration | Self::Fdf | Self::Stuffed)
    }

    /// Returns whether this bit is always recessive.
    pub(crate) const fn is_fixed_form(self) -> bool {
        matches!(self, Self::CrcDelimiter | Self::AckDelimiter | Self::End)
    }
}

/// A number of bits that no FD frame exceeds, with all its stuff bits.
pub(crate) const MOST_BITS: usize = 1024;

const CRC15: (u32, u32) = (15, 0x4599);
const CRC17: (u32, u32) = (17, 0x1_685B);
const CRC21: (u32, u32) = (21, 0x10_2899);

/// The encoder of bits: it stuffs them and computes the CRC.
struct BitEncoder<'a> {
    out: &'a mut Vec<WireBit>,
    width: u32,
    poly: u32,
    crc: u32,
    /// The CRC runs over stuff bits too (FD).
    crc_with_stuff: bool,
    last: bool,
    run: u32,
    stuff_bits: u32,
    fast: bool,
}

impl BitEncoder<'_> {
    fn sum(&mut self, bit: bool) {
        let top = (self.crc >> (self.width - 1)) & 1 == 1;
        self.crc = (self.crc << 1) & ((1 << self.width) - 1);
        if top != bit {
            self.crc ^= self.poly;
        }
    }

    fn plain(&mut self, recessive: bool, role: BitRole) {
        self.last = recessive;
        self.out.push(WireBit {
            recessive,
            role,
            fast: self.fast,
        });
    }

    fn stuffed(&mut self, bit: bool, role: BitRole, sum: bool) {
        if self.run == 5 {
            let stuff = !self.last;
            if sum && self.crc_with_stuff {
                self.sum(stuff);
            }
            self.stuff_bits += 1;
            self.plain(stuff, role);
            self.run = 1;
        }
        if sum {
            self.sum(bit);
        }
        self.run = if self.run > 0 && bit == self.last {
            self.run + 1
        } else {
            1
        };
        self.plain(bit, role);
    }

    fn number(&mut self, value: u32, bits: u32, role: BitRole) {
        for i in (0..bits).rev() {
            self.stuffed((value >> i) & 1 == 1, role, true);
        }
    }
}

/// Writes a frame's bits, start of frame to end of frame, into `out`, which is emptied first.
pub(crate) fn encode(frame: &Frame, out: &mut Vec<WireBit>) {
    out.clear();
    let header = frame.header();
    let fd = frame.kind() == Kind::Fd;
    let length = match frame.kind() {
        Kind::Fd => dlc::fd_padded(frame.len()),
        _ => frame.data().len(),
    };
    let (width, poly) = match (fd, length) {
        (false, _) => CRC15,
        (true, ..=16) => CRC17,
        (true, _) => CRC21,
    };
    let mut e = BitEncoder {
        out,
        width,
        poly,
        crc: if fd { 1 << (width - 1) } else { 0 },
        crc_with_stuff: fd,
        last: true,
        run: 0,
        stuff_bits: 0,
        fast: false,
    };
    let id = frame.id();
    let remote = u32::from(header.is_rtr());
    e.number(0, 1, BitRole::Arbitration);
    if id.is_eff() {
        e.number(id.number() >> 18, 11, BitRole::Arbitration);
        e.number(0b11, 2, BitRole::Arbitration);
        e.number(id.number() & 0x3_FFFF, 18, BitRole::Arbitration);
        e.number(remote, 1, BitRole::Arbitration);
    } else {
        e.number(id.number(), 11, BitRole::Arbitration);
        e.number(remote, 1, BitRole::Arbitration);
        e.number(0, 1, BitRole::Stuffed);
    }
    if fd {
        e.number(1, 1, BitRole::Fdf);
        e.number(0, 1, BitRole::Stuffed);
        let brs = header.is_brs();
        e.number(u32::from(brs), 1, BitRole::Stuffed);
        e.fast = brs;
        e.number(u32::from(header.is_esi()), 1, BitRole::Stuffed);
    } else {
        e.number(0, if id.is_eff() { 2 } else { 1 }, BitRole::Stuffed);
    }
    e.number(u32::from(header.dlc()), 4, BitRole::Stuffed);
    for i in 0..length {
        let byte = frame.data().get(i).copied().unwrap_or(0);
        e.number(u32::from(byte), 8, BitRole::Stuffed);
    }
    if fd {
        fd_crc_field(&mut e);
    } else {
        let crc = e.crc;
        for i in (0..15).rev() {
            e.stuffed((crc >> i) & 1 == 1, BitRole::Stuffed, false);
        }
        if e.run == 5 {
            let stuff = !e.last;
            e.plain(stuff, BitRole::Stuffed);
        }
    }
    e.fast = false;
    e.plain(true, BitRole::CrcDelimiter);
    e.plain(true, BitRole::Ack);
    e.plain(true, BitRole::AckDelimiter);
    for _ in 0..7 {
        e.plain(true, BitRole::End);
    }
}

/// Writes the stuff count modulo 8 in Gray code, its parity and the CRC, with a fixed stuff bit
/// before the first bit and after every fourth (ISO 11898-1, CRC field of FD frames).
fn fd_crc_field(e: &mut BitEncoder<'_>) {
    let count = e.stuff_bits % 8;
    let gray = count ^ (count >> 1);
    let parity = gray.count_ones() % 2;
    let head = gray << 1 | parity;
    for i in (0..4).rev() {
        e.sum((head >> i) & 1 == 1);
    }
    let width = e.width;
    let field = u64::from(head) << width | u64::from(e.crc);
    let total = width + 4;
    for i in 0..total {
        if i % 4 == 0 {
            let fixed = !e.last;
            e.plain(fixed, BitRole::FixedStuff);
        }
        e.plain((field >> (total - 1 - i)) & 1 == 1, BitRole::FdCrc);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use frame::{CanId, flags, wire};
    use proptest::prelude::*;

    /// Bits with intermission and bits of the data phase.
    fn lengths(frame: &Frame) -> (usize, usize) {
        let mut bits = Vec::new();
        encode(frame, &mut bits);
        let fast = bits.iter().filter(|b| b.fast).count();
        (bits.len() + 3, fast)
    }

    /// Checks totals that were looked up and computed independently (docs: frame length).
    #[test]
    fn known_lengths() {
        let classic = |id, data: &[u8]| lengths(&Frame::classic(id, data).unwrap()).0;
        let sff = |n| CanId::sff(n).unwrap();
        let eff = |n| CanId::eff(n).unwrap();
        assert_eq!(classic(sff(0x123), &[]), 48);
        let counting = [0, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77];
        assert_eq!(classic(sff(0x123), &counting), 113);
        assert_eq!(classic(sff(0x555), &[0xCC; 8]), 112);
        assert_eq!(classic(sff(0), &[0; 8]), 127);
        assert_eq!(classic(eff(0x1FFF_FFFF), &[0xFF; 8]), 149);
        let cafe = [0xDE, 0xAD, 0xBE, 0xEF, 0xCA, 0xFE, 0x01, 0x23];
        assert_eq!(classic(eff(0x1234_5678), &cafe), 136);

        let fd = |id, f, data: &[u8]| lengths(&Frame::fd(id, f, data).unwrap());
        assert_eq!(fd(sff(0x123), flags::BRS, &counting), (128, 98));
        assert_eq!(fd(sff(0x123), 0, &[]), (63, 0));
        assert_eq!(fd(sff(0), flags::BRS, &[0; 8]), (141, 109));
        assert_eq!(fd(sff(0x7FF), flags::BRS, &[0xFF; 64]), (684, 652));
        assert_eq!(fd(eff(0x1234_5678), flags::BRS, &[0xAB; 20]), (246, 197));
        let esi = flags::BRS | flags::ESI;
        assert_eq!(fd(eff(0x1FFF_FFFF), esi, &[0xF0; 64]), (732, 677));
    }

    fn any_frame() -> impl Strategy<Value = Frame> {
        let id = prop_oneof![
            (0..0x800_u32).prop_map(CanId::from_raw),
            (0..0x2000_0000_u32).prop_map(|n| CanId::eff(n).unwrap()),
        ];
        // Bytes with long runs of equal bits, so that many stuff bits are needed.
        let byte = prop_oneof![Just(0_u8), Just(0xFF), any::<u8>()];
        let classic = (id.clone(), prop::collection::vec(byte.clone(), 0..=8));
        let remote = (id.clone(), 0..=8_usize);
        let fd = (id, 0..4_u8, prop::collection::vec(byte, 0..=64));
        prop_oneof![
            classic.prop_map(|(id, data)| Frame::classic(id, &data).unwrap()),
            remote.prop_map(|(id, len)| Frame::remote(id, len).unwrap()),
            fd.prop_map(|(id, f, data)| Frame::fd(id, f, &data).unwrap()),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]
        /// The simulation of disturbed frames and the duration of the others agree.
        #[test]
        fn as_long_as_the_fast_way_states(frame in any_frame()) {
            let length = wire::length(frame.view()).unwrap();
            let expected = (length.bits() as usize, length.data_phase_bits() as usize);
            prop_assert_eq!(lengths(&frame), expected);
        }
    }
}
