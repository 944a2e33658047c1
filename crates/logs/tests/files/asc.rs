//! Vector ASC: its lines, its dialects, and the times and channels of its measurements.
use crate::formats::read;
use logs::FileFormat;

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
fn dialects_of_asc_state_the_same() {
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
        "0.0 CANXL Start of measurement",
        "0.0 1 Status:chip status error active",
        "0.0 L1 3c Rx 8 01 02 03 04 05 06 07 08",
        "0.0 MOST150 1 Rx",
        "0.0 ETH 1 Rx 00",
        "0.0 J1939TP FEE3p 6 0 0",
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
        "0.5",
        "0.5 ErrorFrame",
        "0.5 CAN 1 123 Rx d 1 01",
        "0.5 1 Lamp: Rx d 1",
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
