//! A ring of memory from which the kernel sends: one call sends the frames of a batch. The kernel
//! hands them to the interface's queue or its driver without the CAN protocol in between.

use super::super::line::PacketOutlet;
use super::super::way::TransmitWay;
use linux::Errno;
use linux::can::layout::CLASSIC_SIZE;
use linux::packet::{FrameProtocol, TxRing};
use std::os::fd::{AsRawFd, RawFd};
use std::sync::Arc;

/// Number of slots beyond those of frames that the port holds: the kernel keeps a slot until the
/// driver has the frame. This is more than the capacity of a socket's send buffer with the default
/// of 212992 bytes (some 280 frames).
pub(in super::super) const IN_THE_KERNEL: usize = 512;

pub(in super::super) struct FromRing {
    outlet: Arc<PacketOutlet>,
    ring: TxRing,
}

impl FromRing {
    pub(in super::super) const fn new(outlet: Arc<PacketOutlet>, ring: TxRing) -> Self {
        Self { outlet, ring }
    }

    fn protocol(&self, i: usize) -> FrameProtocol {
        match self.ring.frame(i) {
            Some(&[_, _, _, _, flags, ..]) if flags & frame::flags::XL_XLF != 0 => {
                FrameProtocol::CanXl
            }
            Some(bytes) if bytes.len() > CLASSIC_SIZE => FrameProtocol::CanFd,
            _ => FrameProtocol::Can,
        }
    }
}

impl TransmitWay for FromRing {
    fn fd(&self) -> RawFd {
        self.outlet.socket.as_raw_fd()
    }

    fn slots(&self) -> usize {
        self.ring.slots()
    }

    fn slot(&mut self, i: usize) -> Option<(&mut [u8], &mut usize)> {
        self.ring.slot(i)
    }

    /// Does nothing: drivers that echo at all also echo the frames of a packet socket, and no
    /// setting changes that.
    fn set_loopback(&mut self, _on: bool) -> Result<(), Errno> {
        Ok(())
    }

    fn send(&mut self, first: usize, count: usize) -> Result<usize, Errno> {
        let protocol = self.protocol(first);
        let end = first.saturating_add(count);
        let same = (first..end).take_while(|i| self.protocol(*i) == protocol);
        let count = same.count();
        let to = (self.outlet.index(), protocol);
        self.ring.send(&self.outlet.socket, to, first, count)
    }

    fn forget(&mut self, first: usize, count: usize) {
        self.ring.forget(first, count);
    }

    fn leave_out(&mut self, first: usize, count: usize) -> usize {
        self.ring.leave_out(first, count);
        0
    }
}
