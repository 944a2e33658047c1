//! The side that listens: a session for each identity, and handshakes from any address.

mod handshakes;

use super::cookie::CookieJar;
use super::psk::{NamedIdentity, PskRing};
use super::record::{DatagramKind, classify};
use super::session::{DtlsConfig, DtlsSession};
use super::{
    DataFate, DatagramSink, LinkLimits, SessionPair, SessionState, SessionWay, take_gateway,
    to_network,
};
use crate::counters::{GatewayCounters, HandshakeCounters, NetworkCounters, PeerReport};
use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

/// A handshake under way.
#[derive(Debug)]
struct PendingHandshake {
    session: DtlsSession,
    /// The client's random number.
    random: [u8; 32],
    named: Option<NamedIdentity>,
}

/// A peer, with or without a session.
#[derive(Debug, Default)]
struct ListenerPeer {
    joined: Option<(SocketAddr, SessionPair)>,
    counters: GatewayCounters,
}

/// The state of a link that listens.
#[derive(Debug)]
pub struct DatagramListener {
    ring: Arc<PskRing>,
    config: DtlsConfig,
    limits: LinkLimits,
    jar: CookieJar,
    /// The places of peers, by the addresses of their sessions.
    addresses: HashMap<SocketAddr, usize>,
    pending: HashMap<SocketAddr, PendingHandshake>,
    peers: Vec<ListenerPeer>,
    network: NetworkCounters,
    handshakes: HandshakeCounters,
    buffer: Vec<u8>,
}

impl DatagramListener {
    /// Returns a link without sessions.
    ///
    /// # Errors
    /// A description: the library refuses the settings, or the system has no random numbers.
    pub fn new(ring: PskRing, limits: LinkLimits, now: Instant) -> Result<Self, String> {
        let ring = Arc::new(ring);
        Ok(Self {
            config: DtlsConfig::listening(Arc::clone(&ring), limits.handshake_timeout)?,
            jar: CookieJar::new(now)?,
            addresses: HashMap::new(),
            pending: HashMap::new(),
            peers: ring
                .peers()
                .iter()
                .map(|_| ListenerPeer::default())
                .collect(),
            network: NetworkCounters::default(),
            handshakes: HandshakeCounters::default(),
            buffer: vec![0; 2048],
            ring,
            limits,
        })
    }

    /// Takes a datagram of the network.
    pub fn take_network(
        &mut self,
        from: SocketAddr,
        datagram: &[u8],
        now: Instant,
        sink: &mut dyn DatagramSink,
    ) {
        self.network.datagrams += 1;
        if !self.limits.allows(from.ip()) {
            self.network.denied += 1;
            return;
        }
        match classify(datagram) {
            None => self.network.malformed += 1,
            Some(DatagramKind::Hello) => self.take_hello(from, datagram, now, sink),
            Some(DatagramKind::Data(number)) => self.take_data(from, datagram, number, now, sink),
            Some(DatagramKind::Open | DatagramKind::Sealed) => {
                self.take_handshake(from, datagram, now, sink);
            }
        }
    }

    /// Lets the session of an address look at a part of a handshake: the other side may not have
    /// had our last one, or close the session.
    fn tell_session(
        &mut self,
        place: usize,
        is_pending: bool,
        datagram: &[u8],
        now: Instant,
        sink: &mut dyn DatagramSink,
    ) {
        let Some((address, pair)) = &mut self.peers[place].joined else {
            return;
        };
        let session = &mut pair.current;
        let is_open = !matches!(classify(datagram), Some(DatagramKind::Sealed));
        let is_new = now.saturating_duration_since(session.begun) < self.limits.handshake_timeout;
        // What is not encrypted has no meaning for a session in use.
        if is_open && (is_pending || !is_new) {
            return;
        }
        let (to, buffer) = (Some(*address), &mut self.buffer);
        let done = session.receive(datagram, now, buffer, &mut to_network(sink, to));
        match done {
            Ok(progress) if progress.has_closed => {
                self.leave(place, "has closed its session", now, sink);
            }
            Ok(_) => {}
            Err(error) => self.leave(place, &format!("has lost its session: {error}"), now, sink),
        }
    }

    fn take_data(
        &mut self,
        from: SocketAddr,
        datagram: &[u8],
        number: u64,
        now: Instant,
        sink: &mut dyn DatagramSink,
    ) {
        let Some(place) = self.addresses.get(&from).copied() else {
            if self.pending.contains_key(&from) {
                self.network.early += 1;
            } else {
                self.network.stray += 1;
            }
            return;
        };
        let peer = &mut self.peers[place];
        let Some((_, pair)) = &mut peer.joined else {
            self.network.stray += 1;
            return;
        };
        let counters = (&mut self.network, &mut peer.counters);
        let (to, buffer) = (Some(from), &mut self.buffer);
        let way = SessionWay { to, place };
        match pair.take_data((datagram, number), now, buffer, counters, way, sink) {
            DataFate::Authentic => {}
            DataFate::Replayed => self.network.replayed += 1,
            DataFate::Forged => self.network.forged += 1,
            DataFate::Broken => {
                self.network.forged += 1;
                self.leave(place, "has lost its session", now, sink);
            }
        }
    }

    /// Ends the session of a peer.
    fn leave(&mut self, place: usize, why: &str, now: Instant, sink: &mut dyn DatagramSink) {
        let Some((address, mut pair)) = self.peers[place].joined.take() else {
            return;
        };
        self.addresses.remove(&address);
        let (session, buffer) = (&mut pair.current, &mut self.buffer);
        session.close(now, buffer, &mut to_network(sink, Some(address)));
        let identity = &self.ring.peers()[place].identity;
        sink.note(format!("{identity} at {address} {why}"), now);
    }

    /// Takes a datagram of the gateway of a peer.
    pub fn take_gateway(
        &mut self,
        place: usize,
        datagram: &[u8],
        now: Instant,
        sink: &mut dyn DatagramSink,
    ) {
        let Some(peer) = self.peers.get_mut(place) else {
            return;
        };
        let session = peer.joined.as_mut();
        let session = session.map(|(address, pair)| (Some(*address), pair));
        let (counters, buffer) = (&mut peer.counters, &mut self.buffer);
        let done = take_gateway(session, counters, &self.limits, datagram, now, buffer, sink);
        if let Err(error) = done {
            self.leave(place, &format!("has lost its session: {error}"), now, sink);
        }
    }

    /// Lets time pass: call it every 20 ms while [`DatagramListener::is_busy`], else every 100 ms.
    pub fn pass_time(&mut self, now: Instant, sink: &mut dyn DatagramSink) {
        self.pass_time_of_handshakes(now, sink);
        for place in 0..self.peers.len() {
            let Some((address, pair)) = &mut self.peers[place].joined else {
                continue;
            };
            let (to, buffer) = (Some(*address), &mut self.buffer);
            let state = pair.pass_time(&self.limits, now, buffer, &mut to_network(sink, to));
            match state {
                SessionState::Alive => {}
                SessionState::Silent => {
                    self.peers[place].counters.silent += 1;
                    self.leave(place, "is silent: its session has ended", now, sink);
                }
                SessionState::Broken(error) => {
                    self.leave(place, &format!("has lost its session: {error}"), now, sink);
                }
            }
        }
    }

    /// Returns the address of the session of a peer.
    #[must_use]
    pub fn address(&self, place: usize) -> Option<SocketAddr> {
        let joined = self.peers.get(place)?.joined.as_ref();
        joined.map(|(address, _)| *address)
    }

    /// Returns whether handshakes are under way.
    #[must_use]
    pub fn is_busy(&self) -> bool {
        !self.pending.is_empty()
    }

    /// Ends all sessions.
    pub fn close(&mut self, now: Instant, sink: &mut dyn DatagramSink) {
        for place in 0..self.peers.len() {
            self.leave(place, "is informed that this program ends", now, sink);
        }
    }

    /// Returns the counters: of the network, of handshakes, and of each gateway.
    #[must_use]
    pub fn report(&self) -> (NetworkCounters, HandshakeCounters, Vec<PeerReport>) {
        let mut handshakes = self.handshakes;
        handshakes.waiting = self.pending.len() as u64;
        let named = self.ring.peers().iter().zip(&self.peers);
        let peers = named.map(|(key, peer)| PeerReport {
            identity: key.identity.clone(),
            address: peer.joined.as_ref().map(|(address, _)| address.to_string()),
            gateway: peer.counters,
        });
        (self.network, handshakes, peers.collect())
    }
}
