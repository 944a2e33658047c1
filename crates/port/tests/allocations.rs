//! In the steady state the passage of a frame through a port allocates nothing.
//!
//! This test is alone in its file, because the count is of the whole process.
#![allow(clippy::unwrap_used)]

mod port_text;

use bus::{BusConfig, NodeConfig};
use frame::{CanId, Frame};
use port::embedded::{BusIndex, BusWorld};
use port::log::{InterfaceName, LogSink, LogSource, ReplaySpeed, SinkConfig, SourceConfig};
use port::{Halves, OutgoingFrame, PortOpener, Receive, Transmit};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use std::io::{Seek, Write};
use std::net::UdpSocket;

#[global_allocator]
static ALLOCATOR: &StatsAlloc<std::alloc::System> = &INSTRUMENTED_SYSTEM;

/// Returns the number of allocations during `work`, after it ran once to warm up.
fn allocations(mut work: impl FnMut()) -> u64 {
    work();
    let region = Region::new(ALLOCATOR);
    work();
    let change = region.change();
    (change.allocations + change.reallocations) as u64
}

fn over_buses() -> u64 {
    let world = BusWorld::new();
    for name in ["a", "b"] {
        world.bus(name, BusConfig::classic(500_000)).unwrap();
    }
    let sender = world.tester(BusIndex(0), NodeConfig::new("s")).unwrap();
    world.tester(BusIndex(1), NodeConfig::new("s")).unwrap();
    let (mut rx, _) = world.attach(BusIndex(0), NodeConfig::new("g")).unwrap();
    let (_, mut tx) = world.attach(BusIndex(1), NodeConfig::new("g")).unwrap();
    let frame = Frame::classic(CanId::from_raw(5), &[1; 8]).unwrap();
    let mut forwarded = 0;
    let count = allocations(|| {
        for i in 0..500 {
            let now = world.now();
            world.send(sender, now, &frame, i).unwrap();
            while let Some(t) = world.next() {
                world.run_until(t, &mut |_, _| {});
                rx.receive(t, 64, &mut |r| {
                    let sent = tx.transmit(t, OutgoingFrame::new(r.frame, r.token));
                    forwarded += u64::from(sent.is_ok());
                })
                .unwrap();
                tx.flush(t).unwrap();
            }
        }
    });
    assert_eq!(forwarded, 1000);
    count
}

fn from_log_to_log() -> u64 {
    let mut file = tempfile::tempfile().unwrap();
    for i in 0..2000 {
        // Some bad lines, too: those beyond the first few allocate nothing either.
        if i % 10 == 0 {
            writeln!(file, "({i}.000000) can0 12").unwrap();
        }
        writeln!(file, "({i}.000000) can0 123#{i:016X}").unwrap();
    }
    file.rewind().unwrap();
    let config = SourceConfig {
        replay: ReplaySpeed::Fast,
        ..SourceConfig::default()
    };
    let mut rx = LogSource::from_file("in", "in.log", file, config).unwrap();
    let config = SinkConfig {
        interface: InterfaceName::new("can1").unwrap(),
        epoch: 0,
    };
    let out = tempfile::tempfile().unwrap();
    let mut tx = LogSink::from_file("out", "out.log", out, config);
    let mut forwarded = 0;
    let count = allocations(|| {
        for _ in 0..20 {
            rx.receive(0, 50, &mut |r| {
                tx.transmit(0, OutgoingFrame::new(r.frame, r.token))
                    .unwrap();
                forwarded += 1;
            })
            .unwrap();
            tx.flush(0).unwrap();
        }
    });
    assert_eq!(forwarded, 2000);
    count
}

/// Opens a port of these keys; the Unix time at its time 0 is 0.
fn stream(keys: &str) -> Halves {
    let text = format!("[ports.p]\nkind = 'ieee1722'\n{keys}");
    let (spec, _) = port_text::read(&text);
    spec.unwrap().open(&mut PortOpener::new(0, 0)).unwrap()
}

/// Frames in packed datagrams with presentation times, at which they are handed on. The state of
/// the system clock is read meanwhile.
fn over_a_stream() -> u64 {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let between = socket.local_addr().unwrap();
    // Two addresses that no socket has any more.
    let [here, there] = [0, 1]
        .map(|_| UdpSocket::bind("127.0.0.1:0").unwrap())
        .map(|socket| socket.local_addr().unwrap());
    let keys =
        format!("listen = '{here}'\nconnect = '{between}'\nmax_transit = '20ms'\npack = '5ms'");
    let (_, mut tx) = stream(&keys);
    let keys = format!("listen = '{there}'\nconnect = '{between}'\ndelay = 'presentation'");
    let (mut rx, _) = stream(&keys);
    let frame = Frame::classic(CanId::from_raw(5), &[1; 8]).unwrap();
    let (mut now, mut passed, mut waited) = (10_000_000_000, 0, 0);
    let mut buffer = [0; 2048];
    let count = allocations(|| {
        for step in 0..2000 {
            now += 1_000_000;
            tx.transmit(now, OutgoingFrame::new(frame.view(), 0))
                .unwrap();
            tx.flush(now).unwrap();
            if step % 6 == 5 {
                let len = socket.recv(&mut buffer).unwrap();
                // This machine's clock may not be synchronised: its times are certain here.
                buffer[7] = 0;
                socket.send_to(&buffer[..len], there).unwrap();
            }
            rx.receive(now, 64, &mut |_| passed += 1).unwrap();
            waited += rx.counters().waiting;
        }
    });
    assert!(passed > 3900 && waited > 10_000, "{passed} {waited}");
    assert_eq!(rx.counters().late, 0);
    count
}

#[test]
fn none_for_a_frame() {
    assert!(allocations(|| drop(Box::new(1))) > 0, "the count counts");
    assert_eq!(over_buses(), 0);
    assert_eq!(from_log_to_log(), 0);
    assert_eq!(over_a_stream(), 0);
}
