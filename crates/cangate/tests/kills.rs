//! `cangate run` between two virtual machines, while either side is killed repeatedly: only frames
//! that were in flight are lost, and they are counted. The machines are in this process; the
//! gateway is the program.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "../../virtio/tests/machine/mod.rs"]
mod machine;

use machine::{BUFFERS, Machine, wait};
use std::collections::BTreeMap;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use vhost::vhost_user::Frontend;
use virtio::message::{CONTROL, HEADER, MESSAGE_START, MESSAGE_TX, RX, TX, feature};

const GATEWAY: &str = r#"
[ports.a]
kind = "virtio"
socket = "a.sock"
[ports.b]
kind = "virtio"
socket = "b.sock"
[[routes]]
from = "a"
to = "b"
"#;

/// Number of frames that are in a transmit queue at a time.
const HEADS: u16 = BUFFERS / 2;

struct Gateway(Child);

impl Gateway {
    fn start(folder: &Path) -> Self {
        let child = Command::new(env!("CARGO_BIN_EXE_cangate"))
            .args(["run", "gateway.toml"])
            .current_dir(folder)
            .env("XDG_RUNTIME_DIR", folder)
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        for name in ["a.sock", "b.sock"] {
            wait("the gateway listens", || {
                UnixStream::connect(folder.join(name)).is_ok()
            });
        }
        Self(child)
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A machine and its monitor.
struct Side {
    machine: Machine,
    monitor: Option<Frontend>,
    path: PathBuf,
}

impl Side {
    fn new(path: PathBuf) -> Self {
        Self {
            machine: Machine::new(),
            monitor: None,
            path,
        }
    }

    /// Connects the monitor, or connects it again: the machine's driver does not notice.
    fn connect(&mut self) {
        self.monitor = Some(self.machine.connect(&self.path, feature::CLASSIC));
        for queue in [TX, RX, CONTROL] {
            self.machine.kick(queue);
        }
    }
}

fn message(number: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    bytes.extend(MESSAGE_TX.to_le_bytes());
    bytes.extend(8_u16.to_le_bytes());
    bytes.extend([0; 8]);
    bytes.extend(0x123_u32.to_le_bytes());
    bytes.extend(u64::from(number).to_le_bytes());
    bytes
}

/// The frames that a machine sent, and their fates.
#[derive(Default)]
struct Fates {
    sent: u32,
    good: u32,
    bad: u32,
    /// How many times each number came.
    came: BTreeMap<u32, u32>,
    last: u32,
    backwards: u32,
}

impl Fates {
    /// Lets frames flow for some rounds.
    fn flow(&mut self, sides: &mut [Side; 2], free: &mut Vec<(u16, u32)>, rounds: u32) {
        for _ in 0..rounds {
            let [a, b] = &mut *sides;
            while let Some((head, _)) = free.pop() {
                self.sent += 1;
                a.machine.send(TX, head, &message(self.sent));
            }
            while let Some((head, result)) = a.machine.back(TX) {
                free.push((head, 0));
                if result == [0] {
                    self.good += 1;
                } else {
                    self.bad += 1;
                }
            }
            while let Some((head, bytes)) = b.machine.back(RX) {
                let number = bytes[HEADER..HEADER + 4].try_into().unwrap();
                let number = u32::from_le_bytes(number);
                self.backwards += u32::from(number < self.last);
                self.last = number;
                *self.came.entry(number).or_default() += 1;
                b.machine.describe(RX, head, &[], 80);
                b.machine.offer(RX, head);
                b.machine.kick(RX);
            }
            std::thread::yield_now();
        }
    }
}

/// A started program has all descriptors of this process for a moment, also one of the other test's
/// monitor that has just been closed: the gateway would not see its end in time, and would refuse
/// the next monitor. So the tests run one after the other.
static ALONE: Mutex<()> = Mutex::new(());

fn survive(kills: u32) {
    let _alone = ALONE.lock();
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("gateway.toml"), GATEWAY).unwrap();
    let mut gateway = Gateway::start(folder.path());
    let mut sides = ["a.sock", "b.sock"].map(|name| Side::new(folder.path().join(name)));
    for side in &mut sides {
        side.connect();
        side.machine.command(MESSAGE_START);
    }
    for head in 0..BUFFERS {
        sides[1].machine.describe(RX, head, &[], 80);
        sides[1].machine.offer(RX, head);
    }
    sides[1].machine.kick(RX);
    let mut free: Vec<(u16, u32)> = (0..HEADS).map(|head| (head, 0)).collect();
    let mut fates = Fates::default();
    for kill in 0..kills {
        let before = fates.came.len();
        // At a different moment each time.
        fates.flow(&mut sides, &mut free, 1 + kill * 7 % 40);
        match kill % 3 {
            0 => {
                drop(gateway);
                gateway = Gateway::start(folder.path());
                sides.iter_mut().for_each(Side::connect);
            }
            n => {
                let side = &mut sides[n as usize - 1];
                side.monitor = None;
                side.connect();
            }
        }
        wait("frames come again", || {
            fates.flow(&mut sides, &mut free, 20);
            fates.came.len() > before + 10
        });
    }
    // Wait until no frame is under way.
    wait("nothing is under way", || {
        let sent = fates.sent;
        let mut none = Vec::new();
        fates.flow(&mut sides, &mut none, 20);
        fates.good + fates.bad == sent
    });
    let twice: u32 = fates.came.values().map(|times| times - 1).sum();
    let came = fates.came.len() as u32;
    let lost = fates.sent - came;
    println!(
        "{kills} kills: {} frames sent, {came} came, {lost} lost, {twice} came twice, {} backwards",
        fates.sent, fates.backwards
    );
    // Each kill costs at most the frames in flight: a transmit queue, and the queue of the other
    // port.
    let in_flight = kills * (u32::from(HEADS) + u32::from(BUFFERS));
    assert!(lost <= in_flight && twice <= in_flight, "{lost} {twice}");
    assert!(came > kills * 10, "{came}");
    // Only a frame that is sent again comes after a later one.
    assert!(fates.backwards <= twice.max(kills), "{}", fates.backwards);
}

#[test]
fn twenty_kills_lose_what_was_in_flight() {
    survive(20);
}

mod long {
    #[test]
    #[ignore = "heavy"]
    fn a_thousand_kills_lose_what_was_in_flight() {
        super::survive(1000);
    }
}
