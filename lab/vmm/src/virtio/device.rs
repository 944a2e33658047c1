//! The PCI device around a transport: the addresses of its registers (virtio 1.4, §4.1.4), its
//! interrupts, and the ports by which its queues are kicked.

use super::access::{AccessTarget, ConfigAccess, MOST};
use super::transport::{self, DeviceBackend, VirtioTransport};
use super::wiring::KickSink;
use super::{QUEUES, STEP, VECTORS};
use crate::pci::{BarSpace, InterruptWires, MsixTable, PciConfig, PciFunction};

/// Virtio's vendor, and the first number of its modern devices (§4.1.2.1); a virtio CAN device has
/// number 36.
const VENDOR: u16 = 0x1AF4;
const DEVICE: u16 = 0x1040 + 36;
/// The class: a controller of a CAN bus (PCI Code and ID Assignment Specification).
const CLASS: [u8; 3] = [0x0C, 0x09, 0x00];
/// The revision of a device of virtio 1.0 and later.
const REVISION: u8 = 1;

/// Base address registers.
const REGISTERS: usize = 0;
const PORTS: usize = 1;
const TABLE: usize = 2;

/// Offsets in the registers' region.
const COMMON: u32 = 0;
const STATUS: u32 = 0x1000;
const OWN: u32 = 0x2000;
const PART: u32 = 0x1000;
/// Sizes of the regions of the base address registers, in bytes.
const REGISTERS_SIZE: u32 = 0x4000;
const PORTS_SIZE: u32 = 0x20;
const TABLE_SIZE: u32 = 0x1000;
/// Size of a virtio CAN device's own configuration, in bytes (§5.19.4).
const OWN_SIZE: u32 = 2;
/// Capabilities (§4.1.4): their number, and the kinds of registers that they describe.
const VENDOR_CAPABILITY: u8 = 9;
const IS_COMMON: u8 = 1;
const IS_NOTIFY: u8 = 2;
const IS_STATUS: u8 = 3;
const IS_OWN: u8 = 4;

/// The address of a device until the machine moves it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InitialPlace {
    memory: u32,
    ports: u16,
}

impl InitialPlace {
    /// Returns the address of the device with this number, above all memory and all of a PC's old
    /// ports.
    pub(crate) fn new(number: u16) -> Self {
        Self {
            memory: 0xE000_0000 + u32::from(number) * 0x1_0000,
            ports: 0xC000 + number * 0x100,
        }
    }
}

/// A virtio CAN device.
pub(crate) struct CanDevice<B, W> {
    config: PciConfig,
    msix: MsixTable,
    access: ConfigAccess,
    transport: VirtioTransport<B>,
    wires: W,
    /// The ports at which KVM takes kicks.
    ports: Option<u16>,
}

impl<B: DeviceBackend, W: InterruptWires + KickSink> CanDevice<B, W> {
    pub(crate) fn new(place: InitialPlace, backend: B, wires: W) -> Self {
        let mut config = PciConfig::new(VENDOR, DEVICE, CLASS, REVISION);
        config.base(REGISTERS, BarSpace::Memory, REGISTERS_SIZE, place.memory);
        config.base(PORTS, BarSpace::Io, PORTS_SIZE, u32::from(place.ports));
        let table = place.memory + REGISTERS_SIZE;
        config.base(TABLE, BarSpace::Memory, TABLE_SIZE, table);
        let mut tell = |kind: u8, bar: usize, at: u32, size: u32, more: &[u8]| {
            let length = 16 + more.len() as u8;
            let mut body = vec![length, kind, bar as u8, 0, 0, 0];
            body.extend(at.to_le_bytes());
            body.extend(size.to_le_bytes());
            body.extend(more);
            config.capability(VENDOR_CAPABILITY, &body, &[]);
        };
        tell(IS_COMMON, REGISTERS, COMMON, transport::SIZE as u32, &[]);
        // A kick by a port costs a machine a third of the time of one by memory: KVM need not
        // decode the instruction.
        let step = u32::from(STEP).to_le_bytes();
        tell(IS_NOTIFY, PORTS, 0, QUEUES as u32 * u32::from(STEP), &step);
        tell(IS_STATUS, REGISTERS, STATUS, 1, &[]);
        tell(IS_OWN, REGISTERS, OWN, OWN_SIZE, &[]);
        let access = ConfigAccess::new(&mut config, VENDOR_CAPABILITY);
        let msix = MsixTable::new(&mut config, VECTORS, TABLE as u8);
        Self {
            config,
            msix,
            access,
            transport: VirtioTransport::new(backend),
            wires,
            ports: None,
        }
    }

    /// Returns the back end and the wires.
    #[cfg(feature = "model")]
    pub(crate) const fn parts(&mut self) -> (&mut B, &mut W) {
        (&mut self.transport.backend, &mut self.wires)
    }

    /// Makes KVM take the kicks while the device works and its ports are enabled.
    fn connect_ports(&mut self) {
        let ports = self.config.address(PORTS, BarSpace::Io);
        let ports = ports.filter(|_| self.transport.is_started());
        let ports = ports.and_then(|port| u16::try_from(port).ok());
        if ports != self.ports {
            self.wires.take_kicks(ports);
            self.ports = ports;
        }
    }

    /// Returns the base address register whose region contains this address, and the offset in it.
    fn find(&self, address: u64) -> Option<(usize, u32)> {
        [REGISTERS, TABLE].into_iter().find_map(|index| {
            let base = u64::from(self.config.address(index, BarSpace::Memory)?);
            let at = u32::try_from(address.checked_sub(base)?).ok()?;
            (at < size(index)).then_some((index, at))
        })
    }

    /// Handles a read from the region of a base address register, by either access path.
    fn read_in(&mut self, bar: usize, at: u32, bytes: &mut [u8]) {
        let within = (at % PART) as usize;
        match (bar, at - at % PART) {
            (TABLE, _) => self.msix.read(at as usize, bytes, &self.wires),
            // A kick is write-only.
            (PORTS, _) => bytes.fill(0xFF),
            (_, COMMON) => self.transport.read(within, bytes),
            (_, OWN) => {
                bytes.fill(0);
                // Only bytes that exist are requested from the other process.
                let room = (OWN_SIZE as usize).saturating_sub(within);
                let len = room.min(bytes.len());
                if let Some(there) = bytes.get_mut(..len).filter(|there| !there.is_empty()) {
                    self.transport.backend.config(within, there);
                }
            }
            // The status of an interrupt line, which the device does not have.
            _ => bytes.fill(0),
        }
    }

    /// Handles a write to such a region.
    fn write_in(&mut self, bar: usize, at: u32, bytes: &[u8]) {
        match (bar, at - at % PART) {
            (TABLE, _) => self.msix.write(at as usize, bytes, &mut self.wires),
            (PORTS, _) => {
                let queue = (at / u32::from(STEP)) as usize;
                if queue < QUEUES && self.transport.is_started() {
                    self.transport.backend.kick(queue);
                }
            }
            (_, COMMON) => {
                let before = self.transport.config_vector();
                self.transport.write((at % PART) as usize, bytes);
                let vector = self.transport.config_vector();
                if vector != before {
                    self.wires.tell_changes_by(vector);
                }
                self.connect_ports();
            }
            _ => {}
        }
    }

    /// Returns the address that the machine has selected by configuration space, if it is inside a
    /// region.
    fn aim(&self) -> Option<AccessTarget> {
        let aim = self.access.aim(&self.config)?;
        let end = u64::from(aim.at) + aim.len as u64;
        (end <= u64::from(size(aim.bar))).then_some(aim)
    }
}

impl<B: DeviceBackend, W: InterruptWires + KickSink> PciFunction for CanDevice<B, W> {
    fn read_config(&mut self, at: usize, bytes: &mut [u8]) {
        let aim = self.aim();
        if let Some(aim) = aim.filter(|_| self.access.is_reached(at, bytes.len())) {
            let mut data = [0; MOST];
            let data = data.get_mut(..aim.len).unwrap_or_default();
            self.read_in(aim.bar, aim.at, data);
            self.access.answer(&mut self.config, data);
        }
        self.config.read(at, bytes);
    }

    fn write_config(&mut self, at: usize, bytes: &[u8]) {
        self.config.write(at, bytes);
        let aim = self.aim();
        if let Some(aim) = aim.filter(|_| self.access.is_reached(at, bytes.len())) {
            let data = self.access.data(&self.config);
            let data = data.get(..aim.len).unwrap_or_default();
            self.write_in(aim.bar, aim.at, data);
        }
        self.msix.configured(&self.config, &mut self.wires);
        self.connect_ports();
    }

    fn read(&mut self, address: u64, bytes: &mut [u8]) -> bool {
        let found = self.find(address);
        if let Some((bar, at)) = found {
            self.read_in(bar, at, bytes);
        }
        found.is_some()
    }

    fn write(&mut self, address: u64, bytes: &[u8]) -> bool {
        let found = self.find(address);
        if let Some((bar, at)) = found {
            self.write_in(bar, at, bytes);
        }
        found.is_some()
    }

    fn out(&mut self, port: u16, bytes: &[u8]) -> bool {
        let base = self.config.address(PORTS, BarSpace::Io);
        let at = base.and_then(|base| u32::from(port).checked_sub(base));
        let at = at.filter(|at| *at < PORTS_SIZE);
        if let Some(at) = at {
            self.write_in(PORTS, at, bytes);
        }
        at.is_some()
    }
}

/// Returns the size of the region of a base address register in bytes; zero if the register does
/// not exist.
const fn size(bar: usize) -> u32 {
    match bar {
        REGISTERS => REGISTERS_SIZE,
        PORTS => PORTS_SIZE,
        TABLE => TABLE_SIZE,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pci::MsixMessage;
    use crate::virtio::transport::tests::FakeBackend;
    use proptest::prelude::*;

    /// The connections that were made last.
    #[derive(Default)]
    struct FakeLines {
        messages: [Option<MsixMessage>; VECTORS],
        ports: Option<u16>,
        changes: Option<usize>,
    }

    impl InterruptWires for FakeLines {
        fn connect(&mut self, vector: usize, message: Option<MsixMessage>) {
            self.messages[vector] = message;
        }
        fn waits(&self, _: usize) -> bool {
            false
        }
    }

    impl KickSink for FakeLines {
        fn take_kicks(&mut self, base: Option<u16>) {
            assert_ne!(self.ports, base, "nothing has changed");
            self.ports = base;
        }
        fn tell_changes_by(&mut self, vector: Option<usize>) {
            self.changes = vector;
        }
    }

    fn device() -> CanDevice<FakeBackend, FakeLines> {
        CanDevice::new(
            InitialPlace::new(0),
            FakeBackend::default(),
            FakeLines::default(),
        )
    }

    /// Returns the capabilities as a driver finds them: number, offset.
    fn capabilities(device: &mut CanDevice<FakeBackend, FakeLines>) -> Vec<(u8, usize)> {
        let mut byte = |at: usize| {
            let mut byte = [0];
            device.read_config(at, &mut byte);
            byte[0]
        };
        let mut at = byte(0x34);
        let mut all = Vec::new();
        while at != 0 && all.len() < 20 {
            all.push((byte(at.into()), at.into()));
            at = byte(usize::from(at) + 1);
        }
        all
    }

    fn set_up(device: &mut CanDevice<FakeBackend, FakeLines>) {
        device.write_config(4, &[7, 0]);
        let write = |device: &mut CanDevice<FakeBackend, FakeLines>, at: u64, bytes: &[u8]| {
            assert!(device.write(0xE000_0000 + at, bytes));
        };
        write(device, 0x14, &[3]);
        write(device, 0x08, &1_u32.to_le_bytes());
        write(device, 0x0C, &1_u32.to_le_bytes());
        write(device, 0x14, &[0xB]);
        write(device, 0x10, &0_u16.to_le_bytes());
        write(device, 0x14, &[0xF]);
    }

    #[test]
    fn a_driver_finds_its_registers() {
        let mut device = device();
        let all = capabilities(&mut device);
        let numbers: Vec<u8> = all.iter().map(|(number, _)| *number).collect();
        assert_eq!(numbers, [9, 9, 9, 9, 9, 0x11]);
        let kinds: Vec<[u8; 3]> = all[..5]
            .iter()
            .map(|(_, at)| {
                let mut body = [0; 3];
                device.read_config(at + 2, &mut body);
                body
            })
            .collect();
        // Length, kind, base address register.
        assert_eq!(
            kinds,
            [[16, 1, 0], [20, 2, 1], [16, 3, 0], [16, 4, 0], [20, 5, 0]]
        );
    }

    #[test]
    fn kvm_takes_kicks_while_the_device_works() {
        let mut device = device();
        assert!(!device.out(0xC000, &[0, 0]), "its ports are off");
        set_up(&mut device);
        assert_eq!(device.wires.ports, Some(0xC000));
        assert_eq!(device.wires.changes, Some(0));
        // The ports have moved: KVM takes the kicks at the new address.
        device.write_config(0x14, &0xD000_u32.to_le_bytes());
        assert_eq!(device.wires.ports, Some(0xD000));
        // A kick that still arrives here is not lost.
        assert!(device.out(0xD004, &[1, 0]));
        assert!(device.out(0xD000 + 12, &[3, 0]), "no queue");
        assert!(!device.out(0xC000, &[0, 0]));
        assert_eq!(device.transport.backend.kicks, [1]);
        assert!(device.write(0xE000_0014, &[0]));
        assert_eq!(device.wires.ports, None);
        assert_eq!(device.transport.backend.stopped, 1);
    }

    #[test]
    fn its_own_configuration_is_the_backends() {
        let mut device = device();
        let mut bytes = [0; 2];
        assert!(!device.read(0xE000_2001, &mut bytes), "its memory is off");
        device.write_config(4, &[2, 0]);
        assert!(device.read(0xE000_2001, &mut bytes));
        assert_eq!(bytes, [1, 0], "it has two bytes");
        assert!(device.read(0xE000_2002, &mut bytes));
        assert_eq!(bytes, [0, 0]);
        assert!(device.read(0xE000_1000, &mut bytes));
        assert_eq!(bytes, [0, 0]);
        assert!(!device.read(0xE001_0000, &mut bytes));
    }

    #[test]
    fn firmware_reaches_the_registers_by_configuration_space() {
        let mut device = device();
        let (_, at) = capabilities(&mut device)[4];
        let aim = |device: &mut CanDevice<FakeBackend, FakeLines>, bar: u8, to: u32, len: u32| {
            device.write_config(at + 4, &[bar]);
            device.write_config(at + 8, &to.to_le_bytes());
            device.write_config(at + 12, &len.to_le_bytes());
        };
        let write = |device: &mut CanDevice<FakeBackend, FakeLines>, bar, to, len, value: u32| {
            aim(device, bar, to, len);
            device.write_config(at + 16, &value.to_le_bytes());
        };
        let read = |device: &mut CanDevice<FakeBackend, FakeLines>, bar, to, len| {
            aim(device, bar, to, len);
            let mut bytes = [0; 4];
            device.read_config(at + 16, &mut bytes);
            u32::from_le_bytes(bytes)
        };
        // Neither its memory nor its ports are enabled.
        write(&mut device, 0, 0x14, 1, 3);
        assert_eq!(read(&mut device, 0, 0x14, 1), 3);
        assert_eq!(read(&mut device, 0, 0x12, 2), QUEUES as u32);
        write(&mut device, 0, 0x08, 4, 1);
        write(&mut device, 0, 0x0C, 4, 1);
        write(&mut device, 0, 0x14, 1, 0xB);
        write(&mut device, 0, 0x14, 1, 0xF);
        assert!(device.transport.is_started());
        write(&mut device, 1, 4, 2, 1);
        assert_eq!(device.transport.backend.kicks, [1]);
        write(&mut device, 2, 0x10, 4, 0xFEE0_0000);
        assert_eq!(read(&mut device, 2, 0x10, 4), 0xFEE0_0000);
        // Addresses that do not exist are not accessed, and the data stays unchanged.
        for (bar, to, len) in [(0, 0x4000, 4), (1, 0x20, 4), (3, 0, 4), (0, 0x14, 3)] {
            write(&mut device, bar, to, len, 0x0123_4567);
            assert_eq!(read(&mut device, bar, to, len), 0x0123_4567);
        }
        assert!(device.transport.is_started());
    }

    proptest! {
        /// A driver that writes anything anywhere does not cause a panic, and kicks are taken
        /// exactly at the current ports.
        #[test]
        fn any_driver(
            writes in proptest::collection::vec((0_u8..3, 0_u64..0x5100, any::<[u8; 8]>(), 0_usize..9), 0..200)
        ) {
            let mut device = device();
            set_up(&mut device);
            for (kind, at, bytes, len) in writes {
                match kind {
                    0 => { device.write(0xE000_0000 + at, &bytes[..len]); }
                    1 => device.write_config(at as usize % 256, &bytes[..len.min(4)]),
                    _ => { device.out(0xC000 + at as u16 % 64, &bytes[..len.min(4)]); }
                }
                let mut read = [0; 8];
                device.read(0xE000_0000 + at, &mut read);
                device.read_config(at as usize, &mut read);
                prop_assert_eq!(device.wires.ports, device.ports);
                prop_assert!(device.ports.is_none() || device.transport.is_started());
            }
        }
    }
}
