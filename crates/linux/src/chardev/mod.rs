//! CAN controllers as character devices: the driver `kmod/canchar`. Its header says what each word
//! of the mapped area means and who writes it.

pub mod area;
mod ioctl;
mod layout;
mod receive;

pub use area::{Area, State};
pub use layout::AREA;
pub use receive::{Impossible, Lost, ReceiveQueue, Slot};

use crate::Errno;
use crate::memory::{Page, WORD};
use area::{at, first};
use frame::wire::BitRate;
use layout::{RawControl, RawFilters, VERSION};
use rustix::fs::{SeekFrom, seek};
use std::fs::File;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::path::Path;

/// Frames in each of the two queues of an open file.
pub const SLOTS: u32 = 64;
/// Bytes of a slot.
pub const SLOT: usize = 96;
/// As many filters as a file can have.
pub const MOST_FILTERS: usize = layout::FILTERS;

/// How a controller takes part in its bus.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Control {
    /// bit/s.
    pub bitrate: u32,
    /// bit/s of the data phase; makes it an FD controller.
    pub data_bitrate: Option<u32>,
    /// Thousandths of a bit; 0: the driver chooses.
    pub sample_point: u32,
    /// Thousandths of a bit of the data phase; 0: the driver chooses.
    pub data_sample_point: u32,
    /// From bus-off to the restart; 0: never.
    pub restart_ms: u32,
    /// It sends nothing, not even acknowledgements.
    pub listen_only: bool,
    /// Each frame is tried once.
    pub one_shot: bool,
    /// An error frame for each error on the bus.
    pub bus_errors: bool,
    /// Waiting frames leave in the order of their CAN priority.
    pub by_priority: bool,
}

/// What a driver says of its controller.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Info {
    /// Can it do FD?
    pub fd: bool,
    /// Can it listen only?
    pub listen_only: bool,
    /// Can it try a frame once only?
    pub one_shot: bool,
    /// Transmit buffers.
    pub buffers: u32,
    /// `sja1000`, …
    pub controller: String,
    /// Where it is.
    pub bus: String,
    /// How it was started last.
    pub control: Option<Control>,
}

/// What a controller has counted since its driver found it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stats {
    /// Frames taken out of the controller.
    pub received: u64,
    /// Frames acknowledged on the bus.
    pub sent: u64,
    /// Frames that were handed over and never sent.
    pub failed: u64,
    /// How often the controller's own FIFO had no room.
    pub overruns: u64,
    /// How often it went bus-off.
    pub bus_offs: u64,
    /// Its transmit error counter.
    pub tec: u32,
    /// Its receive error counter.
    pub rec: u32,
}

/// Why a device cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// There is none.
    #[error("there is no {0}: is the driver loaded (modprobe canchar)?")]
    Missing(String),
    /// It is no CAN controller.
    #[error("{0} is no CAN controller of the driver canchar")]
    Other(String),
    /// It is one of another version.
    #[error("{0}: the driver canchar is of another version than cangate")]
    Version(String),
    /// Anything else.
    #[error("{path} {what}")]
    System {
        /// Which device.
        path: String,
        /// What failed.
        what: &'static str,
        /// Why.
        source: std::io::Error,
    },
}

/// An open device with its two queues, mapped.
pub struct Device {
    device: OwnedFd,
    area: Page<{ AREA / WORD }>,
}

impl Device {
    /// Opens it, such as `/dev/can0`.
    ///
    /// # Errors
    /// [`OpenError`] says what to do.
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
        // Before it is mapped: another device may do anything when it is.
        match ioctl::info(&device) {
            Ok(_) => {}
            Err(Errno::NODEV) => return Err(OpenError::Missing(path.to_owned())),
            Err(_) => return Err(OpenError::Other(path.to_owned())),
        }
        let area = Page::map(&device).map_err(|e| OpenError::System {
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

    /// The driver looks at the transmit queue: how many frames it took.
    ///
    /// # Errors
    /// [`Errno::NETDOWN`]: stopped or bus-off. [`Errno::NODEV`]: the controller is gone.
    #[inline]
    pub fn ring(&self) -> Result<u64, Errno> {
        seek(&self.device, SeekFrom::End(0))
    }

    /// On to the bus. If it is there with the same settings, nothing changes.
    ///
    /// # Errors
    /// [`Errno::BUSY`]: it runs with other settings. [`Errno::INVAL`]: it cannot do that.
    pub fn start(&self, control: &Control) -> Result<(), Errno> {
        ioctl::start(&self.device, &RawControl::new(control))
    }

    /// Off the bus.
    ///
    /// # Errors
    /// [`Errno::NODEV`]: the controller is gone.
    pub fn stop(&self) -> Result<(), Errno> {
        ioctl::plain(&self.device, 0x81)
    }

    /// After bus-off.
    ///
    /// # Errors
    /// [`Errno::INVAL`]: it is not bus-off.
    pub fn recover(&self) -> Result<(), Errno> {
        ioctl::plain(&self.device, 0x82)
    }

    /// Which frames this file gets: ID and mask as raw(7) has them, none: no frame; and the classes
    /// of error frames (`CAN_ERR_…`).
    ///
    /// # Errors
    /// [`Errno::INVAL`]: more than [`MOST_FILTERS`].
    pub fn set_filters(&self, filters: &[(u32, u32)], errors: u32) -> Result<(), Errno> {
        let raw = RawFilters::new(filters, errors).ok_or(Errno::INVAL)?;
        ioctl::filter(&self.device, &raw)
    }

    /// What the driver says of it.
    ///
    /// # Errors
    /// [`Errno::NODEV`]: the controller is gone.
    pub fn info(&self) -> Result<Info, Errno> {
        Ok(ioctl::info(&self.device)?.read())
    }

    /// What it has counted.
    ///
    /// # Errors
    /// [`Errno::NODEV`]: the controller is gone.
    pub fn stats(&self) -> Result<Stats, Errno> {
        Ok(ioctl::stats(&self.device)?.read())
    }

    /// To be polled.
    #[must_use]
    pub fn fd(&self) -> RawFd {
        self.device.as_raw_fd()
    }

    /// The bit rates with which the controller runs; `None` where it is stopped.
    ///
    /// # Errors
    /// The device does not answer.
    pub fn bit_rate(&self) -> Result<Option<BitRate>, Errno> {
        let runs = State::of(first(self.get(at::STATE))).passes();
        let control = self.info()?.control.filter(|_| runs);
        Ok(control.and_then(|c| BitRate::new(c.bitrate, c.data_bitrate).ok()))
    }
}

impl Area for Device {
    /// All ones beyond the end.
    #[inline]
    fn get(&self, at: usize) -> u64 {
        self.area.get(at).unwrap_or(u64::MAX)
    }

    /// Beyond the end, nothing.
    #[inline]
    fn set(&self, at: usize, word: u64) {
        self.area.set(at, word);
    }
}
