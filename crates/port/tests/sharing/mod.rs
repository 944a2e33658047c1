//! Machines of this process that share a controller.
#![allow(
    dead_code,
    unreachable_pub,
    clippy::unwrap_used,
    reason = "each test uses a part; a test that cannot go on has failed"
)]

#[path = "../../../virtio/tests/machine/mod.rs"]
pub mod machine;

use ::virtio::message::{HEADER, MESSAGE_START, MESSAGE_TX, RX, TX, feature};
use bus::vcontroller::SendBudget;
use frame::{Frame, Nanos};
use machine::{BUFFERS, Machine, command_in, connect_while};
use port::controllers::{ControllerSettings, RightsText};
use port::embedded::BusWorld;
use port::virtio::{ControllerShare, VirtioSettings};
use port::{Halves, PollReceive, PortOpener, PortSettings};
use std::cell::RefCell;
use std::path::Path;
use vhost::vhost_user::Frontend;

/// A machine and its port.
pub struct Side {
    pub machine: RefCell<Machine>,
    pub halves: Halves,
    pub monitor: Option<Frontend>,
    pub heads: Vec<u16>,
}

pub struct Lab {
    _folder: tempfile::TempDir,
    pub world: BusWorld,
    pub now: Nanos,
    pub host: Halves,
    pub sides: Vec<Side>,
}

fn connect(rx: &mut dyn PollReceive, machine: &RefCell<Machine>, path: &Path) -> Frontend {
    connect_while(
        machine,
        path,
        feature::CLASSIC | feature::RTR | feature::LATE_TX_ACK,
        || {
            rx.receive(0, 0, &mut |_| panic!("nothing was sent"))
                .unwrap();
        },
    )
}

impl Lab {
    /// Makes a machine for each of these.
    pub fn new(
        controller: &ControllerSettings,
        all: Vec<(RightsText, Option<SendBudget>)>,
    ) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut opener = PortOpener::new(0, 0);
        let mut sides = Vec::new();
        // Machines may come before their controller in a file.
        for (number, (rights, budget)) in all.into_iter().enumerate() {
            let path = folder.path().join(format!("{number}.sock"));
            let settings = VirtioSettings {
                socket: path.clone(),
                connect: false,
                shares: Some(ControllerShare {
                    controller: "body".to_owned(),
                    rights,
                    budget,
                    coalesce: 5_000_000,
                }),
                options: ::virtio::DeviceOptions {
                    fd: false,
                    brs: false,
                    late_ack: true,
                    coalesce: 5_000_000,
                    unsealed: false,
                },
                queue: 8,
            };
            let halves = settings.open(&format!("vm{number}"), &mut opener).unwrap();
            sides.push((halves, path));
        }
        let host = controller.open("body", &mut opener).unwrap();
        let sides = sides.into_iter().map(|(mut halves, path)| {
            let machine = RefCell::new(Machine::new());
            let monitor = connect(&mut *halves.0, &machine, &path);
            command_in(&machine, MESSAGE_START, || {
                halves.0.receive(0, 10, &mut |_| ()).unwrap();
            });
            for head in 0..BUFFERS / 2 {
                machine.borrow().describe(RX, head, &[], 80);
                machine.borrow_mut().offer(RX, head);
            }
            Side {
                machine,
                halves,
                monitor: Some(monitor),
                heads: (0..BUFFERS / 2).collect(),
            }
        });
        let sides = sides.collect();
        Self {
            _folder: folder,
            world: opener.shared(BusWorld::new).clone(),
            now: 0,
            host,
            sides,
        }
    }

    pub fn send(&mut self, side: usize, text: &str) {
        let frame: Frame = text.parse().unwrap();
        let mut bytes = Vec::new();
        bytes.extend(MESSAGE_TX.to_le_bytes());
        bytes.extend((frame.len() as u16).to_le_bytes());
        bytes.extend([0; 8]);
        bytes.extend(frame.id().number().to_le_bytes());
        bytes.extend(frame.data());
        let side = &mut self.sides[side];
        let head = side.heads.pop().unwrap();
        side.machine.borrow_mut().send(TX, head, &bytes);
    }

    /// Lets all machines and ports work now; returns the frames that came in at the ports, with the
    /// end of frame.
    pub fn work(&mut self) -> Vec<(String, Nanos)> {
        let mut came = Vec::new();
        for side in &mut self.sides {
            let mut take = |received: port::ReceivedFrame<'_>| {
                came.push((received.frame.to_string(), received.stamp.ns));
            };
            side.halves.0.receive(self.now, 100, &mut take).unwrap();
        }
        self.host.0.receive(self.now, 100, &mut |_| ()).unwrap();
        came.sort_by_key(|(_, at)| *at);
        came
    }

    /// Works until this time, whenever a port is due.
    pub fn until(&mut self, end: Nanos) -> Vec<(String, Nanos)> {
        let mut came = self.work();
        loop {
            let all = self.sides.iter().map(|side| side.halves.0.deadline());
            let next = all.flatten().min().unwrap_or(end);
            if next >= end {
                break;
            }
            self.now = next.max(self.now);
            came.extend(self.work());
        }
        self.now = end;
        came.extend(self.work());
        came
    }

    /// Returns the results that the machine has got for the frames that it sent.
    pub fn results(&mut self, side: usize) -> Vec<u8> {
        let side = &mut self.sides[side];
        let mut all = Vec::new();
        while let Some((head, bytes)) = side.machine.borrow_mut().back(TX) {
            side.heads.push(head);
            all.extend(bytes);
        }
        all
    }

    /// Returns the identifiers that the machine has received.
    pub fn received(&mut self, side: usize) -> Vec<u32> {
        let mut machine = self.sides[side].machine.borrow_mut();
        let mut all = Vec::new();
        while let Some((_, bytes)) = machine.back(RX) {
            let id = bytes[HEADER - 4..HEADER].try_into().unwrap();
            all.push(u32::from_le_bytes(id));
        }
        all
    }
}

/// Returns rights without limits.
pub fn everything() -> (RightsText, Option<SendBudget>) {
    (RightsText::default(), None)
}
