//! Which frames this machine sent: a ring beside a [`super::BlockRing`].
//!
//! The kernel gives an echo to every packet socket, one after the other, the one that was attached
//! last first (`dev_add_pack` puts it before the others). So a frame is in this ring before the
//! other ring's block with it is handed over, if this ring was attached after the other one.

use super::passed::attach_sent;
use super::program::Program;
use super::rx_ring::{RxRing, Slot};
use super::socket::{Protocol, Socket};
use crate::Errno;
use std::os::fd::AsFd;

/// Bytes of each frame that are in the ring; the rest is cut off. A slot has 128 bytes then.
pub const SENT_BYTES: usize = 48;

/// Frames that sockets of this machine sent, when their echo came.
pub struct SentRing {
    socket: Socket,
    ring: RxRing,
}

impl SentRing {
    /// A ring for at least so many frames, attached to nothing. `hardware`: with the controllers'
    /// stamps, as [`super::RingOptions::hardware_stamps`].
    ///
    /// # Errors
    /// What the kernel says.
    pub fn new(frames: usize, hardware: bool) -> Result<Self, Errno> {
        let socket = Socket::open()?;
        socket.ignore_outgoing()?;
        if hardware {
            socket.ask_for_hardware_stamps()?;
        }
        let ring = RxRing::new(&socket, frames, SENT_BYTES)?;
        Ok(Self { socket, ring })
    }

    /// Which frames are taken from now on, of those that were sent.
    ///
    /// # Errors
    /// What the kernel says: EPERM without CAP_BPF.
    pub fn set_filter(&self, program: &Program) -> Result<(), Errno> {
        attach_sent(self.socket.as_fd(), program, SENT_BYTES as u16)
    }

    /// Takes frames of the interface of this number, or of all where it is 0. To be called after
    /// the other ring's.
    ///
    /// # Errors
    /// ENODEV where there is no such interface.
    pub fn attach(&self, interface: u32) -> Result<(), Errno> {
        self.socket.attach(interface, Protocol::All)
    }

    /// Hands over all that is there, with the number of its interface.
    pub fn take(&mut self, take: &mut dyn FnMut(u32, Slot<'_>)) {
        let all = self.ring.slots();
        self.ring.receive_of(all, take);
    }

    /// How many frames found no room since the last call of this.
    ///
    /// # Errors
    /// What getsockopt(2) says.
    pub fn take_dropped(&self) -> Result<u32, Errno> {
        Ok(self.socket.take_statistics()?.dropped)
    }
}
