//! Named pipes do not block the gateway: they are opened without a peer, and outlive one.

use frame::{CanId, Frame, FrameBuf, Header, Kind, XlFields};
use port::log::{LogSettings, LogSource, ReplaySpeed, SourceConfig};
use port::{FileOrStream, Halves, OutgoingFrame, PollTransmit, PortOpener, PortSpec, Receive};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

const SECOND: u64 = 1_000_000_000;

fn pipe(folder: &Path) -> PathBuf {
    let path = folder.join("pipe");
    mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    path
}

fn sink(path: &Path) -> Box<dyn PollTransmit> {
    let settings = LogSettings {
        write: Some(FileOrStream::File(path.to_owned())),
        interface: Some("can0".to_owned()),
        ..LogSettings::default()
    };
    let mut opener = PortOpener::new(0, 0);
    let (_, tx): Halves = PortSpec::new("out", settings).open(&mut opener).unwrap();
    opener.start().unwrap();
    tx
}

fn send(tx: &mut dyn PollTransmit, id: u32) {
    let frame = Frame::classic(CanId::from_raw(id), &[]).unwrap();
    tx.transmit(0, OutgoingFrame::new(frame.view(), 0)).unwrap();
}

fn line(id: u32) -> String {
    format!("(0000000000.000000) can0 {id:03X}#\n")
}

#[test]
fn frames_wait_for_a_reader_and_for_the_next_one() {
    let dir = tempfile::tempdir().unwrap();
    let path = pipe(dir.path());
    let mut sink = sink(&path);
    assert!(
        sink.remarks()[0].contains("no program reads"),
        "{:?}",
        sink.remarks()
    );
    send(&mut *sink, 1);
    assert_eq!(sink.flush(0).unwrap().held, 1);
    assert!(sink.wait().fd.is_none());
    let again = sink.deadline().unwrap();
    assert!(again > 0 && again < SECOND, "tried again at {again}");

    // The test's reader opens without waiting, too: it is there before the writer.
    let read = |reader: &mut File| {
        let mut bytes = [0; 4096];
        let n = reader.read(&mut bytes).unwrap();
        String::from_utf8(bytes[..n].to_vec()).unwrap()
    };
    let open_reader = || {
        let flags = rustix::fs::OFlags::RDONLY | rustix::fs::OFlags::NONBLOCK;
        File::from(rustix::fs::open(&path, flags, Mode::empty()).unwrap())
    };
    let mut reader = open_reader();
    assert_eq!(sink.flush(again).unwrap().held, 0);
    assert_eq!(read(&mut reader), line(1));
    assert_eq!(sink.remarks(), [""; 0]);

    drop(reader);
    send(&mut *sink, 2);
    assert_eq!(sink.flush(SECOND).unwrap().held, 1, "no failure");
    let mut reader = open_reader();
    send(&mut *sink, 3);
    assert_eq!(sink.flush(2 * SECOND).unwrap().held, 0);
    assert_eq!(read(&mut reader), line(2) + &line(3));
    let counters = sink.counters();
    assert_eq!((counters.taken, counters.sent, counters.lost), (3, 3, 0));
}

/// A program that opens the pipe for reading does not wait for a frame: two gateways that are
/// connected in this way would wait for each other for ever. Nor does it read an end of file before
/// there is one.
#[test]
fn a_reader_need_not_wait_for_a_frame() {
    let dir = tempfile::tempdir().unwrap();
    let path = pipe(dir.path());
    let mut sink = sink(&path);
    for turn in 0..3_u64 {
        // This call of open waits until there is a writer, as in most programs.
        let (opened, is_open) = std::sync::mpsc::channel();
        let place = path.clone();
        let reader = std::thread::spawn(move || {
            let mut reader = File::open(place).unwrap();
            opened.send(()).unwrap();
            let mut bytes = [0; 4096];
            let n = reader.read(&mut bytes).unwrap();
            String::from_utf8(bytes[..n].to_vec()).unwrap()
        });
        let patience = std::time::Duration::from_secs(60);
        is_open.recv_timeout(patience).unwrap();
        let now = turn * SECOND;
        send(&mut *sink, 7);
        sink.flush(now).unwrap();
        sink.flush(now + SECOND / 2).unwrap();
        assert_eq!(reader.join().unwrap(), line(7), "turn {turn}");
    }
    let counters = sink.counters();
    assert_eq!((counters.taken, counters.sent, counters.lost), (3, 3, 0));
}

#[test]
fn a_source_has_ended_when_its_writer_has_come_and_gone() {
    let dir = tempfile::tempdir().unwrap();
    let path = pipe(dir.path());
    let config = SourceConfig {
        replay: ReplaySpeed::Fast,
        ..SourceConfig::default()
    };
    let mut source = LogSource::open("in", &path, config).unwrap();
    let remarks = Receive::remarks(&source).join("\n");
    assert!(remarks.contains("no program writes"), "{remarks}");
    let mut got = 0;
    let mut receive = |source: &mut LogSource| {
        let report = source.receive(0, 64, &mut |_| got += 1).unwrap();
        (report.frames, report.finished)
    };
    assert_eq!(receive(&mut source), (0, false));
    assert_eq!(receive(&mut source), (0, false));
    let mut writer = File::options().write(true).open(&path).unwrap();
    assert_eq!(receive(&mut source), (0, false));
    writer.write_all(line(1).as_bytes()).unwrap();
    assert_eq!(receive(&mut source), (1, false));
    assert_eq!(Receive::remarks(&source), [""; 0]);
    drop(writer);
    assert_eq!(receive(&mut source), (0, true));
}

/// A pipe that polls as writable has room for one page, and the line of an XL frame can be longer.
#[test]
fn no_write_to_a_pipe_is_longer_than_what_it_takes_at_once() {
    let (reader, writer) = std::io::pipe().unwrap();
    // One page short of full.
    let size = rustix::pipe::fcntl_getpipe_size(&reader).unwrap();
    let mut writer = File::from(std::os::fd::OwnedFd::from(writer));
    writer.write_all(&vec![b'\n'; size - 4096]).unwrap();
    let config = port::log::SinkConfig {
        interface: port::log::InterfaceName::new("can0").unwrap(),
        epoch: 0,
    };
    let mut sink = port::log::LogSink::from_file("out", "a pipe", writer, config);
    let mut xl = FrameBuf::new();
    let header = Header::new(Kind::Xl, CanId::from_raw(0x45), 2048).unwrap();
    xl.reset(header.with_xl(XlFields::default()));
    port::Transmit::transmit(&mut sink, 0, OutgoingFrame::new(xl.view(), 0)).unwrap();
    // It would block here for ever.
    let report = port::Transmit::flush(&mut sink, 0).unwrap();
    assert_eq!((report.sent, report.held), (0, 1));
    let mut reader = File::from(std::os::fd::OwnedFd::from(reader));
    reader.read_exact(&mut vec![0; size - 4096]).unwrap();
    assert_eq!(port::Transmit::flush(&mut sink, 0).unwrap().held, 0);
    drop(sink);
    let mut text = String::new();
    reader.read_to_string(&mut text).unwrap();
    assert_eq!(text.lines().count(), 1);
    assert!(text.len() > 4096 && text.ends_with("00\n"));
}
