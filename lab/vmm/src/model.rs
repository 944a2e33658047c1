//! A machine's devices without KVM and without a gateway: the same registers, connected to a model
//! that only records the requests it gets. It is for checks of the devices against the standards
//! from outside (fuzzing); running a machine does not need it.

use crate::bus::AddressSpace;
use crate::end::MachineEnd;
use crate::error::{VmmError, file, system};
pub use crate::pci::MsixMessage;
use crate::pci::{InterruptWires, PciRoot};
use crate::serial::{self, AgentLine, AgentOutput, EventLine};
use crate::virtio::{CanDevice, DeviceBackend, DriverQueue, InitialPlace, KickSink, all_parts};
pub use crate::virtio::{QUEUES, VECTORS};
use std::path::Path;
use vm_memory::{GuestAddress, GuestMemoryBackend as _, GuestMemoryMmap};
use vmm_sys_util::eventfd::{EFD_NONBLOCK, EventFd};

/// The most bytes of the machine's output to its agent's line that are kept while there is no
/// listener.
pub const EARLY: usize = serial::EARLY;

/// The state of a queue when it was handed over.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GivenQueue {
    /// Number of buffers.
    pub size: u16,
    /// The interrupt that is raised for the queue, below [`VECTORS`].
    pub vector: Option<usize>,
    /// The start addresses of its descriptors, the part that the driver writes and the part that
    /// the device writes, in bytes from the memory's beginning.
    pub parts: [u64; 3],
}

/// The state that was handed over when a device was started.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StartedDevice {
    /// Features that were negotiated.
    pub features: u64,
    /// The device's queues that are used.
    pub queues: [Option<GivenQueue>; QUEUES],
}

/// A model of the other process.
struct FakeBackend {
    memory: GuestMemoryMmap,
    features: u64,
    started: Option<StartedDevice>,
    starts: u32,
    stops: u32,
    kicks: [u32; QUEUES],
    generation: u8,
}

impl DeviceBackend for FakeBackend {
    fn features(&self) -> u64 {
        self.features
    }

    fn start(&mut self, features: u64, queues: &[DriverQueue; QUEUES]) -> bool {
        assert!(self.started.is_none(), "started twice");
        let base = self.memory.get_host_address(GuestAddress(0));
        let base = base.map_or(0, |base| base as u64);
        let Some(parts) = all_parts(queues, &self.memory) else {
            return false;
        };
        let given = std::array::from_fn(|index| {
            let parts = parts[index]?;
            let places = [parts.descriptors, parts.driver, parts.device];
            Some(GivenQueue {
                size: queues[index].size,
                vector: queues[index].vector(),
                parts: places.map(|at| at.wrapping_sub(base)),
            })
        });
        self.started = Some(StartedDevice {
            features,
            queues: given,
        });
        self.starts += 1;
        true
    }

    fn stop(&mut self) {
        assert!(
            self.started.take().is_some(),
            "stopped, but it did not work"
        );
        self.stops += 1;
    }

    fn config(&mut self, at: usize, bytes: &mut [u8]) {
        assert!(
            !bytes.is_empty() && at + bytes.len() <= DeviceModel::CONFIG.len(),
            "asked for what there is not: {at}, {}",
            bytes.len()
        );
        bytes.copy_from_slice(&DeviceModel::CONFIG[at..at + bytes.len()]);
    }

    fn generation(&self) -> u8 {
        self.generation
    }

    fn kick(&mut self, queue: usize) {
        assert!(self.started.is_some(), "kicked, but it does not work");
        self.kicks[queue] += 1;
    }
}

/// A model of KVM.
#[derive(Default)]
struct FakeKvm {
    connected: [Option<MsixMessage>; VECTORS],
    /// Interrupts that came while they were not connected.
    waiting: [bool; VECTORS],
    came: Vec<MsixMessage>,
    ports: Option<u16>,
    changes: Option<usize>,
}

impl FakeKvm {
    fn raise(&mut self, vector: usize) {
        match self.connected[vector] {
            Some(message) => self.came.push(message),
            None => self.waiting[vector] = true,
        }
    }
}

impl InterruptWires for FakeKvm {
    fn connect(&mut self, vector: usize, message: Option<MsixMessage>) {
        self.connected[vector] = message;
        if message.is_some() && std::mem::take(&mut self.waiting[vector]) {
            self.raise(vector);
        }
    }

    fn waits(&self, vector: usize) -> bool {
        self.waiting[vector]
    }
}

impl KickSink for FakeKvm {
    fn take_kicks(&mut self, base: Option<u16>) {
        self.ports = base;
    }

    fn tell_changes_by(&mut self, vector: Option<usize>) {
        self.changes = vector;
    }
}

/// The devices of a machine, as the processor accesses them.
pub struct DeviceModel {
    bus: AddressSpace<CanDevice<FakeBackend, FakeKvm>>,
    text: AgentOutput,
}

impl DeviceModel {
    /// A device's own configuration, as the driver reads it.
    pub const CONFIG: [u8; 2] = [0x5A, 0xC3];

    /// Creates `devices` virtio CAN devices, at most 16, that offer these features, with `memory`
    /// bytes of memory.
    ///
    /// # Errors
    /// [`VmmError`]: no event descriptors, no memory.
    pub fn new(devices: u16, features: u64, memory: usize) -> Result<Self, VmmError> {
        let line = || {
            let event = EventFd::new(EFD_NONBLOCK).map_err(system("make an event descriptor"))?;
            EventLine::new(&event)
        };
        let memory = GuestMemoryMmap::from_ranges(&[(GuestAddress(0), memory)]);
        let memory = memory.map_err(|error| VmmError::System {
            what: "make the machine's memory",
            source: std::io::Error::other(error.to_string()),
        })?;
        let nowhere = Path::new("/dev/null");
        let output = std::fs::File::create(nowhere).map_err(file("open", nowhere))?;
        let (agent, text, _) = AgentLine::unheard(line()?)?;
        let devices = (0..devices).map(|number| {
            let behind = FakeBackend {
                memory: memory.clone(),
                features,
                started: None,
                starts: 0,
                stops: 0,
                kicks: [0; QUEUES],
                generation: 0,
            };
            CanDevice::new(InitialPlace::new(number), behind, FakeKvm::default())
        });
        Ok(Self {
            bus: AddressSpace {
                console: serial::Console::new(line()?, output),
                agent,
                root: PciRoot::new(devices.collect()),
            },
            text,
        })
    }

    /// Handles a write of the processor to a port: 1, 2 or 4 bytes, or a multiple of that for a
    /// string instruction.
    pub fn out(&mut self, port: u16, bytes: &[u8]) -> Option<MachineEnd> {
        self.bus.out(port, bytes)
    }

    /// Handles a read of the processor from a port.
    pub fn input(&mut self, port: u16, bytes: &mut [u8]) {
        self.bus.input(port, bytes);
    }

    /// Handles a read of the processor from an address outside of memory, 1 to 8 bytes.
    pub fn read(&mut self, address: u64, bytes: &mut [u8]) {
        self.bus.read(address, bytes);
    }

    /// Handles a write of the processor to an address outside of memory.
    pub fn write(&mut self, address: u64, bytes: &[u8]) {
        self.bus.write(address, bytes);
    }

    /// Sends bytes of the agent to the machine; returns the number of bytes that the machine's line
    /// has taken.
    ///
    /// # Errors
    /// The line's interrupt cannot be raised.
    pub fn agent_says(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.bus.agent.offer(bytes)
    }

    /// Returns the machine's output to its agent, up to [`EARLY`] bytes.
    #[must_use]
    pub fn early_output(&self) -> Vec<u8> {
        self.text.early()
    }

    fn part(&mut self, device: usize) -> Option<(&mut FakeBackend, &mut FakeKvm)> {
        self.bus
            .root
            .devices()
            .get_mut(device)
            .map(CanDevice::parts)
    }

    /// Returns the state that was handed over, while the device with this number works.
    pub fn started(&mut self, device: usize) -> Option<StartedDevice> {
        self.part(device)?.0.started
    }

    /// Returns the numbers of times that the device was started, and stopped.
    pub fn turns(&mut self, device: usize) -> (u32, u32) {
        self.part(device)
            .map_or((0, 0), |(behind, _)| (behind.starts, behind.stops))
    }

    /// Returns the number of kicks of each of the device's queues.
    pub fn kicks(&mut self, device: usize) -> [u32; QUEUES] {
        self.part(device)
            .map_or([0; QUEUES], |(behind, _)| behind.kicks)
    }

    /// Returns the first of the ports at which KVM takes the device's kicks.
    pub fn kick_ports(&mut self, device: usize) -> Option<u16> {
        self.part(device)?.1.ports
    }

    /// Returns the device's interrupts that are connected.
    pub fn connected(&mut self, device: usize) -> [Option<MsixMessage>; VECTORS] {
        self.part(device)
            .map_or([None; VECTORS], |(_, noted)| noted.connected)
    }

    /// Raises this interrupt of the device, below [`VECTORS`], as the other process would.
    pub fn raise(&mut self, device: usize, vector: usize) {
        if let Some((_, noted)) = self.part(device) {
            noted.raise(vector);
        }
    }

    /// Changes the device's configuration, as the other process would.
    pub fn change(&mut self, device: usize) {
        if let Some((behind, noted)) = self.part(device) {
            behind.generation = behind.generation.wrapping_add(1);
            if let Some(vector) = noted.changes {
                noted.raise(vector);
            }
        }
    }

    /// Returns the device's interrupts that have reached the processor since the last call.
    pub fn came(&mut self, device: usize) -> Vec<MsixMessage> {
        self.part(device)
            .map(|(_, noted)| std::mem::take(&mut noted.came))
            .unwrap_or_default()
    }
}
