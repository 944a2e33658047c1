//! The ends of tunnels, as far as bounds of their times depend on them.

use frame::{CanId, Header, Nanos};

/// Bytes of an Ethernet frame without its payload: preamble, addresses and type, checksum, and the
/// gap to the next one (IEEE 802.3).
pub const ETHERNET_BYTES: u64 = 8 + 14 + 4 + 12;

/// Bytes of the shortest Ethernet frame with preamble and gap (IEEE 802.3).
pub const SHORTEST_ETHERNET: u64 = 8 + 64 + 12;

/// When frames that come in by a tunnel are handed on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PlayOutTimes {
    /// The time after the stamp, ns; `None`: as they arrive, or at presentation times.
    pub delay: Option<Nanos>,
    /// At the presentation times that the other side sets, [`TunnelEnd::max_transit`] after the
    /// stamps.
    pub presentation: bool,
    /// A frame that is older than this, after `delay`, is dropped, ns.
    pub max_age: Option<Nanos>,
    /// A late frame is dropped.
    pub drops_late: bool,
    /// Both sides follow one clock.
    pub common_clock: bool,
    /// Number of frames that wait for their time; more are refused.
    pub queue: u32,
}

impl PlayOutTimes {
    /// Returns when frames from this end are handed on, without reference to it; `None`: as they
    /// arrive, because they have no presentation times.
    #[must_use]
    pub fn from_end(self, sender: &dyn TunnelEnd) -> Option<Self> {
        if !self.presentation {
            return Some(self);
        }
        Some(Self {
            delay: Some(sender.max_transit()?),
            presentation: false,
            ..self
        })
    }
}

/// A port whose other side is a gateway or a program on a network, which it reaches by datagrams.
pub trait TunnelEnd {
    /// Returns the protocol, and the part of an association that the port has (stream, bus). Both
    /// ends of a tunnel have the same.
    fn protocol(&self) -> String;

    /// Returns the time for which a frame waits for others that share its datagram, ns.
    fn pack(&self) -> Nanos;

    /// Returns whether frames with this ID leave at once, each in a datagram of its own.
    fn is_urgent(&self, id: CanId) -> bool;

    /// Returns the most bytes of a datagram on Ethernet besides its frames, preamble and gap
    /// included, and padding to the shortest Ethernet frame.
    fn header_bytes(&self) -> u64;

    /// Returns the bytes of frames for which a datagram has room.
    fn room_bytes(&self) -> u64;

    /// Returns the bytes of a frame in a datagram.
    fn frame_bytes(&self, header: &Header) -> u64;

    /// Returns the time between two reports, ns, and the bytes of one without its header.
    fn reports(&self) -> Option<(Nanos, u64)> {
        None
    }

    /// Returns the time from the stamp of a frame that leaves to its presentation time, ns; `None`:
    /// it has none.
    fn max_transit(&self) -> Option<Nanos> {
        None
    }

    /// Returns when frames that come in are handed on; `None`: as they arrive.
    fn play_out(&self) -> Option<PlayOutTimes> {
        None
    }
}

/// The most frames of a port that wait one by one while its socket has no room (decision 36).
pub const TUNNEL_BACKLOG: usize = 256;

/// Returns the bytes of a datagram besides its frames: on Ethernet, with these headers, padded to
/// the shortest Ethernet frame if it has only a frame of `least` bytes.
#[cfg(any(feature = "cannelloni", feature = "ieee1722"))]
pub(crate) fn header_bytes(headers: u64, least: u64) -> u64 {
    (ETHERNET_BYTES + headers).max(SHORTEST_ETHERNET.saturating_sub(least))
}

/// Bytes of the headers of IP and UDP; without a numeric address of IPv4, it can be IPv6.
#[cfg(any(feature = "cannelloni", feature = "ieee1722"))]
pub(crate) fn udp_bytes(connect: Option<std::net::SocketAddr>) -> u64 {
    match connect {
        Some(address) if address.is_ipv4() => 20 + 8,
        _ => 40 + 8,
    }
}
