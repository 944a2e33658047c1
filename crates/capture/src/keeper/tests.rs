use super::*;
use crate::chunk::RecordedFrame;
use crate::file::RotationRule;
use crate::form::CaptureOutput;
use crate::names::InterfaceNames;
use proptest::prelude::*;
use std::fs;
use std::path::Path;

const SECOND: u64 = 1_000_000_000;

fn push(chunk: &mut Chunk, id: u32, stamp: u64) {
    let mut bytes = [0; 16];
    bytes[..4].copy_from_slice(&id.to_ne_bytes());
    chunk.push(&RecordedFrame {
        stamp,
        interface: 0,
        direction: None,
        bytes: &bytes,
    });
}

fn keeper(dir: &Path, before: u64, after: u64, memory: u64, triggers: &str) -> FrameKeeper {
    let names = InterfaceNames::default();
    names.place("can0");
    let output = CaptureOutput::from_path(&dir.join("f.log"), None).unwrap();
    let recorder = FileRecorder::new(&output, RotationRule::default(), &names, 0, true).unwrap();
    let settings = KeepRule {
        before: Duration::from_nanos(before),
        after: Duration::from_nanos(after),
        memory,
        triggers: CaptureTrigger::list(triggers).unwrap(),
    };
    FrameKeeper::new(settings, recorder)
}

/// Returns the stamps of a file's frames.
fn stamps(path: &Path) -> Vec<u64> {
    let mut buf = frame::FrameBuf::new();
    let text = fs::read_to_string(path).unwrap();
    let entry = |line: &str| {
        frame::text::parse_line(line.as_bytes(), &mut buf)
            .unwrap()
            .map(|e| e.stamp)
    };
    text.lines().filter_map(entry).collect()
}

fn files(dir: &Path) -> Vec<PathBuf> {
    let mut all: Vec<_> = fs::read_dir(dir)
        .unwrap()
        .map(|f| f.unwrap().path())
        .collect();
    all.sort();
    all
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn the_files_are_the_time_around_triggers(
        steps in prop::collection::vec((0_u64..4, prop::bool::weighted(0.1)), 1..80),
        before in 0_u64..8, after in 0_u64..6,
    ) {
        let dir = tempfile::tempdir().unwrap();
        let mut keeper = keeper(dir.path(), before * SECOND, after * SECOND, 1 << 30, "7FF");
        // The reference: for each file its first and last stamp, from the triggers.
        let (mut at, mut frames, mut spans) = (100 * SECOND, Vec::new(), Vec::<(u64, u64)>::new());
        for (step, trigger) in &steps {
            at += step * SECOND;
            frames.push(at);
            if *trigger {
                match spans.last_mut() {
                    Some((_, until)) if at <= *until => *until = at + after * SECOND,
                    _ => spans.push((at - before * SECOND, at + after * SECOND)),
                }
            }
            let mut chunk = Chunk::with_room();
            push(&mut chunk, if *trigger { 0x7FF } else { 0x100 }, at);
            keeper.take(&chunk, at);
        }
        keeper.end();
        let found = files(dir.path());
        prop_assert_eq!(found.len(), spans.len());
        for (file, (from, until)) in found.iter().zip(&spans) {
            let expected: Vec<_> = frames.iter().copied().filter(|s| s >= from && s <= until).collect();
            prop_assert_eq!(stamps(file), expected);
        }
    }
}

#[test]
fn memory_is_bounded_and_too_little_of_it_is_reported() {
    let dir = tempfile::tempdir().unwrap();
    let mut keeper = keeper(dir.path(), 3600 * SECOND, 0, 1 << 20, "signal");
    for n in 0..200_000_u64 {
        let mut chunk = Chunk::default();
        push(&mut chunk, 1, n * SECOND / 1000);
        keeper.take(&chunk, 0);
    }
    let bytes: usize = keeper.kept.iter().map(|kept| kept.chunk.len()).sum();
    assert!(bytes <= 1 << 20, "{bytes}");
    keeper.signal(200 * SECOND, 0);
    let remarks = keeper.recorder().take_remarks();
    assert!(
        matches!(remarks[0], RecorderRemark::Short(20..40)),
        "{remarks:?}"
    );
    assert!(
        matches!(&remarks[1], RecorderRemark::Triggered { by, extended: false, .. } if by == "signal")
    );
    // A silent bus ends the file, too.
    keeper.tick(1);
    assert!(keeper.open.is_some());
    let due = keeper.due().unwrap();
    keeper.tick(due.max(2 * SECOND));
    assert!(keeper.open.is_none());
    assert!(stamps(&files(dir.path())[0]).len() > 20_000);
}
