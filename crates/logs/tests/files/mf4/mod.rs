//! ASAM MF4: structures that asammdf does not write, and files that are damaged. Those that it
//! writes are compared in `crates/cangate/tests/cli/python_can.rs`.

mod file;

use crate::damage;
use file::{
    BIG, BYTES, ChannelRow, FIXED, FLOAT, LITTLE, MASTER, MAXIMUM, MdfFile, START, VARIABLE,
    VIRTUAL,
};
use logs::{FileFormat, LogReader};

fn read(bytes: &[u8]) -> (Vec<String>, Vec<String>) {
    let mut reader = LogReader::new(bytes, "log");
    assert_eq!(reader.recognise().unwrap(), FileFormat::Mf4);
    damage::frames(reader)
}

/// Returns the stamp of a frame this number of ns after the start.
fn at(ns: u64) -> String {
    let ns = START + ns;
    format!("({:010}.{:09})", ns / 1_000_000_000, ns % 1_000_000_000)
}

/// The members of a frame as data loggers pack them: time in µs (32 bits), ID (29), an unused bit,
/// direction, IDE, channel (2), BRS, ESI, EDL, DLC (4), length (7), then a payload.
fn packed<'a>(
    kind: &'a str,
    payload: ChannelRow<'a>,
    names: &'a mut Vec<String>,
) -> Vec<ChannelRow<'a>> {
    const ROWS: [(&str, usize, u32); 9] = [
        ("ID", 32, 29),
        ("Dir", 62, 1),
        ("IDE", 63, 1),
        ("BusChannel", 64, 2),
        ("BRS", 66, 1),
        ("ESI", 67, 1),
        ("EDL", 68, 1),
        ("DLC", 72, 4),
        ("DataLength", 76, 7),
    ];
    names.extend(ROWS.map(|(name, ..)| format!("{kind}.{name}")));
    let rows = ROWS.iter().zip(names.iter());
    let rows = rows.map(|((_, bit, bits), name)| (name.as_str(), FIXED, LITTLE, *bit, *bits, 0));
    let time = ("Timestamp", MASTER, LITTLE, 0, 32, 0);
    [time].into_iter().chain(rows).chain([payload]).collect()
}

/// Returns the fields of [`packed`]. `flags`: BRS 1, ESI 2, EDL 4.
fn fields(us: u32, id: u32, bits: u32, channel: u8, flags: u8, dlc: u16, length: u16) -> Vec<u8> {
    let mut out = us.to_le_bytes().to_vec();
    out.extend((id | bits << 30).to_le_bytes());
    out.push(channel | flags << 2);
    out.extend((dlc | length << 4).to_le_bytes());
    out
}

/// As the loggers of CSS Electronics write it: records of several groups in one block without a
/// length, payloads in a group of their own, and counts that were never updated.
fn unfinished(open_offsets: bool) -> (MdfFile, Vec<String>) {
    let mut file = MdfFile::new(Some(if open_offsets { 0x65 } else { 0x25 }));
    let values = file.group(0, 0, (3, 0, 1, 0));
    let lin = file.channels(&[("LIN_Frame", FIXED, BYTES, 0, 16, 0)], 1.0);
    let lin = file.group(values, lin, (2, 0, 2, 2));
    let bytes = ("CAN_DataFrame.DataBytes", VARIABLE, BYTES, 88, 32, values);
    let mut names = Vec::new();
    let rows = packed("CAN_DataFrame", bytes, &mut names);
    let channels = file.channels(&rows, 1e-6);
    let can = file.group(lin, channels, (1, 0, 2, 15));
    let mut data = Vec::new();
    let mut record = |us, id, bits, channel, flags, dlc, length: u16, offset: u32| {
        let mut fields = fields(us, id, bits, channel, flags, dlc, length);
        let offset = if open_offsets { u32::MAX } else { offset };
        fields.extend(offset.to_le_bytes());
        let payload: Vec<u8> = (1..=length as u8).collect();
        data.extend([&[1][..], &fields].concat());
        data.extend([&[3][..], &u32::from(length).to_le_bytes(), &payload].concat());
        data.extend([2, 0xAA, 0xBB]);
    };
    record(1000, 0x123, 0, 1, 0, 2, 2, 0);
    record(5, 0x18FE_F100, 3, 2, 5, 9, 12, 6);
    record(3000, 0x7FF, 0, 1, 6, 0, 0, 22);
    // The data are at the end of the file, behind the group that links to them.
    let group = file.data_group(1, can, 0);
    let data = file.block(b"DT", &[], &data);
    file.bytes[data as usize + 8..data as usize + 16].copy_from_slice(&24_u64.to_le_bytes());
    file.link(group, 2, data);
    let expected = [
        format!("{} can1 18FEF100##50102030405060708090A0B0C T", at(5000)),
        format!("{} can0 123#0102 R", at(1_000_000)),
        format!("{} can0 7FF##6 R", at(3_000_000)),
    ];
    (file, expected.to_vec())
}

#[test]
fn an_unfinished_file_of_a_data_logger() {
    for open_offsets in [false, true] {
        let (file, expected) = unfinished(open_offsets);
        let mut reader = LogReader::new(&file.bytes[..], "log");
        reader.recognise().unwrap();
        let passed = reader
            .passed_over()
            .iter()
            .map(|records| records.remark("log"));
        let passed: Vec<_> = passed.collect();
        assert_eq!(
            passed,
            ["log: 3 records of LIN_Frame are not classic or FD frames and were left out"]
        );
        assert_eq!(damage::frames(reader), (expected.clone(), Vec::new()));
        // What is cut off is one mistake, and all before it is read.
        let begin = file
            .bytes
            .windows(4)
            .position(|window| window == b"##DT")
            .unwrap()
            + 24;
        for end in begin..file.bytes.len() {
            let (frames, bad) = read(&file.bytes[..end]);
            assert!(frames.iter().all(|frame| expected.contains(frame)), "{end}");
            assert!(bad.len() <= 1 + 3, "{end}: {bad:?}");
        }
        for end in 64..begin {
            let (frames, bad) = read(&file.bytes[..end]);
            assert_eq!((frames.len(), bad.len()), (0, 1), "{end}: {bad:?}");
        }
        damage::flip(&file.bytes, 3000);
    }
}

/// Writes a group of data frames of 2 bytes, with times in µs, and a file around it.
fn sorted(
    time: ChannelRow<'_>,
    factor: f64,
    payload: ChannelRow<'_>,
    cycles: u64,
    records: impl FnOnce(&mut MdfFile) -> u64,
) -> MdfFile {
    let mut file = MdfFile::new(None);
    let data = records(&mut file);
    // The members of a structure can have their own names only.
    let parent = file.channels(&[("CAN_DataFrame", FIXED, BYTES, 64, 64, 0)], 1.0);
    let rows = [
        ("ID", FIXED, BIG, 64, 32, 0),
        ("DLC", FIXED, LITTLE, 96, 8, 0),
        ("DataLength", FIXED, LITTLE, 104, 8, 0),
        payload,
    ];
    let members = file.channels(&rows, 1.0);
    file.link(parent, 1, members);
    let time = file.channels(&[time], factor);
    file.link(time, 0, parent);
    let group = file.group(0, time, (0, cycles, 2, 16));
    file.data_group(0, group, data);
    file
}

/// Returns a record with a time of 8 bytes.
fn record(time: u64, id: u32, len: u8, payload: [u8; 2]) -> Vec<u8> {
    let mut out = time.to_le_bytes().to_vec();
    out.extend(id.to_be_bytes());
    out.extend([len, len]);
    out.extend(payload);
    out
}

const INLINE: ChannelRow<'static> = ("DataBytes", FIXED, BYTES, 112, 16, 0);

/// A list of blocks, records that begin in one block and end in the next, and each kind of time.
#[test]
fn sorted_groups_with_each_kind_of_time() {
    let int = |n: u64| n;
    let float = |n: u64| (n as f64 / 1e9).to_bits();
    let single = |n: u64| (n as f32 / 1e9).to_bits().into();
    let time = |kind, value, bits| ("t", kind, value, 0, bits, 0);
    type Code = fn(u64) -> u64;
    let cases: [(ChannelRow<'_>, f64, Code, u64); 5] = [
        (time(MASTER, LITTLE, 64), 1e-9, int, 1),
        (time(MASTER, LITTLE, 32), 1e-7, int, 100),
        (time(MASTER, FLOAT, 64), 1.0, float, 1),
        (time(MASTER, FLOAT, 32), 1.0, single, 1),
        (time(VIRTUAL, LITTLE, 0), 0.25, int, 0),
    ];
    for (number, (time, factor, code, unit)) in cases.into_iter().enumerate() {
        let ids = [0x123, 0x8000_0123, 0x800];
        // Of fixed length, or of a maximum length.
        let payload = (INLINE.0, [FIXED, MAXIMUM][number % 2], BYTES, 112, 16, 0);
        let records: Vec<u8> = (0..3)
            .flat_map(|n| record(code(500_000_000 * n as u64), ids[n], 2, [n as u8, 0xAB]))
            .collect();
        let file = sorted(time, factor, payload, 3, |file| {
            let parts: Vec<u64> = records
                .chunks(11)
                .map(|part| file.block(b"DT", &[], part))
                .collect();
            let (begin, end) = parts.split_at(2);
            let list = |file: &mut MdfFile, next: u64, parts: &[u64]| {
                let mut data = vec![0, 0, 0, 0, parts.len() as u8, 0, 0, 0];
                data.resize(8 + 8 * parts.len(), 0);
                file.block(b"DL", &[&[next], parts].concat(), &data)
            };
            let next = list(file, 0, end);
            let first = list(file, next, begin);
            file.block(b"HL", &[first], &[0; 8])
        });
        let ns = |n: u64| match unit {
            0 => 250_000_000 * n,
            unit => 500_000_000 * n * unit,
        };
        let expected = [
            format!("{} can6 123#00AB", at(ns(0))),
            format!("{} can6 00000123#01AB", at(ns(1))),
            format!("{} can6 00000800#02AB", at(ns(2))),
        ];
        let found = read(&file.bytes);
        assert_eq!(found, (expected.to_vec(), Vec::new()), "{number}");
        damage::flip(&file.bytes, 500);
    }
}

/// Payloads of variable length in signal data, and more or fewer records than the group states.
#[test]
fn signal_data_and_counts() {
    let time = ("t", MASTER, LITTLE, 0, 64, 0);
    let file = |cycles, offset: u8| {
        let mut values = 0;
        let mut file = sorted(time, 1e-9, INLINE, cycles, |file| {
            values = file.block(b"SD", &[], &[2, 0, 0, 0, 0x11, 0x22, 1, 0, 0, 0, 0x33]);
            let records = [record(1, 0x11, 2, [0, 0]), record(2, 0x12, 1, [offset, 0])];
            file.block(b"DT", &[], &records.concat())
        });
        // The payload is the last channel: it gets another type, and a link.
        let name = file
            .bytes
            .windows(9)
            .position(|window| window == b"DataBytes")
            .unwrap()
            - 24;
        let links = (name as u64).to_le_bytes();
        let channel = file
            .bytes
            .windows(8)
            .position(|window| window == links)
            .unwrap()
            - 24
            - 16;
        file.link(channel as u64, 5, values);
        file.bytes[channel + 24 + 64] = VARIABLE;
        file.bytes[channel + 24 + 64 + 2] = LITTLE;
        read(&file.bytes)
    };
    let first = format!("{} can6 011#1122", at(1));
    let second = format!("{} can6 012#33", at(2));
    let (both, one) = (vec![first.clone(), second], vec![first]);
    assert_eq!(file(2, 6), (both.clone(), Vec::new()));
    let (frames, bad) = file(3, 6);
    assert_eq!(frames, both);
    assert!(
        bad.len() == 1 && bad[0].contains("fewer records"),
        "{bad:?}"
    );
    let (frames, bad) = file(1, 6);
    assert_eq!(frames, one);
    assert!(bad.len() == 1 && bad[0].contains("more records"), "{bad:?}");
    for offset in [7, 11, 200] {
        let (frames, bad) = file(2, offset);
        assert_eq!(frames, one);
        assert!(
            bad.len() == 1 && bad[0].contains("whose bytes are not"),
            "{bad:?}"
        );
    }
}

/// Lists that lead back, and lengths above any file, end with a mistake.
#[test]
fn links_and_lengths_are_not_believed() {
    let time = ("t", MASTER, LITTLE, 0, 64, 0);
    let records = [record(1, 0x11, 2, [1, 2])].concat();
    let mut loops = sorted(time, 1e-9, INLINE, 1, |file| {
        let data = file.block(b"DT", &[], &records);
        let list = file.block(b"DL", &[0, data], &[0, 0, 0, 0, 1, 0, 0, 0]);
        file.link(list, 0, list);
        list
    });
    let (frames, bad) = read(&loops.bytes);
    assert_eq!(frames.len(), 1);
    assert!(bad.len() == 1 && bad[0].contains("twice"), "{bad:?}");
    // The list of groups leads back to its first one.
    let group = loops
        .bytes
        .windows(4)
        .position(|window| window == b"##DG")
        .unwrap();
    loops.link(group as u64, 0, group as u64);
    assert!(read(&loops.bytes).1.iter().any(|bad| bad.contains("twice")));
    for size in [u64::MAX, u64::MAX - 24, 1 << 40] {
        let file = sorted(time, 1e-9, INLINE, 1, |file| {
            let data = file.block(b"DT", &[], &records);
            file.bytes[data as usize + 8..data as usize + 16].copy_from_slice(&size.to_le_bytes());
            data
        });
        let (_, bad) = read(&file.bytes);
        assert!(!bad.is_empty(), "{size}");
        let file = sorted(time, 1e-9, INLINE, 1, |file| {
            let sizes = [size.to_le_bytes(), 20_u64.to_le_bytes()].concat();
            let header = [&b"DT\0\0\x10\0\0\0"[..], &sizes, b"not packed"].concat();
            file.block(b"DZ", &[], &header)
        });
        let (frames, bad) = read(&file.bytes);
        assert_eq!((frames.len(), bad.len()), (0, 1), "{bad:?}");
    }
}
