//! What a port over UDP needs of its socket.

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;

/// A socket that sends and receives datagrams and never blocks. Tests have one in memory.
pub(super) trait DatagramSocket: Send {
    /// Receives a datagram.
    ///
    /// # Errors
    /// [`io::ErrorKind::WouldBlock`]: there is none. Others are reports of the network.
    fn receive(&self, buffer: &mut [u8]) -> io::Result<(usize, SocketAddr)>;

    /// Sends a datagram with this mark (DSCP), if the socket can mark.
    ///
    /// # Errors
    /// [`io::ErrorKind::WouldBlock`]: there is no room. Others are reports of the network.
    fn send(&self, datagram: &[u8], to: SocketAddr, dscp: u8) -> io::Result<()>;

    /// Returns the number of datagrams that found no room in the receive buffer.
    fn dropped(&self) -> u64;

    /// Returns whether a datagram waits that the socket's descriptor does not show.
    fn has_waiting(&self) -> bool {
        false
    }
}

impl DatagramSocket for Arc<UdpSocket> {
    fn receive(&self, buffer: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        self.recv_from(buffer)
    }

    fn send(&self, datagram: &[u8], to: SocketAddr, _dscp: u8) -> io::Result<()> {
        self.send_to(datagram, to).map(drop)
    }

    fn dropped(&self) -> u64 {
        linux::socket::dropped(&**self).map_or(0, u64::from)
    }
}
