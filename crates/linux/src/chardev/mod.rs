//! CAN controllers as character devices: the driver `kmod/canchar`. Its header documents the
//! meaning and the writer of each word of the mapped area.

pub mod area;
mod ioctl;
mod layout;
mod receive;

pub use area::MappedArea;
pub use layout::AREA;
pub use receive::{ImpossibleCount, LostFrames, ReceiveQueue, SlotContents};

use crate::Errno;
use crate::memory::{MappedPage, WORD};
use area::at;
use frame::wire::BitRate;
use layout::{RawControl, RawFilters, VERSION};
use rustix::fs::{SeekFrom, seek};
use std::fs::File;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::path::Path;

/// Number of frames in each of the two queues of an open file.
pub const SLOTS: u32 = 64;
/// Size of a slot in bytes.
pub const SLOT: usize = 96;
/// The largest number of filters of a file.
pub const MOST_FILTERS: usize = layout::FILTERS;

/// The settings with which a controller takes part in its bus.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CharControl {
    /// The bit rate, bit/s.
    pub bitrate: u32,
    /// The bit rate of the data phase, bit/s; makes it an FD controller.
    pub data_bitrate: Option<u32>,
    /// The sample point, thousandths of a bit; 0: the driver chooses.
    pub sample_point: u32,
    /// The sample point of the data phase, thousandths of a bit; 0: the driver chooses.
    pub data_sample_point: u32,
    /// Time from bus-off to the restart, ms; 0: never.
    pub restart_ms: u32,
    /// The controller sends nothing, not even acknowledgements.
    pub listen_only: bool,
    /// Each frame is tried once.
    pub one_shot: bool,
    /// The driver reports an error frame for each error on the bus.
    pub bus_errors: bool,
    /// Waiting frames are sent in the order of their CAN priority.
    pub by_priority: bool,
}

/// A driver's description of its controller.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CharInfo {
    /// Whether it supports FD.
    pub fd: bool,
    /// Whether it supports listen-only mode.
    pub listen_only: bool,
    /// Whether it supports trying a frame only once.
    pub one_shot: bool,
    /// The number of transmit buffers.
    pub buffers: u32,
    /// The controller's type: `sja1000`, …
    pub controller: String,
    /// Its location.
    pub bus: String,
    /// The settings of its last start.
    pub control: Option<CharControl>,
}

/// A controller's counts since its driver found it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CharStats {
    /// Frames taken out of the controller.
    pub received: u64,
    /// Frames acknowledged on the bus.
    pub sent: u64,
    /// Frames that were handed over and never sent.
    pub failed: u64,
    /// How often the controller's own FIFO had no room.
    pub overruns: u64,
    /// How often the controller went bus-off.
    pub bus_offs: u64,
    /// Its transmit error counter.
    pub tec: u32,
    /// Its receive error counter.
    pub rec: u32,
}

/// The reason why a device cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// There is no such device.
    #[error("there is no {0}: is the driver loaded (modprobe canchar)?")]
    Missing(String),
    /// It is not a CAN controller.
    #[error("{0} is not a CAN controller of the driver canchar")]
    Other(String),
    /// The driver has another version.
    #[error("{0}: the driver canchar is of another version than cangate")]
    Version(String),
    /// Any other error.
    #[error("{path} {what}")]
    System {
        /// The device.
        path: String,
        /// The operation that failed.
        what: &'static str,
        /// The cause.
        source: std::io::Error,
    },
}

/// An open device with its two queues, mapped.
pub struct CharDevice {
    device: OwnedFd,
    area: MappedPage<{ AREA / WORD }>,
}

impl CharDevice {
    /// Opens a device, such as `/dev/can0`.
    ///
    /// # Errors
    /// [`OpenError`] states the remedy.
    pub fn open(path: &str) -> Result<Self, OpenError> {
        let device = File::options().read(true).write(true).open(Path::new(path));
        let device: OwnedFd = device
            .map_err(|e| match Errno::from_io_error(&e) {
                Some(Errno::NOENT | Errno::NXIO | Errno::NODEV) => {
                    OpenError::Missing(path.to_owned())
                }
                _ => OpenError::System {
                    path: path.to_owned(),
                    what: "cannot be opened",
                    source: e,
                },
            })?
            .into();
        // Before the device is mapped: mapping another device may have any effect.
        match ioctl::info(&device) {
            Ok(_) => {}
            Err(Errno::NODEV) => return Err(OpenError::Missing(path.to_owned())),
            Err(_) => return Err(OpenError::Other(path.to_owned())),
        }
        let area = MappedPage::map(&device).map_err(|e| OpenError::System {
            path: path.to_owned(),
            what: "cannot be mapped",
            source: e.into(),
        })?;
        let device = Self { device, area };
        if area::first(device.get(at::RX_HEAD)) != VERSION {
            return Err(OpenError::Version(path.to_owned()));
        }
        Ok(device)
    }

    /// Makes the driver check the transmit queue; returns how many frames it took.
    ///
    /// # Errors
    /// [`Errno::NETDOWN`]: stopped or bus-off. [`Errno::NODEV`]: the controller is gone.
    #[inline]
    pub fn ring(&self) -> Result<u64, Errno> {
        seek(&self.device, SeekFrom::End(0))
    }

    /// Puts the controller on the bus. If it is already there with the same settings, nothing
    /// changes.
    ///
    /// # Errors
    /// [`Errno::BUSY`]: it runs with other settings. [`Errno::INVAL`]: it does not support these
    /// settings.
    pub fn start(&self, control: &CharControl) -> Result<(), Errno> {
        ioctl::start(&self.device, &RawControl::new(control))
    }

    /// Takes the controller off the bus.
    ///
    /// # Errors
    /// [`Errno::NODEV`]: the controller is gone.
    pub fn stop(&self) -> Result<(), Errno> {
        ioctl::plain(&self.device, 0x81)
    }

    /// Restarts the controller after bus-off.
    ///
    /// # Errors
    /// [`Errno::INVAL`]: it is not bus-off.
    pub fn recover(&self) -> Result<(), Errno> {
        ioctl::plain(&self.device, 0x82)
    }

    /// Sets the frames that this file gets: ID and mask as in raw(7), an empty list: no frame; and
    /// the classes of error frames (`CAN_ERR_…`).
    ///
    /// # Errors
    /// [`Errno::INVAL`]: more than [`MOST_FILTERS`].
    pub fn set_filters(&self, filters: &[(u32, u32)], errors: u32) -> Result<(), Errno> {
        let raw = RawFilters::new(filters, errors).ok_or(Errno::INVAL)?;
        ioctl::filter(&self.device, &raw)
    }

    /// Returns the driver's description of the controller.
    ///
    /// # Errors
    /// [`Errno::NODEV`]: the controller is gone.
    pub fn info(&self) -> Result<CharInfo, Errno> {
        Ok(ioctl::info(&self.device)?.read())
    }

    /// Returns the controller's counts.
    ///
    /// # Errors
    /// [`Errno::NODEV`]: the controller is gone.
    pub fn stats(&self) -> Result<CharStats, Errno> {
        Ok(ioctl::stats(&self.device)?.read())
    }

    /// Returns the descriptor, for polling.
    #[must_use]
    pub fn fd(&self) -> RawFd {
        self.device.as_raw_fd()
    }

    /// Returns the bit rates with which the controller runs; `None` where it is stopped.
    ///
    /// # Errors
    /// The device does not answer.
    pub fn bit_rate(&self) -> Result<Option<BitRate>, Errno> {
        let runs = self.is_on_bus();
        let control = self.info()?.control.filter(|_| runs);
        Ok(control.and_then(|c| BitRate::new(c.bitrate, c.data_bitrate).ok()))
    }
}

impl MappedArea for CharDevice {
    /// Returns all ones beyond the end.
    #[inline]
    fn get(&self, at: usize) -> u64 {
        self.area.get(at).unwrap_or(u64::MAX)
    }

    /// Has no effect beyond the end.
    #[inline]
    fn set(&self, at: usize, word: u64) {
        self.area.set(at, word);
    }
}
