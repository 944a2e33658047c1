//! The device of a half: its mapped area and its system calls. Tests replace it.

use crate::RawFilter;
use linux::Errno;
use linux::chardev::{CharDevice, MappedArea};
use std::os::fd::RawFd;

/// An open device.
pub trait DeviceLine: MappedArea + Send + Sync {
    /// Lets the driver take the new frames in the transmit queue; returns their number.
    fn ring(&self) -> Result<u64, Errno>;
    /// Sets the frames and the classes of error frames that are received.
    fn set_filters(&self, filters: &[RawFilter], errors: u32) -> Result<(), Errno>;
    /// Returns whether its controller is still there.
    fn is_there(&self) -> bool;
    /// Returns the descriptor to poll.
    fn fd(&self) -> RawFd;
}

impl DeviceLine for CharDevice {
    #[inline]
    fn ring(&self) -> Result<u64, Errno> {
        Self::ring(self)
    }

    fn set_filters(&self, filters: &[RawFilter], errors: u32) -> Result<(), Errno> {
        let filters: Vec<_> = filters.iter().map(|f| (f.id, f.mask)).collect();
        Self::set_filters(self, &filters, errors)
    }

    fn is_there(&self) -> bool {
        self.info() != Err(Errno::NODEV)
    }

    fn fd(&self) -> RawFd {
        Self::fd(self)
    }
}
