//! Variants of the dialects in `tests/field`: other languages, line ends, encodings and cuts. The
//! expected results follow from the definitions of the formats.
use crate::formats::read;
use logs::{FileFormat, LogError, LogReader};

/// Returns the frames of a log, and behind them its mistakes.
fn all(bytes: &[u8]) -> Vec<String> {
    let (_, frames, wrong) = read(bytes);
    frames.into_iter().chain(wrong).collect()
}

/// Returns the frames of a log without their times.
fn frames(bytes: &[u8]) -> Vec<String> {
    let (_, frames, wrong) = read(bytes);
    assert_eq!(wrong, Vec::<String>::new());
    let words = frames.iter().map(|line| line.split_once(' ').unwrap().1);
    words.map(str::to_owned).collect()
}

/// Returns the description of an input that is not a log.
fn looks(bytes: &[u8]) -> String {
    match LogReader::new(bytes, "log").recognise() {
        Err(LogError::Unknown { looks, .. }) => looks.to_string(),
        other => panic!("{other:?}"),
    }
}

const ASC: &str = "base hex  timestamps absolute\n";

/// The lines of can-utils' `log2asc -x`, and those of CANoe with the name of a message.
#[test]
fn asc_has_frames_of_all_kinds_in_lines_of_canxl() {
    let rest = "00000000 000000050005000e 0000000000a00010 0000000a000a001d";
    for (line, frame) in [
        (
            "XLFF   984438   4656        42     e0 0 3 4 1 1f96 00 00000000 11 22 33 44 123123 00403000",
            "can1 00042#80:E0:00000000#11223344 R",
        ),
        (
            "XLFF   984438   4656       7FF     03 1 0 1 1 1f96 12 12345678 aa 123123 01403000",
            "can1 127FF#81:03:12345678#AA R",
        ),
        (
            "XLFF   984438   4656       432  msgXl  e0 0  003  4 1 1f96 00 00000000 e1 89 e8 01 12cfbd62 02D03000",
            "can1 00432#82:E0:00000000#E189E801 R",
        ),
        (
            "FBFF   984438   4656       123     9 12 00 01 02 03 04 05 06 07 08 09 0a 0b 8 123123 00001000",
            "can1 123##4000102030405060708090A0B R",
        ),
        (
            "CBFF   984438   4656       123     2 2 11 22 123123 00000000",
            "can1 123#1122 R",
        ),
        (
            "CEFF   984438   4656 18FEF100x     8 0 123123 00000010",
            "can1 18FEF100#R8 R",
        ),
    ] {
        let text = format!("{ASC}0.5 CANXL   2 Rx   {line} {rest}\n");
        assert_eq!(frames(text.as_bytes()), [frame], "{line}");
    }
    for bad in [
        // The length is not that of the DLC; a byte is missing; the flags are missing, not XL, or
        // contradict the column of SEC.
        "XLFF 1 2 42 e0 0 3 3 1 1f96 00 00000000 11 22 33 123123 00403000",
        "XLFF 1 2 42 e0 0 3 4 1 1f96 00 00000000 11 22 33",
        "XLFF 1 2 42 e0 0 0 1 1 1f96 00 00000000 11 123123",
        "XLFF 1 2 42 e0 0 0 1 1 1f96 00 00000000 11 123123 00003000",
        "XLFF 1 2 800 e0 0 0 1 1 1f96 00 00000000 11 123123 00403000",
        "XLFF 1 2 42x e0 0 0 1 1 1f96 00 00000000 11 123123 00403000",
        "XLFF 1 2 42 e0 1 0 1 1 1f96 00 00000000 11 123123 00403000",
        "XLFF 1 2 42 e0 0 0 1 1 1f96 00 00000000 11 123123 01403000",
        "XLFF",
    ] {
        let found = all(format!("{ASC}0.5 CANXL 2 Rx {bad}\n").as_bytes());
        assert_eq!(found.len(), 1, "{bad}: {found:?}");
        assert!(found[0].starts_with("log: line 2"), "{bad}: {found:?}");
    }
}

/// A name of a message can look like an event of the channel, or like a hex number.
#[test]
fn asc_with_names_of_messages_has_their_ids() {
    let end = "Rx d 1 0A  Length = 1 BitCount = 2 ID =";
    for (name, number, frame) in [
        ("CAN1::Lamp", "291", "can0 123#0A R"),
        ("AC", "291", "can0 123#0A R"),
        ("Face", "419361024x", "can0 18FEF100#0A R"),
        ("A1x", "161x", "can0 000000A1#0A R"),
        // The number at the end is not that of a frame, so the one in front counts.
        ("AC", "0", "can0 0AC#0A R"),
    ] {
        let text = format!("{ASC}0.5 1 {name} {end} {number}\n");
        assert_eq!(frames(text.as_bytes()), [frame], "{name}");
    }
    let german = "base dez  timestamps absolute\n0.5 1 291 Rx d 1 10\n";
    assert_eq!(frames(german.as_bytes()), ["can0 123#0A R"]);
}

#[test]
fn frames_that_were_cut_off_are_counted() {
    let asc = |line: &str| format!("{ASC}0.5 1 123 Rx d 1 01\n{line}");
    let trc = |version: &str, line: &str| {
        format!(";$FILEVERSION={version}\n 1) 1.0 Rx 0123 1 01\n{line}")
    };
    let csv = |row: &str| {
        let header = "Time Stamp,ID,Extended,Dir,Bus,LEN,D1,D2,D3,D4,D5,D6,D7,D8";
        format!("{header}\n39747828,000005EB,false,Rx,0,1,E8,00,\n{row}")
    };
    for text in [
        asc("0.6"),
        asc("0.6 1 123 Rx d 2 0A 0"),
        asc("0.6 ErrorFrame"),
        asc("0.6 CAN 1 123 Rx d 1 01"),
        trc("1.1", " 2) 2.0 Rx 0123 2 00 1"),
        trc("1.1", " 2) 2.0 Rx 0123 1 1"),
        trc("1.1", " 2) 2.0 Rx 0123 1 00 11"),
        trc("1.1", " 2) 2.0 Rx 012"),
        trc("1.1", " 2) 2.0"),
        trc("1.1", " 2"),
        " (1.0)  can0  123   [2]  11 22\n (1.1)  can0  123   [2]  01 2".to_owned(),
        "(1.0) can0 123#1122\n(1.1) can0 123#112".to_owned(),
        "(1.0) can0 123#1122\n(1.1".to_owned(),
        csv("39747829,000005EB,false,Rx,0,8,E8,45,"),
        csv("39747829,000005EB,false,Rx,0,1,E8,45,"),
        csv("39747829,000005EB,false"),
    ] {
        let (_, frames, wrong) = read(text.as_bytes());
        assert_eq!(
            (frames.len(), wrong.len()),
            (1, 1),
            "{text}: {frames:?} {wrong:?}"
        );
    }
}

/// A file can have line ends of several systems, and marks where texts were put together.
#[test]
fn line_ends_and_marks_can_be_mixed() {
    let asc = [
        ASC.trim_end(),
        "0.1 1 1 Rx d 1 01",
        "0.2 1 2 Rx d 1 02",
        "0.3 1 3 Rx d 1 03",
    ];
    let trc = [
        ";$FILEVERSION=1.1",
        " 1) 1.0 Rx 0001 1 01",
        " 2) 2.0 Rx 0002 1 02",
        " 3) 3.0 Rx 0003 1 03",
    ];
    let log = [
        "# a log",
        "(1.0) can0 001#01 R",
        "(1.1) can0 002#02 R",
        "(1.2) can0 003#03 R",
    ];
    let expected = ["can0 001#01 R", "can0 002#02 R", "can0 003#03 R"];
    for lines in [asc, trc, log] {
        let [a, b, c, d] = lines;
        for text in [
            format!("{a}\r{b}\r{c}\r{d}\r"),
            format!("{a}\r{b}\r{c}\r{d}"),
            format!("{a}\r{b}\r{c}\n{d}\n"),
            format!("{a}\r\n{b}\r{c}\n{d}\r\n"),
            format!("{a}\r\r\n{b}\r\r\n{c}\r\r\n{d}\r\r\n"),
            format!("\u{feff}{a}\n{b}\n{c}\n{d}\n\u{1a}"),
            format!("\u{feff}{a}\r{b}\r\u{feff}{c}\r{d}\u{1a}\0").replace('\0', ""),
            format!("{a}\n{b}\n\u{1a}\u{feff}{c}\n{d}\r\n\u{1a}\r\n"),
        ] {
            assert_eq!(frames(text.as_bytes()), expected, "{text:?}");
        }
    }
}

/// candump shows the VCID and the priority of an XL frame, and not all of its bytes.
#[test]
fn xl_frames_on_a_terminal_lead_to_the_cure() {
    for line in ["00123   [0004]  11 22 33 44", "123  [0004]  11 22 33 44"] {
        let found = all(format!(" (1712567411.35)  can0  {line}\n").as_bytes());
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].contains("candump -L"), "{found:?}");
    }
}

#[test]
fn texts_in_other_encodings_are_named() {
    let text = "(1.0) can0 123#11\r\n";
    let little: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let big: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
    let wide: Vec<u8> = text
        .chars()
        .flat_map(|c| u32::from(c).to_le_bytes())
        .collect();
    let marked = |mark: &[u8], text: &[u8]| [mark, text].concat();
    for (bytes, words) in [
        (marked(&[0xFF, 0xFE], &little), "iconv -f UTF-16 "),
        (marked(&[0xFE, 0xFF], &big), "iconv -f UTF-16 "),
        (little, "iconv -f UTF-16LE"),
        (big, "iconv -f UTF-16BE"),
        (marked(&[0xFF, 0xFE, 0, 0], &wide), "iconv -f UTF-32"),
        (marked(&[4, 0x22, 0x4D, 0x18], b"data"), "LZ4"),
    ] {
        let found = looks(&bytes);
        assert!(found.contains(words), "{words}: {found}");
    }
    // The beginning of a block of pcapng consists of line ends.
    assert!(looks(b"\n\r\r").contains("pcapng"));
}

/// The last four bytes of a frame of Zstandard can be a checksum of its contents.
#[test]
fn a_wrong_checksum_of_zstandard_is_counted() {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/field/made/zstd-frames.log.zst"
    );
    let mut bytes = std::fs::read(path).unwrap();
    let (format, good, wrong) = read(&bytes);
    assert_eq!((format, wrong.len()), (FileFormat::Log, 0));
    // The first of the two frames has a checksum, at its end.
    let second = bytes
        .windows(4)
        .rposition(|four| four == [0x28, 0xB5, 0x2F, 0xFD]);
    bytes[second.unwrap() - 1] ^= 1;
    let (_, frames, wrong) = read(&bytes);
    assert_eq!(frames, good[..frames.len()]);
    assert!((1..good.len()).contains(&frames.len()), "{frames:?}");
    assert_eq!(wrong.len(), 1, "{wrong:?}");
    assert!(wrong[0].contains("breaks off or is damaged"), "{wrong:?}");
}
