//! The sockets of ports over UDP.

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;

/// How a datagram is sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct SendMark {
    /// The mark for networks (DSCP), if the socket can mark.
    pub(super) dscp: u8,
    /// It has urgent frames.
    pub(super) urgent: bool,
}

/// A socket that sends datagrams and never blocks. Tests have one in memory.
pub(super) trait SendSocket: Send + 'static {
    /// Sends a datagram.
    ///
    /// # Errors
    /// [`io::ErrorKind::WouldBlock`]: there is no room, or urgent frames of another port wait for
    /// it. Others are reports of the network.
    fn send(&self, datagram: &[u8], to: SocketAddr, mark: SendMark) -> io::Result<()>;

    /// Records that urgent frames of a port wait, or no longer. Ports that share a socket tell it.
    fn hold(&self, urgent_waits: bool) {
        let _ = urgent_waits;
    }
}

/// A socket that also receives datagrams; it never blocks, either.
pub(super) trait DatagramSocket: SendSocket {
    /// Receives a datagram.
    ///
    /// # Errors
    /// [`io::ErrorKind::WouldBlock`]: there is none. Others are reports of the network.
    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<(usize, SocketAddr)>;

    /// Returns whether it is certain that no datagram has come, without a system call.
    fn is_quiet(&self) -> bool {
        false
    }

    /// Returns the number of datagrams that found no room in the receive buffer.
    fn dropped(&self) -> u64;

    /// Returns whether a datagram waits that the socket's descriptor does not show.
    fn has_waiting(&self) -> bool {
        false
    }
}

impl SendSocket for Arc<UdpSocket> {
    fn send(&self, datagram: &[u8], to: SocketAddr, _mark: SendMark) -> io::Result<()> {
        self.send_to(datagram, to).map(drop)
    }
}

impl DatagramSocket for Arc<UdpSocket> {
    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        self.recv_from(buffer)
    }

    fn dropped(&self) -> u64 {
        linux::socket::dropped(&**self).map_or(0, u64::from)
    }
}
