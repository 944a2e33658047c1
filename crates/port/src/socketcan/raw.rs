//! A raw socket as it is, for who stamps and counts himself: the tester.
//!
//! Unlike a [port](super::open) it survives nothing by itself: what the system says about a call
//! is handed on, because a tester that goes on after its interface was down measures something
//! else than it says.

use super::control;
use super::layout::{CLASSIC_SIZE, FD_SIZE, decode, encode};
use super::line::Line;
use super::sys::{Inbox, Socket, Wishes};
use super::{Io, can_interfaces, no_interface, no_socket};
use crate::{PortError, RawFilter};
use frame::{FrameRef, Nanos};
use rustix::io::Errno;
use std::os::fd::RawFd;

/// The most frames that one [`RawSocket::receive`] hands over: datagrams of one `recvmmsg`.
pub const RAW_BATCH: usize = 64;

/// What a [`RawSocket`] is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RawOptions {
    /// Carry FD frames too.
    pub fd: bool,
    /// Receive data and remote frames; error frames are received in any case.
    pub hear: bool,
    /// Other sockets of this machine on the interface see what is sent here.
    pub echo: bool,
    /// Ask the driver for the controller's own stamps.
    pub hardware_stamps: bool,
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
}

/// How an interface is at the moment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LinkState {
    /// Switched on.
    pub on: bool,
    /// Switched on and with a carrier: not bus-off. The kernel may say so up to a second late
    /// (linkwatch), when an interface was just switched on.
    pub up: bool,
    /// Carries FD frames.
    pub fd: bool,
    /// The driver echoes sent frames when their transmission was complete; where it does not
    /// (vcan), the kernel does, when they are sent.
    pub echo: bool,
}

/// One raw socket on one interface, without waiting.
pub struct RawSocket {
    socket: Socket,
    inbox: Inbox,
    malformed: u64,
}

impl RawSocket {
    /// Opens a socket on an interface, which may be down.
    ///
    /// # Errors
    /// [`PortError`] that says what is missing and what to do.
    pub fn open(interface: &str, options: RawOptions) -> Result<Self, PortError> {
        let fail = |what: String, errno: Errno| PortError {
            port: interface.to_owned(),
            what,
            source: Some(errno.into()),
        };
        let mut socket = Socket::open(interface).map_err(|e| fail(no_socket(e), e))?;
        let set_up = |e| fail("cannot set up a raw CAN socket".to_owned(), e);
        let wishes = Wishes {
            fd: options.fd,
            xl: false,
            hardware_stamps: options.hardware_stamps,
            receive_buffer: options.receive_buffer,
            io: Io::Mmsg,
        };
        socket.prepare(wishes).map_err(set_up)?;
        socket.set_loopback(options.echo).map_err(set_up)?;
        if let Some(bytes) = options.send_buffer {
            socket.set_send_buffer(bytes).map_err(set_up)?;
        }
        let all = [RawFilter { id: 0, mask: 0 }];
        let filters: &[RawFilter] = if options.hear { &all } else { &[] };
        socket.set_filters(filters).map_err(set_up)?;
        let index = socket.look().map(|link| link.index);
        index
            .and_then(|index| socket.attach(index))
            .map_err(|e| fail(no_interface(e, interface, &can_interfaces()), e))?;
        let size = if options.fd { FD_SIZE } else { CLASSIC_SIZE };
        Ok(Self {
            socket,
            inbox: Inbox::new(RAW_BATCH, size),
            malformed: 0,
        })
    }

    /// For polling.
    #[must_use]
    pub fn fd(&self) -> RawFd {
        self.socket.fd()
    }

    /// How the interface is.
    ///
    /// # Errors
    /// ENODEV where it is gone.
    pub fn link(&self) -> std::io::Result<LinkState> {
        let link = self.socket.look()?;
        Ok(LinkState {
            on: link.up,
            up: link.up && link.running,
            fd: link.mtu >= FD_SIZE,
            echo: link.echo,
        })
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
        let n = match self.socket.receive(&mut self.inbox, RAW_BATCH) {
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
            let control = control::parse(control);
            take(Arrival {
                frame,
                software: control.software,
                hardware: control.hardware,
                local: self.inbox.is_local(i),
            });
        }
        Ok(n)
    }

    /// Frames that this socket lost because its receive buffer was full (`SO_MEMINFO`, modulo
    /// 2^32); `None` where the kernel does not say (before Linux 4.12).
    #[must_use]
    pub fn lost(&self) -> Option<u32> {
        self.socket.lost_in_all()
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
    pub fn receive_buffer(&self) -> std::io::Result<u32> {
        Ok(self.socket.receive_buffer()?)
    }
}
