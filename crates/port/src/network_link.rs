//! Ports of one gateway that are each other's other side on a network.

use std::net::SocketAddr;

/// The ends of a port's connection over a network, as far as its settings have them as numbers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NetworkLink {
    /// The protocol, and the part of an association that the port has (stream, bus, name).
    pub protocol: String,
    /// Where datagrams or connections come in.
    pub listens: Option<SocketAddr>,
    /// Where datagrams go, or the server to connect to.
    pub connects: Option<SocketAddr>,
    /// A connection carries frames in both directions.
    pub both_ways: bool,
}

impl NetworkLink {
    /// Returns whether frames that leave here come in at the other port.
    #[must_use]
    pub fn reaches(&self, other: &Self) -> bool {
        let meets = |from: &Self, to: &Self| match (from.connects, to.listens) {
            (Some(connects), Some(listens)) => meets(connects, listens),
            _ => false,
        };
        let is_linked = meets(self, other) || self.both_ways && meets(other, self);
        self.protocol == other.protocol && is_linked
    }
}

/// Returns whether what is sent to an address comes to a socket that listens at another one on this
/// machine.
fn meets(connects: SocketAddr, listens: SocketAddr) -> bool {
    let (to, at) = (connects.ip().to_canonical(), listens.ip().to_canonical());
    let is_here = at.is_unspecified() && to.is_loopback();
    connects.port() == listens.port() && (to == at || is_here)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(listens: &str, connects: &str, both_ways: bool) -> NetworkLink {
        NetworkLink {
            protocol: "p".to_owned(),
            listens: listens.parse().ok(),
            connects: connects.parse().ok(),
            both_ways,
        }
    }

    #[test]
    fn frames_reach_the_port_that_listens_there() {
        let near = link("127.0.0.1:1", "127.0.0.1:2", false);
        for (far, reached) in [
            (link("127.0.0.1:2", "127.0.0.1:9", false), true),
            (link("0.0.0.0:2", "127.0.0.1:9", false), true),
            (link("[::]:2", "127.0.0.1:9", false), true),
            (link("127.0.0.1:3", "127.0.0.1:1", false), false),
            (link("192.0.2.1:2", "127.0.0.1:1", false), false),
        ] {
            assert_eq!(near.reaches(&far), reached, "{far:?}");
        }
        let other = NetworkLink {
            protocol: "q".to_owned(),
            ..link("127.0.0.1:2", "", false)
        };
        assert!(!near.reaches(&other));
        let (server, client) = (link("[::1]:7", "", true), link("", "[::1]:7", true));
        assert!(server.reaches(&client) && client.reaches(&server));
        assert!(!client.reaches(&client) && !server.reaches(&server));
    }
}
