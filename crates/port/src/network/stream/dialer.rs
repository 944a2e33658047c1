//! Connecting to a server, or opening a serial device, again and again.

use super::NewSession;
use super::conversation::Conversation;
use super::link::{StreamLink, StreamPeer};
use frame::Nanos;
use linux::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, connect, socket_with};
use std::io;
use std::net::{SocketAddr, TcpStream};

/// The first and the longest pause between two attempts, ns.
const SHORTEST: Nanos = 100_000_000;
const LONGEST: Nanos = 5_000_000_000;

pub(super) struct Dialer {
    peers: Vec<StreamPeer>,
    session: NewSession,
    /// Place of the next peer.
    next: usize,
    /// Time of the next attempt, and the pause after it.
    at: Nanos,
    pause: Nanos,
}

impl Dialer {
    pub(super) fn new(peers: Vec<StreamPeer>, session: NewSession) -> Self {
        Self {
            peers,
            session,
            next: 0,
            at: 0,
            pause: SHORTEST,
        }
    }

    /// Returns the time of the next attempt.
    pub(super) const fn at(&self) -> Nanos {
        self.at
    }

    /// Notes that the connection works: the next attempt comes soon.
    pub(super) fn succeed(&mut self) {
        self.pause = SHORTEST;
    }

    /// Notes that there is no connection any more.
    pub(super) fn rest(&mut self, now: Nanos) {
        self.at = now.saturating_add(self.pause);
        self.pause = (2 * self.pause).min(LONGEST);
    }

    /// Begins to connect to the next peer.
    ///
    /// # Errors
    /// The peer, and the error of connect(2) or open(2).
    pub(super) fn dial(&mut self, now: Nanos) -> Result<Conversation, (StreamPeer, io::Error)> {
        let peer = self.peers[self.next % self.peers.len()].clone();
        self.next = self.next.wrapping_add(1);
        let link = match &peer {
            StreamPeer::Address(address) => begin(*address).map(StreamLink::Socket),
            #[cfg(feature = "slcan")]
            StreamPeer::Device(device) => device.open().map(StreamLink::Serial),
        };
        link.and_then(|link| {
            Conversation::new(link, peer.clone(), (self.session)(), false, None, now)
        })
        .map_err(|error| (peer, error))
    }
}

fn begin(address: SocketAddr) -> io::Result<TcpStream> {
    let family = if address.is_ipv4() {
        AddressFamily::INET
    } else {
        AddressFamily::INET6
    };
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(family, SocketType::STREAM, flags, None)?;
    match connect(&socket, &address) {
        Ok(()) | Err(Errno::INPROGRESS) => Ok(TcpStream::from(socket)),
        Err(error) => Err(error.into()),
    }
}
