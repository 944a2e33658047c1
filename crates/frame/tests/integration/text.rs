//! Reading and writing frames and log lines.

use frame::text::{self, Direction, ExpectedText, FoundText, LineDetails, LogLine, ParseError};
use frame::{CanId, Frame, FrameBuf, FrameRef, Header, Kind, XlFields};
use proptest::prelude::*;

fn parsed(input: &str) -> FrameBuf {
    let mut buf = FrameBuf::new();
    text::parse_frame(input.as_bytes(), &mut buf).unwrap_or_else(|e| panic!("{input}: {e}"));
    buf
}

fn wrong(input: &[u8]) -> ParseError {
    match text::parse_frame(input, &mut FrameBuf::new()) {
        Err(e) => e,
        Ok(()) => panic!("{} was accepted", String::from_utf8_lossy(input)),
    }
}

fn wrong_line(input: &[u8]) -> ParseError {
    match text::parse_line(input, &mut FrameBuf::new()) {
        Err(e) => e,
        Ok(_) => panic!("{} was accepted", String::from_utf8_lossy(input)),
    }
}

#[test]
fn classic_frames() {
    let buf = parsed("123#DEADBEEF");
    assert_eq!(buf.header().kind(), Kind::Classic);
    assert_eq!(buf.header().id().raw(), 0x123);
    assert_eq!(buf.view().data(), [0xDE, 0xAD, 0xBE, 0xEF]);
    assert_eq!(buf.buffer(), [0xDE, 0xAD, 0xBE, 0xEF, 0, 0, 0, 0]);
    assert_eq!(parsed("12345678#").header().id().raw(), 0x9234_5678);
    assert_eq!(parsed("123#11.2233.44556677.88").view().len(), 8);
    assert_eq!(parsed(" 123#aB\r\n").view().data(), [0xAB]);
    let full = parsed("123#1122334455667788_F");
    assert_eq!((full.view().len(), full.header().dlc()), (8, 15));
}

#[test]
fn remote_frames() {
    for (input, len, dlc) in [
        ("123#R", 0, 0),
        ("123#r", 0, 0),
        ("123#R0", 0, 0),
        ("123#R5", 5, 5),
        ("12345678#R8_E", 8, 14),
    ] {
        let buf = parsed(input);
        assert!(buf.header().is_rtr(), "{input}");
        assert_eq!(
            (buf.view().len(), buf.header().dlc()),
            (len, dlc),
            "{input}"
        );
        assert!(buf.view().data().is_empty(), "{input}");
    }
    // The previous contents of the buffer have no effect.
    let mut buf = parsed("123#1122334455667788");
    text::parse_frame(b"123#R8", &mut buf).unwrap();
    assert_eq!(buf.buffer(), [0; 8]);
}

#[test]
fn fd_frames() {
    let buf = parsed("123##3AABB");
    assert_eq!(buf.header().kind(), Kind::Fd);
    assert!(buf.header().is_brs() && buf.header().is_esi());
    assert_eq!(buf.view().data(), [0xAA, 0xBB]);
    // FDF is implied by "##", and newer versions of candump state it in the flags, too.
    assert_eq!(parsed("123##7AABB").view(), buf.view());
    assert_eq!(parsed("123##3.AA.BB").view(), buf.view());
    assert_eq!(
        parsed(&format!("123##0{}", "A5".repeat(64))).view().len(),
        64
    );
    // Bytes past the length are zero even where a longer frame was stored before.
    let mut buf = parsed(&format!("123##0{}", "A5".repeat(64)));
    text::parse_frame(b"123##0FF", &mut buf).unwrap();
    assert_eq!(buf.buffer()[1..], [0; 63]);
}

#[test]
fn xl_frames() {
    let buf = parsed("45123#81:0A:12345678#11223344.556677");
    let header = *buf.header();
    assert_eq!(header.kind(), Kind::Xl);
    assert_eq!(header.id().raw(), 0x123);
    assert_eq!(
        header.xl(),
        XlFields {
            vcid: 0x45,
            sdt: 0x0A,
            af: 0x1234_5678
        }
    );
    assert_eq!(header.flags(), frame::flags::XL_SEC);
    assert_eq!(header.len(), 7);
    assert_eq!(buf.to_string(), "45123#81:0A:12345678#11223344556677");
    let short = parsed("123#80:00:00000000#FF");
    assert_eq!(short.to_string(), "00123#80:00:00000000#FF");
    let long = format!("007FF#80:00:00000000#{}", "5A".repeat(2048));
    assert_eq!(parsed(&long).to_string(), long);
}

#[test]
fn error_frames() {
    let buf = parsed("20000080#0000000000000000");
    assert!(buf.header().id().is_err());
    assert!(!buf.header().id().is_eff());
    assert_eq!(buf.to_string(), "20000080#0000000000000000");
    assert_eq!(parsed("32345678#112233").header().id().raw(), 0x3234_5678);
}

#[test]
fn what_is_wrong_with_a_frame_is_reported_exactly() {
    use ExpectedText as E;
    use FoundText::{Byte, End, Number};
    let eight = "1122334455667788";
    for (input, column, expected, found) in [
        ("", 1, E::Id, End),
        ("123", 4, E::Id, End),
        ("#", 1, E::Id, Byte(b'#')),
        ("1#", 2, E::Id, Byte(b'#')),
        ("1234#00", 5, E::Id, Byte(b'#')),
        ("12345678 9#", 9, E::Id, Byte(b' ')),
        ("123456789#", 9, E::Id, Byte(b'9')),
        ("12G#00", 3, E::Id, Byte(b'G')),
        ("800#", 1, E::SffId, Number(0x800)),
        ("  FFF#", 3, E::SffId, Number(0xFFF)),
        ("80000000#", 1, E::EffId, Number(0x8000_0000)),
        ("60000000#", 1, E::EffId, Number(0x6000_0000)),
        ("45800#80:00:00000000#00", 1, E::XlPriority, Number(0x45800)),
        ("123#1", 6, E::SecondDigit, End),
        ("123#112", 8, E::SecondDigit, End),
        ("123#11 2", 8, E::FrameEnd, Byte(b'2')),
        ("123#1G", 6, E::SecondDigit, Byte(b'G')),
        ("123#G1", 5, E::Data, Byte(b'G')),
        ("123#11..22", 8, E::Data, Byte(b'.')),
        ("123#11.", 8, E::Data, End),
        ("123#11\u{e4}", 7, E::Data, Byte(0xC3)),
        ("123#112233445566778899", 21, E::ClassicEnd, Byte(b'9')),
        ("123#1122334455667788.99", 22, E::ClassicEnd, Byte(b'9')),
        ("123#R9", 6, E::RemoteLength, Byte(b'9')),
        ("123#RG", 6, E::RemoteLength, Byte(b'G')),
        ("123#R80", 7, E::FrameEnd, Byte(b'0')),
        ("123#R5_9", 7, E::EightBytes, Byte(b'_')),
        ("123#R_9", 6, E::EightBytes, Byte(b'_')),
        ("123#R8_8", 8, E::RawDlc, Byte(b'8')),
        ("123#11_9", 7, E::EightBytes, Byte(b'_')),
        ("123#_9", 5, E::EightBytes, Byte(b'_')),
        (&format!("123#{eight}_"), 22, E::RawDlc, End),
        (&format!("123#{eight}_9A"), 23, E::FrameEnd, Byte(b'A')),
        ("123##", 6, E::FdFlags, End),
        ("123##G", 6, E::FdFlags, Byte(b'G')),
        ("123##0112", 10, E::SecondDigit, End),
        ("123##011_9", 9, E::Data, Byte(b'_')),
        (
            &format!("123##0{}", "00".repeat(65)),
            135,
            E::FdEnd,
            Byte(b'0'),
        ),
        ("20000080#R", 10, E::ErrorFrameData, Byte(b'R')),
        ("20000080##0", 10, E::ErrorFrameData, Byte(b'#')),
        ("45123#00", 9, E::XlFlags, End),
        ("45123#00:0", 11, E::XlSdt, End),
        ("45123#80:00:1234567#00", 20, E::XlAf, Byte(b'#')),
        ("45123#80:00:12345678", 21, E::XlAf, End),
        ("45123#80:00:12345678#", 22, E::XlData, End),
        (
            &format!("123#80:00:12345678#{}", "00".repeat(2049)),
            20 + 4096,
            E::XlEnd,
            Byte(b'0'),
        ),
        ("123#\0", 5, E::Data, Byte(0)),
    ] {
        let e = wrong(input.as_bytes());
        assert_eq!(
            (e.column, e.expected, e.found),
            (column, expected, found),
            "{input}: {e}"
        );
        assert!(!e.hint().is_empty());
    }
    assert_eq!(
        wrong(b"800#").to_string(),
        "column 1: found 800, expected an SFF ID of at most 7FF; \
         write 8 digits for an EFF ID: 00000800#"
    );
    assert_eq!(
        wrong(b"123#DEA").to_string(),
        "column 8: found the end of the text, expected the second hex digit of this byte; \
         write two digits for each byte, as in 0A"
    );
}

#[test]
fn from_str_is_for_classic_and_fd() {
    let frame: Frame = "123##1AABB".parse().unwrap();
    assert_eq!(frame.kind(), Kind::Fd);
    let e = "123#80:00:00000000#00".parse::<Frame>().unwrap_err();
    assert_eq!((e.column, e.expected), (1, ExpectedText::NoXl));
}

#[test]
fn log_lines() {
    let mut buf = FrameBuf::new();
    for (line, stamp, interface, direction) in [
        (
            "(1398128223.803317) can0 166#D0320009",
            1_398_128_223_803_317_000,
            "can0",
            None,
        ),
        (
            "(0000000000.000001)    can0 166#D0320009\r\n",
            1_000,
            "can0",
            None,
        ),
        (
            "(1.5)\tslcan0:µ.1-a@b\t 166#D0320009  R\n",
            1_500_000_000,
            "slcan0:µ.1-a@b",
            Some(Direction::Received),
        ),
        (
            "  (0.123456789) abcdefghijklmno 166#D0320009 T",
            123_456_789,
            "abcdefghijklmno",
            Some(Direction::Sent),
        ),
        (
            "(18446744072.999999999) 0 166#D0320009",
            18_446_744_072_999_999_999,
            "0",
            None,
        ),
    ] {
        let entry = text::parse_line(line.as_bytes(), &mut buf).unwrap();
        assert_eq!(
            entry,
            Some(LineDetails {
                stamp,
                interface,
                direction
            }),
            "{line}"
        );
        assert_eq!(buf.to_string(), "166#D0320009");
    }
    for empty in ["", "\n", "\r\n", " \t ", "# (1.0) can0 123#", " #\r\n"] {
        assert_eq!(text::parse_line(empty.as_bytes(), &mut buf), Ok(None));
    }
}

#[test]
fn what_is_wrong_with_a_line_is_reported_exactly() {
    use ExpectedText as E;
    use FoundText::{Byte, End, Number};
    for (line, column, expected, found) in [
        ("can0 123#", 1, E::TimeOpen, Byte(b'c')),
        (
            "DROPCOUNT: dropped 2 CAN frames on 'can0' socket (total drops 2)",
            1,
            E::NoDroppedFrames,
            Byte(b'D'),
        ),
        ("(-1.5) can0 123#", 2, E::Seconds, Byte(b'-')),
        ("(.5) can0 123#", 2, E::Seconds, Byte(b'.')),
        ("(5) can0 123#", 3, E::Point, Byte(b')')),
        ("(5.) can0 123#", 4, E::Fraction, Byte(b')')),
        ("(5.0000000001) can0 123#", 13, E::TimeClose, Byte(b'1')),
        ("(5.000000 can0 123#", 10, E::TimeClose, Byte(b' ')),
        (
            "(18446744073.0) can0 123#",
            2,
            E::SecondsInRange,
            Number(18_446_744_073),
        ),
        (
            "(99999999999999999999999.0) can0 123#",
            2,
            E::SecondsInRange,
            Number(u64::MAX),
        ),
        ("(1.0)", 6, E::Interface, End),
        ("(1.0)can0 123#", 6, E::Blank, Byte(b'c')),
        ("(1.0) can0", 11, E::Frame, End),
        (
            "(1.0) abcdefghijklmnop 123#",
            22,
            E::InterfaceShort,
            Byte(b'p'),
        ),
        ("(1.0) a/b 123#", 8, E::InterfaceByte, Byte(b'/')),
        ("(1.0) .. 123#", 7, E::InterfaceByte, Byte(b'.')),
        ("(1.0) a\u{1b}b 123#", 8, E::InterfaceByte, Byte(0x1b)),
        ("(1.0) can0 12#", 14, E::Id, Byte(b'#')),
        ("(1.0) can0 123#00 X", 19, E::DirectionOrEnd, Byte(b'X')),
        ("(1.0) can0 123#00 RT", 20, E::DirectionOrEnd, Byte(b'T')),
        ("(1.0) can0 123#00 R R", 20, E::DirectionOrEnd, Byte(b' ')),
        ("(1.0) can0 123#00\n123#", 18, E::Data, Byte(b'\n')),
    ] {
        let e = wrong_line(line.as_bytes());
        assert_eq!(
            (e.column, e.expected, e.found),
            (column, expected, found),
            "{line}: {e}"
        );
    }
    let e = wrong_line(b"(1.0) can\xFF 123#00");
    assert_eq!(
        (e.column, e.expected, e.found),
        (10, E::InterfaceByte, Byte(0xFF))
    );
    assert_eq!(
        wrong_line(b"(18446744073.0) can0 123#").to_string(),
        "column 2: found 18446744073, expected at most 18446744072 seconds; \
         correct the time: it is past the year 2554"
    );
}

/// Lines as candump of can-utils writes them; the FD ones with FDF, which candump includes since it
/// marks FD frames itself.
#[test]
fn log_lines_come_out_as_they_went_in() {
    let mut buf = FrameBuf::new();
    for line in [
        "(1398128223.803317) can0 166#D0320009",
        "(0000000000.000000) vcan0 123#",
        "(1600000000.999999) can0 12345678#R",
        "(1600000000.999999) can0 123#R5",
        "(1600000000.999999) can0 123#R8_E",
        "(1600000000.999999) can0 123#1122334455667788_9 R",
        "(1600000000.999999) can0 20000004#0008000000006000 T",
        "(1600000000.999999) can0 1FFFFFFF##4",
        "(1600000000.999999) can0 123##7AABBCC",
        "(1600000000.999999) can0 45123#81:00:12345678#11",
    ] {
        let entry = text::parse_line(line.as_bytes(), &mut buf)
            .unwrap()
            .unwrap();
        let again = LogLine {
            stamp: entry.stamp,
            interface: entry.interface,
            frame: buf.view(),
            direction: entry.direction,
        };
        assert_eq!(again.to_string(), line);
    }
    let line = LogLine {
        stamp: 1_999_999_999,
        interface: "can0",
        frame: buf.view(),
        direction: None,
    };
    assert!(format!("{line:.9}").starts_with("(0000000001.999999999) can0 "));
    assert!(format!("{line}").starts_with("(0000000001.999999) can0 "));
}

/// Any frame that has a text form: everything but stray bits in the ID and reserved FD flags
/// above the one digit.
fn frames() -> impl Strategy<Value = FrameBuf> {
    let id = prop_oneof![
        (0..=0x7FFu32).prop_map(|n| CanId::sff(n).unwrap()),
        (0..=0x1FFF_FFFFu32).prop_map(|n| CanId::eff(n).unwrap()),
    ];
    let classic = (
        prop_oneof![
            3 => id.clone(),
            1 => (0..=0x1FFF_FFFFu32).prop_map(|n| CanId::from_raw(n | CanId::ERR_FLAG)),
        ],
        proptest::collection::vec(any::<u8>(), 0..=8),
        0..=15u8,
    )
        .prop_map(|(id, data, dlc)| {
            let header = Header::new(Kind::Classic, id, data.len()).unwrap();
            (header.with_len8_dlc(dlc), data)
        });
    let remote = (id.clone(), 0..=8usize, 0..=15u8).prop_map(|(id, len, dlc)| {
        let header = Header::new(Kind::Classic, id.with_rtr(), len).unwrap();
        (header.with_len8_dlc(dlc), Vec::new())
    });
    let fd = (id, proptest::collection::vec(any::<u8>(), 0..=64), 0..16u8).prop_map(
        |(id, data, flags)| {
            let header = Header::new(Kind::Fd, id, data.len()).unwrap();
            (header.with_flags(flags), data)
        },
    );
    let xl = (
        0..=0x7FFu32,
        proptest::collection::vec(any::<u8>(), 1..=2048),
        any::<(u8, u8, u8, u32)>(),
    )
        .prop_map(|(prio, data, (flags, vcid, sdt, af))| {
            let id = CanId::sff(prio).unwrap();
            let header = Header::new(Kind::Xl, id, data.len()).unwrap();
            let header = header.with_flags(flags).with_xl(XlFields { vcid, sdt, af });
            (header, data)
        });
    prop_oneof![3 => classic, 1 => remote, 2 => fd, 1 => xl].prop_map(|(header, data)| {
        let mut buf = FrameBuf::new();
        buf.set(FrameRef::new(header, &data).unwrap());
        buf
    })
}

/// Makes a text harder to read without changing what it means.
fn obscure(canonical: &str, dots: bool, small: bool) -> String {
    let (head, data) = canonical.rsplit_once('#').unwrap();
    let mut text = String::from(head) + "#";
    let fd = usize::from(head.ends_with('#'));
    let plain = data.contains(['R', '_']);
    for (i, c) in data.chars().enumerate() {
        if dots && !plain && i > fd && (i - fd) % 2 == 0 {
            text.push('.');
        }
        text.push(c);
    }
    if small { text.to_lowercase() } else { text }
}

proptest! {
    #[test]
    fn what_is_written_is_read_back(frame in frames(), dots: bool, small: bool) {
        let canonical = frame.to_string();
        let mut again = FrameBuf::new();
        text::parse_frame(obscure(&canonical, dots, small).as_bytes(), &mut again).unwrap();
        prop_assert_eq!(again.view(), frame.view());
        prop_assert_eq!(again.buffer(), frame.buffer());
        prop_assert_eq!(again.to_string(), canonical);
    }

    #[test]
    fn lines_that_are_written_are_read_back(
        frame in frames(),
        stamp in 0..18_446_744_073_000_000_000u64,
        interface in "[^ \t/\\p{C}\\p{Z}]{1,3}[a-z0-9]{1,3}",
        direction in proptest::option::of(prop_oneof![
            Just(Direction::Received),
            Just(Direction::Sent)
        ]),
    ) {
        let line = LogLine { stamp, interface: &interface, frame: frame.view(), direction };
        let mut again = FrameBuf::new();
        let nine = format!("{line:.9}");
        let entry = text::parse_line(nine.as_bytes(), &mut again).unwrap().unwrap();
        prop_assert_eq!(entry, LineDetails { stamp, interface: &interface, direction });
        prop_assert_eq!(again.view(), frame.view());
        let six = line.to_string();
        let entry = text::parse_line(six.as_bytes(), &mut again).unwrap().unwrap();
        prop_assert_eq!(entry.stamp, stamp / 1000 * 1000);
    }

    #[test]
    fn no_bytes_make_the_parsers_panic(bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
        any_bytes(&bytes);
    }

    /// Bytes that get further than random ones do.
    #[test]
    fn no_near_miss_makes_the_parsers_panic(
        frame in frames(),
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0..3), 1..4),
    ) {
        let line = LogLine {
            stamp: 1, interface: "can0", frame: frame.view(), direction: None
        };
        let mut bytes = line.to_string().into_bytes();
        for (at, byte, how) in changes {
            let at = at.index(bytes.len());
            match how {
                0 => bytes[at] = byte,
                1 => bytes.insert(at, byte),
                _ => { bytes.truncate(at.max(1)); }
            }
        }
        any_bytes(&bytes);
    }
}

/// Accepted text prints as text that is accepted with the same meaning; an error's column is in the
/// text or one past it.
fn any_bytes(bytes: &[u8]) {
    let mut buf = FrameBuf::new();
    let mut again = FrameBuf::new();
    match text::parse_frame(bytes, &mut buf) {
        Ok(()) => {
            text::parse_frame(buf.to_string().as_bytes(), &mut again).unwrap();
            assert_eq!(again.view(), buf.view());
        }
        Err(e) => assert!((1..=bytes.len() + 1).contains(&e.column), "{e}"),
    }
    match text::parse_line(bytes, &mut buf) {
        Ok(None) => {}
        Ok(Some(entry)) => {
            let line = LogLine {
                stamp: entry.stamp,
                interface: entry.interface,
                frame: buf.view(),
                direction: entry.direction,
            };
            let line = format!("{line:.9}");
            assert_eq!(
                text::parse_line(line.as_bytes(), &mut again).unwrap(),
                Some(entry)
            );
            assert_eq!(again.view(), buf.view());
        }
        Err(e) => assert!((1..=bytes.len() + 1).contains(&e.column), "{e}"),
    }
}
