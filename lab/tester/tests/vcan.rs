//! The tester on real virtual interfaces, with a gateway of two sockets and a thread in between.
//!
//! Needs a kernel with AF_CAN, vcan, and the privilege to create interfaces (`CAP_NET_ADMIN`, `ip`
//! on the path). Without them each test prints the reason why it is skipped.
#![allow(clippy::unwrap_used)]

use frame::wire::BitRate;
use frame::{CanId, Frame, flags};
use linux::can::{ArrivedFrame, FrameOptions, FrameSocket};
use probe::Status;
use probe::traffic::TrafficPattern;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;
use tester::{
    BusTimes, Error, LatencyMeasure, SetUpError, TestPlan, TestSetup, TesterInterfaces,
    TesterOutcome,
};

/// Two virtual interfaces for this test only; they are removed when the test is over.
struct Pair([String; 2]);

fn ip(arguments: &str) -> Result<(), String> {
    let output = Command::new("ip").args(arguments.split(' ')).output();
    let output = output.map_err(|e| format!("`ip` cannot be run ({e})"))?;
    if output.status.success() {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&output.stderr);
    Err(format!("`ip {arguments}` failed ({})", text.trim()))
}

impl Pair {
    fn new(name: &str) -> Result<Self, String> {
        let error = FrameSocket::open("lo", &FrameOptions::default()).err();
        if error.is_some_and(|e| e.to_string().contains("modprobe can")) {
            return Err("this kernel has no AF_CAN (EAFNOSUPPORT)".to_owned());
        }
        let pair = Self([format!("{name}0"), format!("{name}1")]);
        for interface in &pair.0 {
            let _ = ip(&format!("link del {interface}"));
            ip(&format!("link add dev {interface} type vcan"))?;
            ip(&format!("link set {interface} mtu 72")).unwrap();
            ip(&format!("link set {interface} up")).unwrap();
        }
        Ok(pair)
    }

    fn names(&self, fd: bool) -> TesterInterfaces {
        TesterInterfaces {
            send: self.0[0].clone(),
            reference: None,
            receive: self.0[1].clone(),
            fd,
            hardware_stamps: false,
            rate: None,
        }
    }
}

impl Drop for Pair {
    fn drop(&mut self) {
        for interface in &self.0 {
            let _ = ip(&format!("link del {interface}"));
        }
    }
}

macro_rules! pair {
    ($name:expr) => {
        match Pair::new($name) {
            Ok(pair) => pair,
            Err(why) => {
                eprintln!("SKIPPED because {why}");
                return;
            }
        }
    };
}

/// A gateway from the first interface to the second: it sends the frames that `change` makes of
/// each frame.
struct Gateway {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Gateway {
    fn new(pair: &Pair, change: impl Fn(Frame) -> Vec<Frame> + Send + 'static) -> Self {
        let open = |name: &str, hear: bool| {
            let options = FrameOptions {
                fd: true,
                hear,
                echo: true,
                ..FrameOptions::default()
            };
            FrameSocket::open(name, &options).unwrap()
        };
        let (mut from, to) = (open(&pair.0[0], true), open(&pair.0[1], false));
        let stop = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            while !flag.load(Ordering::Relaxed) {
                let mut frames = Vec::new();
                let mut take = |a: ArrivedFrame<'_>| {
                    frames.extend(Frame::from_view(a.frame).filter(|f| !f.id().is_err()));
                };
                let Ok(_) = from.receive(&mut take) else {
                    break;
                };
                if frames.is_empty() {
                    std::thread::sleep(Duration::from_micros(100));
                }
                for frame in frames.into_iter().flat_map(&change) {
                    let _ = to.send(frame.view());
                }
            }
        });
        Self {
            stop,
            thread: Some(thread),
        }
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn setup(pattern: TrafficPattern, frames: u32) -> TestSetup {
    TestSetup {
        plan: TestPlan {
            traffic: pattern.into(),
            frames,
            ..TestPlan::default()
        },
        warm_up: 3,
        ..TestSetup::default()
    }
}

fn measured(pair: &Pair, setup: &TestSetup) -> TesterOutcome {
    let names = pair.names(setup.plan.fd.is_some());
    tester::over_sockets(setup, names, BusTimes::TIMELESS).unwrap()
}

#[test]
fn what_goes_in_comes_out_with_its_latency() {
    let pair = pair!("ctpass");
    let _gateway = Gateway::new(&pair, |frame| vec![frame]);
    for pattern in [
        TrafficPattern::OneAtATime,
        TrafficPattern::Period(1_000_000),
    ] {
        let outcome = measured(&pair, &setup(pattern, 100));
        assert_eq!(outcome.failure, None, "{pattern}");
        let c = outcome.counts;
        assert_eq!((c.sent, c.received, c.lost), (100, 100, 0), "{pattern}");
        assert_eq!((c.duplicated, c.unexpected, c.never_in), (0, 0, 0));
        let latency = outcome.latency.unwrap();
        assert_eq!(latency.count, 100);
        // The gateway runs in another thread after the frame came in.
        assert!(latency.min > 0);
        assert_eq!(outcome.results.records.len(), 100);
        assert!(outcome.warnings.iter().all(|w| !w.contains("no stamp")));
    }
}

#[test]
fn loss_doubles_and_changes_are_distinguished() {
    let pair = pair!("ctmix");
    let _gateway = Gateway::new(&pair, |frame| {
        let number = u16::from_be_bytes([frame.data()[0], frame.data()[1]]);
        let changed = || {
            let mut data = [0; 4];
            data.copy_from_slice(frame.data());
            data[3] ^= 1;
            Frame::classic(CanId::from_raw(0x321), &data).unwrap()
        };
        match number % 10 {
            // Not the first ones: a frame lost in the warm-up takes its time.
            7 => vec![],
            8 => vec![frame, frame],
            9 => vec![changed()],
            _ => vec![frame],
        }
    });
    let outcome = measured(&pair, &setup(TrafficPattern::Period(500_000), 200));
    let c = outcome.counts;
    assert_eq!((c.sent, c.received, c.lost), (200, 180, 20));
    assert_eq!((c.duplicated, c.other_id, c.other_data), (20, 20, 20));
    let lost: Vec<u64> = outcome
        .results
        .records
        .iter()
        .filter(|r| r.status == Status::Lost)
        .map(|r| r.tag)
        .collect();
    let expected: Vec<u64> = (0..200).filter(|n| n % 10 == 7).collect();
    assert_eq!(lost, expected);
}

#[test]
fn fd_frames_with_a_second_bit_rate() {
    let pair = pair!("ctfd");
    let _gateway = Gateway::new(&pair, |frame| vec![frame]);
    let mut setup = setup(TrafficPattern::OneAtATime, 50);
    setup.plan.fd = Some(flags::BRS);
    setup.plan.lens = 2..=64;
    let outcome = measured(&pair, &setup);
    assert_eq!(outcome.counts.received, 50);
    assert_eq!(outcome.counts.other_length, 0);
    let longest = outcome
        .results
        .records
        .iter()
        .map(|r| r.incoming.unwrap().len);
    assert!(longest.max().unwrap() > 8);
}

#[test]
fn the_outgoing_frames_duration_is_subtracted_where_the_bus_takes_time() {
    let pair = pair!("ctrate");
    let _gateway = Gateway::new(&pair, |frame| vec![frame]);
    let setup = setup(TrafficPattern::OneAtATime, 20);
    let rate = BitRate::new(10_000, None).unwrap();
    let buses = BusTimes {
        incoming: Some(rate),
        outgoing: Some(rate),
    };
    let outcome = tester::over_sockets(&setup, pair.names(false), buses).unwrap();
    for record in &outcome.results.records {
        // 4 bytes: at least 79 bits, 76 without intermission.
        let duration = record.outgoing.unwrap().duration;
        assert!(duration >= 7_600_000, "{duration}");
    }
}

#[test]
fn no_gateway_is_reported_and_an_interface_that_vanishes_too() {
    let pair = pair!("ctgone");
    let mut none = setup(TrafficPattern::OneAtATime, 100);
    none.warm_up = 0;
    none.timeout = 50_000_000;
    let why = measured(&pair, &none).failure.unwrap();
    assert!(why.contains("gateway running"), "{why}");

    let passed = Arc::new(AtomicU32::new(0));
    let count = Arc::clone(&passed);
    let _gateway = Gateway::new(&pair, move |frame| {
        count.fetch_add(1, Ordering::Relaxed);
        vec![frame]
    });
    let receive = pair.0[1].clone();
    let vanish = std::thread::spawn(move || {
        while passed.load(Ordering::Relaxed) < 50 {
            std::thread::sleep(Duration::from_millis(5));
        }
        ip(&format!("link set {receive} down"))
    });
    // Ten seconds, of which few are needed.
    let outcome = measured(&pair, &setup(TrafficPattern::Period(2_000_000), 5_000));
    vanish.join().unwrap().unwrap();
    let why = outcome.failure.unwrap();
    assert!(why.contains("went down"), "{why}");
    assert!(outcome.counts.received > 10, "{:?}", outcome.counts);
    assert!(outcome.counts.not_tried > 10, "{:?}", outcome.counts);
}

#[test]
fn what_is_wrong_with_an_interface_is_reported_before_anything_is_sent() {
    let pair = pair!("ctdown");
    ip(&format!("link set {} down", pair.0[1])).unwrap();
    let one = setup(TrafficPattern::OneAtATime, 1);
    let error = tester::over_sockets(&one, pair.names(false), BusTimes::TIMELESS);
    assert!(matches!(error, Err(Error::SetUp(SetUpError::Down(_)))));
    ip(&format!("link set {} mtu 16", pair.0[1])).unwrap();
    ip(&format!("link set {} up", pair.0[1])).unwrap();
    let error = tester::over_sockets(&one, pair.names(true), BusTimes::TIMELESS);
    assert!(matches!(error, Err(Error::SetUp(SetUpError::NoFd(_)))));
    let mut names = pair.names(false);
    names.receive = "nosuchcan0".to_owned();
    let error = tester::over_sockets(&one, names, BusTimes::TIMELESS).unwrap_err();
    assert!(error.to_string().contains("nosuchcan0"), "{error}");
}

#[test]
fn the_self_check_measures_without_a_gateway() {
    let pair = pair!("ctself");
    // On a vcan every socket receives sent frames: one interface is the whole bus. Two of them need
    // a connection; here that is the kernel's echo on one and a thread to the other.
    let _gateway = Gateway::new(&pair, |frame| vec![frame]);
    let check = TestSetup {
        measure: LatencyMeasure::Sending,
        ..setup(TrafficPattern::OneAtATime, 30)
    };
    let outcome = measured(&pair, &check);
    assert_eq!(outcome.counts.received, 30);
    let (sending, difference) = (outcome.latency.unwrap(), outcome.difference.unwrap());
    assert!(difference.p50 > 0 && sending.p50 >= difference.p50);
}

#[test]
fn each_way_is_timed() {
    let pair = pair!("ctcall");
    let id = CanId::from_raw(0x123);
    let measured = tester::syscalls::measure(&pair.0[0], Some(200), id).unwrap();
    assert!(measured.is_virtual);
    let frames: Vec<u32> = measured.points.iter().map(|p| p.frames).collect();
    assert_eq!(frames, [1, 2, 5, 10, 20, 50, 100, 200]);
    for p in measured.points {
        let times = [p.read_ns, p.recvmmsg_ns, p.write_ns, p.sendmmsg_ns];
        assert!(times.iter().all(|&ns| ns > 0), "{p:?}");
    }
    for row in measured.ways {
        // Either it was measured, or the reason is given.
        assert_eq!(row.refused.is_none(), row.fit.is_some(), "{row:?}");
    }
}
