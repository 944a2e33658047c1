//! The registers of the devices of the project's own monitor, while a machine writes anything
//! anywhere in any width: nothing must panic, all reads must match the standards (`device`, `space`
//! and `serial` contain them as plain code), no queue outside of the machine's memory may be handed
//! over, and no masked interrupt may come.

mod device;
mod serial;
mod space;

use crate::Target;
use crate::bytes::ByteSource;
use device::{ExpectedDevice, MEMORY, OFFERED, VERSION_1};
use serial::Serial;
use space::{ADDRESS, ConfigModel, DATA, aimed};
use vmm::model::{DeviceModel, EARLY, QUEUES, VECTORS};

/// The target; see the module's documentation.
pub const TARGET: Target = Target {
    name: "monitor",
    run,
    words: &[
        // The set-up by a driver; a kick; an interrupt; the table's first entry; an access by
        // configuration space.
        "\u{1}\u{0}\u{7}\u{7}",
        "\u{9}\u{0}\u{1}",
        "\u{a}\u{0}\u{1}",
        "\u{c}\u{0}\u{1}",
        "\u{d}\u{0}\u{0}\u{14}\u{1}\u{0}",
    ],
};

const OPERATIONS: usize = 200;
const DEVICES: usize = 2;
/// The slot of the first one.
const FIRST: usize = 0x10;
const CONSOLE: u16 = 0x3F8;
const AGENT: u16 = 0x2F8;

/// The machine, and the state that it must have.
struct Both {
    model: DeviceModel,
    address: u32,
    bridge: ConfigModel,
    devices: Vec<ExpectedDevice>,
    console: Serial,
    agent: Serial,
}

impl Both {
    fn new() -> Self {
        let mut model = DeviceModel::new(DEVICES as u16, OFFERED, MEMORY).expect("it can be made");
        let bridge = ConfigModel::found(&mut model, 0);
        let devices = (FIRST..FIRST + DEVICES).map(|slot| {
            let device = ExpectedDevice::new(ConfigModel::found(&mut model, slot));
            assert_eq!(
                device.space.long(0),
                0x1064_1AF4,
                "virtio's vendor, a CAN device"
            );
            // §4.1.4: each kind of structure has at least its minimum size, and is within the
            // region of its base address register.
            for (kind, least) in [(1, 0x38), (2, 2), (3, 1), (4, 2)] {
                let it = device.structure(kind);
                assert!(it.len >= least && it.offset + it.len <= device.space.sizes[it.bar]);
            }
            device
        });
        let devices = devices.collect();
        let mut both = Self {
            model,
            address: 0,
            bridge,
            devices,
            console: Serial::default(),
            agent: Serial::default(),
        };
        // The initial content of these registers is not specified.
        both.out(ADDRESS, &[0; 4]);
        for (base, at, byte) in [CONSOLE, AGENT].into_iter().flat_map(|base| {
            [(3, 0x80), (0, 1), (1, 0), (3, 3), (4, 0), (1, 0), (7, 0)]
                .map(|(at, byte)| (base, at, byte))
        }) {
            both.out(base + at, &[byte]);
        }
        both
    }

    fn serial(&mut self, port: u16) -> Option<(&mut Serial, u16)> {
        match port {
            CONSOLE..0x400 => Some((&mut self.console, port - CONSOLE)),
            AGENT..0x300 => Some((&mut self.agent, port - AGENT)),
            _ => None,
        }
    }

    /// Returns the slot and the offset that a port of configuration space accesses.
    fn place(&self, port: u16) -> Option<(usize, usize)> {
        let address = self.address;
        let here = address >> 31 == 1 && address >> 16 & 0xFF == 0 && address >> 8 & 7 == 0;
        let at = (address & 0xFC) as usize + usize::from(port.checked_sub(DATA)?);
        here.then_some(((address >> 11 & 0x1F) as usize, at))
    }

    /// Returns the device that has this port.
    fn behind_port(&mut self, port: u16) -> Option<(&mut ExpectedDevice, usize, u32)> {
        self.devices.iter_mut().find_map(|device| {
            let bar = device.structure(2).bar;
            let at = u64::from(port).checked_sub(device.space.base(bar)?)?;
            (at < device.space.sizes[bar].into()).then_some((device, bar, at as u32))
        })
    }

    /// Returns the device that answers at this address.
    fn behind(&mut self, address: u64) -> Option<(&mut ExpectedDevice, usize, u32)> {
        self.devices.iter_mut().find_map(|device| {
            let space = &device.space;
            let (bar, at) = (0..6).filter(|bar| !space.is_ports(*bar)).find_map(|bar| {
                let at = address.checked_sub(space.base(bar)?)?;
                (at < space.sizes[bar].into()).then_some((bar, at as u32))
            })?;
            Some((device, bar, at))
        })
    }

    /// Writes a port as the processor does; returns true if the machine goes on.
    fn out(&mut self, port: u16, bytes: &[u8]) -> bool {
        let ended = self.model.out(port, bytes).is_some();
        let reset = match (port, bytes) {
            (0x64, [0xFE]) => true,
            (0xCF9, [byte]) => byte & 4 != 0,
            _ => false,
        };
        assert_eq!(ended, reset, "{port:#x} {bytes:x?}");
        if let Some((serial, at)) = self.serial(port) {
            bytes.iter().for_each(|byte| serial.write(at, *byte));
        } else if (ADDRESS..DATA + 4).contains(&port) {
            if let (ADDRESS, Ok(word)) = (port, bytes.try_into()) {
                self.address = u32::from_le_bytes(word);
            }
            if let Some((slot, at)) = self.place(port) {
                let bytes = &bytes[..bytes.len().min(4 - at % 4)];
                match slot.checked_sub(FIRST) {
                    Some(number) if number < DEVICES => {
                        self.devices[number].write_config(at, bytes);
                    }
                    None if slot == 0 => self.bridge.write(at, bytes),
                    _ => {}
                }
            }
        } else if let Some((device, bar, at)) = self.behind_port(port) {
            device.write_in(bar, at, bytes);
        }
        self.check();
        !ended
    }

    /// Reads a port as the processor does.
    fn input(&mut self, port: u16, len: usize) {
        let mut read = vec![0; len];
        self.model.input(port, &mut read);
        if let Some((serial, at)) = self.serial(port) {
            for byte in read {
                let known = serial.read(at);
                assert!(
                    known.is_none_or(|known| known == byte),
                    "{port:#x} {byte:#x}"
                );
            }
            return;
        }
        let mut must = vec![0xFF; len];
        if port == ADDRESS && len == 4 {
            must.copy_from_slice(&self.address.to_le_bytes());
        }
        if let Some((slot, at)) = self.place(port).filter(|_| port < DATA + 4) {
            let there = len.min(4 - at % 4);
            let there = &mut must[..there];
            match slot.checked_sub(FIRST) {
                Some(number) if number < DEVICES => self.devices[number].read_config(at, there),
                None if slot == 0 => {
                    there.copy_from_slice(&self.bridge.bytes[at..at + there.len()]);
                }
                _ => {}
            }
        }
        assert_eq!(read, must, "{port:#x} at {:#x}", self.address);
    }

    fn write(&mut self, address: u64, bytes: &[u8]) {
        self.model.write(address, bytes);
        if let Some((device, bar, at)) = self.behind(address) {
            device.write_in(bar, at, bytes);
        }
        self.check();
    }

    fn read(&mut self, address: u64, len: usize) {
        let (mut read, mut must) = (vec![0; len], vec![0xFF; len]);
        self.model.read(address, &mut read);
        if let Some((device, bar, at)) = self.behind(address) {
            device.read_in(bar, at, &mut must);
        }
        assert_eq!(read, must, "{address:#x}");
    }

    /// Checks the effects outside of the machine: on the other process, KVM and the processor.
    fn check(&mut self) {
        for (number, device) in self.devices.iter_mut().enumerate() {
            let model = &mut self.model;
            assert_eq!(model.started(number), device.started);
            assert_eq!(model.turns(number), device.turns);
            assert_eq!(model.kicks(number), device.kicks);
            assert_eq!(model.connected(number), device.connected());
            assert_eq!(model.came(number), std::mem::take(&mut device.came));
            let ports = device.space.base(device.structure(2).bar);
            let ports = ports.filter(|_| device.started.is_some());
            let ports = ports.and_then(|base| u16::try_from(base).ok());
            assert_eq!(model.kick_ports(number), ports);
        }
    }

    /// Writes a word of a device's configuration space, as a driver does.
    fn configure(&mut self, device: usize, at: usize, bytes: &[u8]) {
        self.out(ADDRESS, &aimed(FIRST + device, at).to_le_bytes());
        self.out(DATA + (at & 3) as u16, bytes);
    }

    /// Returns the current address of a device's structure; an arbitrary address if the device is
    /// disabled.
    fn address(&self, device: usize, kind: usize) -> u64 {
        let it = self.devices[device].structure(kind);
        let base = self.devices[device].space.base(it.bar);
        base.unwrap_or_default() + u64::from(it.offset)
    }

    fn table(&self, device: usize) -> u64 {
        let space = &self.devices[device].space;
        let at = space.msix.expect("the device must have it");
        let word = space.long(at + 4);
        space.base((word & 7) as usize).unwrap_or_default() + u64::from(word & !7)
    }

    /// Sets a device up as Linux's driver does, with deviations that the input selects.
    fn set_up(&mut self, device: usize, bytes: &mut ByteSource<'_>) {
        let (lacks, queues) = (bytes.byte(), bytes.byte());
        self.configure(device, 4, &[7, 0]);
        let msix = self.devices[device]
            .space
            .msix
            .expect("the device must have it");
        self.configure(device, msix + 2, &0x8000_u16.to_le_bytes());
        for vector in 0..VECTORS as u64 {
            let entry = [0xFEE0_1000, 0, 0x20 + vector as u32, 0];
            let entry = entry.map(u32::to_le_bytes).concat();
            let table = self.table(device);
            for (at, word) in (table + 16 * vector..).step_by(4).zip(entry.chunks(4)) {
                self.write(at, word);
            }
        }
        let common = self.address(device, 1);
        self.write(common + 0x14, &[0]);
        self.write(common + 0x14, &[3]);
        let features = VERSION_1 | u64::from(lacks & 7);
        for half in 0..2_u32 {
            self.write(common + 8, &half.to_le_bytes());
            self.write(
                common + 0xC,
                &((features >> (32 * half)) as u32).to_le_bytes(),
            );
        }
        self.write(common + 0x10, &0_u16.to_le_bytes());
        self.write(common + 0x14, &[0xB]);
        for queue in (0..QUEUES as u16).filter(|queue| queues >> queue & 1 != 0) {
            self.write(common + 0x16, &queue.to_le_bytes());
            // Some are at the end of memory, or beyond it.
            let end = if lacks & 8 == 0 {
                0
            } else {
                u64::from(bytes.short())
            };
            let base = 0x1000 * u64::from(queue) + end;
            for (at, part) in [(0x20, 0), (0x28, 0x400), (0x30, 0x800)] {
                self.write(common + at, &(base + part).to_le_bytes());
            }
            let size = 1 << (lacks >> 4 & 7);
            for (at, word) in [(0x18, size), (0x1A, queue + 1), (0x1C, 1)] {
                self.write(common + at, &u16::to_le_bytes(word));
            }
        }
        self.write(common + 0x14, &[0xF]);
    }

    /// Reads all registers of a device.
    fn read_all(&mut self, device: usize) {
        self.configure(device, 4, &[2, 0]);
        for (from, len) in [
            (self.address(device, 1), 0x40),
            (self.address(device, 3), 1),
            (self.address(device, 4), 4),
            (self.table(device), 0x40),
            (self.table(device) + 0x800, 8),
        ] {
            (from..from + len).for_each(|at| self.read(at, 1));
        }
        for at in (0..256).step_by(4) {
            self.out(ADDRESS, &aimed(FIRST + device, at).to_le_bytes());
            self.input(DATA, 4);
        }
    }

    /// Executes one action of a machine, or of the processes behind its devices; returns true if
    /// the machine goes on.
    fn step(&mut self, bytes: &mut ByteSource<'_>) -> bool {
        let what = bytes.byte();
        let device = usize::from(bytes.below(DEVICES as u8));
        match what & 0xF {
            0 => return self.out(ADDRESS, &bytes.word().to_le_bytes()),
            1 => self.set_up(device, bytes),
            2 => {
                let at = usize::from(bytes.byte());
                self.out(ADDRESS, &aimed(FIRST + device, at).to_le_bytes());
            }
            3 => {
                let port = DATA + u16::from(bytes.below(4));
                let some = some(bytes);
                return self.out(port, &some);
            }
            4 => {
                let port = ADDRESS + u16::from(bytes.below(8));
                let len = usize::from(bytes.below(9));
                self.input(port, len);
            }
            5 | 6 => {
                let from = match bytes.byte() {
                    kind @ 1..=4 => self.address(device, kind.into()),
                    5 => bytes.word().into(),
                    _ => self.table(device),
                };
                let at = from + u64::from(bytes.byte());
                // KVM splits an access across a page boundary in two.
                let room = (0x1000 - at % 0x1000) as usize;
                if what & 0xF == 5 {
                    let some = some(bytes);
                    self.write(at, &some[..some.len().min(room)]);
                } else {
                    self.read(at, usize::from(bytes.below(9)).min(room));
                }
            }
            7 => {
                let port = bytes.short();
                let some = some(bytes);
                return self.out(port, &some);
            }
            8 => {
                let port = bytes.short();
                self.input(port, usize::from(bytes.below(9)));
            }
            9 => {
                let bar = self.devices[device].structure(2).bar;
                let base = self.devices[device].space.base(bar).unwrap_or_default();
                let port = base as u16 | u16::from(bytes.below(32));
                return self.out(port, &[0, 0]);
            }
            0xA => {
                let vector = usize::from(bytes.below(VECTORS as u8));
                self.model.raise(device, vector);
                self.devices[device].raise(vector);
                self.check();
            }
            0xB => {
                self.model.change(device);
                self.devices[device].change();
                self.check();
            }
            0xC => {
                // An interrupt is masked or unmasked.
                let vector = u64::from(bytes.below(VECTORS as u8));
                let mask = bytes.byte() & 1;
                let table = self.table(device);
                self.write(table + 16 * vector + 12, &[mask, 0, 0, 0]);
            }
            0xD => {
                let at = self.devices[device].structure(5).at;
                self.configure(device, at + 4, &[bytes.byte()]);
                self.configure(device, at + 8, &u32::from(bytes.short()).to_le_bytes());
                self.configure(device, at + 12, &[bytes.byte(), 0, 0, 0]);
                self.out(ADDRESS, &aimed(FIRST + device, at + 16).to_le_bytes());
                if what & 0x10 == 0 {
                    self.input(DATA, 4);
                } else {
                    self.out(DATA, &bytes.word().to_le_bytes());
                }
            }
            0xE => {
                let base = if what & 0x10 == 0 { CONSOLE } else { AGENT };
                let port = base + u16::from(bytes.below(8));
                if what & 0x20 == 0 {
                    let some = some(bytes);
                    return self.out(port, &some);
                }
                self.input(port, usize::from(bytes.below(9)));
            }
            _ => {
                let some = some(bytes);
                let taken = self.model.agent_says(&some).expect("its interrupt comes");
                assert_eq!(taken, self.agent.hear(&some));
            }
        }
        true
    }
}

/// Returns a few bytes.
fn some(bytes: &mut ByteSource<'_>) -> Vec<u8> {
    let len = bytes.below(9);
    (0..len).map(|_| bytes.byte()).collect()
}

fn run(input: &[u8]) {
    let bytes = &mut ByteSource::new(input);
    let mut both = Both::new();
    for _ in 0..OPERATIONS {
        if bytes.is_empty() {
            break;
        }
        if !both.step(bytes) {
            return;
        }
    }
    (0..DEVICES).for_each(|device| both.read_all(device));
    let output = &both.agent.output;
    assert_eq!(both.model.early_output(), output[..output.len().min(EARLY)]);
}
