//! Bits, CRC and durations on the wire, compared with tables and with the slow reference.

use crate::reference;

use frame::wire::{self, BitRate, RateError, WireLength};
use frame::{CanId, Frame, FrameRef, Header, Kind, XlFields, flags};
use proptest::prelude::*;

fn length(frame: &str) -> WireLength {
    wire::length(frame.parse::<Frame>().unwrap().view()).unwrap()
}

/// Known values: frame, bits, stuff bits, CRC, data phase bits.
#[test]
fn known_frames() {
    let fd = |head: &str, byte: &str, n: usize| format!("{head}{}", byte.repeat(n));
    for (frame, bits, stuff, crc, data_phase) in [
        ("123#".into(), 48, 1, 0x6858, 0),
        ("123#0011223344556677".into(), 113, 2, 0x0BD4, 0),
        (fd("555#", "CC", 8), 112, 1, 0x3C10, 0),
        (fd("000#", "00", 8), 127, 16, 0x145B, 0),
        (fd("1FFFFFFF#", "FF", 8), 149, 18, 0x1B69, 0),
        ("12345678#DEADBEEFCAFE0123".into(), 136, 5, 0x45AF, 0),
        ("123##10011223344556677".into(), 128, 2, 0x36AC, 98),
        ("123##0".into(), 63, 1, 0x515A, 0),
        (fd("000##1", "00", 8), 141, 15, 0x10243, 109),
        (fd("7FF##1", "FF", 64), 684, 105, 0xF6D3D, 652),
        (fd("12345678##1", "AB", 20), 246, 0, 0x1C_48CF, 197),
        (fd("1FFFFFFF##3", "F0", 64), 732, 134, 0xE4E6E, 677),
    ] {
        let l = length(&frame);
        assert_eq!(
            (l.bits(), l.stuff_bits(), l.crc(), l.data_phase_bits()),
            (bits, stuff, crc, data_phase),
            "{frame}"
        );
    }
}

#[test]
fn no_length_without_a_place_on_the_bus() {
    let error: Frame = "20000080#0000000000000000".parse().unwrap();
    assert_eq!(wire::length(error.view()), None);
    assert_eq!(wire::arbitration_bits(&error.header()), None);
    assert_eq!(wire::arbitration_key(&error.header()), u64::MAX);
    let xl = Header::new(Kind::Xl, CanId::sff(1).unwrap(), 1).unwrap();
    assert_eq!(wire::length(FrameRef::new(xl, &[0]).unwrap()), None);
}

#[test]
fn a_remote_frame_has_no_data_bits() {
    assert_eq!(length("123#R8").bits() - length("123#R8").stuff_bits(), 47);
    let odd = length("123#R8_E");
    assert_eq!(odd.bits() - odd.stuff_bits(), 47);
}

#[test]
fn lengths_that_no_dlc_states_are_padded_with_zeros() {
    assert_eq!(
        length(&format!("123##1{}", "5A".repeat(33))),
        length(&format!("123##1{}{}", "5A".repeat(33), "00".repeat(15)))
    );
}

#[test]
fn durations() {
    let l = length("123##10011223344556677"); // 30 nominal, 98 fast bits
    let rate: BitRate = "500k/2M".parse().unwrap();
    assert_eq!(l.duration(rate, true), 30 * 2000 + 98 * 500);
    assert_eq!(l.duration(rate, false), 27 * 2000 + 98 * 500);
    assert_eq!(l.duration_with_switch(rate, true), 29 * 2000 + 99 * 500);
    assert_eq!(l.duration_with_switch(rate, false), 26 * 2000 + 99 * 500);
    // Without a data bit rate everything is nominal.
    let rate: BitRate = "500k".parse().unwrap();
    assert_eq!(l.duration(rate, true), 128 * 2000);
    assert_eq!(l.duration_with_switch(rate, true), 128 * 2000);
    // Rounded once, at the end: 1/3 and 2/3 of a nanosecond.
    let l = length("123#"); // 48 bits
    let rate: BitRate = "83.333k".parse().unwrap();
    assert_eq!(l.duration(rate, true), 576_002); // 576 002.304…
    assert_eq!(l.duration(rate, false), 540_002); // 540 002.16…
    assert_eq!(BitRate::new(3_000, None).unwrap().time(1, 0), 333_333);
    assert_eq!(BitRate::new(3_000, None).unwrap().time(2, 0), 666_667);
    assert_eq!(
        BitRate::new(3_000, Some(6_000)).unwrap().time(1, 1),
        500_000
    );
    // A millisecond per bit, and many bits.
    assert_eq!(
        BitRate::new(1_000, None).unwrap().time(u32::MAX, 0),
        u64::from(u32::MAX) * 1_000_000
    );
}

#[test]
fn bit_rates() {
    for (text, rate) in [
        ("500000", 500_000),
        ("500k", 500_000),
        ("500K", 500_000),
        (" 1M ", 1_000_000),
        ("83.333k", 83_333),
        ("33.3330k", 33_333),
        ("0.5M", 500_000),
        ("1.000001M", 1_000_001),
        ("20M", 20_000_000),
        ("1k", 1_000),
    ] {
        assert_eq!(wire::parse_rate(text), Ok(rate), "{text}");
    }
    for (text, error) in [
        ("", RateError::NotANumber),
        ("k", RateError::NotANumber),
        (".5M", RateError::NotANumber),
        ("5.M", RateError::NotANumber),
        ("-5k", RateError::NotANumber),
        ("5kbit", RateError::NotANumber),
        ("5 k", RateError::NotANumber),
        ("5m", RateError::NotANumber),
        ("5µ", RateError::NotANumber),
        ("83.3333k", RateError::NotWhole),
        ("500000.5", RateError::NotWhole),
        ("999", RateError::OutOfRange),
        ("0", RateError::OutOfRange),
        ("20.000001M", RateError::OutOfRange),
        ("99999999999999999999999999999M", RateError::OutOfRange),
    ] {
        assert_eq!(wire::parse_rate(text), Err(error), "{text}");
        assert!(error.to_string().len() > 20);
    }
    assert_eq!(
        "1M/500k".parse::<BitRate>(),
        Err(RateError::DataBelowNominal {
            nominal: 1_000_000,
            data: 500_000
        })
    );
    for text in ["500k/2M", "83.333k", "1M/1M", "1.500k", "20M"] {
        assert_eq!(text.parse::<BitRate>().unwrap().to_string(), text);
    }
}

#[test]
fn the_order_of_arbitration() {
    // Highest priority first.
    let frames = [
        "000#",
        "000##0",
        "000#R",
        "00000000#",
        "00000000##0",
        "00000000#R",
        "00000001#",
        "122#R8",
        "123#FF",
        "123##1",
        "123#R",
        "048C0000#", // 123 and 18 zeros
        "048FFFFF#R",
        "124#",
        "7FF#R",
        "1FFFFFFF#",
        "1FFFFFFF##0",
        "1FFFFFFF#R",
    ];
    let keys: Vec<u64> = frames
        .iter()
        .map(|f| wire::arbitration_key(&f.parse::<Frame>().unwrap().header()))
        .collect();
    for pair in keys.windows(2) {
        assert!(pair[0] < pair[1], "{keys:X?}");
    }
    // Classic and FD data frames with the same ID differ only after the arbitration field.
    assert_eq!(keys[0] >> 2, keys[1] >> 2);
    assert_ne!(keys[1] >> 2, keys[2] >> 2);
    let xl = Header::new(Kind::Xl, CanId::sff(0x123).unwrap(), 1).unwrap();
    let xl = xl.with_xl(XlFields::default());
    assert!(keys[9] < wire::arbitration_key(&xl) && wire::arbitration_key(&xl) < keys[10]);
    let rrs = xl.with_flags(flags::XL_RRS);
    assert!(keys[10] < wire::arbitration_key(&rrs) && wire::arbitration_key(&rrs) < keys[11]);
}

/// Small and fast, for the million frames (SplitMix64, Steele and others 2014).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ z >> 31
    }

    fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }

    /// Any frame that has a length. Half of them have long runs of equal bits, where stuffing
    /// occurs.
    fn frame(&mut self) -> Frame {
        let runs = self.below(2) == 0;
        let mut noise = |bits: u32| {
            let mut value = self.next();
            if runs {
                // Each bit is as the one before it, with a probability of 7/8.
                let flips = value & self.next() & self.next();
                value = 0;
                for i in 0..64 {
                    value = value << 1 | (value ^ flips >> i) & 1;
                }
            }
            value & (u64::MAX >> (64 - bits))
        };
        let mut data = [0; 64];
        for chunk in data.chunks_mut(8) {
            chunk.copy_from_slice(&noise(64).to_be_bytes());
        }
        let number = noise(29) as u32;
        let id = if self.below(2) == 0 {
            CanId::eff(number).unwrap()
        } else {
            CanId::sff(number & CanId::SFF_MASK).unwrap()
        };
        match self.below(8) {
            0 => Frame::remote(id, self.below(9) as usize).unwrap(),
            1..=3 => Frame::classic(id, &data[..self.below(9) as usize]).unwrap(),
            _ => {
                let len = match self.below(3) {
                    0 => self.below(17),
                    _ => self.below(65),
                };
                let f = self.below(4) as u8;
                return Frame::fd(id, f, &data[..len as usize]).unwrap();
            }
        }
        .with_len8_dlc(self.below(16) as u8)
    }
}

/// Compares the fast calculation of one frame with the slow one.
fn check(frame: &Frame) -> reference::Wire {
    let slow = reference::wire(frame.view()).unwrap();
    let fast = wire::length(frame.view()).unwrap();
    let expected = (
        slow.bits.len(),
        slow.stuff_bits(),
        slow.fast_bits(),
        slow.crc,
    );
    let got = (
        fast.bits() as usize,
        fast.stuff_bits() as usize,
        fast.data_phase_bits() as usize,
        fast.crc(),
    );
    assert_eq!(got, expected, "{frame}");
    let least = wire::unstuffed(&frame.header());
    assert_eq!(
        least.nominal + least.data,
        fast.bits() - fast.stuff_bits(),
        "{frame}"
    );
    // Each phase has its part of the stuff bits.
    let in_data_phase = fast.data_phase_bits().checked_sub(least.data);
    let in_data_phase = in_data_phase.unwrap();
    assert!(in_data_phase <= fast.stuff_bits(), "{frame}");
    assert_eq!(least.data == 0, fast.data_phase_bits() == 0, "{frame}");
    assert_eq!(
        wire::arbitration_bits(&frame.header()),
        Some(slow.arbitration_end as u32),
        "{frame}"
    );
    slow
}

/// Determines the winner by the bits on the wire, up to FDF.
fn bit_by_bit(a: &reference::Wire, b: &reference::Wire) -> std::cmp::Ordering {
    let bits = |w: &reference::Wire| -> Vec<bool> {
        w.bits[..w.format_end].iter().map(|b| b.recessive).collect()
    };
    bits(a).cmp(&bits(b))
}

fn many(count: u64, seed: u64) {
    let mut random = Random(seed);
    let mut previous = random.frame();
    for _ in 0..count {
        let mut frame = random.frame();
        // Occasionally the same identifier again, in another kind of frame or format.
        if random.below(4) == 0 {
            let id = previous.id();
            let id = match random.below(3) {
                0 => id,
                1 => CanId::eff(id.number() << 18 & CanId::EFF_MASK).unwrap(),
                _ if id.is_eff() => CanId::sff(id.number() >> 18).unwrap(),
                _ => CanId::from_raw(id.raw() ^ CanId::RTR_FLAG),
            };
            frame = match random.below(3) {
                0 => Frame::fd(id, 0, &[]).unwrap(),
                _ => Frame::classic(id, &[]).unwrap(),
            };
        }
        let (a, b) = (check(&previous), check(&frame));
        let keys =
            wire::arbitration_key(&previous.header()).cmp(&wire::arbitration_key(&frame.header()));
        assert_eq!(keys, bit_by_bit(&a, &b), "{previous} and {frame}");
        previous = frame;
    }
}

#[test]
fn fast_equals_slow_on_many_frames() {
    many(20_000, 1);
}

/// The same on a million frames: `cargo test --release -p cangate-frame --test wire -- --ignored`
#[test]
#[ignore = "a million frames: run in release mode"]
fn fast_equals_slow_on_a_million_frames() {
    many(1_000_000, 2);
}

proptest! {
    /// Shrinks to the smallest frame with a wrong result. All 32 bits of the ID may be set, as
    /// can-gw's modifications leave them.
    #[test]
    fn fast_equals_slow(
        raw in any::<u32>(),
        data in proptest::collection::vec(prop_oneof![Just(0u8), Just(0xFF), any::<u8>()], 0..=64),
        f in 0..4u8,
        dlc in 0..16u8,
    ) {
        let short = &data[..data.len().min(8)];
        let rtr = raw & CanId::RTR_FLAG != 0;
        for raw in [raw, raw & !CanId::ERR_FLAG] {
            let id = CanId::from_raw(raw);
            for frame in [
                Frame::fd(id, f, &data).unwrap(),
                if rtr {
                    Frame::remote(id, short.len()).unwrap().with_len8_dlc(dlc)
                } else {
                    Frame::classic(id, short).unwrap().with_len8_dlc(dlc)
                },
            ] {
                if id.is_err() {
                    prop_assert_eq!(wire::length(frame.view()), None);
                    prop_assert_eq!(wire::arbitration_key(&frame.header()), u64::MAX);
                } else {
                    check(&frame);
                }
            }
        }
    }

    #[test]
    fn durations_are_exact_to_half_a_nanosecond(
        nominal in BitRate::MIN..=1_000_000,
        ratio in 1..=20u32,
        extra in 0..1000u32,
        nominal_bits in 0..2000u32,
        data_bits in 0..2000u32,
    ) {
        let data = (nominal * ratio + extra).min(BitRate::MAX);
        let rate = BitRate::new(nominal, Some(data)).unwrap();
        let got = i128::from(rate.time(nominal_bits, data_bits));
        let (n, d) = (i128::from(nominal), i128::from(data));
        // (got - exact) * n * d
        let exact = (i128::from(nominal_bits) * d + i128::from(data_bits) * n) * 1_000_000_000;
        let off = got * n * d - exact;
        prop_assert!(2 * off <= n * d && -2 * off < n * d);
    }

    #[test]
    fn no_text_makes_the_bit_rate_parser_panic(text in "\\PC{0,12}") {
        if let Ok(rate) = text.parse::<BitRate>() {
            prop_assert_eq!(rate.to_string().parse(), Ok(rate));
        }
    }
}
