//! A virtio device over PCI according to its standard (virtio 1.4, §4.1; PCI Local Bus
//! Specification 3.0, §6.8 for MSI-X). It is written to be compared with these texts, not to be
//! fast.

use super::space::{ConfigModel, Structure};
use vmm::model::{DeviceModel, GivenQueue, MsixMessage, QUEUES, StartedDevice, VECTORS};

/// Size of the machine's memory in bytes.
pub(super) const MEMORY: usize = 0x1_0000;
pub(super) const VERSION_1: u64 = 1 << 32;
pub(super) const OFFERED: u64 = VERSION_1 | 1 << 29 | 1 << 28 | 7;
const LONGEST: u16 = 256;
const NO_VECTOR: u16 = 0xFFFF;
/// Bits of the status.
const DRIVER_OK: u8 = 4;
const FEATURES_OK: u8 = 8;
const NEEDS_RESET: u8 = 64;

#[derive(Clone, Copy)]
struct QueueModel {
    size: u16,
    vector: u16,
    enabled: bool,
    /// Descriptors, the part that the driver writes, the part that the device writes.
    parts: [u64; 3],
}

const NEW: QueueModel = QueueModel {
    size: LONGEST,
    vector: NO_VECTOR,
    enabled: false,
    parts: [0; 3],
};

impl QueueModel {
    /// Returns whether each part is completely in memory, and aligned as required (§2.7).
    fn is_in_memory(&self) -> bool {
        let n = u128::from(self.size);
        let needs = [(16, 16 * n), (2, 6 + 2 * n), (4, 6 + 8 * n)];
        self.parts.iter().zip(needs).all(|(at, (align, len))| {
            let at = u128::from(*at);
            at.is_multiple_of(align) && at + len <= MEMORY as u128
        })
    }
}

/// The state that a device must have.
pub(super) struct ExpectedDevice {
    pub(super) space: ConfigModel,
    selects: [u32; 2],
    features: u64,
    config_vector: u16,
    status: u8,
    generation: u8,
    selected: u16,
    queues: [QueueModel; QUEUES],
    pub(super) started: Option<StartedDevice>,
    pub(super) turns: (u32, u32),
    pub(super) kicks: [u32; QUEUES],
    table: [[u8; 16]; VECTORS],
    waiting: [bool; VECTORS],
    /// Interrupts that the processor must have received.
    pub(super) came: Vec<MsixMessage>,
}

impl ExpectedDevice {
    pub(super) fn new(space: ConfigModel) -> Self {
        let mut masked = [0; 16];
        masked[12] = 1;
        Self {
            space,
            selects: [0; 2],
            features: 0,
            config_vector: NO_VECTOR,
            status: 0,
            generation: 0,
            selected: 0,
            queues: [NEW; QUEUES],
            started: None,
            turns: (0, 0),
            kicks: [0; QUEUES],
            table: [masked; VECTORS],
            waiting: [false; VECTORS],
            came: Vec::new(),
        }
    }

    /// Returns a structure that the device must have.
    pub(super) fn structure(&self, kind: usize) -> Structure {
        self.space.structures[kind].expect("the device must have it")
    }

    fn image(&self) -> [u8; 0x38] {
        let half = |all: u64, select: u32| match select {
            0 | 1 => (all >> (32 * select)) as u32,
            _ => 0,
        };
        let mut all = Vec::new();
        all.extend(self.selects[0].to_le_bytes());
        all.extend(half(OFFERED, self.selects[0]).to_le_bytes());
        all.extend(self.selects[1].to_le_bytes());
        all.extend(half(self.features, self.selects[1]).to_le_bytes());
        all.extend(self.config_vector.to_le_bytes());
        all.extend((QUEUES as u16).to_le_bytes());
        all.extend([self.status, self.generation]);
        all.extend(self.selected.to_le_bytes());
        if let Some(queue) = self.queues.get(usize::from(self.selected)) {
            all.extend(queue.size.to_le_bytes());
            all.extend(queue.vector.to_le_bytes());
            all.extend(u16::from(queue.enabled).to_le_bytes());
            // Each queue has a port of its own.
            all.extend(self.selected.to_le_bytes());
            queue
                .parts
                .iter()
                .for_each(|at| all.extend(at.to_le_bytes()));
        }
        all.resize(0x38, 0);
        all.try_into().expect("that is its length")
    }

    /// Returns the selected queue if it can still be set up.
    fn queue(&mut self) -> Option<&mut QueueModel> {
        let open = self.status & DRIVER_OK == 0;
        let queue = self.queues.get_mut(usize::from(self.selected));
        queue.filter(|queue| open && !queue.enabled)
    }

    fn set_status(&mut self, status: u8) {
        if status == 0 {
            self.turns.1 += u32::from(self.started.take().is_some());
            self.selects = [0; 2];
            self.features = 0;
            self.config_vector = NO_VECTOR;
            self.status = 0;
            self.selected = 0;
            self.queues = [NEW; QUEUES];
            return;
        }
        let new = status & !self.status & !NEEDS_RESET;
        self.status |= new;
        let agreed = self.features & !OFFERED == 0 && self.features & VERSION_1 != 0;
        if new & FEATURES_OK != 0 && !agreed {
            self.status &= !FEATURES_OK;
        }
        if new & DRIVER_OK != 0 {
            let mut used = self.queues.iter().filter(|queue| queue.enabled);
            if self.status & FEATURES_OK != 0 && used.all(QueueModel::is_in_memory) {
                self.turns.0 += 1;
                self.started = Some(StartedDevice {
                    features: self.features,
                    queues: self.queues.map(|queue| {
                        queue.enabled.then_some(GivenQueue {
                            size: queue.size,
                            vector: (queue.vector != NO_VECTOR).then_some(queue.vector.into()),
                            parts: queue.parts,
                        })
                    }),
                });
            } else {
                self.status |= NEEDS_RESET;
            }
        }
    }

    fn write_common(&mut self, at: u32, bytes: &[u8]) {
        let number = |bytes: &[u8]| {
            bytes
                .iter()
                .rev()
                .fold(0, |all, byte| all << 8 | u64::from(*byte))
        };
        let value = number(bytes);
        let vector = if value < VECTORS as u64 {
            value as u16
        } else {
            NO_VECTOR
        };
        match (at, bytes.len()) {
            (0x00, 4) => self.selects[0] = value as u32,
            (0x08, 4) => self.selects[1] = value as u32,
            (0x0C, 4) if self.selects[1] < 2 && self.status & FEATURES_OK == 0 => {
                let shift = 32 * self.selects[1];
                self.features = self.features & !(0xFFFF_FFFF << shift) | value << shift;
            }
            (0x10, 2) => self.config_vector = vector,
            (0x14, 1) => self.set_status(value as u8),
            (0x16, 2) => self.selected = value as u16,
            (0x18, 2) if value.is_power_of_two() && value <= u64::from(LONGEST) => {
                if let Some(queue) = self.queue() {
                    queue.size = value as u16;
                }
            }
            (0x1A, 2) => {
                if let Some(queue) = self.queue() {
                    queue.vector = vector;
                }
            }
            (0x1C, 2) if value == 1 => {
                if let Some(queue) = self.queue() {
                    queue.enabled = true;
                }
            }
            (0x20..0x38, 4 | 8) if at.is_multiple_of(bytes.len() as u32) => {
                if let Some(queue) = self.queue() {
                    let place = &mut queue.parts[(at as usize - 0x20) / 8];
                    let mut all = place.to_le_bytes();
                    let from = at as usize % 8;
                    all[from..from + bytes.len()].copy_from_slice(bytes);
                    *place = u64::from_le_bytes(all);
                }
            }
            _ => {}
        }
    }

    /// Returns the locations of the table and of the pending bits: base address register, offset.
    fn msix(&self) -> [(usize, u32); 2] {
        let at = self.space.msix.expect("the device must have it");
        [4, 8].map(|field| {
            let word = self.space.long(at + field);
            ((word & 7) as usize, word & !7)
        })
    }

    /// Reads from the region of a base address register.
    pub(super) fn read_in(&self, bar: usize, at: u32, bytes: &mut [u8]) {
        let [table, pending] = self.msix();
        let structures = [1, 4].map(|kind| self.structure(kind));
        let image = self.image();
        for (at, byte) in (at..).zip(bytes) {
            let within = |bar_of: usize, from: u32, len: usize| {
                let at = at.checked_sub(from)? as usize;
                (bar == bar_of && at < len).then_some(at)
            };
            let of = |it: Structure| within(it.bar, it.offset, it.len as usize);
            *byte = if let Some(at) = of(structures[0]) {
                image[at]
            } else if let Some(at) = of(structures[1]) {
                DeviceModel::CONFIG[at]
            } else if let Some(at) = within(table.0, table.1, 16 * VECTORS) {
                self.table[at / 16][at % 16]
            } else if let Some(0) = within(pending.0, pending.1, 1) {
                (0..VECTORS).fold(0, |bits, n| bits | u8::from(self.waiting[n]) << n)
            } else if self.space.is_ports(bar) {
                0xFF
            } else {
                0
            };
        }
    }

    /// Writes to such a region. Only writes that begin in a structure reach it.
    pub(super) fn write_in(&mut self, bar: usize, at: u32, bytes: &[u8]) {
        let [table, _] = self.msix();
        let (common, notify) = (self.structure(1), self.structure(2));
        if bar == common.bar && at.wrapping_sub(common.offset) < common.len {
            self.write_common(at - common.offset, bytes);
        } else if bar == notify.bar {
            let step = self.space.long(notify.at + 16);
            let queue = (at.wrapping_sub(notify.offset) / step) as usize;
            if self.started.is_some() && at.wrapping_sub(notify.offset) < notify.len {
                self.kicks[queue] += 1;
            }
        } else if bar == table.0 {
            for (at, byte) in (at.wrapping_sub(table.1)..).zip(bytes) {
                if let Some(entry) = self.table.get_mut(at as usize / 16) {
                    // Of the last word, only the mask bit exists.
                    let mask = [0xFF, 1, 0][(at as usize % 16).saturating_sub(11).min(2)];
                    entry[at as usize % 16] = byte & mask;
                }
            }
        }
        self.settle();
    }

    /// Returns the message of each interrupt; `None` if it is masked, or all are.
    pub(super) fn connected(&self) -> [Option<MsixMessage>; VECTORS] {
        let at = self.space.msix.expect("the device must have it");
        let on = self.space.bytes[at + 3] >> 6 == 2;
        self.table.map(|entry| {
            let part = |from: usize| {
                u32::from_le_bytes(entry[from..from + 4].try_into().expect("four bytes"))
            };
            (on && entry[12] & 1 == 0).then(|| MsixMessage {
                address: u64::from(part(0)) | u64::from(part(4)) << 32,
                data: part(8),
            })
        })
    }

    /// Delivers pending interrupts that are no longer masked.
    pub(super) fn settle(&mut self) {
        for (message, waits) in self.connected().into_iter().zip(&mut self.waiting) {
            if let Some(message) = message
                && std::mem::take(waits)
            {
                self.came.push(message);
            }
        }
    }

    pub(super) fn raise(&mut self, vector: usize) {
        self.waiting[vector] = true;
        self.settle();
    }

    /// Changes the configuration.
    pub(super) fn change(&mut self) {
        self.generation = self.generation.wrapping_add(1);
        if self.config_vector != NO_VECTOR {
            self.raise(self.config_vector.into());
        }
    }

    /// Returns the location that the configuration access capability selects (§4.1.4.9).
    fn access(&self, at: usize, len: usize) -> Option<(usize, u32, usize)> {
        let cap = self.structure(5);
        let reached = at < cap.at + 20 && at + len > cap.at + 16;
        let (bar, offset) = (
            usize::from(self.space.bytes[cap.at + 4]),
            self.space.long(cap.at + 8),
        );
        let length = self.space.long(cap.at + 12);
        let size = *self.space.sizes.get(bar)?;
        let fits = matches!(length, 1 | 2 | 4)
            && offset.is_multiple_of(length)
            && u64::from(offset) + u64::from(length) <= u64::from(size);
        (reached && fits).then_some((bar, offset, length as usize))
    }

    pub(super) fn read_config(&mut self, at: usize, bytes: &mut [u8]) {
        if let Some((bar, offset, length)) = self.access(at, bytes.len()) {
            let mut data = [0; 4];
            self.read_in(bar, offset, &mut data[..length]);
            let place = self.structure(5).at + 16;
            self.space.bytes[place..place + length].copy_from_slice(&data[..length]);
        }
        bytes.copy_from_slice(&self.space.bytes[at..at + bytes.len()]);
    }

    pub(super) fn write_config(&mut self, at: usize, bytes: &[u8]) {
        self.space.write(at, bytes);
        if let Some((bar, offset, length)) = self.access(at, bytes.len()) {
            let place = self.structure(5).at + 16;
            let data = self.space.long(place).to_le_bytes();
            self.write_in(bar, offset, &data[..length]);
        }
        self.settle();
    }
}
