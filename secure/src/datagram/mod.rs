//! Datagrams of gateways over DTLS, without sockets and without a clock.
//!
//! | module | responsibility |
//! |---|---|
//! | [`record`] | what a datagram may be, by its headers; numbers that were accepted |
//! | [`psk`] | pre-shared keys and identities |
//! | `cookie` | addresses that are not forged, without keeping anything |
//! | [`session`] | one session or handshake |
//! | [`listener`] | the side that listens: many peers |
//! | [`connector`] | the side that connects: one peer, again and again |

pub mod connector;
mod cookie;
pub mod listener;
pub mod psk;
pub mod record;
pub mod session;

use crate::counters::{GatewayCounters, NetworkCounters};
use dimpl::Error;
use ipnet::IpNet;
use session::{LAST_COUNT, SessionOutput};
use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

/// The time for which the session before a renewed one is still read: what the other side had sent
/// with its keys.
const OVERLAP: Duration = Duration::from_secs(2);

/// The bounds of a link.
#[derive(Clone, Debug)]
pub struct LinkLimits {
    /// The longest datagram of a gateway, bytes.
    pub longest: usize,
    /// A session ends when nothing authentic has come for this time. A quarter of it after the
    /// last datagram, a sign of life is sent.
    pub timeout: Duration,
    /// The longest time that a handshake may take.
    pub handshake_timeout: Duration,
    /// The greatest number of handshakes at the same time.
    pub handshakes: usize,
    /// The addresses that may use the link; none: all.
    pub allow: Option<Vec<IpNet>>,
}

impl LinkLimits {
    /// Returns whether an address may use the link.
    #[must_use]
    pub fn allows(&self, address: IpAddr) -> bool {
        is_allowed(self.allow.as_deref(), address)
    }

    /// Returns the longest time between two datagrams to a peer.
    #[must_use]
    fn sign(&self) -> Duration {
        self.timeout / 4
    }
}

/// Returns whether a list has an address; without a list, all may pass.
#[must_use]
pub fn is_allowed(allow: Option<&[IpNet]>, address: IpAddr) -> bool {
    // A socket for both families shows addresses of IPv4 as such of IPv6.
    let address = address.to_canonical();
    allow.is_none_or(|list| list.iter().any(|range| range.contains(&address)))
}

/// Where the datagrams of a link go.
pub trait DatagramSink {
    /// Sends a datagram to the network; `to` is `None` for a side that connects. Returns whether
    /// it was taken.
    fn to_network(&mut self, to: Option<SocketAddr>, datagram: &[u8]) -> bool;

    /// Sends a datagram to the gateway of the peer with this place. Returns whether it was taken.
    fn to_gateway(&mut self, peer: usize, datagram: &[u8]) -> bool;

    /// Takes a message for the person who runs the program.
    fn note(&mut self, text: String, now: Instant);
}

/// Returns what sends the datagrams of a session to the network, and nothing else.
fn to_network(
    sink: &mut dyn DatagramSink,
    to: Option<SocketAddr>,
) -> impl FnMut(SessionOutput<'_>) {
    move |output| {
        if let SessionOutput::Network(datagram) = output {
            sink.to_network(to, datagram);
        }
    }
}

/// The way of a session: the address on the network, `None` for a side that connects, and the place
/// of the peer.
#[derive(Clone, Copy, Debug)]
struct SessionWay {
    to: Option<SocketAddr>,
    place: usize,
}

/// The state of a session after its timers were looked at.
#[derive(Debug)]
enum SessionState {
    Alive,
    /// Nothing authentic has come for the time of [`LinkLimits::timeout`].
    Silent,
    Broken(Error),
}

/// A session, with the one before it while both may be in use.
#[derive(Debug)]
struct SessionPair {
    current: session::DtlsSession,
    previous: Option<(session::DtlsSession, Instant)>,
}

/// The fate of a datagram with data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum DataFate {
    /// It was authentic and new.
    Authentic,
    Replayed,
    Forged,
    /// The session has ended with an error.
    Broken,
}

impl SessionPair {
    fn new(current: session::DtlsSession) -> Self {
        Self {
            current,
            previous: None,
        }
    }

    /// Puts a new session in the place of the current one.
    fn renew(&mut self, session: session::DtlsSession, now: Instant) {
        let old = std::mem::replace(&mut self.current, session);
        self.previous = Some((old, now + OVERLAP));
    }

    /// Takes a datagram with data, and counts those of the gateway in it. Its number is that of its
    /// first record.
    fn take_data(
        &mut self,
        (datagram, number): (&[u8], u64),
        now: Instant,
        buffer: &mut Vec<u8>,
        (network, gateway): (&mut NetworkCounters, &mut GatewayCounters),
        way: SessionWay,
        sink: &mut dyn DatagramSink,
    ) -> DataFate {
        let mut give = |output: SessionOutput<'_>| match output {
            SessionOutput::Network(datagram) => {
                sink.to_network(way.to, datagram);
            }
            SessionOutput::Plain([]) => network.alive += 1,
            SessionOutput::Plain(datagram) => {
                if sink.to_gateway(way.place, datagram) {
                    network.delivered += 1;
                    gateway.delivered += 1;
                } else {
                    network.unsent += 1;
                }
            }
        };
        let give = &mut give;
        let previous = self.previous.as_mut().map(|(session, _)| session);
        for session in std::iter::once(&mut self.current).chain(previous) {
            match session.receive(datagram, now, buffer, give) {
                Ok(progress) if progress.messages > 0 => {
                    session.window.accept(number);
                    network.extra += progress.messages - 1;
                    return DataFate::Authentic;
                }
                Ok(_) => {}
                Err(_) => return DataFate::Broken,
            }
        }
        if self.current.window.is_repeated(number) {
            DataFate::Replayed
        } else {
            DataFate::Forged
        }
    }

    /// Looks at the timers: forgets the session before when its time is over, and sends a sign of
    /// life.
    fn pass_time(
        &mut self,
        limits: &LinkLimits,
        now: Instant,
        buffer: &mut Vec<u8>,
        give: &mut dyn FnMut(SessionOutput<'_>),
    ) -> SessionState {
        self.previous.take_if(|(_, until)| *until <= now);
        let session = &mut self.current;
        if now.saturating_duration_since(session.heard) >= limits.timeout {
            return SessionState::Silent;
        }
        let mut done = Ok(());
        if now.saturating_duration_since(session.spoken) >= limits.sign() {
            done = session.send(&[], now, buffer, give).map(|_| ());
        }
        if done.is_ok() && session.deadline().is_some_and(|due| due <= now) {
            done = session.pass_time(now, buffer, give).map(|_| ());
        }
        done.map_or_else(SessionState::Broken, |()| SessionState::Alive)
    }
}

/// Takes a datagram of the gateway: counts it, and sends it if there is a session.
///
/// # Errors
/// Those of the library: the session cannot be used any more.
fn take_gateway(
    session: Option<(Option<SocketAddr>, &mut SessionPair)>,
    counters: &mut GatewayCounters,
    limits: &LinkLimits,
    datagram: &[u8],
    now: Instant,
    buffer: &mut Vec<u8>,
    sink: &mut dyn DatagramSink,
) -> Result<(), Error> {
    counters.datagrams += 1;
    let session = session.filter(|(_, pair)| pair.current.sent < LAST_COUNT);
    if datagram.is_empty() {
        counters.empty += 1;
    } else if datagram.len() > limits.longest {
        counters.long += 1;
    } else if let Some((to, pair)) = session {
        let mut is_taken = false;
        let mut give = |output: SessionOutput<'_>| {
            if let SessionOutput::Network(datagram) = output {
                is_taken = sink.to_network(to, datagram);
            }
        };
        let sent = pair.current.send(datagram, now, buffer, &mut give);
        if is_taken {
            counters.sent += 1;
        } else {
            counters.unsent += 1;
        }
        sent?;
    } else {
        counters.absent += 1;
    }
    Ok(())
}
