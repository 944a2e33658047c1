//! Memory that a virtual machine has as a PCI device: QEMU's `ivshmem-doorbell` (QEMU,
//! `docs/specs/ivshmem-spec.rst`).

use super::attached::{AttachedMemory, MemoryAttachment};
use crate::PortError;
use ::shm::ShmSide;
use frame::Nanos;
use linux::pci::{
    ConfigSpace, DeviceClass, DeviceHeir, DeviceInterrupt, DeviceRegion, PciDevice, PciError,
};
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use std::os::fd::{AsRawFd as _, OwnedFd, RawFd};
use std::path::PathBuf;

/// Red Hat's ivshmem.
const CLASS: DeviceClass = DeviceClass {
    vendor: 0x1AF4,
    device: 0x1110,
};
/// Numbers of the regions of the registers and of the memory.
const REGISTERS: u8 = 0;
const MEMORY: u8 = 2;
/// Offsets of the registers: this peer's number; the peer to ring.
const POSITION: usize = 8;
const DOORBELL: usize = 12;
/// Length of the registers, bytes.
const LENGTH: usize = 256;

/// Name of the UIO driver for its doorbell (`kmod/shmcan`).
const UIO: &str = "shmcan_uio";

/// Interval of the checks whether the monitor has got its number, ns.
const PAUSE: Nanos = 100_000_000;

/// Interval at which the port looks for frames when the doorbell has gone, ns.
const WITHOUT: Nanos = 1_000_000;

/// The way in which the process gets the doorbell's events.
enum PciDoorbell {
    /// The driver reports it. The epoll instance stays when the driver is gone.
    Rung(OwnedFd, Option<DeviceInterrupt>),
    /// The process does not get them: it looks for frames at this interval, ns.
    Polled(Nanos),
}

impl PciDoorbell {
    fn open(card: &PciDevice) -> Result<Self, PciError> {
        let interrupt = DeviceInterrupt::open(card, UIO)?;
        let epoll = epoll::create(CreateFlags::CLOEXEC).and_then(|epoll| {
            epoll::add(&epoll, &interrupt, EventData::new_u64(0), EventFlags::IN)?;
            Ok(epoll)
        });
        let epoll = epoll.map_err(|errno| PciError::File {
            what: "wait for",
            path: PathBuf::from(UIO),
            source: errno.into(),
        })?;
        Ok(Self::Rung(epoll, Some(interrupt)))
    }

    /// Acknowledges the doorbell. Returns false if it has just gone.
    fn take(&mut self) -> bool {
        let Self::Rung(epoll, interrupt) = self else {
            return true;
        };
        let gone = interrupt.take_if(|interrupt| interrupt.take().is_err());
        if let Some(interrupt) = &gone {
            // It would be readable for ever.
            let _ = epoll::delete(epoll, interrupt);
        }
        gone.is_none()
    }

    /// Returns the interval at which the port must look for frames, if it must.
    const fn every(&self) -> Option<Nanos> {
        match self {
            Self::Rung(_, Some(_)) => None,
            Self::Rung(_, None) => Some(WITHOUT),
            Self::Polled(every) => Some(*every),
        }
    }
}

pub(super) struct ByPci {
    card: PciDevice,
    registers: DeviceRegion,
    doorbell: PciDoorbell,
    side: Option<ShmSide>,
    /// True if an error was reported already.
    reported: bool,
    /// Time of the next look; `None`: when the doorbell rings.
    at: Option<Nanos>,
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
    /// Opens the device. With `poll`, the kernel needs no driver for it.
    pub(super) fn open(port: &str, address: &str, poll: Option<Nanos>) -> Result<Self, PortError> {
        let fails = |error: PciError| refused(port, error.to_string());
        let (card, _) = PciDevice::find(address).map_err(fails)?;
        if card.class() != CLASS {
            let DeviceClass { vendor, device } = card.class();
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
        card.take(poll.map_or(DeviceHeir::Uio(UIO), |_| DeviceHeir::Nobody))
            .map_err(fails)?;
        let doorbell = match poll {
            Some(every) => PciDoorbell::Polled(every),
            None => PciDoorbell::open(&card).map_err(fails)?,
        };
        let registers = DeviceRegion::open(&card, REGISTERS, LENGTH).map_err(fails)?;
        Ok(Self {
            card,
            registers,
            doorbell,
            side: None,
            reported: false,
            at: Some(0),
            remarks: Vec::new(),
            _lock: lock,
        })
    }
}

impl ByPci {
    fn remark(&mut self, what: String) -> Option<AttachedMemory> {
        if !std::mem::replace(&mut self.reported, true) {
            self.remarks.push(what);
        }
        None
    }
}

impl MemoryAttachment for ByPci {
    fn fd(&self) -> Option<RawFd> {
        match &self.doorbell {
            PciDoorbell::Rung(epoll, _) => Some(epoll.as_raw_fd()),
            PciDoorbell::Polled(_) => None,
        }
    }

    fn take(&mut self, now: Nanos, _in_use: bool) -> Option<AttachedMemory> {
        if !self.doorbell.take() {
            self.remarks.push(format!(
                "{UIO} does not have {} any more: the doorbell no longer reports frames, and the port \
                 looks for them every millisecond",
                self.card.address()
            ));
        }
        if self.side.is_some() {
            let every = self.doorbell.every();
            self.at = every.map(|every| now.saturating_add(every));
            return None;
        }
        self.at = Some(now.saturating_add(PAUSE));
        let position = self.registers.read32(POSITION);
        // All ones: the monitor has no server yet.
        if position == u32::MAX {
            return None;
        }
        let side = ShmSide::from_number(position.into());
        let memory = DeviceRegion::shared(&self.card, MEMORY);
        match (side, memory) {
            (Some(side), Ok(memory)) => {
                self.side = Some(side);
                Some(AttachedMemory { side, memory })
            }
            (None, _) => self.remark(format!(
                "{} is peer {position}: memory is shared by the peers 0 and 1 (`cangate shm` is such a server)",
                self.card.address()
            )),
            (_, Err(error)) => self.remark(error.to_string()),
        }
    }

    fn ring(&self) {
        if let Some(side) = self.side {
            let other = u32::from(side.other().number());
            self.registers.write32(DOORBELL, other << 16);
        }
    }

    fn deadline(&self) -> Option<Nanos> {
        self.at
    }

    fn remarks(&mut self) -> Vec<String> {
        std::mem::take(&mut self.remarks)
    }
}
