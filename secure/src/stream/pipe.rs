//! One connection: bytes in both directions, bounded, with their ends.
//!
//! Streams are passed in; nothing here waits or has a clock.

use super::certificates::{TlsConfig, reason};
use crate::wait::Readiness;
use rustls::{ClientConnection, Connection, ServerConnection};
use std::io::{self, Read, Write};

/// The number of bytes for one side that wait before no more are read for it.
const ROOM: usize = 1 << 16;

/// The number of bytes that are read at once, that of a record of TLS.
const CHUNK: usize = 1 << 14;

/// The number of rounds before other connections have their turn.
const TURN: usize = 16;

/// A stream whose writing half can end.
pub trait EndWriting: Read + Write {
    /// Ends the writing half.
    fn end_writing(&mut self);
}

impl EndWriting for std::net::TcpStream {
    fn end_writing(&mut self) {
        // A stream that is not there any more has ended.
        let _ = self.shutdown(std::net::Shutdown::Write);
    }
}

/// The fate of a connection.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PipeEnd {
    /// Both sides have ended it, and all bytes are written.
    Ended,
    /// The handshake has failed.
    Refused(String),
    /// It broke.
    Broken(String),
}

/// Bytes of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PipeBytes {
    /// Bytes that were read from the plain side.
    pub read: u64,
    /// Bytes of these that the network has taken, encrypted.
    pub sent: u64,
    /// Bytes that came from the network, decrypted.
    pub received: u64,
    /// Bytes of these that the plain side has taken.
    pub written: u64,
}

/// A connection, from the handshake to its end.
#[derive(Debug)]
pub struct TlsPipe {
    tls: Connection,
    /// Bytes for the plain side, of which the first `taken` are written.
    to_plain: Vec<u8>,
    taken: usize,
    has_plain_ended: bool,
    has_network_ended: bool,
    is_plain_told: bool,
    is_network_told: bool,
    chunk: Vec<u8>,
    bytes: PipeBytes,
}

impl TlsPipe {
    /// Returns a connection whose handshake begins.
    ///
    /// # Errors
    /// A description: the library refuses the settings.
    pub fn new(config: &TlsConfig) -> Result<Self, String> {
        let tls = match config {
            TlsConfig::Server(config) => ServerConnection::new(config.clone()).map(Into::into),
            TlsConfig::Client(config, name) => {
                ClientConnection::new(config.clone(), name.clone()).map(Into::into)
            }
        };
        Ok(Self {
            tls: tls.map_err(|error| error.to_string())?,
            to_plain: Vec::new(),
            taken: 0,
            has_plain_ended: false,
            has_network_ended: false,
            is_plain_told: false,
            is_network_told: false,
            chunk: vec![0; CHUNK],
            bytes: PipeBytes::default(),
        })
    }

    /// Returns whether the handshake has not ended yet.
    #[must_use]
    pub fn is_handshaking(&self) -> bool {
        self.tls.is_handshaking()
    }

    /// Returns the bytes that passed.
    #[must_use]
    pub fn bytes(&self) -> PipeBytes {
        self.bytes
    }

    /// Returns whether bytes wait for a side that does not take them.
    #[must_use]
    pub fn is_waiting(&self) -> bool {
        self.tls.wants_write() || self.taken < self.to_plain.len()
    }

    /// Returns what the stream of the network is to be waited for.
    #[must_use]
    pub(crate) fn wants_of_network(&self) -> Readiness {
        Readiness {
            read: !self.has_network_ended && self.to_plain.len() - self.taken < ROOM,
            write: self.tls.wants_write(),
        }
    }

    /// Returns what the stream of the plain side is to be waited for.
    #[must_use]
    pub(crate) fn wants_of_plain(&self) -> Readiness {
        Readiness {
            // What was read before must have gone: so no more than a chunk waits.
            read: !self.is_handshaking() && !self.has_plain_ended && !self.tls.wants_write(),
            write: self.taken < self.to_plain.len(),
        }
    }

    /// Moves what can be moved without waiting. Without a plain side, only the handshake goes on.
    /// Returns the end of the connection, if this is it.
    pub fn transfer<N: EndWriting, P: EndWriting>(
        &mut self,
        network: &mut N,
        mut plain: Option<&mut P>,
    ) -> Option<PipeEnd> {
        for _ in 0..TURN {
            let before = (self.bytes, self.has_network_ended, self.has_plain_ended);
            let moved = match self.move_network(network) {
                Ok(moved) => moved,
                Err(why) => return Some(self.failed(why)),
            };
            if let Some(plain) = plain.as_deref_mut()
                && let Err(error) = self.move_plain(plain)
            {
                return Some(PipeEnd::Broken(format!("the plain side: {error}")));
            }
            if let Err(error) = self.write_network(network) {
                return Some(self.failed(format!("the network: {error}")));
            }
            if self.is_plain_told && self.is_network_told && !self.is_waiting() {
                return Some(PipeEnd::Ended);
            }
            if !moved && before == (self.bytes, self.has_network_ended, self.has_plain_ended) {
                break;
            }
        }
        None
    }

    fn failed(&self, why: String) -> PipeEnd {
        if self.is_handshaking() {
            PipeEnd::Refused(why)
        } else {
            PipeEnd::Broken(why)
        }
    }

    /// Reads from the network. Returns whether something came.
    fn move_network<N: EndWriting>(&mut self, network: &mut N) -> Result<bool, String> {
        if !self.wants_of_network().read {
            return Ok(false);
        }
        match self.tls.read_tls(network) {
            // TLS has not ended: the connection was cut, maybe by someone between.
            Ok(0) => return Err("it was cut".to_owned()),
            Ok(_) => {}
            Err(error) if is_temporary(&error) => return Ok(false),
            Err(error) => return Err(format!("the network: {error}")),
        }
        let state = match self.tls.process_new_packets() {
            Ok(state) => state,
            Err(error) => {
                // The other side learns why.
                let _ = self.write_network(network);
                return Err(reason(&error));
            }
        };
        let count = state.plaintext_bytes_to_read();
        let begin = self.to_plain.len();
        self.to_plain.resize(begin + count, 0);
        let read = self.tls.reader().read_exact(&mut self.to_plain[begin..]);
        read.map_err(|error| error.to_string())?;
        self.bytes.received += count as u64;
        self.has_network_ended |= state.peer_has_closed();
        Ok(true)
    }

    /// Writes to the plain side, and reads from it.
    fn move_plain<P: EndWriting>(&mut self, plain: &mut P) -> io::Result<()> {
        while self.taken < self.to_plain.len() {
            match plain.write(&self.to_plain[self.taken..]) {
                Ok(count) => {
                    self.taken += count;
                    self.bytes.written += count as u64;
                }
                Err(error) if is_temporary(&error) => break,
                Err(error) => return Err(error),
            }
        }
        if self.taken == self.to_plain.len() {
            self.to_plain.clear();
            self.taken = 0;
            if self.has_network_ended && !self.is_plain_told {
                plain.end_writing();
                self.is_plain_told = true;
            }
        } else if self.taken >= ROOM {
            self.to_plain.drain(..self.taken);
            self.taken = 0;
        }
        if !self.wants_of_plain().read {
            return Ok(());
        }
        match plain.read(&mut self.chunk) {
            Ok(0) => {
                self.has_plain_ended = true;
                self.tls.send_close_notify();
            }
            Ok(count) => {
                self.tls.writer().write_all(&self.chunk[..count])?;
                self.bytes.read += count as u64;
            }
            Err(error) if is_temporary(&error) => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }

    fn write_network<N: EndWriting>(&mut self, network: &mut N) -> io::Result<()> {
        while self.tls.wants_write() {
            match self.tls.write_tls(network) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(_) => {}
                Err(error) if is_temporary(&error) => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        self.bytes.sent = self.bytes.read;
        if self.has_plain_ended && !self.is_network_told {
            network.end_writing();
            self.is_network_told = true;
        }
        Ok(())
    }
}

fn is_temporary(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
    )
}
