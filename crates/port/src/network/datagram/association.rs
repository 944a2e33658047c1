//! Several streams at one UDP address: a port each.

use super::bound::{TunnelSocket, socket_at};
use super::socket::{DatagramSocket, SendMark, SendSocket};
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

/// The part of an address's datagrams that a port takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct StreamBus {
    /// The stream's ID.
    pub(crate) stream: u64,
    /// The number of the bus. The ports of a stream's buses all get its datagrams.
    pub(crate) bus: u16,
}

impl StreamBus {
    fn is_in(self, datagram: &[u8]) -> bool {
        stream_of(datagram, self.stream)
    }
}

/// The datagrams that other ports have read for a port.
struct StreamInbox {
    port: u64,
    part: StreamBus,
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

/// The sending half's socket of one stream.
pub(super) struct StreamSender {
    socket: Arc<TunnelSocket>,
    /// The same socket with a descriptor of its own, because a worker waits for each one once.
    own: UdpSocket,
}

impl AsRawFd for StreamSender {
    fn as_raw_fd(&self) -> RawFd {
        self.own.as_raw_fd()
    }
}

impl SendSocket for StreamSender {
    fn send(&self, datagram: &[u8], to: SocketAddr, mark: SendMark) -> io::Result<()> {
        self.socket.send(datagram, to, mark)
    }

    fn hold(&self, urgent_waits: bool) {
        self.socket.hold(urgent_waits);
    }
}

/// The socket of one stream. Whichever port of the address reads puts the datagrams of the other
/// ports into their inboxes.
pub(super) struct StreamSocket {
    association: Arc<Association>,
    /// The same socket with a descriptor of its own, because a worker waits for each one once.
    own: UdpSocket,
    port: u64,
    part: StreamBus,
}

impl StreamSocket {
    /// Opens the receiving half's socket of a stream, and the sending half's.
    ///
    /// # Errors
    /// The address cannot be used.
    pub(super) fn open(
        opener: &mut PortOpener,
        address: SocketAddr,
        part: StreamBus,
    ) -> io::Result<(Self, StreamSender)> {
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
        let sending = StreamSender {
            socket: Arc::clone(&association.socket),
            own: association.socket.try_clone()?,
        };
        let own = association.socket.try_clone()?;
        all.ports += 1;
        let port = all.ports;
        association.inboxes().push(StreamInbox {
            port,
            part,
            datagrams: VecDeque::new(),
            dropped: 0,
        });
        let receiving = Self {
            association,
            own,
            port,
            part,
        };
        Ok((receiving, sending))
    }
}

impl StreamSocket {
    /// Puts a datagram into the inboxes of the other ports that take it; returns whether there are
    /// any.
    fn share(&self, inboxes: &mut [StreamInbox], datagram: &[u8], from: SocketAddr) -> bool {
        let mut is_taken = false;
        for at in (0..inboxes.len()).rev() {
            let part = inboxes[at].part;
            if part == self.part || !part.is_in(datagram) {
                continue;
            }
            // After a reload, the latest port of a bus has it.
            if inboxes[at + 1..].iter().any(|later| later.part == part) {
                continue;
            }
            is_taken = true;
            let inbox = &mut inboxes[at];
            if inbox.datagrams.len() < MAX_WAITING {
                inbox.datagrams.push_back((datagram.to_vec(), from));
            } else {
                inbox.dropped += 1;
            }
        }
        is_taken
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

impl SendSocket for StreamSocket {
    fn send(&self, datagram: &[u8], to: SocketAddr, mark: SendMark) -> io::Result<()> {
        self.association.socket.send(datagram, to, mark)
    }
}

impl DatagramSocket for StreamSocket {
    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
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
            let is_own = self.part.is_in(&buffer[..len]);
            let is_others = self.share(&mut inboxes, &buffer[..len], from);
            if is_own || !is_others {
                // Also a datagram of no port: one of them counts it.
                return Ok((len, from));
            }
        }
        Err(ErrorKind::WouldBlock.into())
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
