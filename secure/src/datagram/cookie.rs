//! Cookies (RFC 6347, 4.2.1): a first message of a handshake is answered without keeping anything
//! of it. Only an address that returns its cookie has a handshake.
//!
//! dimpl has a state for each address that has sent a first message, and its cookies do not depend
//! on the address. So cookies are made and checked here. A handshake begins in the library with the
//! message that returns the cookie: it is shown the first message again, as it was, and takes our
//! cookie for its own, which it asks the provider of its cryptography for.

use dimpl::CryptoError;
use dimpl::crypto::{CryptoProvider, HashAlgorithm, HmacProvider, rust_crypto};
use std::cell::Cell;
use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

/// Length of a cookie, that of SHA-256.
const COOKIE: usize = 32;

/// Length of the header of a record.
const RECORD: usize = 13;

/// Length of the headers of a record and of a message of a handshake.
const HEADERS: usize = RECORD + 12;

/// Length of what precedes the session ID in a ClientHello: version and random number.
const FIXED: usize = 34;

/// The time for which cookies are made with one number; they are valid for the next one, too.
const PERIOD: Duration = Duration::from_secs(30);

thread_local! {
    /// The cookie that the library takes for its own, while it begins a handshake.
    static OWN: Cell<Option<[u8; COOKIE]>> = const { Cell::new(None) };
}

/// The library's HMAC, which returns our cookie where the library makes one.
#[derive(Debug)]
struct CookieHmac;

impl HmacProvider for CookieHmac {
    fn hmac(
        &self,
        hash: HashAlgorithm,
        key: &[u8],
        data: &[u8],
        out: &mut [u8],
    ) -> Result<usize, CryptoError> {
        // The library's cookie is that of the client's random number of 32 bytes.
        match (OWN.get(), out.first_chunk_mut()) {
            (Some(cookie), Some(out)) if data.len() == COOKIE => {
                *out = cookie;
                Ok(COOKIE)
            }
            _ => rust_crypto::default_provider()
                .hmac_provider
                .hmac(hash, key, data, out),
        }
    }
}

/// Returns the cryptography of a side that listens.
pub(super) fn provider() -> CryptoProvider {
    CryptoProvider {
        hmac_provider: &CookieHmac,
        ..rust_crypto::default_provider()
    }
}

/// Runs a step of the library in which it takes this cookie for its own.
pub(super) fn with_cookie<T>(cookie: [u8; COOKIE], step: impl FnOnce() -> T) -> T {
    OWN.set(Some(cookie));
    let done = step();
    OWN.set(None);
    done
}

/// A ClientHello in one record, by its parts.
#[derive(Clone, Copy, Debug)]
pub(super) struct ClientHello<'a> {
    datagram: &'a [u8],
    /// The client's random number.
    pub(super) random: [u8; 32],
    /// Where the length of the cookie is.
    cookie: usize,
}

impl<'a> ClientHello<'a> {
    /// Returns the parts of a datagram that is one ClientHello, not divided.
    pub(super) fn read(datagram: &'a [u8]) -> Option<Self> {
        let len = datagram.len().checked_sub(HEADERS)?;
        let size = |at: usize| {
            let bytes = datagram.get(at..at + 3)?;
            Some(usize::from(bytes[0]) << 16 | usize::from(bytes[1]) << 8 | usize::from(bytes[2]))
        };
        let is_whole = size(RECORD + 1)? == len
            && size(RECORD + 6)? == 0
            && size(RECORD + 9)? == len
            && usize::from(u16::from_be_bytes([datagram[11], datagram[12]])) == len + 12;
        if datagram[RECORD] != 1 || !is_whole {
            return None;
        }
        let random = *datagram.get(HEADERS + 2..)?.first_chunk()?;
        let session = usize::from(*datagram.get(HEADERS + FIXED)?);
        let cookie = HEADERS + FIXED + 1 + session;
        let hello = Self {
            datagram,
            random,
            cookie,
        };
        hello.rest()?;
        Some(hello)
    }

    fn cookie_len(&self) -> usize {
        self.datagram
            .get(self.cookie)
            .copied()
            .map_or(0, usize::from)
    }

    /// Returns what follows the cookie.
    fn rest(&self) -> Option<&'a [u8]> {
        self.datagram.get(self.cookie + 1 + self.cookie_len()..)
    }

    /// Returns the cookie.
    pub(super) fn cookie(&self) -> Option<[u8; COOKIE]> {
        let cookie = self.datagram.get(self.cookie + 1..)?;
        let cookie = cookie.get(..self.cookie_len())?;
        cookie.try_into().ok()
    }

    /// Returns the first message of the client again: number 0, and no cookie.
    pub(super) fn first(&self) -> Vec<u8> {
        let mut first = self.datagram[..self.cookie].to_vec();
        first.push(0);
        first.extend_from_slice(self.rest().unwrap_or_default());
        let len = (first.len() - HEADERS) as u32;
        let record = (len as u16 + 12).to_be_bytes();
        first[11..13].copy_from_slice(&record);
        first[RECORD + 4..RECORD + 6].copy_from_slice(&[0; 2]);
        for at in [RECORD + 1, RECORD + 9] {
            first[at..at + 3].copy_from_slice(&len.to_be_bytes()[1..]);
        }
        first
    }
}

/// Makes cookies, and recognises them.
pub(super) struct CookieJar {
    secret: [u8; 32],
    begun: Instant,
}

impl std::fmt::Debug for CookieJar {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("CookieJar")
    }
}

impl CookieJar {
    /// Returns a jar with a secret of its own.
    ///
    /// # Errors
    /// A description: the system has no random numbers.
    pub(super) fn new(now: Instant) -> Result<Self, String> {
        let mut secret = [0; 32];
        let random = rustls::crypto::ring::default_provider().secure_random;
        let filled = random.fill(&mut secret);
        filled.map_err(|_| "the system has no random numbers".to_owned())?;
        Ok(Self { secret, begun: now })
    }

    /// Returns the cookie of an address and a client's random number, `back` periods ago.
    fn make(&self, from: SocketAddr, random: &[u8; 32], back: u64, now: Instant) -> [u8; COOKIE] {
        let time = now.saturating_duration_since(self.begun);
        let period = (time.as_secs() / PERIOD.as_secs()).wrapping_sub(back);
        let mut data = period.to_be_bytes().to_vec();
        match from.ip().to_canonical() {
            IpAddr::V4(ip) => data.extend_from_slice(&ip.octets()),
            IpAddr::V6(ip) => data.extend_from_slice(&ip.octets()),
        }
        data.extend_from_slice(&from.port().to_be_bytes());
        data.extend_from_slice(random);
        let hmac = rust_crypto::default_provider().hmac_provider;
        // SHA-256 of a key of this length does not fail. An unknown cookie lets no address in.
        hmac.hmac_sha256(&self.secret, &data).unwrap_or_else(|_| {
            let mut other = self.secret;
            other.reverse();
            other
        })
    }

    /// Returns whether a message returns the cookie of its address.
    pub(super) fn is_own(&self, from: SocketAddr, hello: &ClientHello<'_>, now: Instant) -> bool {
        let Some(cookie) = hello.cookie() else {
            return false;
        };
        [0, 1].into_iter().any(|back| {
            let own = self.make(from, &hello.random, back, now);
            // All bytes are compared, so that the time does not show how many are equal.
            let differences = own.iter().zip(&cookie).fold(0, |all, (a, b)| all | (a ^ b));
            differences == 0
        })
    }

    /// Returns the answer to a first message: HelloVerifyRequest, with the number of its record.
    pub(super) fn answer(
        &self,
        from: SocketAddr,
        hello: &ClientHello<'_>,
        now: Instant,
    ) -> Vec<u8> {
        let cookie = self.make(from, &hello.random, 0, now);
        let len = 3 + COOKIE as u8;
        let mut answer = hello.datagram[..11].to_vec();
        answer.extend_from_slice(&[0, 12 + len]);
        // Type 3, number 0, not divided; the version is that of DTLS 1.0.
        answer.extend_from_slice(&[3, 0, 0, len, 0, 0, 0, 0, 0, 0, 0, len, 0xFE, 0xFF]);
        answer.push(COOKIE as u8);
        answer.extend_from_slice(&cookie);
        answer
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Returns a ClientHello of one suite.
    fn hello(number: u8, cookie: &[u8]) -> Vec<u8> {
        let mut body = vec![0xFE, 0xFD];
        body.extend_from_slice(&[7; 32]);
        body.extend_from_slice(&[2, 8, 8, cookie.len() as u8]);
        body.extend_from_slice(cookie);
        body.extend_from_slice(&[0, 2, 0xC0, 0xA8, 1, 0]);
        let len = body.len() as u8;
        let mut hello = vec![22, 0xFE, 0xFD, 0, 0, 0, 0, 0, 0, 0, number, 0, len + 12];
        hello.extend_from_slice(&[1, 0, 0, len, 0, number, 0, 0, 0, 0, 0, len]);
        hello.extend_from_slice(&body);
        hello
    }

    #[test]
    fn a_cookie_belongs_to_an_address_a_number_and_a_time() {
        let begun = Instant::now();
        let jar = CookieJar::new(begun).unwrap();
        let from: SocketAddr = "192.0.2.1:1000".parse().unwrap();
        let first = hello(0, &[]);
        let first = ClientHello::read(&first).unwrap();
        let answer = jar.answer(from, &first, begun);
        assert!(answer.len() <= first.datagram.len());
        let cookie = &answer[HEADERS + 3..];
        let second = hello(1, cookie);
        let second = ClientHello::read(&second).unwrap();
        let again = second.first();
        // All but the number of the record.
        assert_eq!(again[11..], first.datagram[11..]);
        let is_own = |from: &str, hello, now| jar.is_own(from.parse().unwrap(), hello, now);
        assert!(is_own("192.0.2.1:1000", &second, begun));
        assert!(is_own("[::ffff:192.0.2.1]:1000", &second, begun));
        assert!(is_own("192.0.2.1:1000", &second, begun + PERIOD));
        assert!(!is_own("192.0.2.1:1000", &second, begun + PERIOD * 2));
        assert!(!is_own("192.0.2.1:1001", &second, begun));
        assert!(!is_own("192.0.2.2:1000", &second, begun));
        assert!(!is_own("192.0.2.1:1000", &first, begun));
        let mut other = hello(1, cookie);
        other[HEADERS + 2] ^= 1;
        let other = ClientHello::read(&other).unwrap();
        assert!(!is_own("192.0.2.1:1000", &other, begun));
        let another = CookieJar::new(begun).unwrap();
        assert!(!another.is_own(from, &second, begun));
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_fail(place in 0_usize..90, byte: u8, len in 0_usize..95) {
            let mut bytes = hello(1, &[9; 32]);
            let place = place % bytes.len();
            bytes[place] = byte;
            bytes.truncate(len);
            if let Some(hello) = ClientHello::read(&bytes) {
                let _ = (hello.cookie(), hello.first());
            }
        }
    }
}
