//! The link of a connection: a TCP socket, or a serial device.

use std::fmt;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};

/// Room in the socket for bytes that the peer has not acknowledged. The system doubles it. A peer
/// that reads slowly gets no older frames than these and its queue.
const SEND_BUFFER: usize = 64 * 1024;

/// Maximum number of bytes that the system has not sent yet: the socket has no room while there are
/// more. What is in there leaves before any urgent frame.
const NOT_SENT: u32 = 2048;

/// The other side of a connection.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum StreamPeer {
    /// A program, by its address.
    Address(SocketAddr),
    /// An adapter at a serial device.
    #[cfg(feature = "slcan")]
    Device(super::serial::SerialDevice),
}

impl StreamPeer {
    /// Returns its host, or its device.
    pub(super) fn host(&self) -> String {
        match self {
            Self::Address(address) => address.ip().to_string(),
            #[cfg(feature = "slcan")]
            Self::Device(device) => device.to_string(),
        }
    }
}

impl fmt::Display for StreamPeer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address(address) => address.fmt(f),
            #[cfg(feature = "slcan")]
            Self::Device(device) => device.fmt(f),
        }
    }
}

/// A connection that never waits.
pub(super) enum StreamLink {
    Socket(TcpStream),
    #[cfg(feature = "slcan")]
    Serial(std::fs::File),
}

impl StreamLink {
    /// Sets the options of a socket.
    ///
    /// # Errors
    /// The socket's options cannot be set.
    pub(super) fn set_options(&self) -> io::Result<()> {
        match self {
            Self::Socket(socket) => set_socket_options(socket),
            #[cfg(feature = "slcan")]
            Self::Serial(_) => Ok(()),
        }
    }
}

fn set_socket_options(socket: &TcpStream) -> io::Result<()> {
    socket.set_nonblocking(true)?;
    // A frame must not wait for the acknowledgement of the one before.
    socket.set_nodelay(true)?;
    rustix::net::sockopt::set_socket_send_buffer_size(socket, SEND_BUFFER)?;
    linux::socket::set_notsent_limit(socket, NOT_SENT)?;
    // A peer that vanishes without a word is noticed after 30 + 3 · 10 s.
    rustix::net::sockopt::set_socket_keepalive(socket, true)?;
    let seconds = std::time::Duration::from_secs;
    rustix::net::sockopt::set_tcp_keepidle(socket, seconds(30))?;
    rustix::net::sockopt::set_tcp_keepintvl(socket, seconds(10))?;
    rustix::net::sockopt::set_tcp_keepcnt(socket, 3)?;
    Ok(())
}

impl AsFd for StreamLink {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Socket(socket) => socket.as_fd(),
            #[cfg(feature = "slcan")]
            Self::Serial(device) => device.as_fd(),
        }
    }
}

impl Read for StreamLink {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Socket(socket) => socket.read(into),
            #[cfg(feature = "slcan")]
            Self::Serial(device) => device.read(into),
        }
    }
}

impl Write for StreamLink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Socket(socket) => socket.write(bytes),
            #[cfg(feature = "slcan")]
            Self::Serial(device) => device.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
