//! The configuration space: a device's permissions on its bus (PCI Local Bus Specification 3.0,
//! section 6.2.2).

use super::card::{PciDevice, PciError};
use rustix::fs::FlockOperation;
use rustix::io::Errno;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

/// The command register.
const COMMAND: u64 = 4;
/// The device answers accesses to its ports and its memory.
const DECODE: u16 = 0x1 | 0x2;
/// The device may access memory on its own (bus master).
const MASTER: u16 = 0x4;
/// The device does not raise its interrupt line.
const NO_INTX: u16 = 0x400;

/// A device's configuration space.
#[derive(Debug)]
pub struct ConfigSpace {
    file: File,
    path: PathBuf,
}

impl ConfigSpace {
    /// Opens the configuration space, for writing too.
    ///
    /// # Errors
    /// [`PciError::File`].
    pub fn open(card: &PciDevice) -> Result<Self, PciError> {
        let path = card.folder().join("config");
        match File::options().read(true).write(true).open(&path) {
            Ok(file) => Ok(Self { file, path }),
            Err(source) => Err(PciError::File {
                what: "open",
                path,
                source,
            }),
        }
    }

    /// Marks the device as driven by this process, as long as this value lives; false where another
    /// process has marked it. The lock is advisory (flock(2)).
    ///
    /// # Errors
    /// [`PciError::File`].
    pub fn lock(&self) -> Result<bool, PciError> {
        match rustix::fs::flock(&self.file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(true),
            Err(Errno::AGAIN) => Ok(false),
            Err(errno) => Err(PciError::File {
                what: "lock",
                path: self.path.clone(),
                source: errno.into(),
            }),
        }
    }

    /// Forbids interrupts and accesses to memory.
    pub(super) fn quiet(&self) -> Result<(), PciError> {
        self.change(NO_INTX, MASTER)
    }

    /// Makes the device answer accesses.
    pub(super) fn decode(&self) -> Result<(), PciError> {
        self.change(DECODE, 0)
    }

    /// Sets whether the device may raise its interrupt line. `uio_pci_generic` forbids it at every
    /// interrupt.
    ///
    /// # Errors
    /// [`PciError::File`].
    pub fn interrupts(&self, on: bool) -> Result<(), PciError> {
        if on {
            self.change(0, NO_INTX)
        } else {
            self.change(NO_INTX, 0)
        }
    }

    fn change(&self, set: u16, clear: u16) -> Result<(), PciError> {
        let fail = |what| {
            move |source| PciError::File {
                what,
                path: self.path.clone(),
                source,
            }
        };
        let mut bytes = [0; 2];
        self.file
            .read_exact_at(&mut bytes, COMMAND)
            .map_err(fail("read"))?;
        let command = (u16::from_le_bytes(bytes) | set) & !clear;
        self.file
            .write_all_at(&command.to_le_bytes(), COMMAND)
            .map_err(fail("write to"))
    }
}
