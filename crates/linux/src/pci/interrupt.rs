//! A device's interrupt, through a UIO driver.

use super::card::{PciDevice, PciError};
use super::config_space::ConfigSpace;
use rustix::io::Errno;
use std::fs::{self, File};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Time within which the device file must appear.
const NODE: Duration = Duration::from_secs(5);

/// A file by which the process waits for a device's interrupt.
///
/// With a line (`uio_pci_generic`), at each interrupt the kernel forbids the device to raise it,
/// and counts the interrupt. The file is then readable. [`DeviceInterrupt::arm`] allows it again: a
/// line that is still raised interrupts again at once, so that no event is missed between reading
/// the device and arming. Messages (MSI) need no arming: each is counted.
#[derive(Debug)]
pub struct DeviceInterrupt {
    file: File,
    config: ConfigSpace,
}

impl DeviceInterrupt {
    /// Opens the interrupt. The device must be bound to this driver ([`PciDevice::take`]). It is
    /// not armed.
    ///
    /// # Errors
    /// [`PciError`].
    pub fn open(card: &PciDevice, driver: &'static str) -> Result<Self, PciError> {
        let missing = || card.no_uio(driver);
        let start = Instant::now();
        let folder = card.folder().join("uio");
        let path = loop {
            let entries = fs::read_dir(&folder).map_err(|_| missing())?;
            let name = entries.flatten().next().map(|entry| entry.file_name());
            let path = PathBuf::from("/dev").join(name.ok_or_else(missing)?);
            if path.exists() || start.elapsed() > NODE {
                break path;
            }
            std::thread::sleep(Duration::from_millis(10));
        };
        let file = File::options()
            .read(true)
            .custom_flags(libc::O_NONBLOCK)
            .open(&path)
            .map_err(|source| PciError::File {
                what: "open",
                path,
                source,
            })?;
        let config = ConfigSpace::open(card)?;
        Ok(Self { file, config })
    }

    /// Returns the descriptor to poll for reading.
    #[must_use]
    pub fn fd(&self) -> RawFd {
        self.file.as_raw_fd()
    }

    /// Takes the counted interrupts. Returns whether there was any since the last call.
    ///
    /// # Errors
    /// The error of read(2): EIO where the driver no longer has the device.
    pub fn take(&self) -> Result<bool, Errno> {
        let mut count = [0; 4];
        match rustix::io::read(self.file.as_fd(), &mut count) {
            Ok(_) => Ok(true),
            Err(Errno::AGAIN | Errno::INTR) => Ok(false),
            Err(errno) => Err(errno),
        }
    }

    /// Allows the device to raise its line.
    ///
    /// # Errors
    /// [`PciError::File`].
    pub fn arm(&self) -> Result<(), PciError> {
        self.config.interrupts(true)
    }
}

/// The descriptor is readable when there was an interrupt.
impl AsFd for DeviceInterrupt {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}
