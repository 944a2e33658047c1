//! The files that a log is written to: the treatment of existing content, and its time.

use frame::{CanId, Frame};
use port::log::{FileFormat, LogReader, LogSettings, RotationRule};
use port::{FileOrStream, Halves, OutgoingFrame, PollTransmit, PortOpener, PortSpec};
use proptest::prelude::*;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

const OLD: &str = "(1.000000) can0 7FF#0D\n";

fn open(opener: &mut PortOpener, path: &Path, settings: LogSettings) -> Box<dyn PollTransmit> {
    let settings = LogSettings {
        write: Some(FileOrStream::File(path.to_owned())),
        interface: Some("can0".to_owned()),
        ..settings
    };
    let (_, tx): Halves = PortSpec::new("out", settings).open(opener).unwrap();
    tx
}

/// Returns a sink of a start that has succeeded.
fn started(path: &Path, settings: LogSettings) -> Box<dyn PollTransmit> {
    let mut opener = PortOpener::new(0, 0);
    let tx = open(&mut opener, path, settings);
    opener.start().unwrap();
    tx
}

/// Sends frames with these numbers as payload.
fn send(tx: &mut dyn PollTransmit, now: u64, numbers: std::ops::Range<u32>) {
    for number in numbers {
        let frame = Frame::classic(CanId::from_raw(0x123), &number.to_be_bytes()).unwrap();
        tx.transmit(now, OutgoingFrame::new(frame.view(), 0))
            .unwrap();
    }
}

fn numbers(bytes: &[u8]) -> Vec<u32> {
    // A file without a frame yet is a log, too, so the format is given.
    let reader = LogReader::new(bytes, "a log").with_format(Some(FileFormat::Log));
    let frames = reader.map(|entry| entry.unwrap().frame);
    let number = |data: &[u8]| u32::from_be_bytes(data.try_into().unwrap());
    frames.map(|frame| number(frame.view().data())).collect()
}

/// Returns the files of a log, the oldest first.
fn files(path: &Path) -> Vec<PathBuf> {
    let prefix = format!("{}.", path.file_name().unwrap().to_str().unwrap());
    let entries = fs::read_dir(path.parent().unwrap()).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    let mut old: Vec<PathBuf> = paths
        .filter(|p| {
            p.file_name()
                .unwrap()
                .to_str()
                .unwrap()
                .starts_with(&prefix)
        })
        .collect();
    old.sort();
    old.push(path.to_owned());
    old
}

#[test]
fn a_start_that_fails_leaves_everything_as_it_was() {
    let dir = tempfile::tempdir().unwrap();
    let there = dir.path().join("there.log");
    fs::write(&there, OLD).unwrap();
    let absent = dir.path().join("absent.log");
    let (link, dangling) = (dir.path().join("link"), dir.path().join("dangling"));
    symlink(&there, &link).unwrap();
    symlink(dir.path().join("target.log"), &dangling).unwrap();
    let rotate = LogSettings {
        rotate: Some(RotationRule {
            size: Some(4096),
            ..RotationRule::default()
        }),
        ..LogSettings::default()
    };
    for path in [&there, &absent, &link, &dangling] {
        for settings in [LogSettings::default(), rotate.clone()] {
            let mut opener = PortOpener::new(0, 0);
            let sink = open(&mut opener, path, settings.clone());
            opener.give_up();
            drop(sink);
            // The same, if the whole run ends.
            let mut opener = PortOpener::new(0, 0);
            let sink = open(&mut opener, path, settings);
            drop(opener);
            drop(sink);
        }
    }
    assert_eq!(fs::read_to_string(&there).unwrap(), OLD);
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 3, "nothing new");
}

#[test]
fn a_start_that_succeeds_begins_the_log_anew_behind_a_link_too() {
    let dir = tempfile::tempdir().unwrap();
    let there = dir.path().join("there.log");
    fs::write(&there, OLD).unwrap();
    let link = dir.path().join("link.log");
    symlink(&there, &link).unwrap();
    let mut opener = PortOpener::new(0, 0);
    let mut sink = open(&mut opener, &link, LogSettings::default());
    assert_eq!(fs::read_to_string(&there).unwrap(), OLD);
    opener.start().unwrap();
    assert_eq!(fs::read_to_string(&there).unwrap(), "");
    send(&mut *sink, 0, 0..3);
    sink.flush(0).unwrap();
    assert_eq!(numbers(&fs::read(&there).unwrap()), [0, 1, 2]);
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
}

#[test]
fn append_goes_on_behind_what_is_there_and_glues_nothing_to_half_a_line() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("out.log");
    let line = |n: u32| format!("(0000000000.000000) can0 123#{n:08X}\n");
    for (before, between) in [("", ""), (OLD, ""), ("(1.000000) can0 7FF#0", "\n")] {
        fs::write(&path, before).unwrap();
        let settings = LogSettings {
            append: true,
            ..LogSettings::default()
        };
        let mut sink = started(&path, settings);
        assert_eq!(
            fs::read_to_string(&path).unwrap(),
            before,
            "no frame, no change"
        );
        send(&mut *sink, 0, 0..2);
        sink.flush(0).unwrap();
        let expected = format!("{before}{between}{}{}", line(0), line(1));
        assert_eq!(fs::read_to_string(&path).unwrap(), expected);
        assert_eq!(sink.counters().sent, 2);
    }
}

#[test]
fn a_divided_log_keeps_what_an_earlier_run_wrote() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("out.log");
    fs::write(&path, OLD).unwrap();
    // Files of other programs: neither counted nor touched.
    fs::write(dir.path().join("out.log.gz"), "x").unwrap();
    fs::write(dir.path().join("out.log.7"), "x").unwrap();
    fs::write(dir.path().join("out.log.000041"), OLD).unwrap();
    let settings = |append| LogSettings {
        append,
        rotate: Some(RotationRule {
            every: Some(10),
            keep: Some(2),
            ..RotationRule::default()
        }),
        ..LogSettings::default()
    };
    let read = |name: &str| fs::read(dir.path().join(name)).unwrap();
    let mut sink = started(&path, settings(false));
    send(&mut *sink, 0, 0..1);
    sink.flush(5).unwrap();
    assert_eq!(read("out.log.000042"), OLD.as_bytes());
    send(&mut *sink, 0, 1..2);
    sink.flush(14).unwrap();
    assert_eq!(numbers(&read("out.log")), [0, 1]);
    assert!(dir.path().join("out.log.000041").exists());
    send(&mut *sink, 0, 2..3);
    sink.flush(15).unwrap();
    assert_eq!(numbers(&read("out.log.000043")), [0, 1]);
    assert_eq!(numbers(&read("out.log")), [2]);
    assert!(!dir.path().join("out.log.000041").exists(), "two are kept");
    assert!(dir.path().join("out.log.gz").exists() && dir.path().join("out.log.7").exists());
    // With `append`, the present file is continued.
    let mut sink = started(&path, settings(true));
    send(&mut *sink, 0, 3..4);
    sink.flush(0).unwrap();
    assert_eq!(numbers(&read("out.log")), [2, 3]);
    assert_eq!(sink.remarks(), [""; 0]);
}

#[test]
fn a_file_that_cannot_be_exchanged_is_used_on_and_that_is_reported() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("logs");
    fs::create_dir(&folder).unwrap();
    let path = folder.join("out.log");
    let settings = LogSettings {
        rotate: Some(RotationRule {
            size: Some(100),
            ..RotationRule::default()
        }),
        ..LogSettings::default()
    };
    let mut sink = started(&path, settings);
    send(&mut *sink, 0, 0..1);
    sink.flush(0).unwrap();
    // The folder is removed, the open file stays.
    let kept = dir.path().join("kept.log");
    fs::hard_link(&path, &kept).unwrap();
    fs::remove_dir_all(&folder).unwrap();
    send(&mut *sink, 0, 1..1000);
    let report = sink.flush(1).unwrap();
    assert_eq!((report.sent, report.held), (999, 0));
    assert_eq!(
        numbers(&fs::read(&kept).unwrap()),
        (0..1000).collect::<Vec<_>>()
    );
    let remarks = sink.remarks().join("\n");
    assert!(remarks.contains("out.log: 1 times"), "{remarks}");
    // The sink tries again some time later.
    fs::create_dir(&folder).unwrap();
    send(&mut *sink, 0, 1000..1001);
    sink.flush(11_000_000_000).unwrap();
    assert_eq!(numbers(&fs::read(&path).unwrap()), [1000]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(debug_assertions) { 100 } else { 1000 }))]

    /// Checks that all files, one after the other, have the frames that were sent: whole, in
    /// order, once. No file exceeds the maximum size, nor the maximum time of its lines.
    #[test]
    fn a_divided_log_is_the_undivided_one(
        size in prop::option::of(1_u64..400),
        every in prop::option::of(1_u64..50),
        batches in prop::collection::vec((0_u32..40, 0_u64..20), 1..12),
        earlier in any::<bool>(),
    ) {
        prop_assume!(size.is_some() || every.is_some());
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("out.log");
        if earlier {
            fs::write(&path, "(0.000000) can0 123#FFFFFFFF\n").unwrap();
        }
        let rotate = Some(RotationRule { size, every, keep: None });
        let mut sink = started(&path, LogSettings { rotate, ..LogSettings::default() });
        let (mut now, mut sent) = (0, 0);
        for (frames, pause) in batches {
            send(&mut *sink, now * 1000, sent..sent + frames);
            sent += frames;
            prop_assert_eq!(sink.flush(now).unwrap().held, 0);
            now += pause;
        }
        prop_assert_eq!(sink.counters().sent, u64::from(sent));
        drop(sink);
        let mut all = Vec::new();
        for file in files(&path) {
            let bytes = fs::read(&file).unwrap();
            let lines = bytes.iter().filter(|byte| **byte == b'\n').count();
            if let Some(size) = size {
                prop_assert!(bytes.len() as u64 <= size || lines == 1, "{}", bytes.len());
            }
            let stamps: Vec<u64> = LogReader::new(&bytes[..], "f").with_format(Some(FileFormat::Log))
                .map(|entry| entry.unwrap().logged.ns)
                .collect();
            if let (Some(every), Some(first), Some(last)) = (every, stamps.first(), stamps.last()) {
                prop_assert!(last - first < every * 1000);
            }
            all.extend(bytes);
        }
        let before = earlier.then_some(u32::MAX);
        let expected: Vec<u32> = before.into_iter().chain(0..sent).collect();
        // If nothing was sent, a single old file is still the present one.
        prop_assert_eq!(numbers(&all), expected);
    }
}
