//! Ports of kind `virtio`, with machines in this process: every frame has one fate, in any order
//! of events.

use crate::sharing::machine::{BUFFERS, Machine, command_in, connect_while, wait};
use ::virtio::message::{MESSAGE_START, MESSAGE_STOP, MESSAGE_TX, RX, TX, feature};
use engine::{LinkState, OutgoingFrame, TransmitRefusal};
use frame::{CanId, Frame};
use port::virtio::VirtioSettings;
use port::{Halves, PollReceive, PortOpener, PortSettings, Receive, Transmit};
use proptest::prelude::*;
use std::cell::RefCell;
use std::path::Path;
use vhost::vhost_user::Frontend;

const ALL: u64 = feature::CLASSIC | feature::FD | feature::RTR;
const QUEUE: u32 = 5;

fn open(path: &Path) -> Halves {
    let settings = VirtioSettings {
        socket: path.to_owned(),
        connect: false,
        shares: None,
        options: ::virtio::DeviceOptions {
            fd: true,
            brs: true,
            late_ack: false,
            coalesce: 0,
            unsealed: false,
        },
        queue: QUEUE,
    };
    settings.open("vm", &mut PortOpener::new(0, 0)).unwrap()
}

fn connect(rx: &mut dyn PollReceive, machine: &RefCell<Machine>, path: &Path) -> Frontend {
    connect_while(machine, path, ALL, || {
        rx.receive(0, 0, &mut |_| panic!("nothing was sent"))
            .unwrap();
    })
}

#[derive(Clone, Debug)]
enum Step {
    /// The machine sends a frame.
    Send,
    /// The machine has room for some more frames.
    Room(u8),
    /// The gateway has frames for the machine.
    Route(u8),
    Receive(u8),
    Flush,
    Stop,
    Start,
    /// The monitor dies and another one comes.
    Again,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => Just(Step::Send),
        2 => (1..4_u8).prop_map(Step::Room),
        4 => (1..5_u8).prop_map(Step::Route),
        4 => (0..4_u8).prop_map(Step::Receive),
        2 => Just(Step::Flush),
        1 => Just(Step::Stop),
        2 => Just(Step::Start),
        1 => Just(Step::Again),
    ]
}

fn message(id: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    bytes.extend(MESSAGE_TX.to_le_bytes());
    bytes.extend([0; 10]);
    bytes.extend(id.to_le_bytes());
    bytes
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    #[test]
    fn every_frame_has_one_fate(steps in proptest::collection::vec(step(), 1..60)) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("vm.sock");
        let (mut rx, mut tx) = open(&path);
        let machine = RefCell::new(Machine::new());
        let mut monitor = connect(&mut *rx, &machine, &path);
        let (mut sent, mut came, mut offered, mut got) = (0_u32, 0_u32, 0_u32, 0_u32);
        let mut acknowledged = 0_u32;
        let mut failed = 0_u32;
        let mut routed = 0_u64;
        let mut free: Vec<u16> = (0..8).collect();
        let mut rx_free: Vec<u16> = (0..BUFFERS / 2).collect();
        for step in steps {
            match step {
                Step::Send => {
                    if let Some(head) = free.pop() {
                        machine.borrow_mut().send(TX, head, &message(sent));
                        sent = (sent + 1) % 0x800;
                    }
                }
                Step::Room(n) => {
                    for _ in 0..n {
                        let Some(head) = rx_free.pop() else { break };
                        let mut machine = machine.borrow_mut();
                        machine.describe(RX, head, &[], 80);
                        machine.offer(RX, head);
                        machine.kick(RX);
                    }
                }
                Step::Route(n) => {
                    for _ in 0..n {
                        let frame = Frame::classic(CanId::sff(offered % 0x800).unwrap(), &[]).unwrap();
                        let outgoing = OutgoingFrame { frame: frame.view(), token: 0, hops: 0, stamp: None, echo: false };
                        match tx.transmit(0, outgoing) {
                            Ok(_) => { routed += 1; offered += 1; }
                            Err(TransmitRefusal::Full) => prop_assert_eq!(tx.room(), 0),
                            Err(TransmitRefusal::Down) => prop_assert!(rx.link() != LinkState::Up),
                            Err(TransmitRefusal::Unsupported) => prop_assert!(false, "a classic frame"),
                        }
                    }
                }
                Step::Receive(budget) => {
                    let mut ids = Vec::new();
                    rx.receive(0, budget.into(), &mut |received| ids.push(received.frame.id().number())).unwrap();
                    prop_assert!(ids.len() <= usize::from(budget));
                    came += ids.len() as u32;
                }
                Step::Flush => { tx.flush(0).unwrap(); }
                Step::Stop => command_in(&machine, MESSAGE_STOP, || { rx.receive(0, 0, &mut |_| ()).unwrap(); }),
                Step::Start => command_in(&machine, MESSAGE_START, || { rx.receive(0, 0, &mut |_| ()).unwrap(); }),
                Step::Again => {
                    drop(monitor);
                    wait("it is noticed", || {
                        rx.receive(0, 0, &mut |_| ()).unwrap();
                        rx.link() == LinkState::Gone
                    });
                    monitor = connect(&mut *rx, &machine, &path);
                }
            }
            // Buffers that came back to the machine.
            while let Some((head, bytes)) = machine.borrow_mut().back(TX) {
                free.push(head);
                if bytes == [0] { acknowledged += 1 } else { failed += 1 }
            }
            while let Some((head, bytes)) = machine.borrow_mut().back(RX) {
                rx_free.push(head);
                prop_assert_eq!(bytes.len(), 16);
                got += 1;
            }
            let counters = tx.counters();
            prop_assert_eq!(counters.taken, routed);
            prop_assert_eq!(counters.taken, counters.sent + counters.lost + counters.held);
            prop_assert_eq!(counters.sent, u64::from(got));
            prop_assert!(counters.held <= u64::from(QUEUE));
        }
        // All frames that the machine sent came or failed, once everything is taken.
        rx.receive(0, 100, &mut |_| came += 1).unwrap();
        while let Some((_, bytes)) = machine.borrow_mut().back(TX) {
            if bytes == [0] { acknowledged += 1 } else { failed += 1 }
        }
        prop_assert_eq!((acknowledged, acknowledged + failed), (came, sent));
        drop(monitor);
    }
}
