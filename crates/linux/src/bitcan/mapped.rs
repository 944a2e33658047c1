//! A mapped controller of `kmod/bitcan`: its page of registers, and the calls that are not
//! registers.

use super::ioctl;
use super::layout::{BitcanControl, MappedOptions};
use super::types::ControllerError as Error;
use crate::memory::{MappedPage, WORD};
use crate::{Errno, tsc};
use rustix::fs::{SeekFrom, seek};
use std::fs::File;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::path::Path;
use std::sync::atomic::{Ordering, fence};

/// Size of `struct bitcan_registers`, which lies at the start of the page, in bytes.
pub const REGISTERS: usize = 768;
/// Position of `rang` in the registers.
const RANG: usize = 80;
/// Positions of `changes` and `seen`.
const CHANGES: usize = 0;
const SEEN: usize = 72;

/// An open mapped controller. Closing it, also when the process ends, takes it off the bus.
pub struct MappedController {
    device: OwnedFd,
    memory: MappedPage<{ REGISTERS / WORD }>,
}

impl MappedController {
    /// Opens the device, such as `/dev/bitcan-ctl0`. Only one process at a time can open it.
    ///
    /// # Errors
    /// [`Error`] states the remedy.
    pub fn open(path: &str) -> Result<Self, Error> {
        let device = File::options().read(true).write(true).open(Path::new(path));
        let device: OwnedFd = device
            .map_err(|e| match Errno::from_io_error(&e) {
                Some(Errno::NOENT | Errno::NXIO | Errno::NODEV) => Error::Missing(path.to_owned()),
                Some(Errno::BUSY) => Error::Busy(path.to_owned()),
                _ => Error::System {
                    path: path.to_owned(),
                    what: "cannot be opened",
                    source: e,
                },
            })?
            .into();
        let memory = MappedPage::map(&device).map_err(|e| Error::System {
            path: path.to_owned(),
            what: "cannot be mapped: is it a mapped controller of kmod/bitcan?",
            source: e.into(),
        })?;
        Ok(Self { device, memory })
    }

    /// Returns a word of the registers; all ones beyond their end.
    #[inline]
    #[must_use]
    pub fn get(&self, at: usize) -> u64 {
        self.memory.get(at).unwrap_or(u64::MAX)
    }

    /// Writes a word; has no effect beyond the end.
    #[inline]
    pub fn set(&self, at: usize, word: u64) {
        self.memory.set(at, word);
    }

    /// Makes earlier writes visible before anything is read after this call.
    pub fn fence(&self) {
        fence(Ordering::SeqCst);
    }

    /// Rings the doorbell for these transmit buffers, a bit each. The frames are ready at the time
    /// of this call, where the processor has a counter that the module can read, too.
    ///
    /// # Errors
    /// [`Errno::NETDOWN`]: off the bus or bus-off. [`Errno::INVAL`]: a buffer has no frame that the
    /// controller can send.
    #[inline]
    pub fn ring(&self, buffers: u32) -> Result<(), Errno> {
        self.memory.set(RANG, tsc::now());
        seek(&self.device, SeekFrom::Start(u64::from(buffers))).map(drop)
    }

    /// Puts the controller on the bus.
    ///
    /// # Errors
    /// [`Errno::INVAL`]: another bit rate than the bus has, or one that no bus can have.
    /// [`Errno::PROTO`]: another version. [`Errno::NOSPC`]: the bus is full. [`Errno::BUSY`]: the
    /// controller is already on the bus.
    pub fn join(&self, wanted: &MappedOptions<'_>) -> Result<(), Errno> {
        let control = BitcanControl::new(wanted).ok_or(Errno::INVAL)?;
        ioctl::control(&self.device, &control)
    }

    /// Takes the controller off the bus: pending transmissions are aborted, and frames in the FIFO
    /// stay unread.
    pub fn leave(&self) {
        // This cannot fail on a device that was opened as a mapped controller.
        let _ = ioctl::leave(&self.device);
    }

    /// Takes back the frames in these buffers that are not on the wire.
    pub fn abort(&self, buffers: u32) {
        let _ = ioctl::abort(&self.device, buffers);
    }

    /// Begins to count recessive bits, after bus-off.
    ///
    /// # Errors
    /// [`Errno::NETDOWN`]: the controller is off the bus.
    pub fn recover(&self) -> Result<(), Errno> {
        ioctl::recover(&self.device)
    }

    /// Returns whether there are changes that the process has not acknowledged. poll(2) on
    /// [`MappedController::fd`] reports them, too.
    #[inline]
    #[must_use]
    pub fn has_news(&self) -> bool {
        self.get(CHANGES) >> 32 != self.get(SEEN) & u64::from(u32::MAX)
    }

    /// Returns the descriptor to poll for reading.
    #[must_use]
    pub fn fd(&self) -> RawFd {
        self.device.as_raw_fd()
    }
}
