//! The file of settings.

mod keys;
#[cfg(test)]
mod tests;
pub use keys::{ClientCertificates, PeerKeys, TcpKeys, UdpKeys};

use crate::datagram::LinkLimits;
use config::{Diagnostics, SourceText, TomlDocument, TomlTable};
use std::net::SocketAddr;

/// A link of datagrams.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UdpSettings {
    /// Its keys.
    pub keys: UdpKeys,
    /// The peers: one for a link that connects.
    pub peers: Vec<PeerSettings>,
}

/// A peer of a link of datagrams.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PeerSettings {
    /// The identity.
    pub identity: String,
    /// The file with its key, as written.
    pub key: String,
    /// See [`PeerKeys::plain`].
    pub plain: SocketAddr,
    /// See [`PeerKeys::gateway`].
    pub gateway: SocketAddr,
}

/// The ends of a link of connections.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TcpEnds {
    /// TLS comes in, and leads to a gateway.
    Listen {
        /// The address on the network.
        listen: SocketAddr,
        /// The gateway's port.
        gateway: SocketAddr,
    },
    /// Connections come in, and lead to another side by TLS.
    Connect {
        /// The address for programs and gateways.
        plain: SocketAddr,
        /// The other side.
        connect: String,
    },
}

/// A link of connections.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TcpSettings {
    /// Its keys.
    pub keys: TcpKeys,
    /// Its ends.
    pub ends: TcpEnds,
}

/// The settings of a file.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SecureSettings {
    /// Links of datagrams.
    pub udp: Vec<UdpSettings>,
    /// Links of connections.
    pub tcp: Vec<TcpSettings>,
}

impl UdpSettings {
    /// Returns the bounds of the link.
    #[must_use]
    pub fn limits(&self) -> LinkLimits {
        LinkLimits {
            longest: self.keys.longest.into(),
            timeout: self.keys.timeout,
            handshake_timeout: self.keys.handshake_timeout,
            handshakes: self.keys.handshakes.into(),
            allow: self.keys.allow.clone(),
        }
    }
}

/// Addresses and names that tables before have used.
#[derive(Default)]
struct UsedNames {
    names: Vec<String>,
    udp: Vec<SocketAddr>,
    tcp: Vec<SocketAddr>,
}

/// Reads a file of settings. All mistakes are in `found`; with one, there are no settings.
pub fn load(source: &SourceText, found: &mut Diagnostics) -> Option<SecureSettings> {
    let document = TomlDocument::parse(source, found);
    let mut root = document.root();
    let mut settings = SecureSettings::default();
    let mut used = UsedNames::default();
    let udp = root.tables("udp", "udp", found);
    let tcp = root.tables("tcp", "tcp", found);
    if udp.is_empty() && tcp.is_empty() && !root.has("udp") && !root.has("tcp") {
        let hint = "add a table [[udp]] for datagrams, or [[tcp]] for connections";
        root.missing("udp", hint, found);
    }
    for mut table in udp {
        let link = read_udp(&mut table, &mut used, found);
        table.finish(found);
        settings.udp.extend(link);
    }
    for mut table in tcp {
        let link = read_tcp(&mut table, &mut used, found);
        table.finish(found);
        settings.tcp.extend(link);
    }
    root.finish(found);
    (!found.has_errors()).then_some(settings)
}

fn read_udp(
    table: &mut TomlTable<'_>,
    used: &mut UsedNames,
    found: &mut Diagnostics,
) -> Option<UdpSettings> {
    let keys = UdpKeys::read(table, found);
    take_name(table, &keys.name, used, found);
    let mut peers = Vec::new();
    match (&keys.listen, &keys.connect) {
        (Some(listen), None) => {
            take_address(table, "listen", *listen, &mut used.udp, found);
            let tables = table.tables("peers", "peer", found);
            if tables.is_empty() && !table.has("peers") {
                let hint = "add a table [[udp.peers]] below it, with identity, key, plain, gateway";
                table.missing("peers", hint, found);
            }
            for mut table in tables {
                let peer = read_peer(&mut table, &keys, used, found);
                let identity = peer.as_ref().map(|peer| peer.identity.as_str());
                let mut others = peers
                    .iter()
                    .map(|other: &PeerSettings| other.identity.as_str());
                if let Some(identity) = identity
                    && others.any(|other| other == identity)
                {
                    let message = format!("another peer has the identity `{identity}`");
                    table.wrong(
                        "identity",
                        message,
                        "give each peer its own, with its own key",
                        found,
                    );
                }
                table.finish(found);
                peers.extend(peer);
            }
        }
        (None, Some(_)) => peers.extend(read_peer(table, &keys, used, found)),
        _ => wrong_ends(table, "listen", "connect", found),
    }
    Some(UdpSettings { keys, peers })
}

fn read_peer(
    table: &mut TomlTable<'_>,
    link: &UdpKeys,
    used: &mut UsedNames,
    found: &mut Diagnostics,
) -> Option<PeerSettings> {
    let keys = PeerKeys::read(table, found);
    let (plain, gateway) = (keys.plain?, keys.gateway?);
    check_plain(table, "plain", plain, link.exposed, found);
    check_plain(table, "gateway", gateway, link.exposed, found);
    take_address(table, "plain", plain, &mut used.udp, found);
    Some(PeerSettings {
        identity: keys.identity,
        key: keys.key,
        plain,
        gateway,
    })
}

fn read_tcp(
    table: &mut TomlTable<'_>,
    used: &mut UsedNames,
    found: &mut Diagnostics,
) -> Option<TcpSettings> {
    let keys = TcpKeys::read(table, found);
    take_name(table, &keys.name, used, found);
    let needs_own =
        keys.listen.is_some() || keys.client_certificates == ClientCertificates::Required;
    for (key, value) in [("certificate", &keys.certificate), ("key", &keys.key)] {
        if value.is_none() && needs_own {
            table.missing(
                key,
                "the file in PEM; docs/secure.md shows how to make it",
                found,
            );
        }
    }
    let ends = match (keys.listen, keys.gateway, keys.plain, &keys.connect) {
        (Some(listen), Some(gateway), None, None) => {
            take_address(table, "listen", listen, &mut used.tcp, found);
            check_plain(table, "gateway", gateway, keys.exposed, found);
            TcpEnds::Listen { listen, gateway }
        }
        (None, None, Some(plain), Some(connect)) => {
            take_address(table, "plain", plain, &mut used.tcp, found);
            check_plain(table, "plain", plain, keys.exposed, found);
            let connect = connect.clone();
            TcpEnds::Connect { plain, connect }
        }
        (Some(_), None, None, None) => {
            table.missing("gateway", "the `listen` of the gateway's port", found);
            return None;
        }
        (None, None, None, Some(_)) => {
            table.missing(
                "plain",
                "the address where programs connect, such as \"127.0.0.1:29536\"",
                found,
            );
            return None;
        }
        _ => {
            wrong_ends(table, "listen` and `gateway", "plain` and `connect", found);
            return None;
        }
    };
    Some(TcpSettings { keys, ends })
}

fn wrong_ends(table: &TomlTable<'_>, one: &str, other: &str, found: &mut Diagnostics) {
    if table.is_misnamed("listen") || table.is_misnamed("connect") {
        return;
    }
    let key = ["connect", "listen", "name"]
        .into_iter()
        .find(|key| table.has(key));
    table.wrong(
        key.unwrap_or("name"),
        format!("a link has either `{one}` or `{other}`"),
        "the side that others can reach listens, the other one connects",
        found,
    );
}

fn take_name(table: &TomlTable<'_>, name: &str, used: &mut UsedNames, found: &mut Diagnostics) {
    if !name.is_empty() && used.names.iter().any(|other| other == name) {
        let message = format!("another link has the name `{name}`");
        table.wrong("name", message, "choose another name", found);
    }
    used.names.push(name.to_owned());
}

fn take_address(
    table: &TomlTable<'_>,
    key: &str,
    address: SocketAddr,
    used: &mut Vec<SocketAddr>,
    found: &mut Diagnostics,
) {
    if used.contains(&address) {
        let message = format!("{address} is in use above");
        table.wrong(key, message, "choose another port", found);
    }
    used.push(address);
}

/// Reports an address of the plain side that others may reach.
fn check_plain(
    table: &TomlTable<'_>,
    key: &str,
    address: SocketAddr,
    is_exposed: bool,
    found: &mut Diagnostics,
) {
    if !address.ip().to_canonical().is_loopback() && !is_exposed {
        let message =
            format!("{address} is not on the loopback interface, and nothing protects it");
        let hint = "write \"127.0.0.1:PORT\", or add exposed = true if its network is trusted";
        table.wrong(key, message, hint, found);
    }
}
