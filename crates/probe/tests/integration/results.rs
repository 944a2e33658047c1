//! The results file: written data is read back unchanged, and damage is detected.

use bytes::Bytes;
use cangate_probe::results::{ReadError, read, read_bytes, write, write_to};
use cangate_probe::{
    FrameRecord, IncomingFrame, PayloadStore, RunDescription, RunResults, SentCopy, Status,
};
use frame::{CanId, Kind};
use parquet::basic::{LogicalType, Type};
use parquet::file::reader::{FileReader as _, SerializedFileReader};
use proptest::prelude::*;
use std::path::Path;

fn description() -> RunDescription {
    RunDescription {
        title: "A run <with> \"marks\" & ünïcode".into(),
        version: "0.1.0".into(),
        command: "cangate demo --seed 1".into(),
        seed: u64::MAX,
        config: "[[route]]\nname = \"a\"\n".into(),
        traffic: "SAE class C".into(),
        bit_rates: "500 kbit/s".into(),
        time_base: "bus time".into(),
        stamp: "end of frame".into(),
        blind_spots: "none told".into(),
        more: vec![("a".into(), "1".into()), ("b".into(), String::new())],
    }
}

fn record() -> impl Strategy<Value = FrameRecord> {
    let kind = || {
        prop_oneof![
            Just(None),
            Just(Some(Kind::Classic)),
            Just(Some(Kind::Fd)),
            Just(Some(Kind::Xl)),
        ]
    };
    let seen = || {
        let all = (
            any::<u16>(),
            any::<u32>(),
            kind(),
            any::<u16>(),
            any::<u64>(),
        );
        prop::option::of(all)
    };
    let status = (0..Status::ALL.len()).prop_map(|i| Status::ALL[i]);
    let rest = (
        any::<u64>(),
        prop::option::of(any::<u16>()),
        any::<u64>(),
        prop::option::of(any::<u64>()),
        prop::option::of(any::<u32>()),
    );
    (seen(), seen(), status, rest).prop_map(|(i, o, status, rest)| {
        let (tag, route, duration, processing, accesses) = rest;
        FrameRecord {
            tag,
            route,
            incoming: i.map(|(port, id, kind, len, end)| IncomingFrame {
                port,
                id: CanId::from_raw(id),
                kind,
                len,
                end,
            }),
            outgoing: o.map(|(port, id, kind, len, end)| SentCopy {
                port,
                id: CanId::from_raw(id),
                kind,
                len,
                end,
                duration,
            }),
            status,
            processing,
            accesses,
        }
    })
}

/// Payloads that a record can have: none, empty, changed by the gateway, or not.
fn payloads(records: &[FrameRecord]) -> PayloadStore {
    let mut payloads = PayloadStore::default();
    for (place, record) in records.iter().enumerate() {
        let bytes = record.tag.to_le_bytes();
        let payload = &bytes[..(record.tag % 9) as usize];
        if record.incoming.is_some() && record.tag % 11 > 0 {
            payloads.set_incoming(place, payload);
        }
        if record.outgoing.is_some() && record.tag % 13 > 0 {
            let long = [payload, &[0x55; 56]].concat();
            payloads.set_outgoing(place, if record.tag % 2 > 0 { payload } else { &long });
        }
    }
    payloads
}

fn results(records: Vec<FrameRecord>) -> RunResults {
    RunResults {
        payloads: payloads(&records),
        description: description(),
        routes: vec!["front".into(), "rear".into()],
        ports: vec!["can0".into(), "can1".into(), String::new()],
        records,
    }
}

/// FD for every third frame.
const fn kind(n: u64) -> Kind {
    if n.is_multiple_of(3) {
        Kind::Fd
    } else {
        Kind::Classic
    }
}

fn sample(n: u64) -> RunResults {
    let id = CanId::from_raw(0x123);
    let record = |n: u64| FrameRecord {
        tag: n,
        route: Some((n % 2) as u16),
        incoming: Some(IncomingFrame {
            port: 0,
            id,
            kind: Some(kind(n)),
            len: 8,
            end: n * 1_000,
        }),
        outgoing: (!n.is_multiple_of(7)).then_some(SentCopy {
            port: 1,
            id,
            kind: Some(kind(n)),
            len: 8,
            end: n * 1_000 + 250_000,
            duration: 222_000,
        }),
        status: if n.is_multiple_of(7) {
            Status::Lost
        } else {
            Status::Delivered
        },
        processing: Some(n % 90),
        accesses: (!n.is_multiple_of(5)).then_some(n as u32 % 40),
    };
    results((0..n).map(record).collect())
}

fn bytes(results: &RunResults) -> Vec<u8> {
    write_to(Vec::new(), results).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn comes_back_as_it_was(records in prop::collection::vec(record(), 0..60)) {
        let results = results(records);
        let data = bytes(&results);
        prop_assert_eq!(&data, &bytes(&results), "same results, same bytes");
        prop_assert_eq!(read_bytes(Path::new("x"), data).unwrap(), results);
    }

    /// With one byte changed, anywhere: an error that names the file, never a panic, never
    /// different frames.
    #[test]
    fn damage_is_reported(at in any::<prop::sample::Index>(), flip in 1u8..=255) {
        let mut data = bytes(&sample(300));
        let at = at.index(data.len());
        data[at] ^= flip;
        let error = read_bytes(Path::new("run.parquet"), data).unwrap_err().to_string();
        prop_assert!(error.starts_with("run.parquet: "), "{}", error);
    }

    #[test]
    fn a_cut_file_is_reported(keep in any::<prop::sample::Index>()) {
        let mut data = bytes(&sample(300));
        data.truncate(keep.index(data.len()));
        prop_assert!(read_bytes(Path::new("run.parquet"), data).is_err());
    }
}

#[test]
fn through_a_file_that_is_never_half_there() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("results.parquet");
    let results = sample(1_000);
    write(&path, &results).unwrap();
    assert_eq!(read(&path).unwrap(), results);
    let names: Vec<_> = std::fs::read_dir(dir.path())
        .unwrap()
        .map(|e| e.unwrap().file_name())
        .collect();
    assert_eq!(names, ["results.parquet"]);
}

#[test]
fn errors_name_the_file_and_the_cause() {
    let dir = tempfile::tempdir().unwrap();
    let missing = dir.path().join("missing.parquet");
    let error = read(&missing).unwrap_err();
    assert!(
        matches!(error, ReadError::File { .. }) && error.to_string().contains("missing.parquet")
    );

    let error = read_bytes(Path::new("a.txt"), b"no parquet at all".to_vec()).unwrap_err();
    assert!(error.to_string().contains("not a Parquet file"), "{error}");

    let data = bytes(&sample(50));
    // The data of the first page, after the file's four magic bytes.
    let mut damaged = data.clone();
    damaged[40] ^= 1;
    let error = read_bytes(Path::new("d"), damaged).unwrap_err();
    assert!(error.to_string().contains("checksum"), "{error}");

    let error = write(&dir.path().join("no/such/dir.parquet"), &sample(1)).unwrap_err();
    assert!(error.to_string().contains("dir.parquet"), "{error}");
}

/// Files of an older cangate are read as they were: before the register accesses had a column, and
/// before the kinds of frame had.
#[test]
fn files_of_former_layouts_are_read() {
    let mut expected = sample(20);
    expected.payloads = PayloadStore::default();
    let parts = |record: &mut FrameRecord| {
        if let Some(incoming) = &mut record.incoming {
            incoming.kind = None;
        }
        if let Some(outgoing) = &mut record.outgoing {
            outgoing.kind = None;
        }
    };
    expected.records.iter_mut().for_each(parts);
    let second = include_bytes!("../data/layout-2.parquet").to_vec();
    assert_eq!(read_bytes(Path::new("old"), second).unwrap(), expected);
    for record in &mut expected.records {
        record.accesses = None;
    }
    let first = include_bytes!("../data/layout-1.parquet").to_vec();
    assert_eq!(read_bytes(Path::new("old"), first).unwrap(), expected);
}

/// docs/report.md lists the columns as they are in a file, in their order, with their types.
#[test]
fn the_document_lists_the_columns_of_a_file() {
    let document = include_str!("../../../../docs/report.md");
    let table = document.split("### The columns of results.parquet").nth(1);
    let rows = table
        .unwrap()
        .lines()
        .skip_while(|line| !line.starts_with("|---"));
    let rows = rows.skip(1).take_while(|line| line.starts_with('|'));
    let listed: Vec<(String, String)> = rows
        .map(|row| {
            let cells: Vec<&str> = row.split('|').map(str::trim).collect();
            assert_eq!(cells.len(), 6, "{row}");
            assert!(!cells[3].is_empty() && !cells[4].is_empty(), "{row}");
            (cells[1].trim_matches('`').to_owned(), cells[2].to_owned())
        })
        .collect();
    let file = SerializedFileReader::new(Bytes::from(bytes(&sample(3)))).unwrap();
    let schema = file.metadata().file_metadata().schema_descr_ptr();
    let in_file = schema.columns().iter().map(|column| {
        let optional = if column.max_def_level() > 0 {
            "optional "
        } else {
            ""
        };
        let of = match (column.logical_type_ref(), column.physical_type()) {
            (Some(LogicalType::String), _) => "string".to_owned(),
            (Some(LogicalType::Integer(of)), _) if !of.is_signed => {
                format!("u{}", of.bit_width)
            }
            (None, Type::INT64) => "i64".to_owned(),
            (None, Type::BYTE_ARRAY) => "bytes".to_owned(),
            other => panic!("{other:?}"),
        };
        (column.name().to_owned(), format!("{optional}{of}"))
    });
    assert_eq!(listed, in_file.collect::<Vec<_>>());
}
