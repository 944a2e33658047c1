//! pcap and pcapng, in both byte orders, with the contents that other programs write.
use crate::formats::read;
use logs::{FileFormat, LogError, LogReader};

/// Writes numbers in one of the byte orders.
#[derive(Clone, Copy)]
struct Writer {
    big: bool,
}

impl Writer {
    fn u16(self, n: u16) -> [u8; 2] {
        if self.big {
            n.to_be_bytes()
        } else {
            n.to_le_bytes()
        }
    }

    fn u32(self, n: u32) -> [u8; 4] {
        if self.big {
            n.to_be_bytes()
        } else {
            n.to_le_bytes()
        }
    }

    fn block(self, kind: u32, body: &[u8]) -> Vec<u8> {
        let mut body = body.to_vec();
        body.resize(body.len().next_multiple_of(4), 0);
        let len = self.u32(body.len() as u32 + 12);
        [&self.u32(kind)[..], &len, &body, &len].concat()
    }

    fn option(self, code: u16, value: &[u8]) -> Vec<u8> {
        let mut out = [self.u16(code), self.u16(value.len() as u16)].concat();
        out.extend_from_slice(value);
        out.resize(out.len().next_multiple_of(4), 0);
        out
    }

    fn section(self) -> Vec<u8> {
        let body = [
            &self.u32(0x1A2B_3C4D)[..],
            &self.u16(1),
            &self.u16(0),
            &[0xFF; 8],
        ]
        .concat();
        self.block(0x0A0D_0D0A, &body)
    }

    fn interface(self, link: u16, options: &[u8]) -> Vec<u8> {
        let body = [&self.u16(link)[..], &[0; 2], &self.u32(0), options].concat();
        self.block(1, &body)
    }

    fn packet(self, interface: u32, units: u64, bytes: &[u8], options: &[u8]) -> Vec<u8> {
        let mut padded = bytes.to_vec();
        padded.resize(bytes.len().next_multiple_of(4), 0);
        let len = self.u32(bytes.len() as u32);
        let (high, low) = (self.u32((units >> 32) as u32), self.u32(units as u32));
        let body = [
            &self.u32(interface)[..],
            &high,
            &low,
            &len,
            &len,
            &padded,
            options,
        ]
        .concat();
        self.block(6, &body)
    }
}

const CLASSIC: [u8; 10] = [0, 0, 1, 0x23, 2, 0, 0, 0, 0x11, 0x22];
/// XL: VCID 5, priority 123, one byte.
const XL: [u8; 13] = [0, 5, 1, 0x23, 0x81, 3, 1, 0, 0x78, 0x56, 0x34, 0x12, 0xAB];

/// libpcap leaves the header of the frame as the kernel stores it: in the byte order of the
/// machine.
fn cooked(w: Writer, kind: u8, protocol: u8, frame: &[u8]) -> Vec<u8> {
    let mut out = [0; 16];
    (out[1], out[3], out[15]) = (kind, 0x18, protocol);
    [&out[..], &kernel(w, protocol, frame)].concat()
}

/// The same with the interface's index.
fn cooked2(w: Writer, index: u8, protocol: u8, frame: &[u8]) -> Vec<u8> {
    let mut out = [0; 20];
    (out[1], out[7], out[9]) = (protocol, index, 0x18);
    [&out[..], &kernel(w, protocol, frame)].concat()
}

/// A frame of LINKTYPE_CAN_SOCKETCAN as a kernel with this byte order stores it.
fn kernel(w: Writer, protocol: u8, frame: &[u8]) -> Vec<u8> {
    let mut out = frame.to_vec();
    if !w.big && matches!(protocol, 0x0C..=0x0E) {
        out[..4].reverse();
    }
    if w.big && protocol == 0x0E {
        out[6..8].reverse();
        out[8..12].reverse();
    }
    out
}

#[test]
fn cooked_captures_have_the_order_of_the_machine_and_two_buses_stay_two() {
    for w in [Writer { big: false }, Writer { big: true }] {
        let mut extended = CLASSIC;
        extended[..4].copy_from_slice(&0x98FE_F100_u32.to_be_bytes());
        let mut fd = [0; 72];
        fd[..10].copy_from_slice(&CLASSIC);
        let file = [
            w.section(),
            w.interface(276, &[]),
            w.packet(0, 1_000_000, &cooked2(w, 5, 0x0C, &CLASSIC), &[]),
            w.packet(0, 2_000_000, &cooked2(w, 3, 0x0C, &extended), &[]),
            w.packet(0, 3_000_000, &cooked2(w, 5, 0x0E, &XL), &[]),
            // FD by its size, regardless of the protocol.
            w.packet(0, 4_000_000, &cooked2(w, 3, 0x0C, &fd), &[]),
            w.packet(0, 5_000_000, &cooked2(w, 9, 0x08, b"an IP packet"), &[]),
        ]
        .concat();
        let (_, frames, wrong) = read(&file);
        assert_eq!(wrong, Vec::<String>::new());
        assert_eq!(
            frames,
            [
                "(0000000001.000000000) can0 123#1122 R",
                "(0000000002.000000000) can1 18FEF100#1122 R",
                "(0000000003.000000000) can0 05123#81:03:12345678#AB R",
                "(0000000004.000000000) can1 123##41122 R",
            ]
        );
    }
}

/// The size that a packet had on the wire counts, not the part within the snapshot length.
#[test]
fn a_packet_that_was_cut_is_still_fd_by_its_size() {
    let w = Writer { big: false };
    let header = [
        &w.u32(0xA1B2_C3D4)[..],
        &w.u16(2),
        &w.u16(4),
        &[0; 8],
        &w.u32(20),
        &w.u32(227),
    ];
    let record = |bytes: &[u8], original: u32| {
        let len = w.u32(bytes.len() as u32);
        [&w.u32(5)[..], &w.u32(7), &len, &w.u32(original), bytes].concat()
    };
    let mut long = CLASSIC.to_vec();
    long[4] = 20;
    long.resize(20, 0);
    let file = [
        header.concat(),
        record(&CLASSIC, 72),
        record(&CLASSIC, 16),
        record(&long, 72),
    ]
    .concat();
    let (_, frames, wrong) = read(&file);
    assert_eq!(
        frames,
        [
            "(0000000005.000007000) can0 123##41122",
            "(0000000005.000007000) can0 123#1122"
        ]
    );
    assert_eq!(wrong.len(), 1, "{wrong:?}");
    assert!(wrong[0].contains("snapshot length"), "{wrong:?}");
}

/// Losses that no packet reports are in the statistics: other programs count them only there.
#[test]
fn losses_in_statistics_count_once() {
    for w in [Writer { big: false }, Writer { big: true }] {
        let word = |n: u64| match w.big {
            true => n.to_be_bytes(),
            false => n.to_le_bytes(),
        };
        let statistics = |interface: u32, dropped: u64| {
            let times = [w.u32(interface), [0; 4], [0; 4]].concat();
            let dropped = w.option(5, &word(dropped));
            w.block(5, &[times, dropped, w.option(0, &[])].concat())
        };
        let file = [
            w.section(),
            w.interface(227, &w.option(2, b"can3")),
            w.interface(1, &[]),
            w.packet(0, 1, &CLASSIC, &w.option(4, &word(2))),
            statistics(0, 7),
            statistics(0, 7),
            statistics(1, 1000),
        ]
        .concat();
        let mut reader = LogReader::new(&file[..], "log");
        let frames = reader.by_ref().map(Result::unwrap).count();
        assert_eq!(frames, 1);
        let missing: Vec<_> = reader.take_missing();
        let missing: Vec<_> = missing
            .iter()
            .map(|m| (m.frames, m.interface.unwrap().to_string()))
            .collect();
        assert_eq!(missing, [(7, "can3".to_owned())]);
    }
}

#[test]
fn pcapng_in_both_byte_orders() {
    for w in [Writer { big: false }, Writer { big: true }] {
        let named = [w.option(2, b"vcan7"), w.option(9, &[9]), w.option(0, &[])].concat();
        let binary = w.option(9, &[0x80 | 10]);
        let file = [
            w.section(),
            w.interface(227, &named),
            w.interface(113, &binary),
            // An unknown link type, and Ethernet together with CAN.
            w.interface(147, &[]),
            w.interface(1, &[]),
            // Names that other programs have resolved.
            w.block(4, &[7; 50_000]),
            w.packet(0, 1_500_000_001, &CLASSIC, &w.option(2, &w.u32(2))),
            w.packet(1, 1024 + 512, &cooked(w, 4, 0x0C, &CLASSIC), &[]),
            w.packet(1, 2048, &cooked(w, 0, 0x08, b"an IP packet"), &[]),
            w.packet(0, 7, &XL, &[]),
            w.packet(2, 9, b"a stranger--", &[]),
            w.packet(3, 9, b"ethernet", &[]),
            w.packet(4, 9, &CLASSIC, &[]),
            w.packet(0, 9, &CLASSIC[..9], &[]),
            w.section(),
            w.interface(227, &[]),
            w.packet(0, 3_000_000, &CLASSIC, &[]),
        ]
        .concat();
        let (format, frames, wrong) = read(&file);
        assert_eq!(format, FileFormat::Pcapng);
        assert_eq!(
            frames,
            [
                "(0000000001.500000001) vcan7 123#1122 T",
                "(0000000001.500000000) can1 123#1122 T",
                "(0000000000.000000007) vcan7 05123#81:03:12345678#AB",
                "(0000000003.000000000) can0 123#1122",
            ]
        );
        assert_eq!(wrong.len(), 3, "{wrong:?}");
        assert!(
            wrong[0].contains("link type is not known to carry CAN"),
            "{wrong:?}"
        );
        assert!(wrong[1].contains("an interface that is not in the section"));
        assert!(wrong[2].contains("cut off"));
        // The place is the block's first byte.
        let place = file.windows(8).position(|at| at == b"a strang").unwrap() - 28;
        assert!(
            wrong[0].starts_with(&format!("log: byte {place}: ")),
            "{wrong:?}"
        );
    }
}

#[test]
fn pcapng_that_breaks_off() {
    let w = Writer { big: false };
    let good = [
        w.section(),
        w.interface(227, &[]),
        w.packet(0, 1, &CLASSIC, &[]),
    ]
    .concat();
    let (_, frames, wrong) = read(&[&good[..], &good[..70]].concat());
    assert_eq!((frames.len(), wrong.len()), (1, 1));
    assert!(wrong[0].contains("ends within this block"), "{wrong:?}");
    let (_, frames, wrong) = read(&[&good[..], &[0xFF; 40], &good].concat());
    assert_eq!((frames.len(), wrong.len()), (1, 1));
    let place = good.len();
    assert!(
        wrong[0].starts_with(&format!("log: byte {place}: not a block")),
        "{wrong:?}"
    );
    assert!(
        wrong[0].ends_with("nothing after it can be read"),
        "{wrong:?}"
    );
}

#[test]
fn pcap_with_micro_and_nanoseconds() {
    for (magic, big, ns) in [
        (0xA1B2_C3D4_u32, false, "(0000000005.000007000)"),
        (0xA1B2_C3D4, true, "(0000000005.000007000)"),
        (0xA1B2_3C4D, false, "(0000000005.000000007)"),
    ] {
        let w = Writer { big };
        let header = |link| {
            [
                &w.u32(magic)[..],
                &w.u16(2),
                &w.u16(4),
                &[0; 8],
                &w.u32(65535),
                &w.u32(link),
            ]
            .concat()
        };
        let record = |bytes: &[u8]| {
            let len = w.u32(bytes.len() as u32);
            [&w.u32(5)[..], &w.u32(7), &len, &len, bytes].concat()
        };
        let direct = [header(227), record(&CLASSIC), record(&XL)].concat();
        let (format, frames, wrong) = read(&direct);
        assert_eq!((format, wrong.len()), (FileFormat::Pcap, 0));
        assert_eq!(frames[0], format!("{ns} can0 123#1122"));
        assert_eq!(frames.len(), 2);
        let any = [
            header(113),
            record(&cooked(w, 0, 0x0C, &CLASSIC)),
            record(&cooked(w, 4, 0x0D, &CLASSIC)),
        ]
        .concat();
        let (_, frames, _) = read(&any);
        assert_eq!(
            frames,
            [
                format!("{ns} can0 123#1122 R"),
                format!("{ns} can0 123##41122 T")
            ]
        );
        let torn = [header(227), record(&CLASSIC), vec![0xFF; 16]].concat();
        let mut reader = LogReader::new(&torn[..], "log");
        assert!(reader.next().unwrap().is_ok());
        assert!(matches!(reader.next(), Some(Err(LogError::Lost { .. }))));
        assert!(reader.next().is_none());
    }
}

#[test]
fn a_block_of_gigabytes_is_passed_over_in_bounded_memory() {
    use std::io::Read as _;
    let w = Writer { big: false };
    let size: u32 = 1 << 26;
    let begin = [
        w.section(),
        w.interface(227, &[]),
        [w.u32(0x0BAD), w.u32(size)].concat(),
    ]
    .concat();
    let filling = std::io::repeat(0).take(u64::from(size) - 12);
    let rest = [w.u32(size).to_vec(), w.packet(0, 1, &CLASSIC, &[])].concat();
    let whole = begin.as_slice().chain(filling).chain(rest.as_slice());
    let frames = LogReader::new(whole, "log").map(|entry| entry.unwrap());
    assert_eq!(frames.count(), 1);
}

/// Each interface has its own clock: resolution, and seconds to add, which can be negative.
#[test]
fn clocks_of_interfaces_differ() {
    for w in [Writer { big: false }, Writer { big: true }] {
        let seconds = |n: i64| match w.big {
            true => n.to_be_bytes(),
            false => n.to_le_bytes(),
        };
        let clock = |resolution: u8, offset: i64| {
            let resolution = w.option(9, &[resolution]);
            [resolution, w.option(14, &seconds(offset)), w.option(0, &[])].concat()
        };
        let file = [
            w.section(),
            w.interface(227, &clock(3, 1_712_567_411)),
            w.interface(113, &clock(9, -1)),
            w.interface(252, &clock(0x80 | 20, 5)),
            w.packet(0, 350, &CLASSIC, &[]),
            w.packet(1, 3_000_000_007, &cooked(w, 0, 0x0C, &CLASSIC), &[]),
            w.packet(2, 1 << 19, &upper(w, b"can-hostendian\0\0", 0x0C), &[]),
            w.packet(2, 1 << 20, &upper(w, b"canfd\0\0\0", 0x0D), &[]),
            w.packet(2, 1 << 20, &upper(w, b"http", 0x0D), &[]),
            // Before 1970.
            w.packet(1, 7, &cooked(w, 0, 0x0C, &CLASSIC), &[]),
        ]
        .concat();
        let (_, frames, wrong) = read(&file);
        assert_eq!(
            frames,
            [
                "(1712567411.350000000) can0 123#1122",
                "(0000000002.000000007) can1 123#1122 R",
                "(0000000005.500000000) can2 123#1122",
                "(0000000006.000000000) can2 123##41122",
            ]
        );
        assert_eq!(wrong.len(), 1, "{wrong:?}");
        assert!(wrong[0].contains("before 1970"), "{wrong:?}");
    }
}

/// A packet of link type 252: the dissector's name, the end of the tags, the frame.
fn upper(w: Writer, name: &[u8], protocol: u8) -> Vec<u8> {
    let len = (name.len() as u16).to_be_bytes();
    let tag = [&[0, 12][..], &len, name, &[0; 4]].concat();
    [tag, kernel(w, protocol, &CLASSIC)].concat()
}
