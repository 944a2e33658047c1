//! Several streams at one UDP address: a port each.

use super::bound::{TunnelSocket, socket_at};
use super::socket::DatagramSocket;
use crate::PortOpener;
use net::ieee1722::stream_of;
use std::collections::{HashMap, VecDeque};
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::{AsRawFd, RawFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// Number of datagrams that wait for a port while another one reads from the socket.
const MAX_WAITING: usize = 256;

/// Number of datagrams for other ports that one call reads.
const MAX_OTHERS: usize = 64;

/// The datagrams that other ports have read for a port.
struct StreamInbox {
    port: u64,
    stream: u64,
    datagrams: VecDeque<(Vec<u8>, SocketAddr)>,
    dropped: u64,
}

/// The socket of an address, and the ports that share it.
struct Association {
    socket: Arc<TunnelSocket>,
    inboxes: Mutex<Vec<StreamInbox>>,
}

impl Association {
    fn inboxes(&self) -> MutexGuard<'_, Vec<StreamInbox>> {
        self.inboxes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The associations of a gateway, by their addresses.
#[derive(Default)]
struct Associations {
    known: HashMap<SocketAddr, Weak<Association>>,
    ports: u64,
}

/// The socket of one stream. Whichever port of the address reads puts the datagrams of the other
/// ports into their inboxes.
pub(super) struct StreamSocket {
    association: Arc<Association>,
    /// The same socket with a descriptor of its own, because a worker waits for each one once.
    own: UdpSocket,
    port: u64,
    stream: u64,
}

impl StreamSocket {
    /// Opens the receiving half's socket of a stream, and the sending half's.
    ///
    /// # Errors
    /// The address cannot be used.
    pub(super) fn open(
        opener: &mut PortOpener,
        address: SocketAddr,
        stream: u64,
    ) -> io::Result<(Self, Arc<TunnelSocket>)> {
        let socket = socket_at(opener, address)?;
        let all = opener.shared(Associations::default);
        let known = all.known.get(&address).and_then(Weak::upgrade);
        let association = known.unwrap_or_else(|| {
            let association = Arc::new(Association {
                socket,
                inboxes: Mutex::default(),
            });
            all.known.insert(address, Arc::downgrade(&association));
            association
        });
        let sending = Arc::clone(&association.socket);
        let own = association.socket.try_clone()?;
        all.ports += 1;
        let port = all.ports;
        association.inboxes().push(StreamInbox {
            port,
            stream,
            datagrams: VecDeque::new(),
            dropped: 0,
        });
        let receiving = Self {
            association,
            own,
            port,
            stream,
        };
        Ok((receiving, sending))
    }
}

impl Drop for StreamSocket {
    fn drop(&mut self) {
        let port = self.port;
        self.association
            .inboxes()
            .retain(|inbox| inbox.port != port);
    }
}

impl AsRawFd for StreamSocket {
    fn as_raw_fd(&self) -> RawFd {
        self.own.as_raw_fd()
    }
}

impl DatagramSocket for StreamSocket {
    fn receive(&self, buffer: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        let mut inboxes = self.association.inboxes();
        // First those that another port has read, also if that port is gone.
        let own = inboxes.iter_mut().find(|inbox| inbox.port == self.port);
        if let Some((datagram, from)) = own.and_then(|own| own.datagrams.pop_front()) {
            let len = datagram.len().min(buffer.len());
            buffer[..len].copy_from_slice(&datagram[..len]);
            return Ok((len, from));
        }
        for _ in 0..MAX_OTHERS {
            let (len, from) = self.own.recv_from(buffer)?;
            let datagram = &buffer[..len];
            let of = |stream| stream_of(datagram, stream);
            // After a reload, the latest port of a stream has it.
            let mut others = inboxes.iter_mut();
            let other = others.rfind(|inbox| inbox.port != self.port && of(inbox.stream));
            let Some(other) = other.filter(|_| !of(self.stream)) else {
                // Also a datagram of no port: one of them counts it.
                return Ok((len, from));
            };
            if other.datagrams.len() < MAX_WAITING {
                other.datagrams.push_back((datagram.to_vec(), from));
            } else {
                other.dropped += 1;
            }
        }
        Err(ErrorKind::WouldBlock.into())
    }

    fn send(&self, datagram: &[u8], to: SocketAddr, dscp: u8) -> io::Result<()> {
        self.association.socket.send(datagram, to, dscp)
    }

    /// The kernel's number belongs to the first port of the address.
    fn dropped(&self) -> u64 {
        let inboxes = self.association.inboxes();
        let own = inboxes.iter().find(|inbox| inbox.port == self.port);
        let is_first = inboxes.first().is_some_and(|first| first.port == self.port);
        let kernel = match is_first {
            true => linux::socket::dropped(&self.own).map_or(0, u64::from),
            false => 0,
        };
        kernel + own.map_or(0, |own| own.dropped)
    }

    fn has_waiting(&self) -> bool {
        let inboxes = self.association.inboxes();
        let own = inboxes.iter().find(|inbox| inbox.port == self.port);
        own.is_some_and(|own| !own.datagrams.is_empty())
    }
}
