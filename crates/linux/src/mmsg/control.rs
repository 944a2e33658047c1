//! The ancillary data of a datagram: its time of arrival, and the number of datagrams that were
//! lost before it.

use frame::Nanos;

/// Size of the buffer for one message's ancillary data in bytes: stamps (64 bytes) and the drop
/// counter (24), see `CMSG_SPACE` in cmsg(3), and some to spare.
pub const CONTROL_SIZE: usize = 128;

/// Size of `struct cmsghdr` and the alignment of all its parts.
const WORD: usize = size_of::<usize>();
const HEADER: usize = WORD + 8;
/// A `struct timespec` of `SCM_TIMESTAMPING`: two `long`s.
const TIMESPEC: usize = 2 * size_of::<libc::c_long>();

/// The kernel's ancillary data of a datagram.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct DatagramControl {
    /// Unix time at which the kernel saw it, ns.
    pub software: Option<Nanos>,
    /// The network device's time, ns, with an epoch of its own.
    pub hardware: Option<Nanos>,
    /// Datagrams that this socket lost since it was opened, modulo 2^32.
    pub lost: Option<u32>,
}

impl DatagramControl {
    /// Parses ancillary data. Unknown or truncated items are skipped.
    #[inline]
    #[must_use]
    pub fn parse(mut bytes: &[u8]) -> Self {
        let mut control = Self::default();
        while let Some((header, _)) = bytes.split_at_checked(HEADER) {
            let Some(len) = number(header, 0) else { break };
            let Some(data) = bytes.get(HEADER..len) else {
                break;
            };
            let half = |at: usize| header.get(at..).and_then(|b| b.first_chunk());
            let (level, kind) = (half(WORD), half(WORD + 4));
            if level.map(|b| i32::from_ne_bytes(*b)) == Some(libc::SOL_SOCKET) {
                match kind.map(|b| i32::from_ne_bytes(*b)) {
                    Some(libc::SCM_TIMESTAMPING) => {
                        control.software = time(data, 0);
                        control.hardware = time(data, 2);
                    }
                    Some(libc::SO_RXQ_OVFL) => {
                        control.lost = data.first_chunk().map(|b| u32::from_ne_bytes(*b));
                    }
                    _ => {}
                }
            }
            bytes = bytes.get(len.next_multiple_of(WORD)..).unwrap_or_default();
        }
        control
    }
}

/// Reads a `long` or `size_t`.
fn number(bytes: &[u8], at: usize) -> Option<usize> {
    bytes
        .get(at..)?
        .first_chunk()
        .map(|b| usize::from_ne_bytes(*b))
}

/// Reads one of the three `timespec`s; all zero means none.
fn time(data: &[u8], index: usize) -> Option<Nanos> {
    let data = data.get(index * TIMESPEC..)?;
    let (sec, nsec) = (number(data, 0)? as u64, number(data, TIMESPEC / 2)? as u64);
    let ns = sec.checked_mul(1_000_000_000)?.checked_add(nsec)?;
    (ns > 0).then_some(ns)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn message(level: i32, kind: i32, data: &[u8]) -> Vec<u8> {
        let mut out = (HEADER + data.len()).to_ne_bytes().to_vec();
        out.extend(level.to_ne_bytes());
        out.extend(kind.to_ne_bytes());
        out.extend(data);
        out.resize(out.len().next_multiple_of(WORD), 0);
        out
    }

    fn stamps(values: [(usize, usize); 3]) -> Vec<u8> {
        let bytes = values.iter().flat_map(|(s, ns)| [*s, *ns]);
        bytes.flat_map(usize::to_ne_bytes).collect()
    }

    #[test]
    fn header_is_the_c_librarys() {
        assert_eq!(HEADER, size_of::<libc::cmsghdr>());
    }

    #[test]
    fn stamps_and_losses() {
        let mut bytes = message(libc::SOL_SOCKET, libc::SO_RXQ_OVFL, &7u32.to_ne_bytes());
        bytes.extend(message(1234, libc::SCM_TIMESTAMPING, &[1; 48]));
        let times = stamps([(5, 6), (0, 0), (7, 8)]);
        bytes.extend(message(libc::SOL_SOCKET, libc::SCM_TIMESTAMPING, &times));
        assert!(bytes.len() <= CONTROL_SIZE * 2);
        let expected = DatagramControl {
            software: Some(5_000_000_006),
            hardware: Some(7_000_000_008),
            lost: Some(7),
        };
        assert_eq!(DatagramControl::parse(&bytes), expected);
        let times = stamps([(5, 6), (0, 0), (0, 0)]);
        let bytes = message(libc::SOL_SOCKET, libc::SCM_TIMESTAMPING, &times);
        assert_eq!(DatagramControl::parse(&bytes).hardware, None);
    }

    proptest! {
        #[test]
        fn any_bytes_end(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = DatagramControl::parse(&bytes);
        }

        /// Wrong lengths, in an otherwise valid message.
        #[test]
        fn any_length_ends(len in any::<usize>(), small in 0usize..200) {
            for len in [len, small] {
                let mut bytes = message(libc::SOL_SOCKET, libc::SCM_TIMESTAMPING, &[1; 48]);
                bytes[..WORD].copy_from_slice(&len.to_ne_bytes());
                bytes.extend(message(libc::SOL_SOCKET, libc::SO_RXQ_OVFL, &[0; 4]));
                let _ = DatagramControl::parse(&bytes);
            }
        }
    }
}
