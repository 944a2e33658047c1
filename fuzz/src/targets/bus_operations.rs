//! Sequences of operations on the embedded bus: it must not panic, frames must not overlap, every
//! accepted frame must end exactly once or still be pending, all time must be accounted for, and
//! the same calls must give the same events.

use crate::Target;
use crate::bytes::ByteSource;
use bus::{
    Bus, BusConfig, BusFaults, ErrorKind, FaultTime, FrameFault, NodeConfig, NodeEvent, NodeId,
};
use frame::Nanos;
use std::collections::BTreeMap;

/// The target; see the module's documentation.
pub const TARGET: Target = Target {
    name: "bus_operations",
    run,
    words: &["\u{1}", "\0\0\0\0", "\u{2}\u{2}\u{2}\u{2}", "\u{7f}\u{7f}"],
};

/// Number of operations: enough for bus-off and recovery at the higher bit rates.
const OPERATIONS: usize = 512;

const KINDS: [ErrorKind; 5] = [
    ErrorKind::Bit,
    ErrorKind::Stuff,
    ErrorKind::Form,
    ErrorKind::Crc,
    ErrorKind::Ack,
];

fn run(input: &[u8]) {
    let first = play(input);
    let second = play(input);
    assert_eq!(first, second, "the same calls gave other events");
}

/// The invariants of a bus, which are checked at each event.
#[derive(Default)]
struct BusLedger {
    /// Frames that were accepted and have not ended: tag to sender.
    open: BTreeMap<u64, NodeId>,
    /// Time of the last event.
    last: Nanos,
    /// End of the last primary event.
    busy_until: Nanos,
    /// All events, as text, for comparison.
    history: Vec<String>,
}

impl BusLedger {
    fn event(&mut self, event: &NodeEvent<'_>) {
        assert!(event.at() >= self.last, "out of order: {event:?}");
        self.last = event.at();
        match *event {
            NodeEvent::Frame {
                start,
                end,
                node,
                tag,
                ready,
                attempts,
                primary,
                ..
            } => {
                assert!(ready <= start && start < end && attempts >= 1, "{event:?}");
                self.occupy(primary, start, end);
                assert_eq!(self.open.remove(&tag), Some(node), "ended twice: {event:?}");
            }
            NodeEvent::Error {
                start,
                at,
                end,
                node,
                tag,
                primary,
                ..
            } => {
                assert!(start < at && at <= end, "{event:?}");
                self.occupy(primary, start, end);
                assert_eq!(self.open.get(&tag), Some(&node), "{event:?}");
            }
            NodeEvent::State { .. } => {}
            NodeEvent::Dropped { node, tag, .. } => {
                assert_eq!(self.open.remove(&tag), Some(node), "ended twice: {event:?}");
            }
        }
        self.history.push(format!("{event:?}"));
    }

    /// Checks that two frames never overlap.
    fn occupy(&mut self, primary: bool, start: Nanos, end: Nanos) {
        if primary {
            assert!(start >= self.busy_until, "two frames at once, at {start}");
            self.busy_until = end;
        }
    }
}

fn play(input: &[u8]) -> Vec<String> {
    let mut bytes = ByteSource::new(input);
    let shape = bytes.byte();
    let nominal = [1_000_000, 500_000, 125_000, 83_333][usize::from(shape & 3)];
    let mut bus = Bus::new(BusConfig {
        nominal,
        data: (shape & 4 != 0).then_some(nominal * 4),
        seed: u64::from(bytes.byte()),
        faults: BusFaults {
            per_frame: f64::from(bytes.byte() >> 4) / 15.0,
            per_bit: if shape & 8 != 0 { 1e-3 } else { 0.0 },
            kinds: vec![KINDS[usize::from(bytes.below(5))], ErrorKind::Bit],
            planned: Vec::new(),
        },
    })
    .expect("a valid bus");
    let nodes: Vec<NodeId> = (0..1 + bytes.below(4))
        .map(|number| {
            let shape = bytes.byte();
            bus.attach(NodeConfig {
                mailboxes: 1 + (shape & 3),
                queue: usize::from(shape >> 2 & 7),
                scheduled: 4,
                one_shot: shape & 32 != 0,
                listen_only: shape & 64 != 0,
                fd: shape & 128 == 0,
                restart: (shape & 1 != 0).then_some(100_000),
                ..NodeConfig::new(format!("node {number}"))
            })
            .expect("a valid node")
        })
        .collect();

    let mut ledger = BusLedger::default();
    let mut accepted = vec![0_u64; nodes.len()];
    for tag in 0..OPERATIONS as u64 {
        if bytes.is_empty() {
            break;
        }
        let operation = bytes.byte();
        let which = usize::from(operation >> 4) % nodes.len();
        let node = nodes[which];
        match operation & 15 {
            0..=6 => {
                let delay = u64::from(bytes.byte()) * 1_000;
                let frame = bytes.frame();
                if bus.send(node, bus.now() + delay, &frame, tag).is_ok() {
                    accepted[which] += 1;
                    ledger.open.insert(tag, node);
                }
            }
            7..=9 => {
                let until = bus.now() + u64::from(bytes.short()) * 16;
                bus.run_until(until, |event| ledger.event(event));
                assert_eq!(bus.now(), until);
            }
            10..=12 => {
                if let Some(next) = bus.next() {
                    assert!(next >= bus.now(), "the next event is in the past");
                    bus.run_until(next, |event| ledger.event(event));
                }
            }
            13 => bus.restart(node),
            14 => {
                let fault = FrameFault {
                    kind: KINDS[usize::from(bytes.below(5))],
                    bit: Some(bytes.short()).filter(|bit| *bit < 800),
                    victim: (bytes.byte() & 1 != 0).then_some(node),
                };
                bus.inject(FaultTime::Start(u64::from(bytes.byte())), fault);
            }
            // A node that does not exist, and a time in the past.
            _ => {
                let frame = bytes.frame();
                assert!(bus.send(NodeId(999), bus.now(), &frame, 0).is_err());
                if let Some(past) = bus.now().checked_sub(1) {
                    assert!(bus.send(node, past, &frame, 0).is_err());
                }
            }
        }
        check(&bus, &nodes, &accepted, &ledger);
    }
    ledger.history.push(format!("{:?}", bus.stats()));
    ledger.history
}

/// Checks that every accepted frame was sent, was dropped or is still pending, and that all time is
/// accounted for.
fn check(bus: &Bus, nodes: &[NodeId], accepted: &[u64], ledger: &BusLedger) {
    assert_eq!(bus.stats().elapsed(), bus.now());
    let mut there = 0;
    for (node, accepted) in nodes.iter().zip(accepted) {
        let state = bus.node_state(*node).expect("the node is attached");
        let waiting = state.queued + state.mailboxes_used + state.scheduled;
        assert_eq!(
            *accepted,
            state.sent + state.dropped + waiting as u64,
            "{state:?}"
        );
        there += waiting;
    }
    assert_eq!(there, ledger.open.len());
}
