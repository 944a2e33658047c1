//! The side that connects: one session, renewed before it is worn, and made again when it has
//! ended.

use super::psk::{PskPeer, PskRing};
use super::record::{DatagramKind, classify, is_server_hello};
use super::session::{DtlsConfig, DtlsSession};
use super::{
    DataFate, DatagramSink, LinkLimits, SessionPair, SessionState, SessionWay, take_gateway,
    to_network,
};
use crate::counters::{GatewayCounters, HandshakeCounters, NetworkCounters, PeerReport};
use dimpl::{Error, SecurityError};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The time after a failed handshake before the next one, at first; it doubles.
const FIRST_PAUSE: Duration = Duration::from_millis(100);

/// The longest of these times.
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// A handshake under way.
#[derive(Debug)]
struct ConnectorHandshake {
    session: DtlsSession,
    /// Something has come from the other side.
    has_answer: bool,
    /// The other side has gone on with the handshake.
    has_hello: bool,
}

/// The state of a link that connects.
#[derive(Debug)]
pub struct DatagramConnector {
    identity: String,
    /// The other side, for messages.
    server: String,
    config: DtlsConfig,
    limits: LinkLimits,
    joined: Option<SessionPair>,
    pending: Option<ConnectorHandshake>,
    /// When the next handshake may begin.
    next: Instant,
    pause: Duration,
    network: NetworkCounters,
    handshakes: HandshakeCounters,
    counters: GatewayCounters,
    buffer: Vec<u8>,
}

impl DatagramConnector {
    /// Returns a link without a session. `server` is the other side, for messages.
    ///
    /// # Errors
    /// A description: the library refuses the settings.
    pub fn new(
        peer: PskPeer,
        server: &str,
        limits: LinkLimits,
        now: Instant,
    ) -> Result<Self, String> {
        let identity = peer.identity.clone();
        let ring = Arc::new(PskRing::new(vec![peer]));
        Ok(Self {
            config: DtlsConfig::connecting(&identity, ring, limits.handshake_timeout)?,
            identity,
            server: server.to_owned(),
            limits,
            joined: None,
            pending: None,
            next: now,
            pause: FIRST_PAUSE,
            network: NetworkCounters::default(),
            handshakes: HandshakeCounters::default(),
            counters: GatewayCounters::default(),
            buffer: vec![0; 2048],
        })
    }

    /// Returns whether a handshake is due that needs a socket of its own: then look up the other
    /// side's address, and call [`DatagramConnector::begin`]. Later datagrams to the socket before
    /// have no meaning.
    #[must_use]
    pub fn wants_socket(&self, now: Instant) -> bool {
        self.joined.is_none() && self.pending.is_none() && self.next <= now
    }

    /// Puts the next handshake off: the other side's address is not known, or has no way to it.
    pub fn put_off(&mut self, why: &str, now: Instant, sink: &mut dyn DatagramSink) {
        if self.pause == FIRST_PAUSE {
            sink.note(format!("{}: {why}", self.server), now);
        }
        self.wait(now);
    }

    fn wait(&mut self, now: Instant) {
        self.next = now + self.pause;
        self.pause = (self.pause * 2).min(LONGEST_PAUSE);
    }

    /// Begins a handshake.
    pub fn begin(&mut self, now: Instant, sink: &mut dyn DatagramSink) {
        self.handshakes.begun += 1;
        let buffer = &mut self.buffer;
        let begun = DtlsSession::new(&self.config, true, now, buffer, &mut to_network(sink, None));
        match begun {
            Ok(session) => {
                self.pending = Some(ConnectorHandshake {
                    session,
                    has_answer: false,
                    has_hello: false,
                });
            }
            Err(error) => {
                self.handshakes.failed += 1;
                sink.note(format!("{}: {error}", self.server), now);
                self.wait(now);
            }
        }
    }

    /// Takes a datagram of the network, from the other side's address.
    pub fn take_network(&mut self, datagram: &[u8], now: Instant, sink: &mut dyn DatagramSink) {
        self.network.datagrams += 1;
        match classify(datagram) {
            None => self.network.malformed += 1,
            Some(DatagramKind::Data(number)) => self.take_data(datagram, number, now, sink),
            Some(_) => self.take_handshake(datagram, now, sink),
        }
    }

    fn take_handshake(&mut self, datagram: &[u8], now: Instant, sink: &mut dyn DatagramSink) {
        if self.joined.is_none() && self.pending.is_none() {
            self.network.stray += 1;
            return;
        }
        self.network.handshake += 1;
        if let Some(pair) = &mut self.joined
            && let Some(DatagramKind::Sealed) = classify(datagram)
        {
            let (session, buffer) = (&mut pair.current, &mut self.buffer);
            let done = session.receive(datagram, now, buffer, &mut to_network(sink, None));
            match done {
                Ok(progress) if progress.has_closed => {
                    self.leave("has closed the session", now, sink);
                }
                Ok(_) => {}
                Err(error) => self.leave(&format!("has ended the session: {error}"), now, sink),
            }
        }
        let Some(handshake) = &mut self.pending else {
            return;
        };
        handshake.has_answer = true;
        handshake.has_hello |= is_server_hello(datagram);
        let (session, buffer) = (&mut handshake.session, &mut self.buffer);
        let done = session.receive(datagram, now, buffer, &mut to_network(sink, None));
        match done {
            Err(error) => self.end_handshake(&error, now, sink),
            Ok(progress) if progress.has_connected => self.join(now, sink),
            Ok(_) => {}
        }
    }

    fn take_data(
        &mut self,
        datagram: &[u8],
        number: u64,
        now: Instant,
        sink: &mut dyn DatagramSink,
    ) {
        let Some(pair) = &mut self.joined else {
            if self.pending.is_some() {
                self.network.early += 1;
            } else {
                self.network.stray += 1;
            }
            return;
        };
        let counters = (&mut self.network, &mut self.counters);
        let (way, buffer) = (SessionWay { to: None, place: 0 }, &mut self.buffer);
        match pair.take_data((datagram, number), now, buffer, counters, way, sink) {
            DataFate::Authentic => {}
            DataFate::Replayed => self.network.replayed += 1,
            // With the keys of the session that is about to begin, whose handshake is not over.
            DataFate::Forged if self.pending.is_some() => self.network.early += 1,
            DataFate::Forged => self.network.forged += 1,
            DataFate::Broken => {
                self.network.forged += 1;
                self.leave("has ended the session", now, sink);
            }
        }
    }

    fn join(&mut self, now: Instant, sink: &mut dyn DatagramSink) {
        let Some(handshake) = self.pending.take() else {
            return;
        };
        self.handshakes.completed += 1;
        self.counters.sessions += 1;
        self.pause = FIRST_PAUSE;
        self.next = now;
        match &mut self.joined {
            Some(pair) => pair.renew(handshake.session, now),
            joined => {
                *joined = Some(SessionPair::new(handshake.session));
                sink.note(format!("{} has joined {}", self.identity, self.server), now);
            }
        }
    }

    fn end_handshake(&mut self, error: &Error, now: Instant, sink: &mut dyn DatagramSink) {
        let Some(handshake) = self.pending.take() else {
            return;
        };
        self.handshakes.failed += 1;
        let identity = &self.identity;
        let why = match error {
            Error::Timeout(_) if handshake.has_hello => format!(
                "refuses the identity `{identity}` or its key: both sides must have the same"
            ),
            Error::Timeout(_) if handshake.has_answer => {
                "answers, and does not go on with the handshake: it may be busy".to_owned()
            }
            Error::Timeout(_) => {
                "does not answer: does it run, and does the network let UDP pass?".to_owned()
            }
            // Other programs answer so (RFC 4279, 2, and RFC 5246, 7.2.2).
            Error::SecurityError(SecurityError::FatalAlert { description: 115 }) => {
                format!("does not know the identity `{identity}`")
            }
            Error::SecurityError(SecurityError::FatalAlert {
                description: 20 | 51,
            }) => format!("has another key for the identity `{identity}`"),
            Error::CryptoError(_) if handshake.has_hello => {
                format!("has another key for the identity `{identity}`")
            }
            _ => format!("the handshake failed: {error}"),
        };
        // The same reason again and again is stated once.
        if self.pause < LONGEST_PAUSE {
            sink.note(format!("{} {why}", self.server), now);
        }
        self.wait(now);
    }

    fn leave(&mut self, why: &str, now: Instant, sink: &mut dyn DatagramSink) {
        let Some(mut pair) = self.joined.take() else {
            return;
        };
        pair.current
            .close(now, &mut self.buffer, &mut to_network(sink, None));
        sink.note(format!("{} {why}", self.server), now);
    }

    /// Takes a datagram of the gateway.
    pub fn take_gateway(&mut self, datagram: &[u8], now: Instant, sink: &mut dyn DatagramSink) {
        let session = self.joined.as_mut().map(|pair| (None, pair));
        let (counters, buffer) = (&mut self.counters, &mut self.buffer);
        let done = take_gateway(session, counters, &self.limits, datagram, now, buffer, sink);
        if let Err(error) = done {
            self.leave(&format!("has lost the session: {error}"), now, sink);
        }
    }

    /// Lets time pass: call it every 20 ms while [`DatagramConnector::is_busy`], else every
    /// 100 ms.
    pub fn pass_time(&mut self, now: Instant, sink: &mut dyn DatagramSink) {
        if let Some(handshake) = &mut self.pending
            && handshake.session.deadline().is_some_and(|due| due <= now)
        {
            let (session, buffer) = (&mut handshake.session, &mut self.buffer);
            let passed = session.pass_time(now, buffer, &mut to_network(sink, None));
            if let Err(error) = passed {
                self.end_handshake(&error, now, sink);
            }
        }
        let Some(pair) = &mut self.joined else {
            return;
        };
        let is_worn = pair.current.is_worn(now);
        let (limits, buffer) = (&self.limits, &mut self.buffer);
        let state = pair.pass_time(limits, now, buffer, &mut to_network(sink, None));
        match state {
            SessionState::Silent => {
                self.counters.silent += 1;
                self.leave("is silent: the session has ended", now, sink);
            }
            SessionState::Broken(error) => {
                self.leave(&format!("has lost the session: {error}"), now, sink);
            }
            // The session goes on until the next one is there.
            SessionState::Alive if is_worn && self.pending.is_none() && self.next <= now => {
                self.begin(now, sink);
            }
            SessionState::Alive => {}
        }
    }

    /// Returns whether a handshake is under way, or due.
    #[must_use]
    pub fn is_busy(&self) -> bool {
        self.pending.is_some() || self.joined.is_none()
    }

    /// Ends the session.
    pub fn close(&mut self, now: Instant, sink: &mut dyn DatagramSink) {
        self.leave("is informed that this program ends", now, sink);
    }

    /// Returns the counters: of the network, of handshakes, and of the gateway.
    #[must_use]
    pub fn report(&self) -> (NetworkCounters, HandshakeCounters, PeerReport) {
        let mut handshakes = self.handshakes;
        handshakes.waiting = u64::from(self.pending.is_some());
        let peer = PeerReport {
            identity: self.identity.clone(),
            address: self.joined.as_ref().map(|_| self.server.clone()),
            gateway: self.counters,
        };
        (self.network, handshakes, peer)
    }
}
