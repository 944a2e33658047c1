//! The meaning of each format's lines, and the mistakes in others.
use logs::{FileFormat, LogError, LogReader};

/// The frames as lines of `candump -L` with nanoseconds, and the mistakes.
fn read(bytes: &[u8]) -> (FileFormat, Vec<String>, Vec<String>) {
    read_as(bytes, None)
}

fn read_as(bytes: &[u8], format: Option<FileFormat>) -> (FileFormat, Vec<String>, Vec<String>) {
    let mut reader = LogReader::new(bytes, "log").of(format);
    let format = reader.recognise().unwrap();
    let (mut frames, mut wrong) = (Vec::new(), Vec::new());
    for entry in reader {
        match entry {
            Ok(entry) => {
                let line = frame::text::LogLine {
                    stamp: entry.logged.ns,
                    interface: entry.logged.interface.as_str(),
                    frame: entry.frame.view(),
                    direction: entry.logged.direction,
                };
                frames.push(format!("{line:.9}"));
            }
            Err(error) => wrong.push(error.to_string()),
        }
    }
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
fn asc_with_all_that_is_a_frame() {
    let asc = b"date Wed Nov 28 02:57:33.500 pm 2012\n\
        base hex  timestamps absolute\n\
        internal events logged\n\
        // version 9.0.0\n\
        Begin Triggerblock Wed Nov 28 02:57:33.500 pm 2012\n\
        \x20  0.000000 Start of measurement\n\
        \x20  0.250000 1  123             Rx   d 2 11 22  Length = 0 BitCount = 0 ID = 291\n\
        \x20  0.300000 2  18EBFF00x       Tx   d 8 01 02 03 04 05 06 07 08\n\
        \x20  0.310000 1  7FF             Rx   r\n\
        \x20  0.320000 1  7FF             Rx   r 4\n\
        \x20  0.330000 1  123             Rx   d B 01 02 03 04 05 06 07 08\n\
        \x20  0.340000 1  ErrorFrame\n\
        \x20  0.350000 1  123             TxRq   d 2 11 22\n\
        \x20  0.360000 1  Statistic: D 0 R 0 XD 0 XR 0 E 0 O 0 B 0.00%\n\
        \x20  0.400000 CANFD   1 Rx        123  Speed  1 0 9 12 00 01 02 03 04 05 06 07 08 09 0A 0B  100 100 303000 0 0 0 0 0\n\
        \x20  0.410000 CANFD   1 Tx        1ABCDEF0x  0 1 2 2 00 01 100 100 5000 0\n\
        \x20  0.420000 CANFD   1 Rx        123  0 0 2 2 00 01 100 100 0 0\n\
        \x20  0.430000 CANFD   1 Rx   ErrorFrame  Not Acknowledge error\n\
        End TriggerBlock\n";
    let (format, frames, wrong) = read(asc);
    assert_eq!(format, FileFormat::Asc);
    assert_eq!(wrong, Vec::<String>::new());
    assert_eq!(
        frames,
        [
            "(1354114653.750000000) can0 123#1122 R",
            "(1354114653.800000000) can1 18EBFF00#0102030405060708 T",
            "(1354114653.810000000) can0 7FF#R R",
            "(1354114653.820000000) can0 7FF#R4 R",
            "(1354114653.830000000) can0 123#0102030405060708_B R",
            "(1354114653.840000000) can0 20000080#0000000000000000",
            "(1354114653.900000000) can0 123##5000102030405060708090A0B R",
            "(1354114653.910000000) can0 1ABCDEF0##60001 T",
            "(1354114653.920000000) can0 123#0001 R",
            "(1354114653.930000000) can0 20000080#0000000000000000 R",
        ]
    );
}

/// Programs that write the date of the file first, and that of the first frame where the
/// measurement starts.
#[test]
fn asc_counts_from_the_start_of_measurement() {
    let (_, frames, wrong) = read(
        b"date Wed Nov 28 14:57:33.500 2012\nbase hex  timestamps absolute\n\
          Begin Triggerblock Wed Nov 28 02:57:30.000 pm 2012\n 0.5 Start of measurement\n\
          1.500000 1  123  Rx   d 0\nEnd TriggerBlock\n\
          Begin Triggerblock Wed Nov 28 02:58:30.000 pm 2012\n 9.5 1  123  Rx   d 0\n",
    );
    assert_eq!(wrong, Vec::<String>::new());
    assert_eq!(
        frames,
        [
            "(1354114651.000000000) can0 123# R",
            "(1354114659.000000000) can0 123# R"
        ]
    );
}

#[test]
fn asc_in_decimal_with_relative_times_and_names() {
    let asc = b"base dec  timestamps relative\n\
        // cangate: channel 2 is powertrain\n\
        0.100000 2  291  Rx   d 2 17 255\n\
        0.100000 Start of something\n\
        0.100000 1  291x  Rx   d 0\n";
    let (_, frames, wrong) = read(asc);
    assert_eq!(wrong, Vec::<String>::new());
    assert_eq!(
        frames,
        [
            "(0000000000.100000000) powertrain 123#11FF R",
            "(0000000000.300000000) can0 00000123# R",
        ]
    );
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

/// Input that is not a log is refused with a description of what it looks like; no input is read to
/// its end.
#[test]
fn what_is_no_log_says_what_it_looks_like() {
    let looks = |bytes: &[u8]| {
        let endless = std::io::Read::chain(bytes, std::io::repeat(*bytes.last().unwrap()));
        let mut reader = LogReader::new(endless, "x");
        match reader.recognise() {
            Err(LogError::Unknown { looks, .. }) => looks.to_string(),
            other => panic!("{other:?}"),
        }
    };
    for (bytes, expected) in [
        (&[0][..], "zero bytes"),
        (&[1, 2, 3, 0xFF], "binary data"),
        (b"hello\nworld\n", "looks like text"),
        (b"  can0  123   [2]  11 22\n", "without time stamps"),
        (b"  can0  RX - -  123   [2]  11 22\n", "without time stamps"),
        (b"can0 123#11\n", "without time stamps"),
        (b"MDF     3.30", "ASAM MDF of another version than 4"),
        (b"BZh91AY", "bzip2"),
        (b"PAR1\x15\x04", "Parquet"),
    ] {
        let text = looks(bytes);
        assert!(text.contains(expected), "{text}");
    }
    let cut = LogReader::new(&b"\xD4\xC3\xB2\xA1\x02\0"[..], "x").recognise();
    let text = cut.unwrap_err().to_string();
    assert!(
        text.contains("pcap that is cut off within its header"),
        "{text}"
    );
    let mut ethernet = vec![0xD4, 0xC3, 0xB2, 0xA1, 2, 0, 4, 0];
    ethernet.extend([0; 12]);
    ethernet.extend([1, 0, 0, 0]);
    assert!(looks(&ethernet).contains("link type 1,"));
    // A log without a frame is a log; a file without a byte has no format.
    for empty in [&b"\n\n"[..], b"# nothing\n"] {
        assert_eq!(read(empty), (FileFormat::Log, Vec::new(), Vec::new()));
    }
    let error = LogReader::new(&b""[..], "x").recognise().unwrap_err();
    assert!(error.to_string().contains("it is empty"), "{error}");
}

/// Random bytes have lines that begin like those of a format: nevertheless, they are not a log.
#[test]
fn junk_is_no_log_by_chance() {
    let mut state = 1_u64;
    let mut byte = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    };
    for n in 0..500 {
        let mut junk: Vec<u8> = (0..20_000).map(|_| byte()).collect();
        // With a valid line somewhere within.
        let line: &[u8] = [&b"\n;$FILEVERSION=1.1\n"[..], b"\n(1.0) can0 123#11\n", b""][n % 3];
        let at = 200 + 31 * n;
        junk[at..at + line.len()].copy_from_slice(line);
        let error = LogReader::new(junk.as_slice(), "x")
            .recognise()
            .unwrap_err();
        assert!(error.to_string().contains("binary data"), "{n}: {error}");
    }
}

/// A format given by name is accepted, but no frame is read from input that cannot have it.
#[test]
fn a_named_format_does_not_make_a_log_of_anything() {
    let named = |bytes: &[u8], format| {
        let mut reader = LogReader::new(bytes, "x").of(Some(format));
        reader.recognise().map_err(|error| error.to_string())
    };
    for (_, format) in FileFormat::NAMES {
        let text = format.is_text();
        assert_eq!(named(b"", format).is_ok(), text, "{format}");
        assert_eq!(named(b"hello\nworld\n", format).is_ok(), text, "{format}");
        assert_eq!(
            named(b"(1.0) can0 123#\n", format).is_ok(),
            text,
            "{format}"
        );
        for (junk, looks) in [
            (&[0; 100_000][..], "zero bytes"),
            (b"\x7FELF\x02\x01\x01\0\0\0\0\0", "a program (ELF)"),
            (b"LOGG\x90\0\0\0", "Vector BLF"),
        ] {
            let said = named(junk, format).unwrap_err();
            assert!(said.contains(looks), "{format}: {said}");
        }
    }
    // A text may have garbage in it; each line of it is reported.
    assert!(named(&[1, 2, 3, 0xFF, 9], FileFormat::Log).is_ok());
    assert!(named(&[1, 2, 3, 0xFF, 9], FileFormat::Pcapng).is_err());
    let said = named(b"\x0A\x0D\x0D\x0A....", FileFormat::Asc).unwrap_err();
    assert!(said.contains("it looks like pcapng"), "{said}");
    let said = named(b"(1.0) can0 123#\n", FileFormat::Pcapng).unwrap_err();
    assert!(said.contains("it looks like candump -L"), "{said}");
    // One line of a pipe is sufficient to begin with.
    struct Waits<'a>(&'a [u8]);
    impl std::io::Read for Waits<'_> {
        fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
            assert!(!self.0.is_empty(), "nobody asks for more");
            std::io::Read::read(&mut self.0, into)
        }
    }
    let pipe = Waits(b" (000.000000)  can0  123   [0] \n");
    let mut reader = LogReader::new(pipe, "pipe").of(Some(FileFormat::CandumpDelta));
    assert_eq!(reader.recognise().unwrap(), FileFormat::CandumpDelta);
}

/// The decision does not depend on how many bytes come at a time.
#[test]
fn a_named_format_is_the_same_in_pieces() {
    struct OneByOne<'a>(&'a [u8]);
    impl std::io::Read for OneByOne<'_> {
        fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
            let n = into.len().min(1);
            std::io::Read::read(&mut self.0, &mut into[..n])
        }
    }
    for bytes in [
        &b"\x0A\x0D\x0D\x0A\x1C\0\0\0"[..],
        b"\xD4\xC3\xB2\xA1\n\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\xE3\0\0\0",
        b"<?xml?>\n(1.0) can0 123#\n<AUTOSAR>\n",
        b"\xFF\xFE\n\0",
        b"\n\n(1.0) can0 123#\n",
    ] {
        for (_, format) in FileFormat::NAMES {
            let at_once = LogReader::new(bytes, "x").of(Some(format)).recognise();
            let mut reader = LogReader::new(OneByOne(bytes), "x").of(Some(format));
            let [at_once, in_pieces] = [at_once, reader.recognise()].map(|r| format!("{r:?}"));
            assert_eq!(at_once, in_pieces, "{format}");
        }
    }
}

/// Reads a frame of ASC after a header; returns the mistakes if there are any.
fn asc(header: &str, lines: &str) -> Vec<String> {
    let text = format!("{header}\n{lines}\n");
    let (format, frames, wrong) = read(text.as_bytes());
    assert_eq!(format, FileFormat::Asc, "{text}");
    frames.into_iter().chain(wrong).collect()
}

const HEX: &str = "base hex  timestamps absolute";
const DEC: &str = "base dec  timestamps absolute";

/// The lines of CANalyzer's versions and other programs for one and the same frame.
#[test]
fn dialects_of_asc_say_the_same() {
    let classic = "(0000000000.500000000) can0 123#0A0B R";
    for (header, line) in [
        (HEX, "0.5 1 123 Rx d 2 0a 0b"),
        (
            HEX,
            "0,500000 1 123 rx D 2 0A 0B  Length = 1 BitCount = 2 ID = 291",
        ),
        (
            HEX,
            "0.5 1 Lamp Rx d 2 0A 0B  Length = 1 BitCount = 2 ID = 291",
        ),
        (HEX, "0.5 1 123 Rx d 02 A B"),
        (DEC, "0.5 1 291 Rx d 2 10 11"),
        (
            DEC,
            "0.5 1 Lamp Rx d 2 10 11 Length = 1 BitCount = 2 ID = 291",
        ),
        (HEX, "0.5 CANFD 1 Rx 123 0 0 2 2 0A 0B 1 2 200000 0 0 0 0 0"),
        (
            DEC,
            "0.5 CANFD 1 Rx 123 Lamp 0 0 2 2 0A 0B 1 2 200000 0 0 0 0 0",
        ),
        (HEX, "0.5 CANXL 1 Rx CBFF 1 2 123 2 2 0A 0B 174 00000000 0"),
        (
            DEC,
            "0.5 CANXL 1 Rx CBFF 1 2 123 8 2 2 0A 0B 174 00000000 0",
        ),
    ] {
        assert_eq!(asc(header, line), [classic], "{line}");
    }
    let fd = "(0000000000.500000000) can1 18FEF100##7000102030405060708090A0B T";
    let data = "00 01 02 03 04 05 06 07 08 09 0a 0b";
    for line in [
        format!("0.5 CANFD 2 Tx 18fef100x 1 1 9 12 {data} 1 2 7000 0 0 0 0 0"),
        format!("0.5 CANFD 2 Tx 18FEF100X 1 1 9 12 {data}"),
        format!("0.5 CANFD 2 Tx 18FEF100x 0 1 1 9 12 {data} 0 0 0 0 0 0 0 0"),
        format!("0.5 CANFD 2 Tx 18FEF100x D0 1 1 9 12 {data} 1 2 307000 b0"),
        format!("0.5 CANXL 2 Tx FEFF 1 2 18FEF100x 9 12 {data} a 12345 00007000 0"),
        format!("0.5 CANXL 2 Tx FEFF 1 2 18FEF100 Name 9 12 {data} a 12345 00007000 0"),
    ] {
        for header in [HEX, DEC] {
            assert_eq!(asc(header, &line), [fd], "{line}");
        }
    }
    for (line, frame) in [
        ("0.5 1 123 Rx r", "123#R R"),
        ("0.5 1 123 Rx r f", "123#R8_F R"),
        (
            "0.5 1 123 Rx r 8 Length = 5 BitCount = 1 ID = 291",
            "123#R8 R",
        ),
        (
            "0.5 1 123 Rx d 15 1 2 3 4 5 6 7 8",
            "123#0102030405060708_F R",
        ),
        ("0.5 CANFD 1 Rx 123 0 0 8 0 1 2 200010 0", "123#R8 R"),
        (
            "0.5 CANXL 1 Rx CEFF 1 2 123 8 0 174 00000010 0",
            "00000123#R8 R",
        ),
        (
            "0.5 CANFD 1 Rx 123 0 0 3 3 1 2 3 0 0 0 0 0",
            "123##4010203 R",
        ),
        (
            "0.5 1 ErrorFrame ECC: 10100010",
            "20000080#0000000000000000",
        ),
        ("0.5 CANFD 1 ErrorFrame", "20000080#0000000000000000"),
    ] {
        let expected = format!("(0000000000.500000000) can0 {frame}");
        assert_eq!(asc(HEX, line), [expected], "{line}");
    }
}

/// Only lines that are known not to be frames are skipped; the rest is counted.
#[test]
fn lines_of_asc_that_are_no_frames_are_known_or_bad() {
    for known in [
        "// a comment",
        "//",
        "no internal events logged",
        "internal events logged",
        "Begin Triggerblock",
        "End TriggerBlock",
        "previous log file: drive_001.asc",
        "0.0 Start of measurement",
        "0.0 log trigger event",
        "0.0 Log direct start (0ms)",
        "0.0 SV: 2 0 1 ::Door::State = 1",
        "0.0 Door := 5",
        "0.0 Comment: brake test",
        "0.0 GPS-Device: 1 La: 1.0",
        "0.0 CAN 1 Status:chip status error active",
        "0.0 1 Statistic: D 1 R 0 XD 0 XR 0 E 0 O 0 B 0.00%",
        "0.0 1 OverloadFrame",
        "0.0 1 123 TxRq d 1 01",
        "0.0 CANFD 1 TxRq 123 0 0 1 1 01",
        "0.0 CANFD Start of measurement",
        "0.0 L1 3c Rx 8 01 02 03 04 05 06 07 08",
        "0.0 MOST150 1 Rx",
        "0.0 ETH 1 Rx 00",
        "0.0 J1939TP FEE3p 6 0 0",
        "0.0",
    ] {
        assert_eq!(asc(HEX, known), Vec::<String>::new(), "{known}");
    }
    for bad in [
        "xx0.5 1 123 Rx d 1 01",
        "O.5 1 123 Rx d 1 01",
        ".5 1 123 Rx d 1 01",
        "0.5x 1 123 Rx d 1 01",
        "0.5 x 123 Rx d 1 01",
        "0.5 can1 123 Rx d 1 01",
        "0.5 1 123 Rq d 1 01",
        "0.5 1 123",
        "0.5 1",
        "0.5 1 123 Rx",
        "0.5 1 123 Rx x 1 01",
        "0.5 1 123 Rx d 1 01 02",
        "0.5 1 123 Rx d 1 001",
        "0.5 CANFD",
        "0.5 CANFD 1 Rx 123 0 0 9 8 01 02 03 04 05 06 07 08 1 2 1000",
        "0.5 CANFD 1 Rx 123 0 0 9 12 01 02 03",
        "0.5 CANXL 1 Rx CXFF 1 2 123 1 1 01",
        "0.5 CANXL 1 Rx CBFF 1 2 18FEF100x 1 1 01",
        "date Mon Xyz 8 09:10:11 2024",
        "nonsense",
    ] {
        let found = asc(HEX, bad);
        assert_eq!(found.len(), 1, "{bad}: {found:?}");
        assert!(found[0].starts_with("log: line 2"), "{bad}: {found:?}");
    }
}

/// Each measurement of a file has its own beginning, in any language.
#[test]
fn measurements_of_a_file_begin_anew() {
    let blocks = |start: &str| {
        let block = |hour: u32| {
            let start = start.replace("0.0 ", "   0.000000 ");
            format!(
                "Begin Triggerblock Mon Apr 8 {hour:02}:00:00.000 2024\n{start}   0.500000 1 301 Rx d 1 01\nEnd TriggerBlock"
            )
        };
        asc(HEX, &format!("{}\n{}", block(9), block(10)))
    };
    let expected = [
        "(1712566800.500000000) can0 301#01 R",
        "(1712570400.500000000) can0 301#01 R",
    ];
    for start in [
        "0.0 Start of measurement\n",
        "0.0 Start der Messung\n",
        "0.0 D\u{e9}but de la mesure\n",
        "0.0 Inicio de la medici\u{f3}n\n",
        "0.0 CANFD Start of measurement\n",
    ] {
        assert_eq!(blocks(start), expected, "{start}");
    }
    // Times that begin again indicate it, too.
    let date = |hour: u32| format!("Begin Triggerblock Mon Apr 8 {hour:02}:00:00.000 2024");
    let (nine, ten) = (date(9), date(10));
    let lines = format!("{nine}\n1.5 1 301 Rx d 0\nEnd TriggerBlock\n{ten}\n0.5 1 301 Rx d 0");
    assert_eq!(
        asc(HEX, &lines),
        [
            "(1712566801.500000000) can0 301# R",
            "(1712570400.500000000) can0 301# R"
        ]
    );
}

/// BUSMASTER counts from midnight, and its line `base` does not state how times count.
#[test]
fn busmaster_counts_from_midnight() {
    let header = "date Mon Apr 8 11:21:13 pm 2024\nbase hex  no internal events logged";
    assert_eq!(
        asc(
            header,
            "84074.5 1 122 Rx d 0\n86399.9 1 122 Rx d 0\n0.1 1 122 Rx d 0"
        ),
        [
            "(1712618474.500000000) can0 122# R",
            "(1712620799.900000000) can0 122# R",
            "(1712620800.100000000) can0 122# R",
        ]
    );
    assert_eq!(
        asc(header, "0.5 1 122 Rx d 0"),
        ["(1712618473.500000000) can0 122# R"]
    );
    let vector = "date Mon Apr 8 11:21:13 pm 2024\nbase hex  timestamps absolute";
    assert_eq!(
        asc(vector, "84074.5 1 122 Rx d 0"),
        ["(1712702547.500000000) can0 122# R"]
    );
}

#[test]
fn channels_that_count_from_zero_stay_apart() {
    let found = asc(
        HEX,
        "0.1 1 1 Rx d 0\n0.2 0 2 Rx d 0\n0.3 CANFD 0 Rx 3 0 0 0 0",
    );
    let names: Vec<&str> = found
        .iter()
        .map(|line| line.split(' ').nth(1).unwrap())
        .collect();
    assert_eq!(names, ["can0", "channel0", "channel0"]);
    let trc = b";$FILEVERSION=1.3\n 1) 1.0 0 Rx 0300 - 1 00\n 2) 2.0 1 Rx 0300 - 1 00\n 3) 2.0 x Rx 0300 - 1 00\n";
    let (_, found, wrong) = read(trc);
    let names: Vec<&str> = found
        .iter()
        .map(|line| line.split(' ').nth(1).unwrap())
        .collect();
    assert_eq!((names, wrong.len()), (vec!["channel0", "can0"], 1));
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
