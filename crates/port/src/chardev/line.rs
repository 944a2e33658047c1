//! What a half has of its device: the mapped area and the calls. Tests have another one.

use crate::RawFilter;
use linux::Errno;
use linux::chardev::{Area, Device};
use std::os::fd::RawFd;

/// An open device.
pub trait Line: Area + Send + Sync {
    /// The driver takes what is new in the transmit queue; how many.
    fn ring(&self) -> Result<u64, Errno>;
    /// Which frames are received, and which classes of error frames.
    fn set_filters(&self, filters: &[RawFilter], errors: u32) -> Result<(), Errno>;
    /// Is its controller still there?
    fn is_there(&self) -> bool;
    /// To be polled.
    fn fd(&self) -> RawFd;
}

impl Line for Device {
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
