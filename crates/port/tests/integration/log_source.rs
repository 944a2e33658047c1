//! Replays candump logs: no good line is lost, no bad line does harm.

use frame::FrameBuf;
use frame::text::parse_line;
use port::log::{
    BadLines, FileFormat, InterfaceName, LogError, LogReader, LogSource, OnFull, ReplaySpeed,
    SourceConfig,
};
use port::{FrameInterest, PollReceive, Receive, RxReport};
use proptest::prelude::*;
use std::fs::File;
use std::io::{PipeWriter, Write};
use std::os::fd::OwnedFd;

const FAST: SourceConfig = SourceConfig {
    // Given, because there may be no line with a frame.
    format: Some(FileFormat::Log),
    interface: None,
    replay: ReplaySpeed::Fast,
    strict: false,
    on_full: OnFull::Wait,
};

fn file(bytes: &[u8]) -> File {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(bytes).unwrap();
    std::io::Seek::rewind(&mut file).unwrap();
    file
}

fn source(bytes: &[u8], config: SourceConfig) -> LogSource {
    LogSource::from_file("replay", "drive.log", file(bytes), config).unwrap()
}

fn piped(config: SourceConfig) -> (LogSource, PipeWriter) {
    let (reader, writer) = std::io::pipe().unwrap();
    let reader = File::from(OwnedFd::from(reader));
    let source = LogSource::from_file("replay", "a pipe", reader, config).unwrap();
    (source, writer)
}

/// Makes one call; returns the frames as text with their stamps.
fn take(source: &mut LogSource, now: u64, budget: usize) -> (Vec<String>, RxReport) {
    let mut out = Vec::new();
    let report = source
        .receive(now, budget, &mut |r| {
            out.push(format!("{}@{}:{}", r.frame, r.stamp.ns, r.token));
        })
        .unwrap();
    assert_eq!(report.frames, out.len());
    (out, report)
}

/// Calls the source until no more frames come.
fn drain(source: &mut LogSource, budget: usize) -> Vec<String> {
    let mut out = Vec::new();
    for _ in 0..1_000_000 {
        let (frames, report) = take(source, 0, budget);
        out.extend(frames);
        if report.finished {
            return out;
        }
        assert!(report.more, "a file never waits");
    }
    panic!("the source does not come to an end");
}

#[test]
fn frames_are_due_when_the_log_states() {
    let log = b"(100.000000) can0 001#\n(100.000500) can0 002#\n(100.002000) can0 003#\n";
    let config = SourceConfig {
        replay: ReplaySpeed::Scaled(2.0),
        ..FAST
    };
    let mut source = source(log, config);
    let start = 7_000_000;
    let (frames, report) = take(&mut source, start, 10);
    assert_eq!(frames, ["001#@100000000000:1"]);
    assert!(!report.more && !report.finished);
    assert_eq!(source.deadline(), Some(start + 250_000));
    assert!(take(&mut source, start + 249_999, 10).0.is_empty());
    assert_eq!(take(&mut source, start + 250_000, 10).0.len(), 1);
    // Late: the frame comes at once.
    let (frames, report) = take(&mut source, start + 9_000_000, 10);
    assert_eq!(frames.len(), 1);
    assert!(report.finished || take(&mut source, start + 9_000_000, 10).1.finished);
}

#[test]
fn a_budget_is_kept() {
    let log: String = (0..100)
        .map(|i| format!("({i}.0) can0 {i:03X}#\n"))
        .collect();
    let mut source = source(log.as_bytes(), FAST);
    let (frames, report) = take(&mut source, 0, 7);
    assert_eq!(frames.len(), 7);
    assert!(report.more);
    assert_eq!(take(&mut source, 0, 0).0.len(), 0);
    assert_eq!(drain(&mut source, 7).len(), 93);
}

#[test]
fn a_pipe_is_never_waited_for() {
    let (mut source, mut writer) = piped(FAST);
    let (frames, report) = take(&mut source, 0, 10);
    assert!(frames.is_empty() && !report.more && !report.finished);
    let wait = source.wait();
    assert!(wait.fd.is_some() && wait.readable && source.deadline().is_none());
    writer.write_all(b"(1.0) can0 123#11").unwrap();
    assert!(
        take(&mut source, 0, 10).0.is_empty(),
        "the line is not all there"
    );
    writer.write_all(b"22\r\n(1.5) ca").unwrap();
    assert_eq!(take(&mut source, 0, 10).0, ["123#1122@1000000000:1"]);
    writer.write_all(b"n0 00000123#R").unwrap();
    drop(writer);
    assert_eq!(drain(&mut source, 10), ["00000123#R@1500000000:2"]);
}

#[test]
fn bad_lines_are_counted_and_named() {
    let mut log = b"(1.0) can0 123#\nrubbish\n# a comment\n\n(2.0) can0 12#\n".to_vec();
    log.extend(vec![0xFF; 20_000]);
    log.extend_from_slice(b"\n(3.0) can0 124#");
    let mut source = source(&log, FAST);
    assert_eq!(drain(&mut source, 3).len(), 2);
    assert_eq!(source.counters().malformed, 3);
    let remarks = source.remarks();
    assert!(remarks[0].contains("drive.log: 3 bad lines"), "{remarks:?}");
    assert!(remarks[1].contains("line 2, column 1"), "{remarks:?}");
    assert!(remarks[2].contains("line 5, column"), "{remarks:?}");
    assert!(remarks[3].contains("line 6: longer than"), "{remarks:?}");
}

#[test]
fn many_bad_lines_are_counted_but_not_kept() {
    let log = "x\n".repeat(1000);
    let mut reader = LogReader::new(log.as_bytes(), "x").with_format(Some(FileFormat::Log));
    assert!(reader.by_ref().all(|line| line.is_err()));
    assert_eq!(reader.bad().count(), 1000);
    assert_eq!(reader.bad().first().len(), BadLines::KEPT);
}

#[test]
fn strict_stops_at_the_first() {
    let config = SourceConfig {
        strict: true,
        ..FAST
    };
    let mut source = source(
        b"(1.0) can0 123#\n(1.0) can0 123#1\n(2.0) can0 1#\n",
        config,
    );
    let mut taken = 0;
    let error = source.receive(0, 10, &mut |_| taken += 1).unwrap_err();
    assert_eq!(taken, 1);
    let text = error.to_string();
    assert!(
        text.starts_with("replay: drive.log: line 2, column 17"),
        "{text}"
    );
    assert!(take(&mut source, 0, 10).1.finished);
}

/// A replay that passes the line over would send what follows at the wrong time.
#[test]
fn a_line_to_wait_at_stops_the_replay() {
    let log = b"(1.0) can0 7DF#02\nwait can0 7E8 500ms\n(1.0) can0 123#\n";
    let mut source = source(log, FAST);
    let mut taken = 0;
    let error = source.receive(0, 10, &mut |_| taken += 1).unwrap_err();
    assert_eq!(taken, 1);
    assert_eq!(
        error.to_string(),
        "replay: drive.log: line 2: only `cangate demo --log` and `cangate run --simulate --replay` can wait for an \
         answer, as this line asks: play the log with one of them, or remove the line"
    );
    assert!(take(&mut source, 0, 10).1.finished);
}

#[test]
fn only_one_interface() {
    let config = SourceConfig {
        interface: InterfaceName::new("can1"),
        ..FAST
    };
    let mut source = source(b"(1.0) can0 1#\n(1.0) can0 001#\n(2.0) can1 002#\n", config);
    assert_eq!(drain(&mut source, 10), ["002#@2000000000:3"]);
    let remarks = source.remarks().join("\n");
    assert!(
        remarks.contains("1 frames of other interfaces than can1"),
        "{remarks}"
    );
}

#[test]
fn error_frames_only_where_they_are_wanted() {
    let log = b"(1.0) can0 20000080#0000000000000000\n(2.0) can0 123#\n";
    let mut plain = source(log, FAST);
    assert_eq!(drain(&mut plain, 10).len(), 1);
    assert_eq!(plain.counters().error_frames, 1);
    let mut wanted = source(log, FAST);
    let interest = FrameInterest {
        error_frames: true,
        ..FrameInterest::default()
    };
    wanted.set_interest(&interest).unwrap();
    assert_eq!(drain(&mut wanted, 10).len(), 2);
}

#[test]
fn what_cannot_be_opened_is_named() {
    let missing = std::path::Path::new("/nonexistent/drive.log");
    let error = LogSource::open("replay", missing, FAST).err().unwrap();
    assert!(
        error.to_string().contains("/nonexistent/drive.log"),
        "{error}"
    );
    assert!(matches!(
        LogReader::open(missing),
        Err(LogError::Read { .. })
    ));
    let folder = std::env::temp_dir();
    let error = LogSource::open("replay", &folder, FAST).err().unwrap();
    assert!(error.to_string().contains("is a directory"), "{error}");
}

/// A file that is not a log is refused as a source; a pipe fails when the bytes come.
#[test]
fn what_is_no_log_is_refused() {
    let any = SourceConfig {
        format: None,
        ..FAST
    };
    let error = LogSource::from_file("replay", "a.bin", file(&[0; 100_000]), any).err();
    let text = error.unwrap().to_string();
    assert!(
        text.contains("a.bin: not a log file: it begins with nothing but zero"),
        "{text}"
    );
    let (mut source, mut writer) = piped(any);
    writer.write_all(b"  can0  123   [2]  11 22\n").unwrap();
    let text = source.receive(0, 10, &mut |_| {}).unwrap_err().to_string();
    assert!(text.contains("without time stamps"), "{text}");
    assert!(take(&mut source, 0, 10).1.finished);
}

/// Other formats are replayed by the same port.
#[test]
fn another_format_is_replayed() {
    let any = SourceConfig {
        format: None,
        ..FAST
    };
    let asc = b"base hex timestamps absolute\n0.5 1 123 Rx d 2 11 22\n";
    let mut source = source(asc, any);
    assert_eq!(drain(&mut source, 10), ["123#1122@500000000:2"]);
}

/// Generates good and bad lines, without their ends. The first one is good: the first bytes of a
/// file state how it is packed and its encoding, and random ones can name another one than a log's.
fn lines() -> impl Strategy<Value = Vec<Vec<u8>>> {
    let good = (
        0u64..1 << 33,
        0u64..1_000_000,
        0u32..0x800,
        any::<[u8; 8]>(),
        0usize..9,
    )
        .prop_map(|(s, us, id, data, n)| {
            let hex: String = data[..n].iter().map(|b| format!("{b:02X}")).collect();
            format!("({s:010}.{us:06}) can0 {id:03X}#{hex}").into_bytes()
        });
    let garbage = prop::collection::vec(any::<u8>(), 0..60);
    let nearly = (good.clone(), any::<prop::sample::Index>(), any::<u8>()).prop_map(
        |(mut line, at, byte)| {
            let at = at.index(line.len());
            line[at] = byte;
            line
        },
    );
    let long = (8_000usize..20_000).prop_map(|n| vec![b'('; n]);
    let line = prop_oneof![6 => good.clone(), 3 => nearly, 3 => garbage, 1 => long];
    let line = line.prop_map(|mut line| {
        line.retain(|b| *b != b'\n');
        line
    });
    (good, prop::collection::vec(line, 0..40)).prop_map(|(first, mut rest)| {
        rest.insert(0, first);
        rest
    })
}

/// Splits a text at the line ends of any system: `\n`, `\r` alone, and up to seven `\r` before a
/// `\n`. A line has no byte order mark or end-of-file character before its text, nor the last one,
/// if it has no line end, such a character behind it.
fn split(bytes: &[u8]) -> Vec<Vec<u8>> {
    let (mut lines, mut line, mut at) = (Vec::new(), Vec::new(), 0);
    while at < bytes.len() {
        let returns = bytes[at..].iter().take(8).take_while(|b| **b == b'\r');
        let returns = returns.count();
        let is_feed = bytes.get(at + returns) == Some(&b'\n') && returns < 8;
        if is_feed || returns > 0 {
            at += if is_feed { returns + 1 } else { 1 };
            lines.push(std::mem::take(&mut line));
        } else {
            line.push(bytes[at]);
            at += 1;
        }
    }
    if !line.is_empty() {
        if line.last() == Some(&0x1A) && line.len() <= logs::MAX_LINE {
            line.pop();
        }
        lines.push(line);
    }
    for line in lines.iter_mut().filter(|line| line.len() <= logs::MAX_LINE) {
        while let Some(mark) = [&b"\xEF\xBB\xBF"[..], b"\x1A"]
            .iter()
            .find(|m| line.starts_with(m))
        {
            line.drain(..mark.len());
        }
    }
    lines
}

/// Reads each line separately: returns frames with their line numbers, and the number of bad lines.
fn one_by_one(lines: &[Vec<u8>]) -> (Vec<String>, u64) {
    let mut buf = FrameBuf::new();
    let (mut frames, mut bad) = (Vec::new(), 0);
    for (i, line) in lines.iter().enumerate() {
        if line.len() > logs::MAX_LINE {
            bad += 1;
            continue;
        }
        match parse_line(line, &mut buf) {
            Ok(Some(entry)) => {
                frames.push(format!("{}@{}:{}", buf.view(), entry.stamp, i + 1));
            }
            Ok(None) => {}
            Err(_) => bad += 1,
        }
    }
    (frames, bad)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    /// Checks that, among any invalid lines, every good line is replayed, in its order, and every
    /// bad one is counted.
    #[test]
    fn no_good_line_is_lost(
        lines in lines(), crlf in any::<bool>(), closed in any::<bool>(), budget in 1usize..20,
    ) {
        let mut bytes = lines.join(if crlf { &b"\r\n"[..] } else { b"\n" });
        if closed {
            bytes.push(b'\n');
        }
        let (frames, bad) = one_by_one(&split(&bytes));
        let wanted = FrameInterest { error_frames: true, ..FrameInterest::default() };

        let mut source = source(&bytes, FAST);
        source.set_interest(&wanted).unwrap();
        prop_assert_eq!(drain(&mut source, budget), frames.clone());
        prop_assert_eq!(source.counters().malformed, bad);

        let mut reader = LogReader::new(&bytes[..], "log").with_format(Some(FileFormat::Log));
        let read: Vec<String> = reader.by_ref().flatten().map(|entry| {
            format!("{}@{}:{}", entry.frame.view(), entry.logged.ns, entry.logged.place.number())
        }).collect();
        prop_assert_eq!(read, frames);
        prop_assert_eq!(reader.bad().count(), bad);
    }

    /// Checks the same for any division of the bytes into pieces by a pipe.
    #[test]
    fn no_good_line_is_lost_in_a_pipe(lines in lines(), step in 1usize..3000) {
        let bytes = lines.join(&b'\n');
        let (frames, _) = one_by_one(&split(&bytes));
        let (mut source, mut writer) = piped(FAST);
        source.set_interest(&FrameInterest { error_frames: true, ..FrameInterest::default() }).unwrap();
        let mut got = Vec::new();
        for piece in bytes.chunks(step) {
            writer.write_all(piece).unwrap();
            loop {
                let (frames, report) = take(&mut source, 0, 8);
                got.extend(frames);
                if !report.more {
                    break;
                }
            }
        }
        drop(writer);
        got.extend(drain(&mut source, 8));
        prop_assert_eq!(got, frames);
    }
}
