use super::*;
use crate::chunk::RecordedFrame;
use proptest::prelude::*;
use std::fs;
use std::path::Path;
use std::time::Duration;

/// A classic frame whose payload is its number.
fn push(chunk: &mut Chunk, number: u32, stamp: u64) {
    let mut bytes = [0; 16];
    bytes[..4].copy_from_slice(&0x123_u32.to_ne_bytes());
    bytes[4] = 4;
    bytes[8..12].copy_from_slice(&number.to_be_bytes());
    chunk.push(&RecordedFrame {
        stamp,
        interface: 0,
        direction: None,
        bytes: &bytes,
    });
}

fn names() -> InterfaceNames {
    let names = InterfaceNames::default();
    names.place("can0");
    names
}

/// Returns the numbers of the frames in a log.
fn numbers(path: &Path) -> Vec<u32> {
    let mut buf = frame::FrameBuf::new();
    let text = fs::read(path).unwrap();
    let lines = text.split_inclusive(|b| *b == b'\n');
    lines
        .filter_map(|line| {
            let line = line.strip_suffix(b"\n").expect("whole lines");
            frame::text::parse_line(line, &mut buf).unwrap()?;
            Some(u32::from_be_bytes(buf.view().data().try_into().unwrap()))
        })
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn over_all_files_every_frame_is_there_once_and_in_order(
        size in 4096_u64..20_000, chunks in prop::collection::vec((1_u32..200, 0_u64..3), 1..12),
        every in prop::option::of(1_u64..6),
    ) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.log");
        let output = CaptureOutput::from_path(&path, None).unwrap();
        let rotate = RotationRule { size: Some(size), every: every.map(Duration::from_secs), keep: None };
        let mut recorder = FileRecorder::new(&output, rotate, &names(), 0, false).unwrap();
        let (mut number, mut now) = (0, 0);
        for (frames, seconds) in chunks {
            let mut chunk = Chunk::with_room();
            for _ in 0..frames {
                push(&mut chunk, number, u64::from(number));
                number += 1;
            }
            now += seconds * 1_000_000_000;
            recorder.take(&chunk, now);
        }
        recorder.end();
        prop_assert_eq!(recorder.done().frames, u64::from(number));
        prop_assert_eq!(recorder.take_remarks(), []);
        let mut files: Vec<_> = fs::read_dir(dir.path()).unwrap().map(|f| f.unwrap().path()).collect();
        // The present one has the smallest name and the newest frames.
        files.sort();
        prop_assert_eq!(files.len() as u64, recorder.done().files);
        let present = files.iter().position(|f| *f == path).unwrap();
        let present = files.remove(present);
        files.push(present);
        let mut found = Vec::new();
        for file in &files {
            prop_assert!(fs::metadata(file).unwrap().len() <= size);
            found.extend(numbers(file));
        }
        prop_assert_eq!(found, (0..number).collect::<Vec<_>>());
    }
}

/// The number of bytes is that of the files, including their ends, in each format; also for a file
/// that another program has removed.
#[test]
fn bytes_are_those_of_the_files_and_one_that_was_taken_away_is_begun_anew() {
    for ending in ["log", "asc", "pcapng", "pcapng.gz", "parquet"] {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(format!("a.{ending}"));
        let moved = dir.path().join("moved");
        let output = CaptureOutput::from_path(&path, None).unwrap();
        let mut recorder =
            FileRecorder::new(&output, RotationRule::default(), &names(), 0, false).unwrap();
        let record = |recorder: &mut FileRecorder, second: u64| {
            let mut chunk = Chunk::with_room();
            push(&mut chunk, 1, second);
            recorder.take(&chunk, second * 1_000_000_000);
            recorder.flush();
        };
        record(&mut recorder, 1);
        let len = |path: &Path| fs::metadata(path).unwrap().len();
        assert_eq!(recorder.done().bytes, len(&path), "{ending}");
        fs::rename(&path, &moved).unwrap();
        record(&mut recorder, 3);
        record(&mut recorder, 5);
        recorder.end();
        assert_eq!(recorder.take_remarks(), [RecorderRemark::Gone], "{ending}");
        assert_eq!((recorder.done().files, recorder.done().frames), (2, 3));
        assert_eq!(recorder.done().bytes, len(&path) + len(&moved), "{ending}");
    }
}

/// A disk that is full and has room again: the reported number of bytes is that of the file.
#[test]
fn bytes_of_a_file_that_did_not_fit_are_not_counted() {
    use std::os::fd::AsRawFd as _;
    let memory = rustix::fs::memfd_create("disk", rustix::fs::MemfdFlags::ALLOW_SEALING).unwrap();
    rustix::fs::ftruncate(&memory, 1000).unwrap();
    // Beyond 1000 bytes each write fails, as on a disk without room.
    rustix::fs::fcntl_add_seals(
        &memory,
        rustix::fs::SealFlags::GROW | rustix::fs::SealFlags::SHRINK,
    )
    .unwrap();
    let path = format!("/proc/self/fd/{}", memory.as_raw_fd());
    let file = fs::File::options().write(true).open(path).unwrap();
    let output =
        CaptureOutput::from_path(Path::new("/dev/null"), Some(logs::FileFormat::Log)).unwrap();
    let mut recorder =
        FileRecorder::new(&output, RotationRule::default(), &names(), 0, false).unwrap();
    recorder.target = OutputTarget::of_file(file);
    let mut lines = |n: u32| {
        let mut chunk = Chunk::with_room();
        (0..n).for_each(|n| push(&mut chunk, n, 0));
        recorder.take(&chunk, 0);
        recorder.flush();
        (
            recorder.done().bytes,
            recorder.done().lost.iter().sum::<u64>(),
        )
    };
    let line = "(0000000000.000000) can0 123#00000000\n".len() as u64;
    assert_eq!(lines(4), (4 * line, 0));
    assert_eq!(lines(30), (4 * line, 30));
    // The rest of the file is the note about these frames, and the line.
    let (bytes, lost) = lines(1);
    assert!(
        bytes > 5 * line && bytes <= 1000 && lost == 30,
        "{bytes} {lost}"
    );
}

#[test]
fn only_the_newest_old_files_stay() {
    let dir = tempfile::tempdir().unwrap();
    let output = CaptureOutput::from_path(&dir.path().join("a.pcapng.gz"), None).unwrap();
    let rotate = RotationRule {
        size: None,
        every: Some(Duration::from_secs(1)),
        keep: Some(2),
    };
    let mut recorder = FileRecorder::new(&output, rotate, &names(), 0, false).unwrap();
    for second in 0..8 {
        let mut chunk = Chunk::with_room();
        push(&mut chunk, 0, 0);
        recorder.take(&chunk, second * 1_500_000_000);
    }
    recorder.end();
    let mut files: Vec<_> = fs::read_dir(dir.path())
        .unwrap()
        .map(|f| f.unwrap().file_name().into_string().unwrap())
        .collect();
    files.sort();
    assert_eq!(
        files,
        ["a.000006.pcapng.gz", "a.000007.pcapng.gz", "a.pcapng.gz"]
    );
}

#[test]
fn frames_that_cannot_be_written_are_counted_by_interface_and_reported_once() {
    let output =
        CaptureOutput::from_path(Path::new("/dev/full"), Some(logs::FileFormat::Log)).unwrap();
    let mut recorder =
        FileRecorder::new(&output, RotationRule::default(), &names(), 0, false).unwrap();
    for round in 0..3 {
        let mut chunk = Chunk::with_room();
        for n in 0..10 {
            push(&mut chunk, n, 0);
        }
        recorder.take(&chunk, round * 2_000_000_000);
        recorder.tick(round * 2_000_000_000 + 1_000_000_000);
    }
    recorder.end();
    assert_eq!(
        (recorder.done().frames, recorder.done().lost.as_slice()),
        (0, &[30][..])
    );
    let remarks = recorder.take_remarks();
    assert!(matches!(remarks.as_slice(), [RecorderRemark::Failing(why)] if why.contains("space")));
}

#[test]
fn what_was_flushed_is_in_the_file_before_the_end() {
    let parquet = cfg!(feature = "parquet").then_some("parquet");
    for ending in ["log", "pcapng"].into_iter().chain(parquet) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(format!("a.{ending}"));
        let output = CaptureOutput::from_path(&path, None).unwrap();
        let mut recorder =
            FileRecorder::new(&output, RotationRule::default(), &names(), 0, false).unwrap();
        let begin = fs::metadata(&path).unwrap().len();
        let mut chunk = Chunk::with_room();
        push(&mut chunk, 1, 5);
        recorder.take(&chunk, 0);
        assert_eq!(fs::metadata(&path).unwrap().len(), begin, "{ending}");
        let due = recorder.due().unwrap();
        assert_eq!(due, output.format.flush_every().as_nanos() as u64);
        recorder.tick(due - 1);
        assert_eq!(fs::metadata(&path).unwrap().len(), begin, "{ending}");
        recorder.tick(due);
        let len = fs::metadata(&path).unwrap().len();
        assert!(len > begin && recorder.due().is_none(), "{ending}");
    }
}
