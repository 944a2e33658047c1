//! Vector BLF: the objects that python-can does not write, and files that are damaged. Those that
//! it writes are compared in `crates/cangate/tests/cli/python_can.rs`.
use crate::damage;
use flate2::Compression;
use flate2::write::ZlibEncoder;
use logs::{FileFormat, LogReader};
use std::io::Write as _;

/// 2024-04-08 09:10:11.350
const START: [u16; 8] = [2024, 4, 1, 8, 9, 10, 11, 350];

fn file(containers: &[Vec<u8>]) -> Vec<u8> {
    let size = 144 + containers.iter().map(Vec::len).sum::<usize>() as u64;
    let mut out = [
        &b"LOGG"[..],
        &144_u32.to_le_bytes(),
        &[2, 9, 0, 1, 2, 6, 8, 1],
    ]
    .concat();
    out.extend(size.to_le_bytes());
    out.resize(40, 0);
    out.extend(START.iter().flat_map(|part| part.to_le_bytes()));
    out.resize(144, 0);
    out.extend(containers.concat());
    out
}

fn object_of(version: u16, flags: u32, kind: u32, stamp: u64, body: &[u8]) -> Vec<u8> {
    let header = if version == 1 { 32 } else { 40 };
    let mut out = [
        &b"LOBJ"[..],
        &(header as u16).to_le_bytes(),
        &version.to_le_bytes(),
    ]
    .concat();
    out.extend((header + body.len() as u32).to_le_bytes());
    out.extend([kind, flags, 0].map(u32::to_le_bytes).concat());
    out.extend(stamp.to_le_bytes());
    out.resize(header as usize, 0);
    out.extend(body);
    out.resize(out.len() + body.len() % 4, 0);
    out
}

fn object(kind: u32, stamp: u64, body: &[u8]) -> Vec<u8> {
    object_of(1, 2, kind, stamp, body)
}

fn container(method: u16, data: &[u8]) -> Vec<u8> {
    let packed = if method == 2 {
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(data).unwrap();
        encoder.finish().unwrap()
    } else {
        data.to_vec()
    };
    let mut out = b"LOBJ\x10\0\x01\0".to_vec();
    out.extend((32 + packed.len() as u32).to_le_bytes());
    out.extend(10_u32.to_le_bytes());
    out.extend(method.to_le_bytes());
    out.resize(24, 0);
    out.extend((data.len() as u32).to_le_bytes());
    out.resize(32, 0);
    out.extend(&packed);
    out.resize(out.len() + out.len() % 4, 0);
    out
}

fn classic(channel: u16, flags: u8, id: u32, data: &[u8]) -> Vec<u8> {
    let mut out = channel.to_le_bytes().to_vec();
    out.extend([flags, data.len() as u8]);
    out.extend(id.to_le_bytes());
    out.extend(data);
    out.resize(16, 0);
    out
}

/// A body of `CAN_FD_MESSAGE_64`.
fn fd_64(id: u32, dlc: u8, stated: u8, flags: u32, direction: u8, data: &[u8]) -> Vec<u8> {
    let mut out = vec![3, dlc, stated, 0];
    out.extend(id.to_le_bytes());
    out.resize(12, 0);
    out.extend(flags.to_le_bytes());
    out.resize(34, 0);
    out.extend([direction, 0]);
    out.resize(40, 0);
    out.extend(data);
    out
}

fn read(bytes: &[u8]) -> (Vec<String>, Vec<String>) {
    let mut reader = LogReader::new(bytes, "log");
    assert_eq!(reader.recognise().unwrap(), FileFormat::Blf);
    damage::frames(reader)
}

#[test]
fn objects_of_all_types_and_versions() {
    let data: Vec<u8> = (1..=64).collect();
    let objects = [
        // CAN_MESSAGE2, with the second version of the header, in units of 10 µs.
        object_of(
            2,
            1,
            86,
            5,
            &[&classic(1, 1, 0x123, &[0x11, 0x22])[..], &[0; 8]].concat(),
        ),
        // A text, statistics, a frame of LIN, an overload frame.
        object(65, 0, b"a text of 9 and more bytes"),
        object(4, 0, &[0; 24]),
        object(11, 0, &[0; 24]),
        object(3, 0, &[1, 0, 0, 0]),
        object(101, 7, &fd_64(0x98FE_F100, 15, 64, 0x3000, 0, &data)),
        object(101, 8, &fd_64(0x7FF, 8, 8, 0x5000, 1, &data[..3])),
        object(101, 9, &fd_64(0x10, 2, 2, 0, 1, &data[..2])),
        object(101, 10, &fd_64(0x11, 5, 0, 0x10, 0, &[])),
        // Only a request to send.
        object(101, 11, &fd_64(0x12, 0, 0, 0, 2, &[])),
        object(2, 12, &[2, 0, 0, 0]),
        object(104, 13, &[&[4][..], &[0; 63]].concat()),
        object(
            126,
            14,
            &[&[0; 12][..], &17_u32.to_le_bytes(), &[0; 4]].concat(),
        ),
        // Mistakes: types, IDs, DLCs, lengths, directions.
        object(160, 0, &[0; 8]),
        object(1, 0, &classic(1, 0, 0x800, &[])),
        object(101, 0, &fd_64(0x10, 16, 64, 0x1000, 0, &data)),
        object(101, 0, &fd_64(0x10, 9, 8, 0x1000, 0, &data)),
        object(101, 0, &fd_64(0x10, 1, 1, 0, 9, &data)),
        object(1, 0, &[1, 0]),
        object(1, 15, &classic(0, 0x80, 0x8000_0123, &[0; 4])),
    ]
    .concat();
    let begin = "(1712567411.35";
    let hex = |n: usize| {
        data[..n]
            .iter()
            .map(|b| format!("{b:02X}"))
            .collect::<String>()
    };
    let expected = [
        format!("{begin}0050000) can0 123#1122 T"),
        format!("{begin}0000007) can2 18FEF100##5{} R", hex(64)),
        format!("{begin}0000008) can2 7FF##60102030000000000 T"),
        format!("{begin}0000009) can2 010#0102 T"),
        format!("{begin}0000010) can2 011#R5 R"),
        format!("{begin}0000012) can1 20000080#0000000000000000"),
        format!("{begin}0000013) can3 20000080#0000000000000000"),
        format!("{begin}0000015) channel0 00000123#R4 R"),
    ];
    // In one container or in many, packed or not, and without any.
    for size in [7, 100, objects.len()] {
        for method in [0, 2] {
            let pieces = objects.chunks(size).map(|piece| container(method, piece));
            let (frames, bad) = read(&file(&pieces.collect::<Vec<_>>()));
            assert_eq!(frames, expected, "{size} {method}");
            let words = [
                "type 160",
                "ID that is too large",
                "DLC above 15",
                "fewer bytes than its DLC states",
                "direction 9",
                "too short",
            ];
            assert_eq!(bad.len(), words.len(), "{bad:?}");
            for (bad, words) in bad.iter().zip(words) {
                assert!(bad.contains(words), "{bad}");
            }
        }
    }
    assert_eq!(read(&file(std::slice::from_ref(&objects))).0, expected);
    let log = file(&[container(2, &objects)]);
    let mut reader = LogReader::new(&log[..], "log");
    assert_eq!(reader.by_ref().count(), expected.len() + 6);
    assert_eq!(reader.all_missing(), 17);
}

/// After damage, reading goes on with the next object, and each damage is one mistake.
#[test]
fn damage_costs_no_more_than_it_must() {
    let frame = |n: u8| object(1, 0, &classic(1, 0, 0x100, &[n]));
    let good = |n| container(2, &frame(n));
    let mut torn = good(2);
    let last = torn.len() - 6;
    torn[last] ^= 0x55;
    let unknown = container(9, &frame(2));
    let mut long = frame(2);
    long[8..12].copy_from_slice(&5000_u32.to_le_bytes());
    long.resize(5000, 0);
    for (middle, words) in [
        (torn, "cannot be unpacked"),
        (unknown, "compression method 9"),
        (vec![7; 30], "no object of BLF begins here"),
        (container(0, &[7; 30]), "no object of BLF begins here"),
        (container(0, &long), "longer than any CAN frame"),
        // Its object goes on in the next container, which never comes.
        (
            container(0, &frame(2)[..40]),
            "no object of BLF begins here",
        ),
    ] {
        let (frames, bad) = read(&file(&[good(1), middle, good(3), good(4)]));
        let of = |n: usize| {
            frames
                .iter()
                .any(|frame| frame.contains(&format!("100#0{n}")))
        };
        assert!(of(1) && of(4), "{words}: {frames:?}");
        assert_eq!(bad.len(), 1, "{words}: {bad:?}");
        assert!(bad[0].contains(words), "{bad:?}");
    }
}

/// The start of a file that was never completed is all zeros.
#[test]
fn a_file_without_a_date_begins_at_zero() {
    let mut log = file(&[container(0, &object(1, 5, &classic(1, 0, 1, &[])))]);
    log[16..56].fill(0);
    assert_eq!(read(&log).0, ["(0000000000.000000005) can0 001# R"]);
}

#[test]
fn a_file_that_is_cut_off_is_read_up_to_there() {
    let objects: Vec<_> = (0..6)
        .map(|n| object(1, n, &classic(1, 0, 0x100, &[n as u8])))
        .collect();
    for method in [0, 2] {
        let log = file(
            &objects
                .iter()
                .map(|one| container(method, one))
                .collect::<Vec<_>>(),
        );
        let (all, bad) = read(&log);
        assert_eq!((all.len(), bad.len()), (6, 0));
        for end in 144..log.len() {
            let (frames, bad) = read(&log[..end]);
            assert_eq!(frames, all[..frames.len()], "{end}");
            assert_eq!(bad.len(), 1, "{end}: {bad:?}");
            assert!(bad[0].contains("was it cut off?"), "{bad:?}");
        }
        damage::flip(&log, 800);
    }
    let begin = LogReader::new(&file(&[])[..143], "log").recognise();
    assert!(
        begin
            .unwrap_err()
            .to_string()
            .contains("Vector BLF that is cut off within its header")
    );
}

/// A packed file that breaks off is one mistake, and all before it is read.
#[test]
fn a_packed_file_that_breaks_off() {
    let objects = (0..4000_u64).map(|n| object(1, n, &classic(1, 0, 0x100, &n.to_le_bytes())));
    let log = file(&objects.map(|one| container(0, &one)).collect::<Vec<_>>());
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(&log).unwrap();
    let packed = encoder.finish().unwrap();
    let (frames, bad) = read(&packed[..packed.len() / 2]);
    assert!((1000..3000).contains(&frames.len()), "{}", frames.len());
    assert_eq!(bad.len(), 1, "{bad:?}");
    assert!(bad[0].contains("breaks off"), "{bad:?}");
}

/// A container that states gigabytes, and one that unpacks to many, take little memory.
#[test]
fn sizes_are_not_believed() {
    let mut log = file(&[container(0, &object(1, 5, &classic(1, 0, 1, &[])))]);
    log[144 + 8..144 + 12].copy_from_slice(&u32::MAX.to_le_bytes());
    let (frames, bad) = read(&log);
    assert_eq!((frames.len(), bad.len()), (1, 1), "{bad:?}");
    let mut long = object(65, 0, &[]);
    long[8..12].copy_from_slice(&(60_000_000_u32).to_le_bytes());
    long.resize(60_000_000, 0);
    let after = object(1, 5, &classic(1, 0, 1, &[]));
    let (frames, bad) = read(&file(&[container(2, &[long, after].concat())]));
    assert_eq!((frames.len(), bad.len()), (1, 0), "{bad:?}");
}
