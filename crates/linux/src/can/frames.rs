//! A raw socket that takes and gives frames, for who stamps and counts himself.
//!
//! It survives nothing by itself: what the system says about a call is handed on.

use super::error::OpenError;
use super::layout::{CLASSIC_SIZE, FD_SIZE, decode, encode};
use super::socket::{Filter, InterfaceState, Options, Socket, Stamps};
use crate::Errno;
use crate::mmsg::{Control, Inbox};
use frame::{FrameRef, Nanos};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};

/// The most frames that one [`FrameSocket::receive`] hands over: datagrams of one `recvmmsg`.
pub const MOST_ARRIVALS: usize = 64;

/// What a [`FrameSocket`] is set to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FrameOptions {
    /// Carry FD frames too.
    pub fd: bool,
    /// Receive data and remote frames; error frames are received in any case.
    pub hear: bool,
    /// Other sockets of this machine on the interface see what is sent here.
    pub echo: bool,
    /// What this socket sends comes back to it, when the driver echoes it
    /// (`CAN_RAW_RECV_OWN_MSGS`); needs `echo`.
    pub own: bool,
    /// Ask the driver for the controller's own stamps.
    pub hardware_stamps: bool,
    /// Frames have no stamps, which costs less.
    pub no_stamps: bool,
    /// The receive buffer in bytes, as the kernel counts (some 800 a frame); beyond
    /// `net.core.rmem_max` with CAP_NET_ADMIN only, and quietly less without.
    pub receive_buffer: Option<u32>,
    /// The send buffer in bytes; the kernel has a least one, of about six frames. A small one
    /// makes poll(2) and the kernel's answers say truly when there is room, instead of ENOBUFS.
    pub send_buffer: Option<u32>,
}

/// A frame that came in.
#[derive(Clone, Copy, Debug)]
pub struct Arrival<'a> {
    /// The frame, an error frame too.
    pub frame: FrameRef<'a>,
    /// The kernel's stamp, Unix time, ns.
    pub software: Option<Nanos>,
    /// The controller's stamp, its own epoch, ns.
    pub hardware: Option<Nanos>,
    /// It was sent on this machine, and is seen because the driver (or the kernel, for a vcan)
    /// echoes it: by a driver when its transmission was complete.
    pub local: bool,
    /// It was sent by this very socket.
    pub own: bool,
}

/// One raw socket on one interface, without waiting.
pub struct FrameSocket {
    socket: Socket,
    inbox: Inbox,
    malformed: u64,
}

impl FrameSocket {
    /// Opens a socket on an interface, which may be down.
    ///
    /// # Errors
    /// [`OpenError`] that says what is missing and what to do.
    pub fn open(interface: &str, options: &FrameOptions) -> Result<Self, OpenError> {
        let socket = Socket::open(interface)?;
        let stamps = if options.no_stamps {
            Stamps::None
        } else if options.hardware_stamps {
            Stamps::Hardware
        } else {
            Stamps::Kernel
        };
        let all = Options {
            fd: options.fd,
            xl: false,
            stamps,
            receive_buffer: options.receive_buffer,
        };
        socket.configure(&all)?;
        let filters: &[Filter] = if options.hear {
            &[Filter::EVERYTHING]
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
        let index = socket.look().map(|state| state.index);
        index
            .and_then(|index| socket.attach(index))
            .map_err(|errno| OpenError::attach(interface, errno))?;
        let size = if options.fd { FD_SIZE } else { CLASSIC_SIZE };
        Ok(Self {
            socket,
            inbox: Inbox::new(MOST_ARRIVALS, size),
            malformed: 0,
        })
    }

    /// For polling.
    #[must_use]
    pub fn fd(&self) -> RawFd {
        self.socket.as_raw_fd()
    }

    /// How the interface is.
    ///
    /// # Errors
    /// ENODEV where it is gone.
    pub fn look(&self) -> Result<InterfaceState, Errno> {
        self.socket.look()
    }

    /// Sends a classic or FD frame by one write(2), without waiting.
    ///
    /// # Errors
    /// What write(2) says: EAGAIN (the socket's buffer is full), ENOBUFS (the interface's queue
    /// is), ENETDOWN, ENODEV or ENXIO (it is down, or gone); EMSGSIZE for an XL frame.
    pub fn send(&self, frame: FrameRef<'_>) -> Result<(), Errno> {
        let mut bytes = [0; FD_SIZE];
        let len = encode(frame, &mut bytes).ok_or(Errno::MSGSIZE)?;
        let datagram = bytes.get(..len).ok_or(Errno::MSGSIZE)?;
        self.socket.write(datagram).map(|_| ())
    }

    /// Hands over what came in, as many frames as one `recvmmsg` brings; says how many, with
    /// those that were no frame.
    ///
    /// # Errors
    /// What recvmmsg(2) says: ENETDOWN once when the interface went down. Nothing there is no
    /// error.
    pub fn receive(&mut self, take: &mut dyn FnMut(Arrival<'_>)) -> Result<usize, Errno> {
        self.receive_at_most(MOST_ARRIVALS, take)
    }

    /// The same, of at most so many frames. To ask for one costs half as much as to ask for many
    /// where one is there: the kernel looks for a second one, too.
    ///
    /// # Errors
    /// As [`FrameSocket::receive`].
    pub fn receive_at_most(
        &mut self,
        most: usize,
        take: &mut dyn FnMut(Arrival<'_>),
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
            let control = Control::parse(control);
            take(Arrival {
                frame,
                software: control.software,
                hardware: control.hardware,
                local: self.inbox.is_local(i),
                own: self.inbox.is_own(i),
            });
        }
        Ok(n)
    }

    /// Frames that this socket lost because its receive buffer was full (`SO_MEMINFO`, modulo
    /// 2^32); `None` where the kernel does not say (before Linux 4.12).
    #[must_use]
    pub fn lost(&self) -> Option<u32> {
        self.socket.lost()
    }

    /// Datagrams that were no frame.
    #[must_use]
    pub fn malformed(&self) -> u64 {
        self.malformed
    }

    /// Bytes of the receive buffer, as the kernel counts.
    ///
    /// # Errors
    /// What getsockopt(2) says.
    pub fn receive_buffer(&self) -> Result<u32, Errno> {
        self.socket.receive_buffer()
    }
}

impl AsFd for FrameSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
