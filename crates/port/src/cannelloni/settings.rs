//! `kind = "cannelloni"`: a tunnel to cannelloni.

use crate::kind::{ExclusiveResource, FramePassage, PeerLimits, PortKind, PortSettings};
use crate::network::address::{AddressRange, PeerAddress, allow, allow_words, listen};
use crate::network::datagram::{ArrivalRules, DatagramPort};
use crate::network::stream::{self, HubSettings, Listeners, StreamRules, StreamSide};
use crate::network::warn_of_strangers;
use crate::{Halves, PortError, PortOpener};
use config::{Diagnostics, KeySpec, TomlTable, read};
use frame::{Kind, Nanos};
use net::cannelloni::{CannelloniReader, CannelloniSession, CannelloniWriter, carries};
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;

/// The kind of tunnels to cannelloni.
#[derive(Clone, Copy, Debug)]
pub struct CannelloniPorts;

const KEYWORD: &str = "cannelloni";

/// Values of `transport`, each with whether it is TCP.
const TRANSPORTS: [(&str, bool); 2] = [("udp", false), ("tcp", true)];

/// Longest value of `pack`, ns: that of cannelloni's default.
const LONGEST_PACK: Nanos = 100_000_000;

config::settings! {
    /// The keys of a tunnel to cannelloni.
    struct CannelloniKeys {
        /// The transport: datagrams, or a stream (cannelloni's option `-C`).
        transport: bool = false => read::words(&TRANSPORTS), default "`\"udp\"`",
            not "protocol" "mode" "proto";
        /// Where datagrams or connections come in (cannelloni's `-l` and `-L`): a port of the
        /// loopback interface, or an address and a port. Over TCP, a port has `listen` or
        /// `connect`.
        listen: Option<SocketAddr> = None => listen(), value "port, or `\"ADDRESS:PORT\"`",
            default "none",
            not "local" "bind" "listen_address" "local_port";
        /// Where datagrams go, or the server to connect to (cannelloni's `-R` and `-r`).
        connect: Option<PeerAddress> = None => PeerAddress::key(), value "`\"HOST:PORT\"`",
            default "none",
            not "remote" "peer" "server" "remote_ip" "host";
        /// Senders and clients that are allowed: addresses, or ranges such as `"192.0.2.0/24"`.
        /// Datagrams from other senders are refused, and counted as denied.
        allow: Option<Vec<AddressRange>> = None => allow(), value "list",
            default "UDP: the host of `connect`; TCP: all", not "peers" "whitelist" "allow_from";
        /// Over UDP: the time for which a frame waits for others that share its datagram
        /// (cannelloni's `-t`, there 100 ms). Frames that leave together share a datagram anyway.
        pack: Nanos = 0 => read::duration(), value "duration, up to `\"100ms\"`",
            default "none", not "timeout" "buffer_timeout" "window";
        /// Over TCP: number of clients at the same time.
        clients: u32 = 1 => read::integer(1..=1024u32), not "max_clients";
        /// Over TCP: number of frames that wait for each connection. A full queue drops the oldest
        /// frame.
        queue: u32 = 1024 => crate::queue(), not "queue_length" "buffer";
    }
}

/// The settings of a tunnel to cannelloni.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CannelloniSettings {
    tcp: bool,
    listen: Option<SocketAddr>,
    connect: Option<PeerAddress>,
    allow: Option<Vec<AddressRange>>,
    pack: Nanos,
    clients: u32,
    queue: u32,
}

impl PortKind for CannelloniPorts {
    fn keyword(&self) -> &'static str {
        KEYWORD
    }

    fn keys(&self) -> Option<Vec<KeySpec>> {
        Some(CannelloniKeys::key_specs())
    }

    fn parse(
        &self,
        _port: &str,
        table: &mut TomlTable<'_>,
        found: &mut Diagnostics,
    ) -> Arc<dyn PortSettings> {
        Arc::new(CannelloniSettings::parse(table, found))
    }
}

impl CannelloniSettings {
    fn parse(table: &mut TomlTable<'_>, found: &mut Diagnostics) -> Self {
        let keys = CannelloniKeys::read(table, found);
        let (listens, connects) = (table.has("listen"), table.has("connect"));
        if keys.transport {
            stream::check_sides(table, "20000", found);
            if table.has("pack") {
                let hint = "leave it out: a stream has no datagrams";
                table.wrong("pack", "`pack` is for UDP", hint, found);
            }
            if keys.listen.is_some() && keys.allow.is_none() {
                warn_of_strangers(table, keys.listen, found);
            }
        } else {
            if !listens && !table.is_misnamed("listen") {
                let hint = "add `listen = \"ADDRESS:PORT\"`, to which the other cannelloni sends; `listen = 20000` is \
                            for a peer on this machine";
                table.missing("listen", hint, found);
            }
            if !connects && !table.is_misnamed("connect") {
                let hint = "add `connect = \"HOST:PORT\"`, at which the other cannelloni listens (its option `-l`)";
                table.missing("connect", hint, found);
            }
            for key in ["clients", "queue"] {
                if table.has(key) {
                    let message = format!("`{key}` is for TCP");
                    table.wrong(
                        key,
                        message,
                        "leave it out, or add `transport = \"tcp\"`",
                        found,
                    );
                }
            }
        }
        if keys.pack > LONGEST_PACK {
            let hint = "above 1 ms little is gained";
            table.wrong("pack", "`pack` is at most 100 ms", hint, found);
        }
        Self {
            tcp: keys.transport,
            listen: keys.listen,
            connect: keys.connect,
            allow: keys.allow,
            pack: keys.pack,
            clients: keys.clients,
            queue: keys.queue,
        }
    }

    fn open_udp(&self, port: &str, opener: &PortOpener) -> Result<Halves, PortError> {
        let fail = |what: String, source: Option<std::io::Error>| PortError {
            port: port.to_owned(),
            what,
            source: source.map(Into::into),
        };
        let (Some(listen), Some(connect)) = (self.listen, &self.connect) else {
            return Err(fail("it needs `listen` and `connect`".to_owned(), None));
        };
        let addresses = connect.resolve().map_err(|what| fail(what, None))?;
        let fits = |address: &&SocketAddr| address.is_ipv4() == listen.is_ipv4();
        let Some(to) = addresses.iter().find(fits).copied() else {
            let what = format!(
                "{connect} has no address of the kind of {listen}: use IPv4 or IPv6 for both"
            );
            return Err(fail(what, None));
        };
        let cannot = |error| fail(format!("cannot receive at {listen}"), Some(error));
        let receiving = UdpSocket::bind(listen).map_err(cannot)?;
        let sending = receiving.try_clone().map_err(cannot)?;
        let own_peer = || {
            addresses
                .iter()
                .map(|address| AddressRange::one(address.ip()))
        };
        let halves = DatagramPort {
            receiving,
            sending,
            to,
            reader: Box::new(CannelloniReader),
            writer: Box::new(CannelloniWriter::default()),
            rules: ArrivalRules {
                allow: Some(self.allow.clone().unwrap_or_else(|| own_peer().collect())),
                local_only: false,
                own: None,
            },
            pack: self.pack,
            epoch: opener.epoch(),
        };
        halves.halves().map_err(cannot)
    }

    fn open_tcp(&self, port: &str, opener: &mut PortOpener) -> Result<Halves, PortError> {
        let rules = StreamRules {
            carries,
            settle: 0,
            clients: self.clients as usize,
            queue: self.queue as usize,
            epoch: opener.epoch(),
        };
        let session = || Box::new(|| Box::new(CannelloniSession::default()) as _);
        let side = match (self.listen, &self.connect) {
            (Some(listen), _) => StreamSide::Server {
                hub: Listeners::at(opener, port, KEYWORD, listen, session())?,
                bus: String::new(),
                settings: HubSettings {
                    allow: self.allow.clone(),
                    clients: self.clients as usize,
                    beacon: None,
                },
            },
            (None, connect) => StreamSide::Client {
                addresses: stream::resolve(port, connect.as_ref())?,
                session: session(),
            },
        };
        stream::halves(port, side, rules, opener)
    }
}

impl PortSettings for CannelloniSettings {
    fn kind(&self) -> &'static str {
        KEYWORD
    }

    fn passes(&self, kind: Kind) -> FramePassage {
        FramePassage::by_data_phase(kind, true)
    }

    fn peer_limits(&self) -> PeerLimits {
        PeerLimits {
            stamps: false,
            ..PeerLimits::default()
        }
    }

    fn exclusive(&self) -> Option<ExclusiveResource> {
        let transport = if self.tcp { "TCP" } else { "UDP" };
        let listen = self.listen?;
        let hint = "each tunnel has a port number of its own";
        Some(ExclusiveResource::new(
            format!("{transport} address {listen}"),
            hint,
        ))
    }

    fn describe(&self) -> String {
        let allow = allow_words(self.allow.as_deref());
        let connect = self
            .connect
            .as_ref()
            .map(ToString::to_string)
            .unwrap_or_default();
        match (self.tcp, self.listen) {
            (false, Some(listen)) => {
                let pack = match self.pack {
                    0 => String::new(),
                    pack => format!("; frames wait {} us for others", pack as f64 / 1e3),
                };
                format!("cannelloni over UDP, at {listen}, to {connect}{pack}{allow}")
            }
            (true, Some(listen)) => {
                format!(
                    "cannelloni over TCP, listens at {listen}, clients: {}{allow}",
                    self.clients
                )
            }
            (_, None) => format!("cannelloni over TCP, connects to {connect}"),
        }
    }

    fn open(&self, port: &str, opener: &mut PortOpener) -> Result<Halves, PortError> {
        if self.tcp {
            self.open_tcp(port, opener)
        } else {
            self.open_udp(port, opener)
        }
    }
}
