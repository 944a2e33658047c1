//! The fates of datagrams and connections, and their sums.

use serde::{Deserialize, Serialize};

console::counters! {
    /// Datagrams from the network.
    NetworkCounters {
        /// Datagrams that came from the network.
        datagrams,
        /// Further datagrams of a gateway in one of the network's; this program never packs them.
        extra,
        /// Datagrams that were sent to gateways.
        delivered,
        /// Datagrams that the gateway's socket did not take.
        unsent,
        /// Signs of life: authentic and empty.
        alive,
        /// Parts of handshakes, and alerts, valid or not.
        handshake,
        /// Datagrams with the number of one that was accepted, or of one older than the last 64:
        /// replays, and what the network doubled.
        replayed,
        /// Datagrams with a new number that the session's key has not made: forged, damaged, or of
        /// an earlier session.
        forged,
        /// Datagrams with data before the handshake had ended.
        early,
        /// Datagrams from addresses without a session.
        stray,
        /// Datagrams that are not DTLS 1.2, or have data without encryption.
        malformed,
        /// Datagrams from addresses that `allow` does not have.
        denied,
    }
}

console::counters! {
    /// Handshakes.
    HandshakeCounters {
        /// Messages that begin a handshake, and were answered with a cookie, without keeping
        /// anything.
        cookies,
        /// Handshakes that began: an address has returned its cookie.
        begun,
        /// Handshakes that led to a session.
        completed,
        /// Handshakes that failed: key, identity, time.
        failed,
        /// Handshakes that gave way to newer ones: the oldest of the address with the most.
        displaced,
        /// Handshakes under way.
        waiting,
    }
}

console::counters! {
    /// Datagrams from one gateway, and its sessions.
    GatewayCounters {
        /// Datagrams that came from the gateway.
        datagrams,
        /// Datagrams that were sent to the network.
        sent,
        /// Datagrams that came while there was no session.
        absent,
        /// Datagrams longer than `longest`.
        long,
        /// Datagrams without contents.
        empty,
        /// Datagrams that the network's socket did not take.
        unsent,
        /// Datagrams that were sent to this gateway.
        delivered,
        /// Sessions that began, renewed ones included.
        sessions,
        /// Sessions that ended because the peer was silent for `timeout`.
        silent,
    }
}

console::counters! {
    /// Connections, and their bytes.
    StreamCounters {
        /// Connections that came in.
        connections,
        /// Connections from addresses that `allow` does not have.
        denied,
        /// Connections that gave way to newer ones during the handshake, because there was no room.
        displaced,
        /// Connections that failed during the handshake: certificates, or not TLS 1.3.
        refused,
        /// Connections whose handshake took longer than `handshake_timeout`.
        late,
        /// Connections for which there was no room (`clients`).
        full,
        /// Connections whose other end (the gateway, or the other side of the network) could not be
        /// reached.
        unreachable,
        /// Connections that both ends closed.
        ended,
        /// Connections that broke, or were cut without TLS's end.
        broken,
        /// Connections whose receiver took nothing for five minutes.
        stalled,
        /// Connections that were open when the program ended.
        closed,
        /// Connections that are open, or in their handshake.
        open,
        /// Bytes that were read from gateways and programs.
        read,
        /// Bytes of these that TLS has sent to the network.
        sent,
        /// Bytes of these that broken connections lost.
        lost,
        /// Bytes that were received from the network, decrypted.
        received,
        /// Bytes of these that were written to gateways and programs.
        written,
        /// Bytes of these that broken connections lost.
        dropped,
        /// Bytes of both directions that wait.
        waiting,
    }
}

impl NetworkCounters {
    /// Returns whether each datagram has one fate.
    #[must_use]
    pub const fn is_balanced(&self) -> bool {
        self.datagrams + self.extra
            == self.delivered
                + self.unsent
                + self.alive
                + self.handshake
                + self.replayed
                + self.forged
                + self.early
                + self.stray
                + self.malformed
                + self.denied
    }
}

impl HandshakeCounters {
    /// Returns whether each handshake has one fate.
    #[must_use]
    pub const fn is_balanced(&self) -> bool {
        self.begun == self.completed + self.failed + self.displaced + self.waiting
    }
}

impl GatewayCounters {
    /// Returns whether each datagram has one fate.
    #[must_use]
    pub const fn is_balanced(&self) -> bool {
        self.datagrams == self.sent + self.absent + self.long + self.empty + self.unsent
    }
}

impl StreamCounters {
    /// Returns whether each connection and each byte has one fate.
    #[must_use]
    pub const fn is_balanced(&self) -> bool {
        let fates = self.denied
            + self.displaced
            + self.refused
            + self.late
            + self.full
            + self.unreachable
            + self.ended
            + self.broken
            + self.stalled
            + self.closed
            + self.open;
        let bytes = self.sent + self.lost + self.written + self.dropped + self.waiting;
        self.connections == fates && self.read + self.received == bytes
    }
}

/// The counters of one gateway.
#[derive(Clone, PartialEq, Eq, Debug, Default, Deserialize, Serialize)]
pub struct PeerReport {
    /// The identity.
    pub identity: String,
    /// Where its session comes from or leads to; none without a session.
    pub address: Option<String>,
    /// Its datagrams.
    pub gateway: GatewayCounters,
}

/// The counters of a link.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum LinkReport {
    /// Of datagrams.
    Udp {
        /// The name of the link.
        name: String,
        /// From the network.
        network: NetworkCounters,
        /// Handshakes.
        handshakes: HandshakeCounters,
        /// Of each gateway.
        peers: Vec<PeerReport>,
    },
    /// Of connections.
    Tcp {
        /// The name of the link.
        name: String,
        /// All connections.
        streams: StreamCounters,
    },
}

impl LinkReport {
    /// Returns the counters as text, without those that are 0.
    #[must_use]
    pub fn text(&self) -> String {
        match self {
            Self::Udp {
                name,
                network,
                handshakes,
                peers,
            } => {
                let mut text = line(name, "network", &network.list());
                text += &line(name, "handshakes", &handshakes.list());
                for peer in peers {
                    let place = peer.address.as_deref().unwrap_or("no session");
                    let what = format!("{} ({place})", peer.identity);
                    text += &line(name, &what, &peer.gateway.list());
                }
                text
            }
            Self::Tcp { name, streams } => line(name, "connections", &streams.list()),
        }
    }

    /// Returns whether each datagram, each connection and each byte has one fate.
    #[must_use]
    pub fn is_balanced(&self) -> bool {
        match self {
            Self::Udp {
                network,
                handshakes,
                peers,
                ..
            } => {
                let delivered: u64 = peers.iter().map(|peer| peer.gateway.delivered).sum();
                network.is_balanced()
                    && handshakes.is_balanced()
                    && peers.iter().all(|peer| peer.gateway.is_balanced())
                    && delivered == network.delivered
            }
            Self::Tcp { streams, .. } => streams.is_balanced(),
        }
    }
}

fn line(name: &str, what: &str, list: &[(&'static str, u64)]) -> String {
    let shown = list.iter().filter(|(_, count)| *count > 0);
    let words: Vec<String> = shown
        .map(|(name, count)| format!("{name} {count}"))
        .collect();
    let words = if words.is_empty() {
        "nothing".to_owned()
    } else {
        words.join(", ")
    };
    format!("{name} {what}: {words}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_text_and_json() {
        let report = LinkReport::Udp {
            name: "zone".to_owned(),
            network: NetworkCounters {
                datagrams: 3,
                delivered: 2,
                forged: 1,
                ..Default::default()
            },
            handshakes: HandshakeCounters::default(),
            peers: vec![PeerReport {
                identity: "v1".to_owned(),
                address: None,
                gateway: GatewayCounters {
                    delivered: 2,
                    ..Default::default()
                },
            }],
        };
        let text = "zone network: datagrams 3, delivered 2, forged 1\n\
                    zone handshakes: nothing\nzone v1 (no session): delivered 2\n";
        assert_eq!(report.text(), text);
        assert!(report.is_balanced());
        let json = serde_json::to_value(&report).unwrap();
        assert_eq!(json["kind"], "udp");
        assert_eq!(json["network"]["forged"], 1);
        assert_eq!(json["peers"][0]["identity"], "v1");
    }

    /// docs/secure.md has each counter with its meaning.
    #[test]
    fn the_document_has_the_counters() {
        let document = include_str!("../../docs/secure.md");
        let all = [
            NetworkCounters::ABOUT,
            HandshakeCounters::ABOUT,
            GatewayCounters::ABOUT,
            StreamCounters::ABOUT,
        ];
        let row = |(name, about): &(&str, &str)| {
            format!("| `{name}` | {} |", about.trim().trim_end_matches('.'))
        };
        let rows = all.into_iter().flatten().map(row);
        let missing: Vec<String> = rows.filter(|row| !document.contains(row)).collect();
        assert!(
            missing.is_empty(),
            "docs/secure.md has not these rows:\n{}",
            missing.join("\n")
        );
    }
}
