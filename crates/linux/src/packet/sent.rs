//! A ring of the frames that this machine sent, used together with a [`super::BlockRing`].
//!
//! The kernel gives an echo to every packet socket, one after the other, and first to the one that
//! was attached last (`dev_add_pack` puts it before the others). So a frame is in this ring before
//! the other ring's block with it is handed over, if this ring was attached after the other one.

use super::passed::attach_sent;
use super::program::FilterProgram;
use super::rx_ring::{RingSlot, RxRing};
use super::socket::{FrameProtocol, PacketSocket};
use crate::Errno;
use std::os::fd::AsFd;

/// Number of bytes of each frame that are in the ring; the rest is cut off. A slot then has 128
/// bytes.
pub const SENT_BYTES: usize = 48;

/// The frames that sockets of this machine sent, entered when their echo arrives.
pub struct SentRing {
    socket: PacketSocket,
    ring: RxRing,
}

impl SentRing {
    /// Creates a ring for at least this many frames, attached to no interface. `hardware`: with the
    /// controllers' stamps, as [`super::RingOptions::hardware_stamps`].
    ///
    /// # Errors
    /// The kernel's error.
    pub fn new(frames: usize, hardware: bool) -> Result<Self, Errno> {
        let socket = PacketSocket::open()?;
        socket.ignore_outgoing()?;
        if hardware {
            socket.ask_for_hardware_stamps()?;
        }
        let ring = RxRing::new(&socket, frames, SENT_BYTES)?;
        Ok(Self { socket, ring })
    }

    /// Sets which of the sent frames are taken from now on.
    ///
    /// # Errors
    /// The kernel's error: EPERM without CAP_BPF.
    pub fn set_filter(&self, program: &FilterProgram) -> Result<(), Errno> {
        attach_sent(self.socket.as_fd(), program, SENT_BYTES as u16)
    }

    /// Takes frames of the interface with this index, or of all interfaces where it is 0. Must be
    /// called after the other ring's `attach`.
    ///
    /// # Errors
    /// ENODEV where there is no such interface.
    pub fn attach(&self, interface: u32) -> Result<(), Errno> {
        self.socket.attach(interface, FrameProtocol::All)
    }

    /// Hands over all waiting frames, each with the index of its interface.
    pub fn take(&mut self, take: &mut dyn FnMut(u32, RingSlot<'_>)) {
        let all = self.ring.slots();
        self.ring.receive_of(all, take);
    }

    /// Returns the number of frames that found no room since the last call of this function.
    ///
    /// # Errors
    /// The error of getsockopt(2).
    pub fn take_dropped(&self) -> Result<u32, Errno> {
        Ok(self.socket.take_statistics()?.dropped)
    }
}
