//! Memory that a virtual machine has as a PCI device: QEMU's `ivshmem-doorbell` (QEMU, `docs/specs/ivshmem-spec.rst`).

use super::attached::{Attached, Got};
use crate::PortError;
use ::shm::Side;
use frame::Nanos;
use linux::pci::{Card, Class, ConfigSpace, PciError, Region};
use std::os::fd::RawFd;

/// Red Hat's ivshmem.
const CLASS: Class = Class {
    vendor: 0x1AF4,
    device: 0x1110,
};
/// Region of the registers, and of the memory.
const REGISTERS: u8 = 0;
const MEMORY: u8 = 2;
/// Registers: this peer's number; whom to ring.
const POSITION: usize = 8;
const DOORBELL: usize = 12;
/// Bytes of the registers.
const LENGTH: usize = 256;

/// How often it is looked whether the monitor has got its number, ns.
const PAUSE: Nanos = 100_000_000;

pub(super) struct ByPci {
    card: Card,
    registers: Region,
    side: Option<Side>,
    /// What is wrong was said.
    said: bool,
    at: Nanos,
    /// How often it is looked for frames, ns.
    every: Nanos,
    remarks: Vec<String>,
    _lock: ConfigSpace,
}

fn refused(port: &str, what: impl Into<String>) -> PortError {
    PortError {
        port: port.to_owned(),
        what: what.into(),
        source: None,
    }
}

impl ByPci {
    pub(super) fn open(port: &str, address: &str, every: Nanos) -> Result<Self, PortError> {
        let fails = |error: PciError| refused(port, error.to_string());
        let (card, _) = Card::find(address).map_err(fails)?;
        if card.class() != CLASS {
            let Class { vendor, device } = card.class();
            let what = format!(
                "{address} is a PCI device {vendor:04x}:{device:04x}, not shared memory (1af4:1110, `lspci -nn` shows \
                 them): start the machine's monitor with `-device ivshmem-doorbell`"
            );
            return Err(refused(port, what));
        }
        let lock = ConfigSpace::open(&card).map_err(fails)?;
        if !lock.lock().map_err(fails)? {
            return Err(refused(
                port,
                format!("another process has {address}: stop it first"),
            ));
        }
        card.take(false).map_err(fails)?;
        let registers = Region::open(&card, REGISTERS, LENGTH).map_err(fails)?;
        Ok(Self {
            card,
            registers,
            side: None,
            said: false,
            at: 0,
            every,
            remarks: Vec::new(),
            _lock: lock,
        })
    }
}

impl ByPci {
    fn say(&mut self, what: String) -> Option<Got> {
        if !std::mem::replace(&mut self.said, true) {
            self.remarks.push(what);
        }
        None
    }
}

impl Attached for ByPci {
    fn fd(&self) -> Option<RawFd> {
        None
    }

    fn take(&mut self, now: Nanos, _in_use: bool) -> Option<Got> {
        if self.side.is_some() {
            self.at = now.saturating_add(self.every);
            return None;
        }
        self.at = now.saturating_add(PAUSE);
        let position = self.registers.read32(POSITION);
        // All ones: the monitor has no server yet.
        if position == u32::MAX {
            return None;
        }
        let side = Side::of(position.into());
        let memory = Region::shared(&self.card, MEMORY);
        match (side, memory) {
            (Some(side), Ok(memory)) => {
                self.side = Some(side);
                Some(Got { side, memory })
            }
            (None, _) => self.say(format!(
                "{} is peer {position}: memory is shared by the peers 0 and 1 (`cangate shm` is such a server)",
                self.card.address()
            )),
            (_, Err(error)) => self.say(error.to_string()),
        }
    }

    fn ring(&self) {
        if let Some(side) = self.side {
            let other = u32::from(side.other().number());
            self.registers.write32(DOORBELL, other << 16);
        }
    }

    fn deadline(&self) -> Option<Nanos> {
        Some(self.at)
    }

    fn remarks(&mut self) -> Vec<String> {
        std::mem::take(&mut self.remarks)
    }
}
