//! The devices at each port and each address.

use crate::end::MachineEnd;
use crate::pci::{PciFunction, PciRoot};
use crate::serial::{self, AgentLine, Console};

/// The keyboard's controller, which resets a PC; and the chipset's port for a reset.
const KEYBOARD: u16 = 0x64;
const KEYBOARD_RESET: u8 = 0xFE;
const RESET: u16 = 0xCF9;
const RESET_NOW: u8 = 1 << 2;

/// All devices that the processor reaches outside of memory.
pub(crate) struct AddressSpace<F> {
    pub(crate) console: Console,
    pub(crate) agent: AgentLine,
    pub(crate) root: PciRoot<F>,
}

/// The device at a port.
enum PortDevice {
    Console(u8),
    Agent(u8),
    Pci,
    Other,
}

fn at(port: u16) -> PortDevice {
    let within = |base: u16| {
        let offset = port.checked_sub(base).filter(|at| *at < serial::PORTS)?;
        u8::try_from(offset).ok()
    };
    match (within(serial::FIRST), within(serial::SECOND)) {
        (Some(offset), _) => PortDevice::Console(offset),
        (_, Some(offset)) => PortDevice::Agent(offset),
        _ if (crate::pci::ADDRESS..crate::pci::DATA + 4).contains(&port) => PortDevice::Pci,
        _ => PortDevice::Other,
    }
}

impl<F: PciFunction> AddressSpace<F> {
    /// Handles a write of the processor to a port. Some of these writes end the machine.
    pub(crate) fn out(&mut self, port: u16, bytes: &[u8]) -> Option<MachineEnd> {
        match (port, bytes) {
            (KEYBOARD, [KEYBOARD_RESET]) => return Some(MachineEnd::Reset),
            (RESET, [byte]) => return (byte & RESET_NOW != 0).then_some(MachineEnd::Reset),
            _ => {}
        }
        match at(port) {
            // If an interrupt or an output fails, the machine's serial line is out of order: there
            // is no way to report that.
            PortDevice::Console(offset) => bytes.iter().for_each(|byte| {
                let _ = self.console.write(offset, *byte);
            }),
            PortDevice::Agent(offset) => {
                let mut agent = self.agent.lock();
                bytes.iter().for_each(|byte| {
                    let _ = agent.write(offset, *byte);
                });
            }
            PortDevice::Pci => self.root.write(port, bytes),
            PortDevice::Other => {
                let mut devices = self.root.devices().iter_mut();
                let _ = devices.any(|device| device.out(port, bytes));
            }
        }
        None
    }

    /// Handles a read of the processor from a port; returns all ones if there is no device.
    pub(crate) fn input(&mut self, port: u16, bytes: &mut [u8]) {
        match at(port) {
            PortDevice::Console(offset) => bytes
                .iter_mut()
                .for_each(|byte| *byte = self.console.read(offset)),
            PortDevice::Agent(offset) => {
                let mut agent = self.agent.lock();
                bytes.iter_mut().for_each(|byte| *byte = agent.read(offset));
            }
            PortDevice::Pci => self.root.read(port, bytes),
            PortDevice::Other => bytes.fill(0xFF),
        }
    }

    /// Handles a read of the processor from an address outside of memory; returns all ones if there
    /// is no device.
    pub(crate) fn read(&mut self, address: u64, bytes: &mut [u8]) {
        let mut devices = self.root.devices().iter_mut();
        if !devices.any(|device| device.read(address, bytes)) {
            bytes.fill(0xFF);
        }
    }

    /// Handles a write of the processor to an address outside of memory.
    pub(crate) fn write(&mut self, address: u64, bytes: &[u8]) {
        let mut devices = self.root.devices().iter_mut();
        let _ = devices.any(|device| device.write(address, bytes));
    }
}
