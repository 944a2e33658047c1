//! The meaning of each format's lines, and the mistakes in others.
use crate::damage::frames;
use logs::{FileFormat, LogReader};

/// The frames as lines of `candump -L` with nanoseconds, and the mistakes.
pub(crate) fn read(bytes: &[u8]) -> (FileFormat, Vec<String>, Vec<String>) {
    read_as(bytes, None)
}

pub(crate) fn read_as(
    bytes: &[u8],
    format: Option<FileFormat>,
) -> (FileFormat, Vec<String>, Vec<String>) {
    let mut reader = LogReader::new(bytes, "log").with_format(format);
    let format = reader.recognise().unwrap();
    let (frames, wrong) = frames(reader);
    (format, frames, wrong)
}

#[test]
fn candump_as_on_a_terminal() {
    let (format, frames, wrong) = read(
        b" (1436509052.249713)  vcan0  123   [2]  11 22\n\
          (1436509052.449847)  vcan0  00000123   [0] \n\
          (1436509052.5)  vcan0       7FF   [4]  remote request\n\
          (1436509052.6)  can1  321   {B}  11 22 33 44 55 66 77 88\n\
          (1436509052.7)  can1  321  [08]  11 22 33 44 55 66 77 88\n\
          (1436509052.8)  can1  20000004   [8]  00 04 00 00 00 00 00 00   ERRORFRAME\n\
         \tcontroller-problem{rx-error-warning}\n\
          (1436509052.9)  can1  14B0DC51   [3]  4A 94 E8   'J..'\n",
    );
    assert_eq!(format, FileFormat::Candump);
    assert_eq!(wrong, Vec::<String>::new());
    assert_eq!(
        frames,
        [
            "(1436509052.249713000) vcan0 123#1122",
            "(1436509052.449847000) vcan0 00000123#",
            "(1436509052.500000000) vcan0 7FF#R4",
            "(1436509052.600000000) can1 321#1122334455667788_B",
            "(1436509052.700000000) can1 321##41122334455667788",
            "(1436509052.800000000) can1 20000004#0004000000000000",
            "(1436509052.900000000) can1 14B0DC51#4A94E8",
        ]
    );
}

#[test]
fn candump_with_directions_and_dates() {
    let (format, frames, wrong) = read(
        b" (2012-11-28 14:57:33.123456)  can0  TX - -  123   [1]  11\n\
          (2012-11-28 14:57:34.000000)  can0  RX B E  123  [02]  11 22\n",
    );
    assert_eq!((format, wrong.len()), (FileFormat::Candump, 0));
    assert_eq!(
        frames,
        [
            "(1354114653.123456000) can0 123#11 T",
            "(1354114654.000000000) can0 123##71122 R",
        ]
    );
}

/// The differences are added up where most times do not grow.
#[test]
fn candump_with_times_from_zero_or_from_the_frame_before() {
    let log = |times: &[u32]| -> Vec<u8> {
        let line = |ms: &u32| format!(" (000.{ms:03}000)  can0  123   [0] \n");
        times.iter().map(line).collect::<String>().into_bytes()
    };
    let stamps = |bytes: &[u8], format| -> (FileFormat, Vec<String>) {
        let (format, frames, _) = read_as(bytes, format);
        let stamp = |line: String| line.split(')').next().unwrap()[8..].to_owned();
        (format, frames.into_iter().map(stamp).collect())
    };
    let zero = log(&[0, 10, 11, 30, 29, 31, 40, 50]);
    let (format, found) = stamps(&zero, None);
    assert_eq!(format, FileFormat::CandumpZero);
    assert_eq!(found.last().unwrap(), "000.050000000"[..].get(0..).unwrap());
    let delta = log(&[0, 10, 10, 10, 11, 9, 10, 10]);
    let (format, found) = stamps(&delta, None);
    assert_eq!(format, FileFormat::CandumpDelta);
    assert_eq!(found.last().unwrap(), "000.070000000");
    // If the format is given by name, it is accepted.
    let (format, found) = stamps(&zero, Some(FileFormat::CandumpDelta));
    assert_eq!(format, FileFormat::CandumpDelta);
    assert_eq!(found.last().unwrap(), "000.201000000");
}

#[test]
fn trc_of_all_versions() {
    let frames_of = |text: &[u8]| {
        let (format, frames, wrong) = read(text);
        assert_eq!((format, wrong), (FileFormat::Trc, Vec::new()));
        frames
    };
    let old = b";\n; Start time: x\n  1)  1841  0001  8 00 00 00 00 00 00 00 00\n\
        2)  1842  00000008  0\n  3)  1843  FFFFFFFF  4 00 00 00 08\n";
    assert_eq!(
        frames_of(old),
        [
            "(0000000001.841000000) can0 001#0000000000000000",
            "(0000000001.842000000) can0 00000008#",
        ]
    );
    let start = ";$STARTTIME=43007.5\n";
    let one = format!(
        ";$FILEVERSION=1.1\n{start};\n\
         \x20    1)         1.2  Rx         0401  2  01 02\n\
         \x20    2)         2.2  Tx     18EBFF00  4  RTR\n\
         \x20    3)         3.2  Warng  FFFFFFFF  4  00 00 00 08  BUSHEAVY\n\
         \x20    4)         4.2  Error      0008  4  00 00 00 00\n"
    );
    assert_eq!(
        frames_of(one.as_bytes()),
        [
            "(1506686400.001200000) can0 401#0102 R",
            "(1506686400.002200000) can0 18EBFF00#R4 T",
            "(1506686400.004200000) can0 20000080#0000000000000000",
        ]
    );
    let three = format!(
        ";$FILEVERSION=1.3\n{start}     1)      1059.900 2  Rx        0300 -  3    00 04 05\n"
    );
    assert_eq!(
        frames_of(three.as_bytes()),
        ["(1506686401.059900000) can1 300#000405 R"]
    );
    let two = format!(
        ";$FILEVERSION=2.0\n{start};$COLUMNS=N,O,T,I,d,l,D\n\
         1  1.000 DT     0300 Rx 2  00 01\n\
         2  2.000 BI 00000300 Tx 12  00 01 02 03 04 05 06 07 08 09 0A 0B\n\
         3  3.000 ST          Rx    00 00 00 08\n\
         4  4.000 RR     0301 Rx 4\n"
    );
    assert_eq!(
        frames_of(two.as_bytes()),
        [
            "(1506686400.001000000) can0 300#0001 R",
            "(1506686400.002000000) can0 00000300##7000102030405060708090A0B T",
            "(1506686400.004000000) can0 301#R4 R",
        ]
    );
    let newest = format!(
        ";$FILEVERSION=2.1\n{start};$COLUMNS=N,O,T,B,I,d,R,L,D\n\
         1  1.000 FB 1     0300 Rx -  9  00 01 02 03 04 05 06 07 08 09 0A 0B\n\
         2  2.000 ER 2          Rx -  5  04 00 02 00 00\n"
    );
    assert_eq!(
        frames_of(newest.as_bytes()),
        [
            "(1506686400.001000000) can0 300##5000102030405060708090A0B R",
            "(1506686400.002000000) can1 20000080#0000000000000000",
        ]
    );
}

/// A mistake is reported with its line, its column and the expected element; the following lines
/// are read.
#[test]
fn mistakes_have_their_places() {
    let (_, frames, wrong) = read(
        b"base hex timestamps absolute\n0.1 1 8FF Rx d 1 11\n0.2 1 123 Rx d 2 11\n0.3 1 Speed Rx d 0\n0.4 1 1 Rx d 0\n",
    );
    assert_eq!(frames, ["(0000000000.400000000) can0 001# R"]);
    assert!(
        wrong[0].starts_with("log: line 2, column 7: expected a hex ID"),
        "{wrong:?}"
    );
    assert!(
        wrong[1].starts_with("log: line 3, column 20: expected a byte"),
        "{wrong:?}"
    );
    assert_eq!(wrong.len(), 3);
    let (_, frames, wrong) =
        read(b" (1436509052.2)  can0  123   [9]  11\n (1436509052.2)  can0  1   [0]\n");
    assert!(frames.is_empty());
    assert!(
        wrong[0].contains("line 1, column 30: expected a length"),
        "{wrong:?}"
    );
    assert!(
        wrong[1].contains("line 2, column 24: expected an ID"),
        "{wrong:?}"
    );
    let (_, _, wrong) = read(b";$FILEVERSION=3.0\n 1) 5.0 Rx 0401 2 01\n");
    assert!(
        wrong[0].contains("a version of TRC that is not known"),
        "{wrong:?}"
    );
}

/// Byte order marks, line ends of any machine, and both together.
#[test]
fn texts_of_other_machines() {
    for text in [
        "(1.0) can0 123#11\n(2.0) can0 124#\n",
        "date Mon Apr 8 09:10:11 2024\nbase hex timestamps absolute\n0.1 1 123 Rx d 0\n",
        ";$FILEVERSION=1.1\n;$STARTTIME=45390.5\n 1) 2.0 Rx 0020 2 80 00\n",
        " (1436509052.249713)  can0  123   [2]  11 22\n",
    ] {
        let plain = read(text.as_bytes());
        assert!(plain.2.is_empty() && !plain.1.is_empty(), "{plain:?}");
        for end in ["\n", "\r\n", "\r", "\r\r\n"] {
            for mark in ["", "\u{FEFF}"] {
                let other = format!("{mark}{}", text.replace('\n', end));
                assert_eq!(read(other.as_bytes()), plain, "{other:?}");
            }
        }
    }
    let utf_16: Vec<u8> = "\u{FEFF}date"
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    let error = LogReader::new(&utf_16[..], "x").recognise().unwrap_err();
    assert!(error.to_string().contains("UTF-16"), "{error}");
}

/// Bits, colours, and both in an FD frame.
#[test]
fn candump_with_bits_and_colours() {
    let bits = "  can0  123  [03]  00000001 11111111 10000000\n";
    for line in [
        format!(" (1712567411.350000){bits}"),
        format!(
            " \x1b[31m(1712567411.350000)\x1b[0m\x1b[1;32m{}\x1b[0m\n",
            bits.trim_end()
        ),
    ] {
        let (format, frames, wrong) = read(line.as_bytes());
        assert_eq!((format, wrong.len()), (FileFormat::Candump, 0), "{line}");
        assert_eq!(frames, ["(1712567411.350000000) can0 123##401FF80"]);
    }
    let mixed = b" (1712567411.350000)  can0  123   [2]  00000001 0000001\n";
    assert_eq!(read(mixed).2.len(), 1);
}

/// Parts of TRC files, and numbers as some countries write them.
#[test]
fn trc_without_its_header_and_with_commas() {
    let old = b"     1)     1841         0001  2  01 02\n     2)     1842         0008  4  ERROR 00 19 08 08\n";
    let (format, frames, wrong) = read(old);
    assert_eq!((format, wrong.len()), (FileFormat::Trc, 0));
    assert_eq!(
        frames,
        [
            "(0000000001.841000000) can0 001#0102",
            "(0000000001.842000000) can0 20000080#0000000000000000"
        ]
    );
    let (format, frames, wrong) = read(b"     7)         2.6  Rx         0020  1  80\n");
    assert_eq!((format, wrong.len()), (FileFormat::Trc, 0));
    assert_eq!(frames, ["(0000000000.002600000) can0 020#80 R"]);
    let commas = b";$FILEVERSION=1.1\n;$STARTTIME=45390,5\n 1) 2,0 Rx 0020 2 80 00\n";
    assert_eq!(read(commas).1, ["(1712577600.002000000) can0 020#8000 R"]);
}
