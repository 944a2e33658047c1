//! Comparison with `frame::wire`, which evaluates each payload.

use super::*;
use frame::{CanId, Header, flags};
use proptest::prelude::*;

fn header(kind: Kind, eff: bool, number: u32, len: usize, flags: u8) -> Header {
    let id = if eff {
        CanId::eff(number & CanId::EFF_MASK)
    } else {
        CanId::sff(number & CanId::SFF_MASK)
    };
    let header = Header::new(kind, id.unwrap(), len).unwrap();
    header.with_flags(flags)
}

fn exact(shape: &FrameShape, payload: &[u8]) -> FrameBits {
    let mut all = [0; dlc::FD_MAX];
    all[..payload.len()].copy_from_slice(payload);
    FrameBits::from_frame(&shape.filled(&all).unwrap()).unwrap()
}

/// Returns the greatest length by trying each payload of up to two bytes.
fn by_trying(shape: &FrameShape) -> FrameBits {
    let len = shape.header().len();
    let all = 0..1_u32 << (8 * len);
    all.map(|n| exact(shape, &n.to_be_bytes()[4 - len..]))
        .max_by_key(|bits| bits.all())
        .unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// All payloads of up to two bytes are tried.
    #[test]
    fn the_greatest_is_that_of_the_worst_payload(
        number: u32, eff: bool, len in 0..3_usize, fd: bool, fd_flags in 0..4_u8,
    ) {
        let kind = if fd { Kind::Fd } else { Kind::Classic };
        let header = header(kind, eff, number, len, fd_flags & (flags::BRS | flags::ESI));
        let shape = FrameShape::any(header).unwrap();
        let mut lengths = LengthSearch::new();
        let greatest = lengths.greatest(&shape);
        prop_assert_eq!(greatest, by_trying(&shape));
        let longest = lengths.longest_frame(&shape).unwrap();
        prop_assert_eq!(FrameBits::from_frame(&longest), Some(greatest));
    }

    /// The same for longer payloads of which all but twelve bits are known.
    #[test]
    fn what_is_known_of_a_payload_counts(
        number: u32, eff: bool, fd: bool, len in 2..=8_usize, value: [u8; 8], at in 0..48_usize,
    ) {
        let kind = if fd { Kind::Fd } else { Kind::Classic };
        let header = header(kind, eff, number, len, flags::BRS);
        let at = at % (len * 8 - 11);
        let (mut given, mut known) = ([0; 64], [0xFF; 64]);
        given[..8].copy_from_slice(&value);
        for bit in at..at + 12 {
            known[bit / 8] &= !(0x80 >> (bit % 8));
        }
        let shape = FrameShape::masked(header, given, known).unwrap();
        let mut lengths = LengthSearch::new();
        let greatest = lengths.greatest(&shape);
        let mut tried = Vec::new();
        for n in 0..1_u64 << 12 {
            let mut payload = [0; 8];
            for bit in 0..12 {
                let place = at + bit;
                payload[place / 8] |= ((n >> bit & 1) as u8) << (7 - place % 8);
            }
            tried.push(exact(&shape, &payload[..len]));
        }
        let worst = tried.into_iter().max_by_key(|bits| bits.all()).unwrap();
        prop_assert_eq!(greatest, worst);
        let longest = lengths.longest_frame(&shape).unwrap();
        prop_assert_eq!(FrameBits::from_frame(&longest), Some(greatest));
    }

    /// Longer payloads: there is one that has the greatest length, none of many has more, and the
    /// formula is not below it.
    #[test]
    fn it_is_reached_and_never_exceeded(
        number: u32, eff: bool, fd: bool, brs: bool, len in 0..=64_usize,
        payloads in prop::collection::vec(prop::array::uniform32(any::<u8>()), 20),
    ) {
        let (kind, len) = if fd { (Kind::Fd, len) } else { (Kind::Classic, len % 9) };
        let header = header(kind, eff, number, len, u8::from(brs) * flags::BRS);
        let shape = FrameShape::any(header).unwrap();
        let mut lengths = LengthSearch::new();
        let greatest = lengths.greatest(&shape);
        let longest = lengths.longest_frame(&shape).unwrap();
        prop_assert_eq!(FrameBits::from_frame(&longest), Some(greatest));
        for payload in payloads {
            // Runs of equal bits cause stuff bits.
            for payload in [payload, payload.map(|b| if b & 1 == 0 { 0 } else { 0xF8 })] {
                let bytes = [payload, payload].concat();
                prop_assert!(exact(&shape, &bytes[..len]).all() <= greatest.all());
            }
        }
        let formula = by_formula(&shape);
        prop_assert!(formula.all() >= greatest.all());
        prop_assert!(formula.nominal >= greatest.nominal);
        prop_assert_eq!(formula.data > 0, greatest.data > 0);
    }
}

/// Davis et al. 2007, equations 2 and 3: 55 + 10n bits (SFF) and 80 + 10n (EFF), intermission
/// included.
#[test]
fn the_formula_is_the_papers() {
    for len in 0..=8 {
        for (eff, base) in [(false, 55), (true, 80)] {
            let shape = FrameShape::any(header(Kind::Classic, eff, 0x123, len, 0)).unwrap();
            let bits = by_formula(&shape).all() + INTERMISSION_BITS;
            assert_eq!(bits, base + 10 * len as u32);
        }
    }
}

/// The work for one payload serves all identifiers of its length.
#[test]
fn free_payloads_are_worked_out_once() {
    let mut lengths = LengthSearch::new();
    let mut below = Vec::new();
    for number in 0..0x800 {
        let shape = FrameShape::any(header(Kind::Classic, false, number, 8, 0)).unwrap();
        below.push(by_formula(&shape).all() - lengths.greatest(&shape).all());
    }
    assert_eq!(lengths.free.len(), 1);
    // The formula's stuff bits cannot all occur at once.
    let least = *below.iter().min().unwrap();
    let most = *below.iter().max().unwrap();
    assert!(
        least >= 1 && most <= 12,
        "{least} to {most} bits below the formula"
    );
}
