//! The keys of the file of settings.

use crate::datagram::record::LONGEST;
use crate::values::{host, identity, name, ranges, ranges_shape, time};
use config::read::{self, address, by};
use ipnet::IpNet;
use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::time::Duration;

const TIMEOUTS: RangeInclusive<Duration> = Duration::from_secs(1)..=Duration::from_secs(3600);
const HANDSHAKE_TIMES: RangeInclusive<Duration> = Duration::from_secs(1)..=Duration::from_secs(60);

/// Whether the side that connects has a certificate.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ClientCertificates {
    /// It has one of the authority.
    #[default]
    Required,
    /// It has none, and all are let in.
    None,
}

impl ClientCertificates {
    const WORDS: [(&'static str, Self); 2] = [("required", Self::Required), ("none", Self::None)];
}

config::settings! {
    /// The keys of a table `[[udp]]`.
    #[derive(Clone, PartialEq, Eq, Debug)]
    pub struct UdpKeys {
        /// The name of the link, in messages and counters.
        pub name: String = String::new() => name(), default "required", needed "such as \"zone\"";
        /// The address on the network where peers come in, by DTLS. A link has `listen` or
        /// `connect`.
        pub listen: Option<SocketAddr> = None => address(), value "`\"ADDRESS:PORT\"`",
            default "none", not "bind" "server";
        /// The other side, which listens. The link connects again and again.
        pub connect: Option<String> = None => host(), value "`\"HOST:PORT\"`", default "none",
            not "remote" "server_address";
        /// With `listen`: addresses that may use the link, or ranges such as `"192.0.2.0/24"`.
        pub allow: Option<Vec<IpNet>> = None => by(ranges_shape, |value, found| {
            ranges(value, found).map(Some)
        }), value "list", default "all";
        /// A session ends when nothing authentic has come for this time; a quarter of it after the
        /// last datagram, a sign of life is sent. 1 s to 1 h.
        pub timeout: Duration = Duration::from_secs(5) => time(TIMEOUTS), default "`\"5s\"`",
            not "keepalive" "idle";
        /// The longest time that a handshake may take. 1 s to 60 s.
        pub handshake_timeout: Duration = Duration::from_secs(5) => time(HANDSHAKE_TIMES),
            default "`\"5s\"`";
        /// With `listen`: the greatest number of handshakes at the same time.
        pub handshakes: u16 = 256 => read::integer(1..=4096_u16);
        /// The longest datagram of a gateway, bytes. On the network, it is 29 bytes longer, and the
        /// kernel divides what is too long for a packet; 1443 prevents that on Ethernet with IPv4,
        /// 1423 with IPv6.
        pub longest: u16 = LONGEST as u16 => read::integer(64..=LONGEST as u16), not "mtu";
        /// `plain` and `gateway` may be on a network, where all can read and forge what passes.
        pub exposed: bool = false => read::boolean();
    }
}

config::settings! {
    /// The keys of a peer: of a table `[[udp.peers]]`, or of a `[[udp]]` with `connect`.
    #[derive(Clone, PartialEq, Eq, Debug)]
    pub struct PeerKeys {
        /// The identity of the key. The network can read it.
        pub identity: String = String::new() => identity(), default "required",
            needed "such as \"truck-7\"", not "psk_identity" "user";
        /// The file with the pre-shared key, 16 to 64 bytes in hex digits. A relative path starts
        /// at the folder of this file.
        pub key: String = String::new() => read::text(), value "path", default "required",
            needed "the file with the pre-shared key", not "psk" "secret" "password";
        /// Where the gateway's datagrams come in: the `connect` of its port.
        pub plain: Option<SocketAddr> = None => address(), value "`\"ADDRESS:PORT\"`",
            default "required", needed "such as \"127.0.0.1:17231\", the `connect` of the gateway's port";
        /// The address of the gateway's port, its `listen`. Datagrams from others are refused.
        pub gateway: Option<SocketAddr> = None => address(), value "`\"ADDRESS:PORT\"`",
            default "required", needed "such as \"127.0.0.1:17230\", the `listen` of the gateway's port";
    }
}

config::settings! {
    /// The keys of a table `[[tcp]]`.
    #[derive(Clone, PartialEq, Eq, Debug)]
    pub struct TcpKeys {
        /// The name of the link, in messages and counters.
        pub name: String = String::new() => name(), default "required", needed "such as \"tools\"";
        /// The address on the network where connections come in, by TLS. A link has `listen` and
        /// `gateway`, or `plain` and `connect`.
        pub listen: Option<SocketAddr> = None => address(), value "`\"ADDRESS:PORT\"`",
            default "none", not "bind" "server";
        /// With `listen`: the gateway's port, its `listen`, to which each connection leads.
        pub gateway: Option<SocketAddr> = None => address(), value "`\"ADDRESS:PORT\"`",
            default "none";
        /// With `connect`: where programs, or a gateway's port by its `connect`, connect.
        pub plain: Option<SocketAddr> = None => address(), value "`\"ADDRESS:PORT\"`",
            default "none";
        /// The other side, which listens: to it leads each connection that comes in.
        pub connect: Option<String> = None => host(), value "`\"HOST:PORT\"`", default "none";
        /// With `connect`: the name in the other side's certificate.
        pub server_name: Option<String> = None => read::text(), value "name",
            default "the host of `connect`", not "sni" "hostname";
        /// The file with the certificates (PEM) of the authorities that sign those of the other
        /// side.
        pub authority: String = String::new() => read::text(), value "path", default "required",
            needed "the file with the authority's certificate", not "ca" "cafile" "ca_file" "root";
        /// The file with our certificate (PEM), and those between it and the authority's.
        pub certificate: Option<String> = None => read::text(), value "path", default "required",
            not "cert" "chain";
        /// The file with its private key (PEM).
        pub key: Option<String> = None => read::text(), value "path", default "required",
            not "private_key" "keyfile";
        /// Whether the side that connects has a certificate. With `"none"`, on both sides, every
        /// program that reaches the port is let in.
        pub client_certificates: ClientCertificates = ClientCertificates::Required =>
            read::words(&ClientCertificates::WORDS), default "`\"required\"`";
        /// With `listen`: addresses that may use the link, or ranges such as `"192.0.2.0/24"`.
        pub allow: Option<Vec<IpNet>> = None => by(ranges_shape, |value, found| {
            ranges(value, found).map(Some)
        }), value "list", default "all";
        /// Number of connections at the same time.
        pub clients: u16 = 16 => read::integer(1..=1024_u16), not "connections" "max_clients";
        /// With `listen`: the greatest number of handshakes at the same time.
        pub handshakes: u16 = 64 => read::integer(1..=1024_u16);
        /// The longest time that a handshake may take. 1 s to 60 s.
        pub handshake_timeout: Duration = Duration::from_secs(5) => time(HANDSHAKE_TIMES),
            default "`\"5s\"`";
        /// `plain` and `gateway` may be on a network, where all can read and forge what passes.
        pub exposed: bool = false => read::boolean();
    }
}
