//! Writing candump logs: whole lines only, and errors that name the file.

use frame::{CanId, Frame, FrameBuf, Header, Kind, XlFields, flags};
use port::log::{InterfaceName, LogReader, LogSink, SinkConfig};
use port::{
    OutgoingFrame, PollTransmit, PortError, ReceiveStamp, StampSource, Transmit, TransmitRefusal,
    TxCounters,
};
use std::fs::File;
use std::io::{PipeReader, Read};
use std::os::fd::OwnedFd;
use std::path::Path;

const CONFIG: fn() -> SinkConfig = || SinkConfig {
    interface: InterfaceName::new("can0").unwrap(),
    epoch: 0,
};

fn frame(id: u32, data: &[u8]) -> Frame {
    Frame::classic(CanId::from_raw(id), data).unwrap()
}

fn adds_up(counters: TxCounters) -> bool {
    counters.taken == counters.sent + counters.lost + counters.held
}

/// Returns the operating system's error behind a port's error.
fn cause(error: PortError) -> std::io::ErrorKind {
    let source = error.source.unwrap();
    source.downcast::<std::io::Error>().unwrap().kind()
}

fn piped() -> (LogSink, PipeReader) {
    let (reader, writer) = std::io::pipe().unwrap();
    let file = File::from(OwnedFd::from(writer));
    (LogSink::from_file("out", "a pipe", file, CONFIG()), reader)
}

/// The log is moved as logrotate does, and removed as a careless `rm` does.
#[test]
fn a_log_that_is_moved_away_or_removed_goes_on_in_a_new_file() {
    const SECOND: u64 = 1_000_000_000;
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("out.log");
    let old = dir.path().join("out.log.1");
    let config = SinkConfig {
        interface: InterfaceName::new("can0").unwrap(),
        epoch: 0,
    };
    let mut sink = LogSink::create("out", &path, config).unwrap();
    let mut send = |now: u64| {
        let frame = Frame::classic(CanId::from_raw(0x123), &[]).unwrap();
        sink.transmit(now, OutgoingFrame::new(frame.view(), 0))
            .unwrap();
        sink.flush(now).unwrap();
        Transmit::remarks(&sink).join("")
    };
    let lines = |path: &std::path::Path| std::fs::read_to_string(path).unwrap().lines().count();
    assert_eq!(send(SECOND), "");
    std::fs::rename(&path, &old).unwrap();
    // The sink checks once a second.
    assert_eq!(send(SECOND + 1), "");
    assert_eq!(lines(&old), 2);
    assert!(send(2 * SECOND).contains("removed or moved"));
    assert_eq!((lines(&old), lines(&path)), (2, 1));
    std::fs::remove_file(&path).unwrap();
    // The log is appended to a file that another program has put there.
    std::fs::write(&path, "one line\n").unwrap();
    assert!(send(3 * SECOND).contains("2 times"));
    assert_eq!((lines(&old), lines(&path)), (2, 2));
    // If no new file can be made, the frames go into the old one.
    std::fs::remove_file(&path).unwrap();
    std::fs::create_dir(&path).unwrap();
    assert!(send(4 * SECOND).contains("a new file cannot be created"));
    std::fs::remove_dir(&path).unwrap();
    assert!(send(14 * SECOND).contains("3 times"));
    assert_eq!(lines(&path), 1);
}

#[test]
fn byte_for_byte_as_candump_writes_it() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("out.log");
    let config = SinkConfig {
        epoch: 1_700_000_000_000_000_000,
        ..CONFIG()
    };
    let mut sink = LogSink::create("out", &path, config).unwrap();
    let classic = frame(0x123, &[0xDE, 0xAD]);
    let fd = Frame::fd(CanId::eff(0x123).unwrap(), flags::BRS, &[1; 12]).unwrap();
    let remote = Frame::remote(CanId::sff(7).unwrap(), 8).unwrap();
    let mut xl = FrameBuf::new();
    xl.reset(
        Header::new(Kind::Xl, CanId::from_raw(0x45), 2048)
            .unwrap()
            .with_xl(XlFields::default()),
    );
    let stamp = ReceiveStamp {
        ns: 5_000_001_999,
        source: StampSource::Log,
    };
    sink.transmit(12_345_678, OutgoingFrame::new(classic.view(), 0))
        .unwrap();
    sink.transmit(12_345_678, OutgoingFrame::new(fd.view(), 0))
        .unwrap();
    let kept = OutgoingFrame {
        stamp: Some(stamp),
        ..OutgoingFrame::new(remote.view(), 0)
    };
    sink.transmit(12_345_678, kept).unwrap();
    sink.transmit(12_345_678, OutgoingFrame::new(xl.view(), 0))
        .unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), b"", "written by flush");
    let report = sink.flush(12_345_678).unwrap();
    assert_eq!((report.sent, report.held), (4, 0));
    let text = std::fs::read_to_string(&path).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "(1700000000.012345) can0 123#DEAD");
    assert_eq!(
        lines[1],
        "(1700000000.012345) can0 00000123##5010101010101010101010101"
    );
    assert_eq!(lines[2], "(0000000005.000001) can0 007#R8");
    assert_eq!(lines.len(), 4);
    assert!(text.ends_with("00\n"));
    let back: Vec<FrameBuf> = LogReader::open(&path)
        .unwrap()
        .map(|entry| entry.unwrap().frame)
        .collect();
    assert_eq!(back[3].view(), xl.view());
    assert_eq!(back[1].view(), fd.view());
}

#[test]
fn a_full_disk_is_an_error_that_names_the_file() {
    let mut sink = LogSink::create("out", Path::new("/dev/full"), CONFIG()).unwrap();
    for id in 0..3 {
        sink.transmit(0, OutgoingFrame::new(frame(id, &[]).view(), 0))
            .unwrap();
    }
    let error = sink.flush(0).unwrap_err();
    let text = error.to_string();
    assert!(
        text.contains("/dev/full") && text.contains("3 frames are lost"),
        "{text}"
    );
    assert_eq!(cause(error), std::io::ErrorKind::StorageFull);
    let refused = sink.transmit(0, OutgoingFrame::new(frame(4, &[]).view(), 0));
    assert_eq!(refused, Err(TransmitRefusal::Down));
    let counters = sink.counters();
    assert_eq!((counters.taken, counters.lost, counters.held), (3, 3, 0));
    assert!(sink.flush(0).is_ok(), "said once");
}

#[test]
fn a_reader_that_is_gone_is_an_error() {
    let (mut sink, reader) = piped();
    drop(reader);
    sink.transmit(0, OutgoingFrame::new(frame(1, &[]).view(), 0))
        .unwrap();
    let error = sink.flush(0).unwrap_err();
    assert!(
        error.to_string().contains("the reader of a pipe is gone"),
        "{error}"
    );
    assert_eq!(cause(error), std::io::ErrorKind::BrokenPipe);
    assert!(adds_up(sink.counters()));
}

#[test]
fn a_slow_reader_holds_frames_up_and_loses_none() {
    let (mut sink, mut reader) = piped();
    let mut text = Vec::new();
    let (mut accepted, mut stalled) = (0u64, false);
    for round in 0..3000u64 {
        for i in 0..4 {
            let data = (round * 4 + i).to_be_bytes();
            let taken = sink.transmit(round, OutgoingFrame::new(frame(0x100, &data).view(), 0));
            accepted += u64::from(taken.is_ok());
        }
        let report = sink.flush(round).unwrap();
        assert!(adds_up(sink.counters()));
        if report.held > 0 {
            stalled = true;
            let wait = sink.wait();
            assert!(wait.writable && wait.fd.is_some());
        }
        if round % 500 == 499 {
            let mut piece = vec![0; 40_000];
            let n = reader.read(&mut piece).unwrap();
            text.extend_from_slice(&piece[..n]);
        }
    }
    assert!(stalled, "the pipe was never full: this test shows nothing");
    // Read the bytes that are there until all are out. A pipe that is empty would block, so flush
    // first.
    while sink.flush(0).unwrap().held > 0 {
        let mut piece = vec![0; 40_000];
        let n = reader.read(&mut piece).unwrap();
        text.extend_from_slice(&piece[..n]);
    }
    assert_eq!(sink.counters().sent, accepted);
    drop(sink);
    reader.read_to_end(&mut text).unwrap();
    let read: Vec<_> = LogReader::new(&text[..], "pipe")
        .map(Result::unwrap)
        .collect();
    assert_eq!(read.len() as u64, accepted);
    let numbers: Vec<&[u8]> = read.iter().map(|e| e.frame.view().data()).collect();
    assert!(numbers.windows(2).all(|pair| pair[0] < pair[1]), "in order");
}

#[test]
fn a_full_buffer_refuses_and_takes_again() {
    let (mut sink, _reader) = piped();
    let long = frame(0x1FFF_FFFF | CanId::EFF_FLAG, &[0xFF; 8]);
    let mut taken = 0u64;
    while sink.transmit(0, OutgoingFrame::new(long.view(), 0)).is_ok() {
        taken += 1;
        assert!(taken < 100_000, "memory is bounded");
    }
    assert_eq!(
        sink.transmit(0, OutgoingFrame::new(long.view(), 0)),
        Err(TransmitRefusal::Full)
    );
    assert!(sink.flush(0).unwrap().sent > 0);
    assert!(sink.transmit(0, OutgoingFrame::new(long.view(), 0)).is_ok());
    assert!(adds_up(sink.counters()));
}
