//! Pre-shared keys, and who has which.

use dimpl::PskResolver;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A pre-shared key. It is never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct SharedKey(Vec<u8>);

impl SharedKey {
    /// The least number of bytes: the strength of AES-128.
    pub const LEAST: usize = 16;
    /// The greatest number of bytes, which other programs read, too (RFC 4279, 5.3).
    pub const MOST: usize = 64;

    /// Returns a key of these bytes; `None` if it is too short or too long.
    #[must_use]
    pub fn new(bytes: Vec<u8>) -> Option<Self> {
        (Self::LEAST..=Self::MOST)
            .contains(&bytes.len())
            .then_some(Self(bytes))
    }
}

impl fmt::Debug for SharedKey {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("SharedKey")
    }
}

/// An identity, and its key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PskPeer {
    /// The identity, which the network can read.
    pub identity: String,
    /// The key.
    pub key: SharedKey,
}

/// The identity that a handshake has named.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NamedIdentity {
    /// That of the peer with this place.
    Known(usize),
    /// None of these, as text for a person.
    Unknown(String),
}

/// All identities of a listener, or the one of a side that connects.
///
/// The library asks for a key while it takes a datagram, and does not name the session. So
/// the answer is noted here: [`PskRing::take_named`] after each datagram, on the same thread.
#[derive(Debug)]
pub struct PskRing {
    peers: Vec<PskPeer>,
    named: Mutex<Option<NamedIdentity>>,
}

impl PskRing {
    /// Returns a ring of these.
    #[must_use]
    pub fn new(peers: Vec<PskPeer>) -> Self {
        Self {
            peers,
            named: Mutex::new(None),
        }
    }

    /// Returns the peers.
    #[must_use]
    pub fn peers(&self) -> &[PskPeer] {
        &self.peers
    }

    /// Returns the identity that was asked for since the last call.
    #[must_use]
    pub fn take_named(&self) -> Option<NamedIdentity> {
        self.lock().take()
    }

    fn lock(&self) -> MutexGuard<'_, Option<NamedIdentity>> {
        self.named.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PskResolver for PskRing {
    fn resolve(&self, identity: &[u8]) -> Option<Vec<u8>> {
        let is_it = |peer: &PskPeer| peer.identity.as_bytes() == identity;
        let place = self.peers.iter().position(is_it);
        *self.lock() = Some(match place {
            Some(place) => NamedIdentity::Known(place),
            None => NamedIdentity::Unknown(shown(identity)),
        });
        place.map(|place| self.peers[place].key.0.clone())
    }
}

/// Returns the bytes of an identity as text for a person: what a peer sends must neither fill nor
/// change a terminal.
fn shown(identity: &[u8]) -> String {
    let text = String::from_utf8_lossy(&identity[..identity.len().min(64)]);
    text.escape_debug().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_have_a_least_length_and_are_not_shown() {
        assert_eq!(SharedKey::new(vec![7; 15]), None);
        assert_eq!(SharedKey::new(vec![7; 65]), None);
        let key = SharedKey::new(vec![7; 16]).unwrap();
        assert_eq!(format!("{key:?}"), "SharedKey");
    }

    #[test]
    fn the_ring_notes_who_was_named() {
        let ring = PskRing::new(vec![PskPeer {
            identity: "v1".to_owned(),
            key: SharedKey::new(vec![7; 16]).unwrap(),
        }]);
        assert_eq!(ring.take_named(), None);
        assert_eq!(ring.resolve(b"v1"), Some(vec![7; 16]));
        assert_eq!(ring.take_named(), Some(NamedIdentity::Known(0)));
        assert_eq!(ring.take_named(), None);
        assert_eq!(ring.resolve(b"v\x1b[1m"), None);
        let unknown = NamedIdentity::Unknown("v\\u{1b}[1m".to_owned());
        assert_eq!(ring.take_named(), Some(unknown));
    }
}
