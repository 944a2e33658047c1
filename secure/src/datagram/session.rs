//! One session of DTLS 1.2, or its handshake: the library with what the program adds to it.
//!
//! Time and datagrams are passed in; nothing here waits or has a socket.

use super::psk::PskRing;
use super::record::NumberWindow;
use dimpl::crypto::Dtls12CipherSuite;
use dimpl::{Config, Dtls, Error, Output, PskResolver};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The number of datagrams of a session after which the connecting side makes a new one.
///
/// dimpl takes the explicit nonce of a record at random, 64 bits. Among n of them, two are equal
/// with a probability of about n² / 2⁶⁵: here 2⁻²⁵.
pub const REKEY_COUNT: u64 = 1 << 20;

/// The number of datagrams after which a session sends nothing more, twice [`REKEY_COUNT`].
pub const LAST_COUNT: u64 = 1 << 21;

/// The time after which the connecting side makes a new session.
pub const REKEY_TIME: Duration = Duration::from_secs(3600);

/// The time between two attempts of a client, at first: doubled for each within a handshake.
const CLIENT_RTO: Duration = Duration::from_millis(500);

/// That of a server. A client that has no answer repeats its flight, and so the server's; the
/// server's own timer must not send more to an address that may be forged.
const SERVER_RTO: Duration = Duration::from_secs(2);

/// Something that came out of a session.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SessionOutput<'a> {
    /// A datagram for the network.
    Network(&'a [u8]),
    /// A datagram for the gateway, authentic and new; an empty one is a sign of life.
    Plain(&'a [u8]),
}

/// The result of a call for a session.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SessionProgress {
    /// Datagrams for the gateway, empty ones included.
    pub messages: u64,
    /// The handshake has ended with this call.
    pub has_connected: bool,
    /// The peer has closed the session.
    pub has_closed: bool,
}

/// Settings of DTLS, for one end or all sessions of a listener.
#[derive(Clone)]
pub struct DtlsConfig(Arc<Config>);

impl std::fmt::Debug for DtlsConfig {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("DtlsConfig")
    }
}

impl DtlsConfig {
    /// Returns the settings of a side that listens.
    ///
    /// # Errors
    /// A description: the library refuses them.
    pub fn listening(ring: Arc<PskRing>, handshake: Duration) -> Result<Self, String> {
        let builder = Config::builder().with_psk_server(None, ring as Arc<dyn PskResolver>);
        let builder = builder.with_crypto_provider(super::cookie::provider());
        Self::build(builder.flight_start_rto(SERVER_RTO), handshake)
    }

    /// Returns the settings of a side that connects.
    ///
    /// # Errors
    /// A description: the library refuses them.
    pub fn connecting(
        identity: &str,
        ring: Arc<PskRing>,
        handshake: Duration,
    ) -> Result<Self, String> {
        let identity = identity.as_bytes().to_vec();
        let builder = Config::builder().with_psk_client(identity, ring as Arc<dyn PskResolver>);
        Self::build(builder.flight_start_rto(CLIENT_RTO), handshake)
    }

    fn build(builder: dimpl::ConfigBuilder, handshake: Duration) -> Result<Self, String> {
        let config = builder
            .dtls12_cipher_suites(&[Dtls12CipherSuite::PSK_AES128_CCM_8])
            .dtls13_cipher_suites(&[])
            .handshake_timeout(handshake)
            .build();
        let config = config.map_err(|error| format!("DTLS: {error}"))?;
        Ok(Self(Arc::new(config)))
    }
}

/// A session, or the handshake that leads to it.
pub struct DtlsSession {
    dtls: Dtls,
    /// Numbers of the peer's datagrams that were accepted.
    pub window: NumberWindow,
    /// When the handshake began.
    pub begun: Instant,
    /// When the peer has last sent something authentic; before the end of the handshake, `begun`.
    pub heard: Instant,
    /// When something was last sent to the peer.
    pub spoken: Instant,
    /// Datagrams that were sent with the keys of the session.
    pub sent: u64,
    /// Those that were received.
    pub received: u64,
    is_connected: bool,
    deadline: Option<Instant>,
}

impl std::fmt::Debug for DtlsSession {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let state = if self.is_connected {
            "connected"
        } else {
            "handshake"
        };
        write!(out, "DtlsSession({state})")
    }
}

impl DtlsSession {
    /// Returns a session whose handshake begins: of the side that connects, with its first
    /// datagram, or of the side that listens.
    ///
    /// # Errors
    /// Those of the library.
    pub fn new(
        config: &DtlsConfig,
        is_client: bool,
        now: Instant,
        buffer: &mut Vec<u8>,
        give: &mut dyn FnMut(SessionOutput<'_>),
    ) -> Result<Self, Error> {
        let mut dtls = Dtls::new_12_psk(Arc::clone(&config.0), now);
        dtls.set_active(is_client);
        let mut session = Self {
            dtls,
            window: NumberWindow::default(),
            begun: now,
            heard: now,
            spoken: now,
            sent: 0,
            received: 0,
            is_connected: false,
            deadline: None,
        };
        session.pass_time(now, buffer, give)?;
        Ok(session)
    }

    /// Returns whether the handshake has ended.
    #[must_use]
    pub fn is_connected(&self) -> bool {
        self.is_connected
    }

    /// Returns when [`DtlsSession::pass_time`] is due.
    #[must_use]
    pub fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// Returns whether a new session should take the place of this one.
    #[must_use]
    pub fn is_worn(&self, now: Instant) -> bool {
        self.sent.max(self.received) >= REKEY_COUNT
            || now.saturating_duration_since(self.begun) >= REKEY_TIME
    }

    /// Takes a datagram of the network, which [`super::record::classify`] has let pass.
    ///
    /// # Errors
    /// Those of the library: the session cannot be used any more.
    pub fn receive(
        &mut self,
        datagram: &[u8],
        now: Instant,
        buffer: &mut Vec<u8>,
        give: &mut dyn FnMut(SessionOutput<'_>),
    ) -> Result<SessionProgress, Error> {
        // The library has no clock but this. Its timers are due at `pass_time`, also.
        self.dtls.handle_timeout(now)?;
        self.dtls.handle_packet(datagram)?;
        let progress = self.poll(now, buffer, give);
        if progress.messages > 0 || progress.has_connected {
            self.heard = now;
        }
        self.received += u64::from(progress.messages > 0);
        Ok(progress)
    }

    /// Seals a datagram of the gateway, or with an empty one, a sign of life.
    ///
    /// # Errors
    /// Those of the library: the session cannot be used any more.
    pub fn send(
        &mut self,
        datagram: &[u8],
        now: Instant,
        buffer: &mut Vec<u8>,
        give: &mut dyn FnMut(SessionOutput<'_>),
    ) -> Result<SessionProgress, Error> {
        self.dtls.send_application_data(datagram)?;
        self.sent += 1;
        Ok(self.poll(now, buffer, give))
    }

    /// Lets time pass: repeats what has no answer.
    ///
    /// # Errors
    /// Those of the library: the handshake has taken too long.
    pub fn pass_time(
        &mut self,
        now: Instant,
        buffer: &mut Vec<u8>,
        give: &mut dyn FnMut(SessionOutput<'_>),
    ) -> Result<SessionProgress, Error> {
        self.dtls.handle_timeout(now)?;
        Ok(self.poll(now, buffer, give))
    }

    /// Ends the session, and informs the peer.
    pub fn close(
        &mut self,
        now: Instant,
        buffer: &mut Vec<u8>,
        give: &mut dyn FnMut(SessionOutput<'_>),
    ) {
        if self.dtls.close().is_ok() {
            self.poll(now, buffer, give);
        }
    }

    fn poll(
        &mut self,
        now: Instant,
        buffer: &mut Vec<u8>,
        give: &mut dyn FnMut(SessionOutput<'_>),
    ) -> SessionProgress {
        let mut progress = SessionProgress::default();
        loop {
            let needed = match self.dtls.poll_output(buffer) {
                Output::Packet(datagram) => {
                    self.spoken = now;
                    give(SessionOutput::Network(datagram));
                    continue;
                }
                Output::ApplicationData(datagram) => {
                    progress.messages += 1;
                    give(SessionOutput::Plain(datagram));
                    continue;
                }
                Output::Connected => {
                    self.is_connected = true;
                    progress.has_connected = true;
                    continue;
                }
                Output::CloseNotify => {
                    progress.has_closed = true;
                    continue;
                }
                Output::Timeout(due) => {
                    self.deadline = Some(due);
                    return progress;
                }
                Output::BufferTooSmall { needed } => needed,
                // Certificates and keys for SRTP do not occur here.
                _ => continue,
            };
            buffer.resize(needed, 0);
        }
    }
}
