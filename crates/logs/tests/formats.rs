//! Each format: what its lines mean, and what is wrong with others.
#![allow(clippy::unwrap_used)]

use logs::{Format, LogError, LogReader};

/// The frames as lines of `candump -L` with nanoseconds, and the mistakes.
fn read(bytes: &[u8]) -> (Format, Vec<String>, Vec<String>) {
    read_as(bytes, None)
}

fn read_as(bytes: &[u8], format: Option<Format>) -> (Format, Vec<String>, Vec<String>) {
    let mut reader = LogReader::new(bytes, "log").of(format);
    let format = reader.recognise().unwrap();
    let (mut frames, mut wrong) = (Vec::new(), Vec::new());
    for entry in reader {
        match entry {
            Ok(entry) => {
                let line = frame::text::Line {
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
    assert_eq!(format, Format::Candump);
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
    assert_eq!((format, wrong.len()), (Format::Candump, 0));
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
    let stamps = |bytes: &[u8], format| -> (Format, Vec<String>) {
        let (format, frames, _) = read_as(bytes, format);
        let stamp = |line: String| line.split(')').next().unwrap()[8..].to_owned();
        (format, frames.into_iter().map(stamp).collect())
    };
    let zero = log(&[0, 10, 11, 30, 29, 31, 40, 50]);
    let (format, found) = stamps(&zero, None);
    assert_eq!(format, Format::CandumpZero);
    assert_eq!(found.last().unwrap(), "000.050000000"[..].get(0..).unwrap());
    let delta = log(&[0, 10, 10, 10, 11, 9, 10, 10]);
    let (format, found) = stamps(&delta, None);
    assert_eq!(format, Format::CandumpDelta);
    assert_eq!(found.last().unwrap(), "000.070000000");
    // Named, it is taken at its word.
    let (format, found) = stamps(&zero, Some(Format::CandumpDelta));
    assert_eq!(format, Format::CandumpDelta);
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
    assert_eq!(format, Format::Asc);
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

/// Programs that write the date of the file first, and that of the first frame where the measurement starts.
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
        assert_eq!((format, wrong), (Format::Trc, Vec::new()));
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

/// A mistake has its line, its column and what was expected; what follows is read.
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

/// What is no log is refused, and it is said what it looks like; nothing is read to its end.
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
        (b"LOGG\x90\0\0\0", "Vector BLF"),
        (b"BZh91AY", "bzip2"),
        (b"PAR1\x15\x04", "Parquet"),
    ] {
        let text = looks(bytes);
        assert!(text.contains(expected), "{text}");
    }
    let mut ethernet = vec![0xD4, 0xC3, 0xB2, 0xA1, 2, 0, 4, 0];
    ethernet.extend([0; 12]);
    ethernet.extend([1, 0, 0, 0]);
    assert!(looks(&ethernet).contains("link type 1,"));
    // A log without a frame is one; a file without a byte says nothing.
    for empty in [&b"\n\n"[..], b"# nothing\n"] {
        assert_eq!(read(empty), (Format::Log, Vec::new(), Vec::new()));
    }
    let error = LogReader::new(&b""[..], "x").recognise().unwrap_err();
    assert!(error.to_string().contains("it is empty"), "{error}");
}

/// Random bytes have lines that begin as those of a format do: they are no log all the same.
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
        // With a line that is good, somewhere within.
        let line: &[u8] = [&b"\n;$FILEVERSION=1.1\n"[..], b"\n(1.0) can0 123#11\n", b""][n % 3];
        let at = 200 + 31 * n;
        junk[at..at + line.len()].copy_from_slice(line);
        let error = LogReader::new(junk.as_slice(), "x")
            .recognise()
            .unwrap_err();
        assert!(error.to_string().contains("binary data"), "{n}: {error}");
    }
}

/// A named format is taken at its word, but nothing is read out of what cannot be it.
#[test]
fn a_named_format_does_not_make_a_log_of_anything() {
    let named = |bytes: &[u8], format| {
        let mut reader = LogReader::new(bytes, "x").of(Some(format));
        reader.recognise().map_err(|error| error.to_string())
    };
    for (_, format) in Format::NAMES {
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
            (&[1, 2, 3, 0xFF, 9], "binary data"),
        ] {
            let said = named(junk, format).unwrap_err();
            assert!(said.contains(looks), "{format}: {said}");
        }
    }
    let said = named(b"\x0A\x0D\x0D\x0A....", Format::Asc).unwrap_err();
    assert!(said.contains("it looks like pcapng"), "{said}");
    let said = named(b"(1.0) can0 123#\n", Format::Pcapng).unwrap_err();
    assert!(said.contains("it looks like candump -L"), "{said}");
    // One line of a pipe is enough to begin with.
    struct Waits<'a>(&'a [u8]);
    impl std::io::Read for Waits<'_> {
        fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
            assert!(!self.0.is_empty(), "nobody asks for more");
            std::io::Read::read(&mut self.0, into)
        }
    }
    let pipe = Waits(b" (000.000000)  can0  123   [0] \n");
    let mut reader = LogReader::new(pipe, "pipe").of(Some(Format::CandumpDelta));
    assert_eq!(reader.recognise().unwrap(), Format::CandumpDelta);
}
