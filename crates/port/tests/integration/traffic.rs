//! Traffic that moves with a world of buses, as in a running gateway.

use bus::{BusConfig, NodeConfig, NodeEvent};
use frame::{Frame, Nanos};
use port::embedded::{BusIndex, BusTraffic, BusWorld, TesterFrame};
use port::{OutgoingFrame, Receive, SourcePace, Transmit};
use std::sync::{Arc, Mutex};

const MS: Nanos = 1_000_000;

/// Sends a frame, waits for the answer to it, and sends the next one a millisecond later.
struct AskingTester {
    questions: u32,
    asked: u32,
    due: Option<Nanos>,
    seen: Arc<Mutex<Vec<(Nanos, String, bool)>>>,
}

impl BusTraffic for AskingTester {
    fn begin(&mut self, buses: &[(String, BusConfig)], now: Nanos) {
        assert_eq!(buses[0].0, "can0");
        self.due = Some(now + MS);
    }

    fn due(&self) -> Option<Nanos> {
        self.due
    }

    fn take(&mut self) -> Option<TesterFrame> {
        let at = self.due.take()?;
        self.asked += 1;
        Some(TesterFrame {
            bus: BusIndex(0),
            tester: 3,
            at,
            frame: format!("7DF#{:02X}", self.asked).parse().unwrap(),
            tag: 0,
        })
    }

    fn see(&mut self, _: BusIndex, event: &NodeEvent<'_>, by_tester: bool) {
        let NodeEvent::Frame { end, frame, .. } = event else {
            return;
        };
        let text = frame.to_string();
        self.seen.lock().unwrap().push((*end, text, by_tester));
        if !by_tester && self.asked < self.questions {
            self.due = Some(*end + MS);
        }
    }

    fn refused(&mut self, frame: &TesterFrame) {
        panic!("{frame:?}");
    }

    fn is_finished(&self) -> bool {
        self.asked == self.questions && self.due.is_none()
    }
}

#[test]
fn traffic_reacts_to_the_port_and_ends_when_all_is_quiet() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let world = BusWorld::new();
    let bus = world.bus("can0", BusConfig::classic(500_000)).unwrap();
    let (mut rx, mut tx) = world.attach(bus, NodeConfig::new("port")).unwrap();
    // The clock is at 5 ms when the bus is at 0.
    world.pace(SourcePace::real_time(5 * MS, 0));
    world.replay(Box::new(AskingTester {
        questions: 3,
        asked: 0,
        due: None,
        seen: Arc::clone(&seen),
    }));
    let mut now = 7 * MS;
    let mut received = Vec::new();
    let mut ended = None;
    for _ in 0..1000 {
        let mut came = Vec::new();
        let report = rx.receive(now, 10, &mut |frame| came.push(frame.frame.to_string()));
        if report.unwrap().finished {
            ended = Some(now);
            break;
        }
        for text in &came {
            let answer: Frame = text.replace("7DF", "7E8").parse().unwrap();
            tx.transmit(now, OutgoingFrame::new(answer.view(), 0))
                .unwrap();
        }
        tx.flush(now).unwrap();
        received.append(&mut came);
        now = rx
            .deadline()
            .into_iter()
            .chain(tx.deadline())
            .min()
            .unwrap()
            .max(now);
    }
    assert_eq!(received, ["7DF#01", "7DF#02", "7DF#03"]);
    let seen = seen.lock().unwrap();
    let order: Vec<(&str, bool)> = seen
        .iter()
        .map(|(_, text, own)| (text.as_str(), *own))
        .collect();
    let round = |n: u32| [(format!("7DF#0{n}"), true), (format!("7E8#0{n}"), false)];
    let expected: Vec<(String, bool)> = (1..=3).flat_map(round).collect();
    let expected: Vec<(&str, bool)> = expected
        .iter()
        .map(|(text, own)| (text.as_str(), *own))
        .collect();
    assert_eq!(order, expected);
    // It began with the first call, 2 ms after the bus; each round begins 1 ms after an answer.
    let first = seen[0].0;
    assert!((3 * MS..4 * MS).contains(&first), "{first}");
    let gap = seen[2].0 - seen[1].0;
    assert!((MS..2 * MS).contains(&gap), "{gap}");
    let quiet = ended.unwrap() - 5 * MS - seen[5].0;
    assert!((100 * MS..101 * MS).contains(&quiet), "{quiet}");
}

#[test]
fn a_port_for_classic_frames_tolerates_fd_frames() {
    let world = BusWorld::new();
    let bus = world
        .bus("can0", BusConfig::fd(500_000, 2_000_000))
        .unwrap();
    let halves = world.attach(bus, NodeConfig::new("port")).unwrap();
    let (mut rx, mut tx) = port::embedded::classic_only(halves);
    let tester = world.tester(bus, NodeConfig::new("tester")).unwrap();
    for text in ["123##1AABB", "124#11"] {
        world.send(tester, 0, &text.parse().unwrap(), 0).unwrap();
    }
    world.run_until(5 * MS, &mut |_, event| {
        assert!(!matches!(event, NodeEvent::Error { .. }), "{event:?}");
    });
    let mut came = Vec::new();
    rx.receive(5 * MS, 10, &mut |frame| came.push(frame.frame.to_string()))
        .unwrap();
    assert_eq!(came, ["124#11"]);
    let fd: Frame = "125##1AA".parse().unwrap();
    assert!(
        tx.transmit(5 * MS, OutgoingFrame::new(fd.view(), 0))
            .is_err()
    );
}
