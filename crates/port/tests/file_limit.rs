//! A write that ends in the middle of a line leaves no incomplete line behind.
//!
//! This test is alone in its file, because the limit applies to the whole process.
#![allow(unsafe_code, clippy::unwrap_used)]

use frame::{CanId, Frame};
use port::log::{InterfaceName, LogReader, LogSink, SinkConfig};
use port::{OutgoingFrame, Transmit};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

const SECOND: u64 = 1_000_000_000;

#[test]
fn the_begun_line_is_taken_off() {
    // SAFETY: ignoring a signal runs no code of ours; a write past the limit then fails with
    // EFBIG instead of ending the process.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("out.log");
    let config = SinkConfig {
        interface: InterfaceName::new("can0").unwrap(),
        epoch: 0,
    };
    let mut sink = LogSink::create("out", &path, config).unwrap();
    let frame = Frame::classic(CanId::from_raw(0x123), &[1, 2]).unwrap();
    for _ in 0..100 {
        sink.transmit(0, OutgoingFrame::new(frame.view(), 0))
            .unwrap();
    }
    let line = "(0000000000.000000) can0 123#0102\n".len() as u64;
    let limit = Rlimit {
        current: Some(10 * line + 7),
        maximum: getrlimit(Resource::Fsize).maximum,
    };
    setrlimit(Resource::Fsize, limit).unwrap();
    let error = sink.flush(0).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("(`ulimit -f`): 90 frames are lost"),
        "{error}"
    );
    let text = std::fs::read(&path).unwrap();
    assert_eq!(text.len() as u64, 10 * line);
    assert!(LogReader::new(&text[..], "out.log").all(|line| line.is_ok()));
    assert_eq!((sink.counters().sent, sink.counters().lost), (10, 90));

    // The sink tries again on its own, later each time that it fails.
    let again = |sink: &mut LogSink, at| {
        assert_eq!(sink.retry_at(), Some(at));
        let early = sink.transmit(at - 1, OutgoingFrame::new(frame.view(), 0));
        assert_eq!(early, Err(port::TransmitRefusal::Down));
        sink.transmit(at, OutgoingFrame::new(frame.view(), 0))
            .unwrap();
        assert_eq!(sink.retry_at(), None);
        sink.flush(at)
    };
    assert!(error.to_string().contains("tried again in 1 s"), "{error}");
    let error = again(&mut sink, SECOND).unwrap_err();
    assert!(error.to_string().contains("tried again in 2 s"), "{error}");
    let limit = Rlimit {
        current: None,
        ..limit
    };
    setrlimit(Resource::Fsize, limit).unwrap();
    assert_eq!(again(&mut sink, 3 * SECOND).unwrap().sent, 1);
    let text = std::fs::read(&path).unwrap();
    assert_eq!(text.len() as u64, 11 * line);
    assert!(LogReader::new(&text[..], "out.log").all(|line| line.is_ok()));
    let counters = sink.counters();
    assert_eq!(
        (counters.taken, counters.sent, counters.lost),
        (102, 11, 91)
    );
}
