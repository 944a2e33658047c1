//! The UDP sockets of a gateway's tunnels, by the address to which they are bound.

use super::socket::{DatagramSocket, SendMark, SendSocket};
use crate::PortOpener;
use rustix::net::sockopt;
use std::collections::HashMap;
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::{AsRawFd, RawFd};
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Weak};

/// Room for datagrams that the kernel has not passed to the network, bytes; the kernel doubles it
/// and counts its own data: about ten datagrams of a frame. What is in there leaves before anything
/// urgent.
const SEND_BUFFER: usize = 4096;

/// The priority of marked datagrams in the queues of this machine: `TC_PRIO_INTERACTIVE`
/// (`uapi/linux/pkt_sched.h`), the first band of `pfifo_fast`, for which no privilege is needed.
const MARKED_PRIORITY: u32 = 6;

/// A socket that marks datagrams.
pub(super) struct TunnelSocket {
    socket: UdpSocket,
    is_v6: bool,
    /// The mark of the next datagram.
    dscp: AtomicU8,
    /// Number of ports of which urgent frames wait.
    urgent: AtomicUsize,
}

impl TunnelSocket {
    fn bind(address: SocketAddr) -> io::Result<Self> {
        let socket = UdpSocket::bind(address)?;
        socket.set_nonblocking(true)?;
        sockopt::set_socket_send_buffer_size(&socket, SEND_BUFFER)?;
        Ok(Self {
            socket,
            is_v6: address.is_ipv6(),
            dscp: AtomicU8::new(0),
            urgent: AtomicUsize::new(0),
        })
    }

    /// Returns the same socket with a descriptor of its own.
    ///
    /// # Errors
    /// There are no descriptors left.
    #[cfg(feature = "ieee1722")]
    pub(super) fn try_clone(&self) -> io::Result<UdpSocket> {
        self.socket.try_clone()
    }

    /// Marks what is sent from now on.
    fn mark(&self, dscp: u8) -> io::Result<()> {
        if self.dscp.load(Relaxed) == dscp {
            return Ok(());
        }
        if self.is_v6 {
            sockopt::set_ipv6_tclass(&self.socket, u32::from(dscp) << 2)?;
        }
        // A socket of IPv6 has peers of IPv4, too. This also sets a priority, so it is first.
        sockopt::set_ip_tos(&self.socket, dscp << 2)?;
        let priority = if dscp > 0 { MARKED_PRIORITY } else { 0 };
        linux::socket::set_priority(&self.socket, priority)?;
        self.dscp.store(dscp, Relaxed);
        Ok(())
    }
}

impl AsRawFd for TunnelSocket {
    fn as_raw_fd(&self) -> RawFd {
        self.socket.as_raw_fd()
    }
}

impl SendSocket for Arc<TunnelSocket> {
    fn send(&self, datagram: &[u8], to: SocketAddr, mark: SendMark) -> io::Result<()> {
        if !mark.urgent && self.urgent.load(Relaxed) > 0 {
            return Err(ErrorKind::WouldBlock.into());
        }
        self.mark(mark.dscp)?;
        self.socket.send_to(datagram, to).map(drop)
    }

    fn hold(&self, urgent_waits: bool) {
        match urgent_waits {
            true => self.urgent.fetch_add(1, Relaxed),
            false => self.urgent.fetch_sub(1, Relaxed),
        };
    }
}

impl DatagramSocket for Arc<TunnelSocket> {
    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        self.socket.recv_from(buffer)
    }

    fn dropped(&self) -> u64 {
        linux::socket::dropped(&self.socket).map_or(0, u64::from)
    }
}

/// The sockets: a port whose settings, or whose kind, changed at a reload takes the socket of the
/// one that it replaces.
#[derive(Default)]
struct BoundSockets(HashMap<SocketAddr, Weak<TunnelSocket>>);

/// Returns the socket of an address, which does not block.
///
/// # Errors
/// The address cannot be used.
pub(super) fn socket_at(
    opener: &mut PortOpener,
    address: SocketAddr,
) -> io::Result<Arc<TunnelSocket>> {
    let known = &mut opener.shared(BoundSockets::default).0;
    if let Some(socket) = known.get(&address).and_then(Weak::upgrade) {
        return Ok(socket);
    }
    let socket = Arc::new(TunnelSocket::bind(address)?);
    known.insert(address, Arc::downgrade(&socket));
    Ok(socket)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each datagram has its own mark, and the kernel has little room for those that wait.
    #[test]
    fn datagrams_are_marked() {
        for address in ["127.0.0.1:0", "[::1]:0"] {
            let Ok(socket) = TunnelSocket::bind(address.parse().unwrap()) else {
                eprintln!("SKIPPED because there is no address {address}");
                continue;
            };
            let mut socket = Arc::new(socket);
            let room = sockopt::socket_send_buffer_size(&socket.socket).unwrap();
            assert!((4608..=16_384).contains(&room), "{room}");
            let to = socket.socket.local_addr().unwrap();
            for dscp in [0, 46, 46, 0, 8, 46] {
                let urgent = dscp == 46;
                socket.send(&[dscp], to, SendMark { dscp, urgent }).unwrap();
                let tos = match socket.is_v6 {
                    true => sockopt::ipv6_tclass(&socket.socket).unwrap(),
                    false => u32::from(sockopt::ip_tos(&socket.socket).unwrap()),
                };
                assert_eq!(tos, u32::from(dscp) << 2);
                let priority = linux::socket::priority(&socket.socket).unwrap();
                assert_eq!(priority, if dscp > 0 { MARKED_PRIORITY } else { 0 });
                let mut byte = [0];
                assert_eq!(socket.receive(&mut byte).unwrap(), (1, to));
            }
        }
    }

    /// While urgent frames of a port wait, no other port of the socket sends frames before them.
    #[test]
    fn urgent_frames_of_one_port_hold_the_others_back() {
        let socket = Arc::new(TunnelSocket::bind("127.0.0.1:0".parse().unwrap()).unwrap());
        let to = socket.socket.local_addr().unwrap();
        let send = |urgent| {
            let mark = SendMark { dscp: 0, urgent };
            socket.send(&[1], to, mark).map_err(|error| error.kind())
        };
        assert_eq!(send(false), Ok(()));
        socket.hold(true);
        assert_eq!(send(false), Err(ErrorKind::WouldBlock));
        assert_eq!(send(true), Ok(()));
        socket.hold(false);
        assert_eq!(send(false), Ok(()));
    }
}
