//! The paper's claim: functions that share a controller give the same frames at the same
//! nanoseconds on the bus as separate controllers.
//!
//! It holds while the controller is error-active. TEC and REC are the shared controller's: with
//! enough errors it becomes passive or bus-off earlier than each of several controllers would
//! (`what_cannot_be_the_same_is_the_error_counters`).

use crate::common;
use crate::common::{AttachedController, ControllerEvent, run};
use cangate_bus::vcontroller::{
    ControllerConfig, ErrorState, FunctionRights, RequestOutcome, VfNumber, VirtualController,
};
use cangate_bus::{Bus, BusConfig, ErrorKind, FaultTime, FrameFault, NodeConfig, NodeId};
use frame::{CanId, Frame, Nanos};
use proptest::prelude::*;

const VFS: u8 = 4;
const OTHERS: u8 = 2;
const END: Nanos = 200_000_000;

/// A frame to be sent, its sender and its time. Functions are 0 to 3, other nodes 4 and 5.
#[derive(Clone, Debug)]
struct Send {
    at: Nanos,
    who: u8,
    frame: Frame,
}

fn sends() -> impl Strategy<Value = Vec<Send>> {
    let one = (
        0..20_000_000u64,
        0..VFS + OTHERS,
        0..32u32,
        prop::collection::vec(any::<u8>(), 0..=8),
        any::<bool>(),
    );
    prop::collection::vec(one, 1..60).prop_map(|all| {
        let mut all: Vec<_> = all
            .into_iter()
            .map(|(at, who, id, data, eff)| {
                // Senders share no identifier: on a bus two frames with the same one would collide.
                let number = id * 8 + u32::from(who);
                let raw = if eff {
                    CanId::EFF_FLAG | number << 12
                } else {
                    number
                };
                // A grid, so that many fall together.
                let at = at / 50_000 * 50_000;
                Send {
                    at,
                    who,
                    frame: Frame::classic(CanId::from_raw(raw), &data).unwrap(),
                }
            })
            .collect();
        all.sort_by_key(|send| send.at);
        all
    })
}

/// The log of the bus: start, end, frame; errors without a frame.
type Log = Vec<(Nanos, Nanos, Option<Frame>)>;

fn note(log: &mut Log, what: &ControllerEvent) {
    match *what {
        ControllerEvent::Sent {
            at, frame, start, ..
        } => log.push((start, at, Some(frame))),
        ControllerEvent::Error { end, start, .. } => log.push((start, end, None)),
        ControllerEvent::State { .. } => {}
    }
}

fn bus(faults: &[(u64, ErrorKind)]) -> Bus {
    let mut bus = Bus::new(BusConfig::classic(500_000)).unwrap();
    for &(start, kind) in faults {
        bus.inject(FaultTime::Start(start), FrameFault::new(kind).at_bit(30));
    }
    bus
}

fn others(bus: &mut Bus) -> Vec<NodeId> {
    (0..OTHERS)
        .map(|_| bus.attach(with_queue(64)).unwrap())
        .collect()
}

/// A separate controller with a queue that is ordered by priority: as many buffers as it has
/// frames.
fn with_queue(mailboxes: u8) -> NodeConfig {
    let mut node = NodeConfig::new("");
    (node.mailboxes, node.queue) = (mailboxes, 0);
    node
}

fn shared() -> VirtualController {
    let mut controller = VirtualController::new(ControllerConfig {
        functions: VFS,
        queue: 64,
        fifo: 1024,
        fd: false,
    });
    for vf in (0..VFS).map(VfNumber) {
        controller.set_rights(vf, FunctionRights::all(), 0).unwrap();
        controller.start(vf, false).unwrap();
    }
    controller
}

/// Runs with one controller for all functions.
fn with_one(sends: &[Send], faults: &[(u64, ErrorKind)]) -> (Log, VirtualController) {
    let mut bus = bus(faults);
    let mut one = common::attach(&mut bus, shared());
    let others = others(&mut bus);
    let times: Vec<_> = sends.iter().map(|send| send.at).collect();
    let mut log = Log::new();
    let act = |bus: &mut Bus, one: &mut AttachedController, n: usize| {
        let Send { who, frame, .. } = &sends[n];
        match others.get(usize::from(who.wrapping_sub(VFS))) {
            Some(&node) => bus.send(node, bus.now(), frame, 0).unwrap(),
            None => one
                .controller
                .request(VfNumber(*who), frame, n as u64)
                .unwrap(),
        }
    };
    run(&mut bus, &mut one, END, &times, act, |what| {
        note(&mut log, what);
    });
    (log, one.controller)
}

/// Runs with one controller for each function.
fn with_many(sends: &[Send], faults: &[(u64, ErrorKind)]) -> Log {
    let mut bus = bus(faults);
    let mut nodes: Vec<_> = (0..VFS)
        .map(|_| bus.attach(with_queue(64)).unwrap())
        .collect();
    nodes.extend(others(&mut bus));
    let mut log = Log::new();
    for send in sends {
        bus.send(nodes[usize::from(send.who)], send.at, &send.frame, 0)
            .unwrap();
    }
    bus.run_until(END, |event| {
        if let Some(what) = ControllerEvent::from_event(event, nodes[0]) {
            note(&mut log, &what);
        }
    });
    log
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]
    #[test]
    fn frames_are_the_same_at_the_same_nanoseconds(
        sends in sends(),
        faults in prop::collection::btree_map(
            1u64..80,
            prop::sample::select(vec![ErrorKind::Bit, ErrorKind::Form, ErrorKind::Ack, ErrorKind::Crc]),
            // So few that no node becomes passive: 128 of TEC at 8 each.
            0..12,
        ),
    ) {
        let faults: Vec<_> = faults.into_iter().collect();
        let (one, mut controller) = with_one(&sends, &faults);
        let many = with_many(&sends, &faults);
        prop_assert_eq!(one, many);
        prop_assert!(controller.check().is_ok());
        // Each request is confirmed, and all other functions receive it.
        let of_functions = sends.iter().filter(|send| send.who < VFS);
        for vf in (0..VFS).map(VfNumber) {
            let own: Vec<_> = (0..).zip(&sends).filter(|(_, s)| s.who == vf.0).map(|(n, _)| n).collect();
            let mut confirmed = Vec::new();
            while let Some(completion) = controller.completion(vf).unwrap() {
                prop_assert_eq!(completion.outcome, RequestOutcome::Sent);
                confirmed.push(completion.ticket);
            }
            confirmed.sort_unstable();
            prop_assert_eq!(&confirmed, &own);
            let counters = controller.counters(vf).unwrap();
            let foreign = sends.len() - own.len();
            prop_assert_eq!(counters.heard, foreign as u64);
        }
        prop_assert!(of_functions.count() <= sends.len());
    }
}

/// Three frames of two functions, each disturbed six times: no separate controller becomes passive.
#[test]
fn what_cannot_be_the_same_is_the_error_counters() {
    let frame = |id| Frame::classic(CanId::from_raw(id), &[]).unwrap();
    let sends = [0, 1, 2].map(|n| Send {
        at: 0,
        who: n as u8,
        frame: frame(n),
    });
    let faults: Vec<_> = (1..=18).map(|start| (start, ErrorKind::Bit)).collect();
    let (one, controller) = with_one(&sends, &faults);
    let many = with_many(&sends, &faults);
    assert_eq!(
        (one.len(), many.len()),
        (21, 21),
        "all errors, and all frames"
    );
    assert_ne!(one, many, "an error-passive node waits after its attempts");
    assert_ne!(controller.state(), Some(ErrorState::BusOff));
}

/// A function's frame with a high priority does not wait behind other waiting frames, neither its
/// own nor those of other functions.
#[test]
fn nothing_waits_in_a_buffer_before_a_frame_with_a_higher_priority() {
    let frame = |id| Frame::classic(CanId::from_raw(id), &[0; 8]).unwrap();
    let mut bus = bus(&[]);
    let mut one = common::attach(&mut bus, shared());
    others(&mut bus);
    let mut order = Vec::new();
    let times = [0, 0, 0, 0, 0, 100_000];
    let act = |_: &mut Bus, one: &mut AttachedController, n: usize| {
        let (vf, id) = [
            (0, 0x700),
            (0, 0x701),
            (1, 0x600),
            (1, 0x601),
            (2, 0x500),
            (0, 0x001),
        ][n];
        one.controller
            .request(VfNumber(vf), &frame(id), n as u64)
            .unwrap();
    };
    run(&mut bus, &mut one, END, &times, act, |what| {
        if let ControllerEvent::Sent { frame, .. } = what {
            order.push(frame.id().raw());
        }
    });
    assert_eq!(order, [0x500, 0x001, 0x600, 0x601, 0x700, 0x701]);
}
