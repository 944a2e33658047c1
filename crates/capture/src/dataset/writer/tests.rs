//! Reads datasets with the crate's own reader. DuckDB and pandas read them in
//! `crates/cangate/tests/cli/decode_parquet.rs`.

use super::*;
use parquet::file::reader::{FileReader as _, SerializedFileReader};
use parquet::record::{Field, Row};
use proptest::prelude::*;
use signals::MessageDatabase;
use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

const DATABASE: &str = r#"BU_: A

BO_ 1 Switched: 8 A
 SG_ Mode M : 0|8@1+ (1,0) [0|1] "" A
 SG_ Speed m0 : 15|16@0+ (0.25,0) [0|0] "rpm" A
 SG_ Heat m1 : 8|8@1- (0.1,-40) [0|0] "degC" A
 SG_ Sum : 56|8@1+ (1,0) [0|0] "" A

BO_ 2 Wide: 8 A
 SG_ All : 0|64@1+ (1,0) [0|0] "" A

BO_ 3 Real: 4 A
 SG_ Float : 0|32@1- (2,1) [0|0] "V" A

SIG_VALTYPE_ 3 Float : 1;
VAL_ 1 Mode 0 "speed" 1 "heat" 1 "second" ;
"#;

/// The day 2026-11-26, in nanoseconds since 1970.
const TODAY: Nanos = 1_795_651_200_000_000_000;

const NO_LIMITS: DatasetLimits = DatasetLimits {
    bytes: usize::MAX,
    frames: usize::MAX,
    parts: usize::MAX,
    groups: usize::MAX,
    part: u64::MAX,
};

fn database() -> MessageDatabase {
    signals::dbc::read(DATABASE.as_bytes()).unwrap()
}

fn messages(database: &MessageDatabase) -> Vec<DatasetMessage<'_>> {
    let all = database.messages.iter();
    let all = all.map(|message| {
        let every: Vec<usize> = (0..message.signals.len()).collect();
        DatasetMessage::new(message, &every)
    });
    all.collect()
}

fn begin<'a>(
    folder: &Path,
    database: &'a MessageDatabase,
    limits: DatasetLimits,
) -> SignalDataset<'a> {
    let place = DatasetFolder::open(folder, true).unwrap();
    SignalDataset::limited(place, messages(database), limits).unwrap()
}

const fn frame(stamp: Nanos, payload: &[u8]) -> DatasetFrame<'_> {
    let port = "can0";
    DatasetFrame {
        stamp,
        port,
        payload,
    }
}

/// Returns all files below a folder, relative to it, sorted.
fn files(folder: &Path) -> Vec<PathBuf> {
    let (mut found, mut folders) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => folders.push(path),
                false => found.push(path.strip_prefix(folder).unwrap().to_owned()),
            }
        }
    }
    found.sort();
    found
}

fn rows(path: &Path) -> Vec<Row> {
    let reader = SerializedFileReader::new(File::open(path).unwrap()).unwrap();
    reader
        .get_row_iter(None)
        .unwrap()
        .map(Result::unwrap)
        .collect()
}

/// Returns the rows of all files as texts, sorted: the names of the two folders, then the columns.
fn all_rows(folder: &Path) -> Vec<String> {
    let mut all = Vec::new();
    for path in files(folder) {
        let place = path.parent().unwrap().display().to_string();
        for row in rows(&folder.join(&path)) {
            let columns = row.get_column_iter().map(|(_, field)| match field {
                Field::TimestampMicros(time) => time.to_string(),
                Field::Str(text) => text.clone(),
                Field::Null => "-".to_owned(),
                Field::Double(value) => format!("{value:?}"),
                other => other.to_string(),
            });
            let columns: Vec<String> = columns.collect();
            all.push(format!("{place} {}", columns.join(" ")));
        }
    }
    all.sort();
    all
}

#[test]
fn a_row_has_time_port_and_the_values_of_a_signal() {
    let (folder, database) = (tempfile::tempdir().unwrap(), database());
    let mut dataset = begin(folder.path(), &database, NO_LIMITS);
    dataset
        .add(0, frame(TODAY + 1_234_567, &[0, 0x1F, 0x40, 0, 0, 0, 0, 9]))
        .unwrap();
    dataset.add(0, frame(TODAY - 1, &[1, 0xFF])).unwrap();
    let port = "can1";
    let payload = &[0xFF; 8];
    dataset
        .add(
            1,
            DatasetFrame {
                stamp: 0,
                port,
                payload,
            },
        )
        .unwrap();
    dataset
        .add(1, frame(Nanos::MAX, &[0xFF, 0, 0, 0, 0, 0, 0, 0]))
        .unwrap();
    dataset
        .add(2, frame(TODAY, &0.1_f32.to_le_bytes()))
        .unwrap();
    let summary = dataset.finish().unwrap();
    assert_eq!((summary.rows, summary.parts, summary.too_short), (8, 5, 1));
    assert_eq!(
        all_rows(folder.path()),
        [
            "day=1970-01-01/message=Wide 0 0 can1 All - 18446744073709551615 1.8446744073709552e19 - ",
            "day=2026-11-25/message=Switched 1795651199999999 999 can0 Heat -1 - -40.1 - degC",
            "day=2026-11-25/message=Switched 1795651199999999 999 can0 Mode 1 - 1.0 heat ",
            "day=2026-11-26/message=Real 1795651200000000 0 can0 Float - 0.10000000149011612 1.2000000029802322 - V",
            "day=2026-11-26/message=Switched 1795651200001234 567 can0 Mode 0 - 0.0 speed ",
            "day=2026-11-26/message=Switched 1795651200001234 567 can0 Speed 8000 - 2000.0 - rpm",
            "day=2026-11-26/message=Switched 1795651200001234 567 can0 Sum 9 - 9.0 - ",
            "day=2554-07-21/message=Wide 18446744073709551 615 can0 All 255 - 255.0 - ",
        ]
    );
    let bytes = files(folder.path()).into_iter().map(|path| {
        let file = fs::metadata(folder.path().join(path));
        file.unwrap().len()
    });
    assert_eq!(bytes.sum::<u64>(), summary.bytes);
}

#[test]
fn each_run_adds_files_with_its_number() {
    let (folder, database) = (tempfile::tempdir().unwrap(), database());
    let folder = folder.path().join("new/archive");
    for run in 0..3 {
        let mut dataset = begin(
            &folder,
            &database,
            DatasetLimits {
                part: 1,
                frames: 1,
                ..NO_LIMITS
            },
        );
        for number in 0..=run {
            dataset.add(2, frame(TODAY + number, &[0; 4])).unwrap();
        }
        assert_eq!(dataset.finish().unwrap().parts, run + 1);
    }
    let names = ["0", "1-1", "1", "2-1", "2-2", "2"];
    let names = names.map(|name| format!("day=2026-11-26/message=Real/part-{name}.parquet"));
    assert_eq!(files(&folder), names.map(PathBuf::from));
    // A run that is writing has its number.
    let (first, second) = (
        DatasetFolder::open(&folder, true),
        DatasetFolder::open(&folder, true),
    );
    assert_eq!(second.unwrap().leftovers(), ["_unfinished-3"]);
    assert_eq!(first.unwrap().leftovers(), [] as [&str; 0]);
}

/// Two databases, each for one interface, can have messages of one name.
#[test]
fn messages_of_one_name_share_a_folder() {
    let (folder, database) = (tempfile::tempdir().unwrap(), database());
    let place = DatasetFolder::open(folder.path(), false).unwrap();
    let both = messages(&database).into_iter().chain(messages(&database));
    let mut dataset = SignalDataset::new(place, both.collect()).unwrap();
    for message in [2, 5] {
        dataset.add(message, frame(TODAY, &[0; 4])).unwrap();
    }
    assert_eq!(dataset.finish().unwrap().rows, 2);
    let names = ["0-1", "0"];
    let names = names.map(|name| format!("day=2026-11-26/message=Real/part-{name}.parquet"));
    assert_eq!(files(folder.path()), names.map(PathBuf::from));
    assert_eq!(all_rows(folder.path()).len(), 2);
}

#[test]
fn nothing_remains_of_a_run_that_does_not_finish() {
    let (folder, database) = (tempfile::tempdir().unwrap(), database());
    let new = folder.path().join("new");
    let mut dataset = begin(
        &new,
        &database,
        DatasetLimits {
            frames: 1,
            ..NO_LIMITS
        },
    );
    dataset.add(2, frame(TODAY, &[0; 4])).unwrap();
    assert_eq!(files(&new), [PathBuf::from("_unfinished-0/1.partial")]);
    drop(dataset);
    assert!(!new.exists());

    // The folder of the second message cannot be created.
    let blocked = folder.path().join("old/day=2026-11-26/message=Wide");
    fs::create_dir_all(blocked.parent().unwrap()).unwrap();
    fs::write(&blocked, "").unwrap();
    let old = folder.path().join("old");
    let mut dataset = begin(&old, &database, NO_LIMITS);
    for message in [0, 1] {
        dataset.add(message, frame(TODAY, &[0; 8])).unwrap();
    }
    let error = dataset.finish().unwrap_err();
    let DatasetError::File { path, source, .. } = error else {
        panic!("{error}");
    };
    assert_eq!((path, source.kind()), (blocked, ErrorKind::AlreadyExists));
    assert_eq!(files(&old), [PathBuf::from("day=2026-11-26/message=Wide")]);
}

#[test]
fn folders_that_are_no_datasets_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let open = |is_append| DatasetFolder::open(folder.path(), is_append).map(drop);
    open(false).unwrap();
    fs::create_dir(folder.path().join("day=2026-11-26")).unwrap();
    let error = open(false).unwrap_err().to_string();
    assert!(
        error.ends_with("is not empty: it has day=2026-11-26"),
        "{error}"
    );
    open(true).unwrap();
    fs::write(folder.path().join("_SUCCESS"), "").unwrap();
    open(true).unwrap();
    fs::write(folder.path().join("notes.txt"), "").unwrap();
    let error = open(true).unwrap_err().to_string();
    assert!(
        error.ends_with("is not a dataset of signals: it has notes.txt"),
        "{error}"
    );
    assert_eq!(
        files(folder.path()),
        [PathBuf::from("_SUCCESS"), PathBuf::from("notes.txt")]
    );
    let file = folder.path().join("notes.txt");
    let error = DatasetFolder::open(&file, true)
        .map(drop)
        .unwrap_err()
        .to_string();
    assert!(
        error.starts_with("cannot create") && error.contains("notes.txt"),
        "{error}"
    );
}

#[test]
fn names_that_are_too_long_and_too_many_ports_are_refused() {
    let (folder, mut database) = (tempfile::tempdir().unwrap(), database());
    let mut ports = PortNames::default();
    for number in 0..MAX_PORTS {
        assert_eq!(
            usize::from(ports.number(&number.to_string()).unwrap()),
            number
        );
    }
    assert_eq!(ports.number("7").unwrap(), 7);
    assert!(matches!(ports.number("one more"), Err(DatasetError::Ports)));

    database.messages[0].name = "=".repeat(100);
    let place = DatasetFolder::open(folder.path(), false).unwrap();
    let error = SignalDataset::new(place, messages(&database)).map(drop);
    let error = error.unwrap_err().to_string();
    assert!(
        error.ends_with("its name takes 308 of at most 255 bytes"),
        "{error}"
    );
}

/// The rows of one frame, by the definitions and without columns.
fn expected(database: &MessageDatabase, message: usize, frame: DatasetFrame<'_>) -> Vec<String> {
    let message = &database.messages[message];
    let (micros, nanos) = (frame.stamp / 1000, frame.stamp % 1000);
    let day = hive::day_name(hive::day_of(frame.stamp));
    let decoded = message.decode(frame.payload);
    let rows = decoded.map(|(signal, raw)| {
        let is_long = raw.to_string().parse::<i64>().is_err();
        let (short, long) = match is_long {
            true => ("-".to_owned(), raw.to_string()),
            false => (raw.to_string(), "-".to_owned()),
        };
        let is_float = matches!(raw, signals::RawValue::Float(_));
        let (short, long) = match is_float {
            true => ("-".to_owned(), raw.to_string()),
            false => (short, long),
        };
        let (value, name) = (
            signal.physical(raw).to_f64(),
            signal.name_of(raw).unwrap_or("-"),
        );
        format!(
            "{day}/message={} {micros} {nanos} {} {} {short} {long} {value:?} {name} {}",
            message.name, frame.port, signal.name, signal.unit
        )
    });
    rows.collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever the limits, each value is in one row, and memory has no more than the limits.
    #[test]
    fn each_value_has_one_row(
        all in proptest::collection::vec(
            (0..3_usize, 0..3_u64, 0..86_400_000_000_000_u64, 0..2_usize, proptest::collection::vec(any::<u8>(), 0..=8)),
            0..60,
        ),
        bytes in 1..600_usize, frames in 1..20_usize, parts in 1..6_usize, groups in 1..12_usize, part: bool,
    ) {
        let (folder, database) = (tempfile::tempdir().unwrap(), database());
        let limits = DatasetLimits { bytes, frames, parts, groups, part: if part { 1 } else { u64::MAX } };
        let mut dataset = begin(folder.path(), &database, limits);
        let mut wanted = Vec::new();
        for (message, day, time, port, payload) in &all {
            let mut payload = payload.clone();
            if let (0, Some(first)) = (message, payload.first_mut()) {
                *first %= 3;
            }
            let frame = DatasetFrame {
                stamp: day * 86_400_000_000_000 + time,
                port: ["can0", "can1"][*port],
                payload: &payload,
            };
            wanted.extend(expected(&database, *message, frame));
            dataset.add(*message, frame).unwrap();
            prop_assert!(dataset.bytes < bytes && dataset.open <= parts && dataset.groups <= groups);
            prop_assert_eq!(dataset.partitions().count(), dataset.open);
        }
        let summary = dataset.finish().unwrap();
        wanted.sort();
        prop_assert_eq!(summary.rows, wanted.len() as u64);
        prop_assert_eq!(all_rows(folder.path()), wanted);
    }
}

/// Readers skip row groups by the range of their signals' names: with many frames, each has one
/// signal.
#[test]
fn signals_of_many_frames_have_row_groups_of_their_own() {
    let (folder, database) = (tempfile::tempdir().unwrap(), database());
    let mut dataset = begin(folder.path(), &database, NO_LIMITS);
    for number in 0..70_000 {
        let payload = &[0, 0, (number >> 3) as u8, 0, 0, 0, 0, (number % 251) as u8];
        dataset
            .add(0, frame(TODAY + number * 1_000_000, payload))
            .unwrap();
    }
    let summary = dataset.finish().unwrap();
    assert_eq!((summary.rows, summary.parts), (210_000, 1));
    let path = folder.path().join(&files(folder.path())[0]);
    let reader = SerializedFileReader::new(File::open(path).unwrap()).unwrap();
    let groups = reader.metadata().row_groups().iter();
    let ranges = groups.map(|group| {
        let statistics = group.column(3).statistics().unwrap();
        let (min, max) = (statistics.min_bytes_opt(), statistics.max_bytes_opt());
        assert_eq!(min, max);
        (
            String::from_utf8(min.unwrap().to_vec()).unwrap(),
            group.num_rows(),
        )
    });
    let ranges: Vec<_> = ranges.collect();
    let names = ["Mode", "Speed", "Sum"];
    assert_eq!(ranges, names.map(|name| (name.to_owned(), 70_000)));
    // Times, counters and names take a fraction of a plain row.
    assert!(summary.bytes < 210_000 * 8, "{}", summary.bytes);
}
