//! The queues of a virtio CAN device, while the machine writes anything anywhere in its memory: the
//! device must not panic, must pass on only frames of negotiated kinds, must report each of them at
//! most once, and must count each as one of acknowledged, refused, abandoned and under way.

use crate::Target;
use crate::bytes::ByteSource;
use frame::Kind;
use virtio::message::{CONTROL, QUEUES, RX, TX, feature};
use virtio::{DeviceRings, TakenFrame};
use vm_memory::{Bytes as _, GuestAddress, GuestMemoryMmap};

/// The target; see the module's documentation.
pub const TARGET: Target = Target {
    name: "virtio_rings",
    run,
    words: &[
        // A descriptor that has a next one, a device's part, a frame's message, START.
        "\u{0}\u{20}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{18}\u{0}\u{0}\u{0}\u{1}\u{0}\u{1}\u{0}",
        "\u{0}\u{30}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{50}\u{0}\u{0}\u{0}\u{2}\u{0}\u{0}\u{0}",
        "\u{1}\u{0}\u{2}\u{0}\u{0}\u{0}\u{0}\u{0}",
        "\u{1}\u{2}",
    ],
};

const OPERATIONS: usize = 120;
const SIZE: u64 = 0x8000;
/// Each queue's table, available ring and used ring.
const PLACES: [[u64; 3]; QUEUES] = [
    [0x0000, 0x0200, 0x0400],
    [0x0800, 0x0A00, 0x0C00],
    [0x1000, 0x1200, 0x1400],
];

struct FuzzMachine {
    memory: GuestMemoryMmap,
    index: [u16; QUEUES],
}

impl FuzzMachine {
    fn put(&self, at: u64, bytes: &[u8]) {
        // Writes outside of the memory have no effect.
        let _ = self.memory.write_slice(bytes, GuestAddress(at % SIZE));
    }

    /// Offers, as a driver does, a buffer that the device reads, and one that it writes.
    fn offer(&mut self, queue: usize, head: u16, out: &[u8], room: u16) {
        let [table, available, _] = PLACES[queue];
        let buffer = 0x2000 + 0x100 * u64::from(head);
        self.put(buffer, out);
        let entry = |at: u64, len: u32, flags: u16, next: u16| {
            let mut bytes = [0; 16];
            bytes[..8].copy_from_slice(&at.to_le_bytes());
            bytes[8..12].copy_from_slice(&len.to_le_bytes());
            bytes[12..14].copy_from_slice(&flags.to_le_bytes());
            bytes[14..].copy_from_slice(&next.to_le_bytes());
            bytes
        };
        self.put(
            table + 16 * u64::from(head),
            &entry(buffer, out.len() as u32, 1, head + 8),
        );
        let second = entry(buffer + 0x80, u32::from(room), 2, 0);
        self.put(table + 16 * u64::from(head + 8), &second);
        let slot = u64::from(self.index[queue] % 16);
        self.put(available + 4 + 2 * slot, &head.to_le_bytes());
        self.index[queue] = self.index[queue].wrapping_add(1);
        self.put(available + 2, &self.index[queue].to_le_bytes());
    }
}

fn set_up(rings: &mut DeviceRings, queue: usize) {
    let [table, available, used] = PLACES[queue];
    assert!(rings.set_size(queue, 16));
    assert!(rings.set_addresses(queue, table, available, used));
    rings.start(queue);
    rings.enable(queue, true);
}

fn run(input: &[u8]) {
    let mut bytes = ByteSource::new(input);
    let ranges = [(GuestAddress(0), SIZE as usize)];
    let Ok(memory) = GuestMemoryMmap::from_ranges(&ranges) else {
        return;
    };
    let features = u64::from(bytes.byte() & 7) | u64::from(bytes.below(2)) << 29;
    let mut rings = DeviceRings::new(memory.clone(), features, true);
    let mut machine = FuzzMachine {
        memory,
        index: [0; QUEUES],
    };
    for queue in 0..QUEUES {
        set_up(&mut rings, queue);
    }
    machine.offer(CONTROL, 0, &[1, 2], 1);
    rings.obey();
    let mut open: Vec<TakenFrame> = Vec::new();
    for _ in 0..OPERATIONS {
        if bytes.is_empty() {
            break;
        }
        let queue = usize::from(bytes.below(3));
        match bytes.below(12) {
            0 => {
                let (at, len) = (bytes.short(), usize::from(bytes.below(17)));
                let some: Vec<u8> = (0..len).map(|_| bytes.byte()).collect();
                machine.put(u64::from(at), &some);
            }
            1 => {
                let frame: Vec<u8> = (0..bytes.below(90)).map(|_| bytes.byte()).collect();
                let head = u16::from(bytes.below(8));
                machine.offer(TX, head, &frame, u16::from(bytes.byte()));
            }
            2 => {
                // A message that is a valid frame.
                let mut message = [0; 24];
                message[0] = 1;
                message[2] = bytes.below(9);
                message[12] = bytes.byte();
                machine.offer(TX, u16::from(bytes.below(8)), &message, 1);
            }
            3 => machine.offer(RX, u16::from(bytes.below(8)), &[], u16::from(bytes.byte())),
            4 => {
                let command = [bytes.byte(), 2];
                machine.offer(CONTROL, u16::from(bytes.below(8)), &command, 1);
            }
            5 => {
                rings.obey();
            }
            6 => {
                if let Some(taken) = rings.take() {
                    let (kind, rtr) = (taken.frame.kind(), taken.frame.id().is_rtr());
                    let agreed = if kind == Kind::Fd {
                        feature::FD
                    } else {
                        feature::CLASSIC
                    };
                    assert!(
                        features & agreed != 0,
                        "the sides did not agree on {kind:?}"
                    );
                    assert!(!rtr || features & feature::RTR != 0);
                    assert!(rings.is_started() || rings.broken().is_some());
                    open.push(taken);
                }
            }
            7 => {
                if let Some(taken) = open.pop() {
                    rings.finish(taken.ticket, bytes.byte() & 1 == 0);
                    // A second call has no effect.
                    let counted = rings.counters();
                    rings.finish(taken.ticket, true);
                    assert_eq!(counted, rings.counters());
                }
            }
            8 => {
                let frame = bytes.frame();
                if rings.is_started() && virtio::message::carries(&frame.view(), features) {
                    let before = rings.counters().given;
                    let given = rings.give(&frame.view());
                    assert_eq!(rings.counters().given, before + u64::from(given));
                }
            }
            9 => {
                rings.arm();
                let _ = rings.wants_interrupt(queue);
            }
            10 => {
                rings.set_bus_off(bytes.byte() & 1 == 0);
            }
            _ => {
                rings.stop(queue);
                // A driver resets its own indices together with its used ring.
                if bytes.byte() & 1 == 0 {
                    let [_, available, used] = PLACES[queue];
                    machine.put(available, &[0; 4]);
                    machine.put(used, &[0; 4]);
                    machine.index[queue] = 0;
                }
                set_up(&mut rings, queue);
            }
        }
        let c = rings.counters();
        let ended = c.acknowledged + c.refused + c.abandoned;
        assert!(ended <= c.taken);
        assert_eq!(rings.under_way(), c.taken - ended);
    }
}
