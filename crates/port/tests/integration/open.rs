//! Opens the halves of ports from the text of a configuration.

use frame::{CanId, Frame};
use port::embedded::BusSettings;
use port::log::{LogSettings, ReplaySpeed};
use port::socketcan::SocketCanSettings;
use port::{FileOrStream, OutgoingFrame, PortOpener, PortSpec, TransmitRefusal};
use std::path::PathBuf;

fn bus(name: &str, bitrate: u32) -> PortSpec {
    let bus = BusSettings {
        bus: "body".to_owned(),
        bitrate,
        data_bitrate: None,
        queue: 10,
        mailboxes: 3,
        ..BusSettings::defaults("")
    };
    PortSpec::new(name, bus)
}

fn log(read: Option<PathBuf>, write: Option<PathBuf>) -> PortSpec {
    let log = LogSettings {
        read: read.map(FileOrStream::File),
        write: write.map(FileOrStream::File),
        interface: None,
        pace: ReplaySpeed::Fast,
        ..LogSettings::default()
    };
    PortSpec::new("log", log)
}

fn frame(id: u32) -> Frame {
    Frame::classic(CanId::sff(id).unwrap(), &[]).unwrap()
}

#[test]
fn ports_of_one_bus_hear_one_another_in_real_time() {
    let start = 1_000_000_000;
    let mut opener = PortOpener::new(start, 0);
    let (mut rx_a, mut tx_a) = bus("a", 125_000).open(&mut opener).unwrap();
    let (mut rx_b, _tx_b) = bus("b", 125_000).open(&mut opener).unwrap();
    tx_a.transmit(start, OutgoingFrame::new(frame(0x123).view(), 5))
        .unwrap();
    tx_a.flush(start).unwrap();
    let mut got = Vec::new();
    let mut now = start;
    while let Some(due) = rx_b.deadline() {
        now = due.max(now);
        rx_b.receive(now, 10, &mut |r| got.push((r.frame.id().number(), r.token)))
            .unwrap();
    }
    assert_eq!(got, [(0x123, 5)]);
    // 45 bits of 8 µs.
    assert!(
        (now - start).abs_diff(45 * 8_000) <= 45 * 8_000,
        "{}",
        now - start
    );
    assert_eq!(rx_a.receive(now, 10, &mut |_| {}).unwrap().frames, 0);
    assert_eq!(tx_a.counters().sent, 1);
}

#[test]
fn a_port_alone_on_its_bus_is_acknowledged() {
    let mut opener = PortOpener::new(0, 0);
    let (mut rx, mut tx) = bus("alone", 500_000).open(&mut opener).unwrap();
    tx.transmit(0, OutgoingFrame::new(frame(1).view(), 0))
        .unwrap();
    tx.flush(0).unwrap();
    rx.receive(10_000_000, 10, &mut |_| {}).unwrap();
    assert_eq!(tx.counters().sent, 1);
}

#[test]
fn two_bit_rates_on_one_bus_are_a_mistake() {
    let mut opener = PortOpener::new(0, 0);
    bus("a", 125_000).open(&mut opener).unwrap();
    let error = bus("b", 250_000)
        .open(&mut opener)
        .err()
        .unwrap()
        .to_string();
    assert!(
        error.starts_with("b: bus \"body\" runs at 125000 bit/s already"),
        "{error}"
    );
}

#[test]
fn a_log_goes_one_way_or_both() {
    let dir = tempfile::tempdir().unwrap();
    let (read, write) = (dir.path().join("in.log"), dir.path().join("out.log"));
    std::fs::write(&read, "(1.0) can7 123#11\n").unwrap();
    let unix = 1_700_000_000_000_000_000;
    let mut opener = PortOpener::new(50, unix + 50);

    let (mut rx, mut tx) = log(Some(read), None).open(&mut opener).unwrap();
    let mut got = 0;
    let report = rx.receive(50, 10, &mut |_| got += 1).unwrap();
    assert_eq!((got, report.finished), (1, true));
    let refused = tx.transmit(50, OutgoingFrame::new(frame(1).view(), 0));
    assert_eq!(refused, Err(TransmitRefusal::Unsupported));

    let (mut rx, mut tx) = log(None, Some(write.clone())).open(&mut opener).unwrap();
    assert!(rx.receive(50, 10, &mut |_| {}).unwrap().finished);
    tx.transmit(2_000, OutgoingFrame::new(frame(1).view(), 0))
        .unwrap();
    tx.flush(2_000).unwrap();
    let text = std::fs::read_to_string(&write).unwrap();
    assert_eq!(text, "(1700000000.000002) log 001#\n");
}

#[test]
fn a_log_that_is_opened_again_is_continued_and_a_new_run_begins_it_anew() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("out.log");
    std::fs::write(&path, "of an earlier run\n").unwrap();
    let write = |opener: &mut PortOpener, ids: [u32; 2]| {
        // As at a reload: the new one is open before the old one has written its last lines.
        let (_, mut old) = log(None, Some(path.clone())).open(opener).unwrap();
        opener.start().unwrap();
        let (_, mut new) = log(None, Some(path.clone())).open(opener).unwrap();
        opener.start().unwrap();
        for (tx, id) in [(&mut new, ids[0]), (&mut old, ids[1])] {
            tx.transmit(0, OutgoingFrame::new(frame(id).view(), 0))
                .unwrap();
            tx.flush(0).unwrap();
        }
        std::fs::read_to_string(&path).unwrap()
    };
    let line = |id| format!("(0000000000.000000) log 00{id}#\n");
    let mut opener = PortOpener::new(0, 0);
    assert_eq!(write(&mut opener, [1, 2]), line(1) + &line(2));
    let all = line(1) + &line(2) + &line(3) + &line(4);
    assert_eq!(write(&mut opener, [3, 4]), all);
    let mut another = PortOpener::new(0, 0);
    assert_eq!(write(&mut another, [5, 6]), line(5) + &line(6));
}

#[test]
fn an_interface_that_is_not_there_is_named() {
    let can = SocketCanSettings {
        queue: 8,
        receive: Some(port::socketcan::ReceiveBy::Read),
        transmit: Some(port::socketcan::TransmitBy::Write),
        ..SocketCanSettings::new("nosuchcan0")
    };
    let spec = PortSpec::new("engine", can);
    let error = spec.open(&mut PortOpener::new(0, 0)).err().unwrap();
    let text = error.to_string();
    assert!(text.starts_with("engine: "), "{text}");
    // Without AF_CAN the kernel lacks CAN, else the interface is missing.
    let modprobe = text.contains("modprobe can");
    assert!(
        modprobe || text.contains("no interface nosuchcan0"),
        "{text}"
    );
    assert!(error.source.is_some());
}
