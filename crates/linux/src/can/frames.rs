//! A raw socket that sends and receives frames, for callers that stamp and count frames on their
//! own.
//!
//! It does not recover from errors on its own: the error of each call is passed on.

use super::error::OpenError;
use super::layout::{CLASSIC_SIZE, FD_SIZE, decode, encode};
use super::socket::{CanFilter, CanOptions, CanSocket, InterfaceState, StampOptions};
use crate::Errno;
use crate::mmsg::{DatagramControl, MmsgInbox};
use frame::{FrameRef, Nanos};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};

/// The most frames that one [`FrameSocket::receive`] hands over: datagrams of one `recvmmsg`.
pub const MOST_ARRIVALS: usize = 64;

/// The settings of a [`FrameSocket`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FrameOptions {
    /// Carry FD frames too.
    pub fd: bool,
    /// Receive data and remote frames; error frames are received in any case.
    pub hear: bool,
    /// Other sockets of this machine on the interface receive the frames that are sent here.
    pub echo: bool,
    /// The frames that this socket sends come back to it when the driver echoes them
    /// (`CAN_RAW_RECV_OWN_MSGS`); needs `echo`.
    pub own: bool,
    /// Ask the driver for the controller's own stamps.
    pub hardware_stamps: bool,
    /// Frames have no stamps, which costs less.
    pub no_stamps: bool,
    /// The receive buffer in bytes, as the kernel counts (some 800 a frame). It can exceed
    /// `net.core.rmem_max` only with CAP_NET_ADMIN; without, the kernel silently reduces it.
    pub receive_buffer: Option<u32>,
    /// The send buffer in bytes; the kernel has a minimum, of about six frames. With a small one,
    /// poll(2) and the kernel's errors indicate correctly when there is room, instead of ENOBUFS.
    pub send_buffer: Option<u32>,
}

/// A frame that was received.
#[derive(Clone, Copy, Debug)]
pub struct ArrivedFrame<'a> {
    /// The frame, which may be an error frame.
    pub frame: FrameRef<'a>,
    /// The kernel's stamp: Unix time, ns.
    pub software: Option<Nanos>,
    /// The controller's stamp: its own epoch, ns.
    pub hardware: Option<Nanos>,
    /// Whether the frame was sent on this machine and is received because the driver (or the
    /// kernel, for a vcan) echoes it; a driver does so when the transmission was complete.
    pub local: bool,
    /// Whether the frame was sent by this very socket.
    pub own: bool,
}

/// One non-blocking raw socket on one interface.
pub struct FrameSocket {
    socket: CanSocket,
    inbox: MmsgInbox,
    malformed: u64,
}

impl FrameSocket {
    /// Opens a socket on an interface, which may be down.
    ///
    /// # Errors
    /// [`OpenError`] that states what is missing and what to do.
    pub fn open(interface: &str, options: &FrameOptions) -> Result<Self, OpenError> {
        let socket = CanSocket::open(interface)?;
        let stamps = if options.no_stamps {
            StampOptions::None
        } else if options.hardware_stamps {
            StampOptions::Hardware
        } else {
            StampOptions::Kernel
        };
        let all = CanOptions {
            fd: options.fd,
            xl: false,
            stamps,
            receive_buffer: options.receive_buffer,
        };
        socket.configure(&all)?;
        let filters: &[CanFilter] = if options.hear {
            &[CanFilter::EVERYTHING]
        } else {
            &[]
        };
        let send_buffer = |bytes| socket.set_send_buffer(bytes);
        socket
            .set_loopback(options.echo)
            .and_then(|()| options.send_buffer.map_or(Ok(()), send_buffer))
            .and_then(|()| socket.set_own(options.own))
            .and_then(|()| socket.set_filters(filters))
            .map_err(|errno| OpenError::set_up(interface, errno))?;
        let index = socket.query_state().map(|state| state.index);
        index
            .and_then(|index| socket.attach(index))
            .map_err(|errno| OpenError::attach(interface, errno))?;
        let size = if options.fd { FD_SIZE } else { CLASSIC_SIZE };
        Ok(Self {
            socket,
            inbox: MmsgInbox::new(MOST_ARRIVALS, size),
            malformed: 0,
        })
    }

    /// Returns the descriptor, for polling.
    #[must_use]
    pub fn fd(&self) -> RawFd {
        self.socket.as_raw_fd()
    }

    /// Returns the state of the interface.
    ///
    /// # Errors
    /// ENODEV where the interface is gone.
    pub fn query_state(&self) -> Result<InterfaceState, Errno> {
        self.socket.query_state()
    }

    /// Sends a classic or FD frame by one write(2), without waiting.
    ///
    /// # Errors
    /// The error of write(2): EAGAIN (the socket's buffer is full), ENOBUFS (the interface's queue
    /// is full), ENETDOWN, ENODEV or ENXIO (the interface is down, or gone); EMSGSIZE for an XL
    /// frame.
    pub fn send(&self, frame: FrameRef<'_>) -> Result<(), Errno> {
        let mut bytes = [0; FD_SIZE];
        let len = encode(frame, &mut bytes).ok_or(Errno::MSGSIZE)?;
        let datagram = bytes.get(..len).ok_or(Errno::MSGSIZE)?;
        self.socket.write(datagram).map(|_| ())
    }

    /// Hands over the frames that came in, as many as one `recvmmsg` brings; returns the number of
    /// datagrams, including those that were not frames.
    ///
    /// # Errors
    /// The error of recvmmsg(2): ENETDOWN once when the interface went down. It is not an error if
    /// nothing came in.
    pub fn receive(&mut self, take: &mut dyn FnMut(ArrivedFrame<'_>)) -> Result<usize, Errno> {
        self.receive_at_most(MOST_ARRIVALS, take)
    }

    /// Does the same, with at most `most` frames. Where one frame has come in, a call for one costs
    /// half as much as a call for many, for which the kernel looks for a second one, too.
    ///
    /// # Errors
    /// As [`FrameSocket::receive`].
    pub fn receive_at_most(
        &mut self,
        most: usize,
        take: &mut dyn FnMut(ArrivedFrame<'_>),
    ) -> Result<usize, Errno> {
        let n = match self.inbox.receive(&self.socket, most) {
            Ok(n) => n,
            Err(Errno::AGAIN | Errno::INTR) => return Ok(0),
            Err(e) => return Err(e),
        };
        for i in 0..n {
            let Some((bytes, control)) = self.inbox.get(i) else {
                continue;
            };
            let Some(frame) = decode(bytes) else {
                self.malformed += 1;
                continue;
            };
            let control = DatagramControl::parse(control);
            take(ArrivedFrame {
                frame,
                software: control.software,
                hardware: control.hardware,
                local: self.inbox.is_local(i),
                own: self.inbox.is_own(i),
            });
        }
        Ok(n)
    }

    /// Returns the number of frames that this socket lost because its receive buffer was full
    /// (`SO_MEMINFO`, modulo 2^32); `None` where the kernel does not report it (before Linux 4.12).
    #[must_use]
    pub fn lost(&self) -> Option<u32> {
        self.socket.lost()
    }

    /// Returns the number of datagrams that were not frames.
    #[must_use]
    pub fn malformed(&self) -> u64 {
        self.malformed
    }

    /// Returns the size of the receive buffer in bytes, as the kernel counts.
    ///
    /// # Errors
    /// The error of getsockopt(2).
    pub fn receive_buffer(&self) -> Result<u32, Errno> {
        self.socket.receive_buffer()
    }
}

impl AsFd for FrameSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
