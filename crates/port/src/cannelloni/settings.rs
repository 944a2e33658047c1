//! `kind = "cannelloni"`: a tunnel to cannelloni.

use crate::kind::{ExclusiveResource, FramePassage, PeerLimits, PortSettings, port_kind};
use crate::network::address::{AddressRange, allow, allow_words};
use crate::network::datagram::{
    EXPEDITED, PackRules, TunnelAddresses, TunnelRules, check_mark, check_own, check_tunnel,
};
use crate::network::endpoint::{PeerAddress, listen};
use crate::network::ids::{IdRange, id_ranges, is_urgent, urgent_words};
use crate::network::stream::{self, HubSettings, Listeners, StreamRules, StreamSide};
use crate::tunnel_end::{header_bytes, udp_bytes};
use crate::{Halves, NetworkLink, PortError, PortOpener, TunnelEnd};
use config::{Diagnostics, TomlTable, read};
use frame::{CanId, Header, Kind, Nanos};
use net::cannelloni::{
    CannelloniReader, CannelloniSession, CannelloniWriter, HEADER, MAX_DATAGRAM, carries,
    frame_size,
};
use std::net::SocketAddr;

port_kind! {
    /// The kind of tunnels to cannelloni.
    CannelloniPorts = "cannelloni", CannelloniKeys::key_specs(),
        |_, table, found| CannelloniSettings::parse(table, found);
}

/// Values of `transport`, each with whether it is TCP.
const TRANSPORTS: [(&str, bool); 2] = [("udp", false), ("tcp", true)];

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
        /// Identifiers, in hex, of frames that leave before those that wait: `"123"`, `"100-1FF"`,
        /// `"18FEF100"` (8 digits: 29 bits). Over UDP, each leaves at once, in a datagram of its
        /// own.
        urgent: Vec<IdRange> = Vec::new() => id_ranges(), value "list", default "none",
            not "express" "priority_ids" "high_priority" "timeouts";
        /// Over UDP: the mark (DSCP) of datagrams with `urgent` frames; others have 0. 46 is EF
        /// (RFC 3246).
        dscp: u8 = EXPEDITED => read::integer(0..=63u8), default "46 over UDP",
            not "tos" "qos" "traffic_class";
        /// Over TCP: number of clients at the same time.
        clients: u32 = 1 => read::integer(1..=1024u32), not "max_clients";
        /// Over TCP: number of frames that wait for each connection. A full queue drops the oldest
        /// frame.
        queue: u32 = 1024 => crate::queue(), not "queue_length" "buffer";
    }
    elsewhere {
        "delay" "late" "clock" => "cannelloni has no time stamps; between two gateways, a port of \
            kind \"ieee1722\" has them";
    }
}

/// The settings of a tunnel to cannelloni.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CannelloniSettings {
    tcp: bool,
    addresses: TunnelAddresses,
    pack: Nanos,
    urgent: Vec<IdRange>,
    dscp: u8,
    clients: u32,
    queue: u32,
}

impl CannelloniSettings {
    fn parse(table: &mut TomlTable<'_>, found: &mut Diagnostics) -> Self {
        let keys = CannelloniKeys::read(table, found);
        let (listens, connects) = (table.has("listen"), table.has("connect"));
        if keys.transport {
            stream::check_sides(table, "20000", found);
            for key in ["pack", "dscp"] {
                if table.has(key) {
                    let hint = "leave it out: a stream has no datagrams";
                    table.wrong(key, format!("`{key}` is for UDP"), hint, found);
                }
            }
            if keys.listen.is_some() && keys.allow.is_none() {
                stream::warn_of_strangers(table, keys.listen, found);
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
        check_tunnel(table, keys.pack, found);
        if !keys.transport {
            check_mark(table, &keys.urgent, found);
            check_own(table, keys.listen, keys.connect.as_ref(), found);
        }
        Self {
            tcp: keys.transport,
            addresses: TunnelAddresses {
                listen: keys.listen,
                connect: keys.connect,
                allow: keys.allow,
            },
            pack: keys.pack,
            urgent: keys.urgent,
            dscp: keys.dscp,
            clients: keys.clients,
            queue: keys.queue,
        }
    }

    fn open_tcp(&self, port: &str, opener: &mut PortOpener) -> Result<Halves, PortError> {
        let rules = StreamRules {
            carries,
            settle: 0,
            clients: self.clients as usize,
            queue: self.queue as usize,
            urgent: self.urgent.clone(),
            epoch: opener.epoch(),
        };
        let session = || Box::new(|| Box::new(CannelloniSession::default()) as _);
        let addresses = &self.addresses;
        let side = match (addresses.listen, &addresses.connect) {
            (Some(listen), _) => StreamSide::Server {
                hub: Listeners::at(opener, port, KEYWORD, listen, session())?,
                bus: String::new(),
                settings: HubSettings {
                    allow: addresses.allow.clone(),
                    clients: self.clients as usize,
                    beacon: None,
                },
            },
            (None, connect) => StreamSide::Client {
                peers: stream::resolve(port, connect.as_ref())?,
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

    fn network_link(&self) -> Option<NetworkLink> {
        let transport = if self.tcp { "TCP" } else { "UDP" };
        let protocol = format!("cannelloni over {transport}");
        Some(self.addresses.link(protocol, self.tcp))
    }

    fn tunnel_end(&self) -> Option<&dyn TunnelEnd> {
        (!self.tcp).then_some(self)
    }

    fn exclusive(&self) -> Option<ExclusiveResource> {
        let transport = if self.tcp { "TCP" } else { "UDP" };
        let listen = self.addresses.listen?;
        let hint = "each tunnel has a port number of its own";
        Some(ExclusiveResource::new(
            format!("{transport} address {listen}"),
            hint,
        ))
    }

    fn describe(&self) -> String {
        let addresses = &self.addresses;
        let urgent = urgent_words(&self.urgent);
        let allow = urgent + &allow_words(addresses.allow.as_deref());
        match (self.tcp, addresses.listen) {
            (true, Some(listen)) => {
                let clients = self.clients;
                format!("cannelloni over TCP, listens at {listen}, clients: {clients}{allow}")
            }
            (true, None) => {
                let connect = addresses.connect.as_ref().map(ToString::to_string);
                format!(
                    "cannelloni over TCP, connects to {}{allow}",
                    connect.unwrap_or_default()
                )
            }
            (false, _) => format!("cannelloni over UDP, {}{allow}", addresses.words(self.pack)),
        }
    }

    fn open(&self, port: &str, opener: &mut PortOpener) -> Result<Halves, PortError> {
        if self.tcp {
            self.open_tcp(port, opener)
        } else {
            let reader = Box::new(CannelloniReader);
            let writer = Box::new(CannelloniWriter::default());
            let rules = TunnelRules {
                packing: PackRules {
                    pack: self.pack,
                    urgent: self.urgent.clone(),
                    dscp: self.dscp,
                },
                ..TunnelRules::default()
            };
            self.addresses.open(port, opener, reader, writer, rules)
        }
    }
}

impl TunnelEnd for CannelloniSettings {
    fn protocol(&self) -> String {
        "cannelloni".to_owned()
    }

    fn pack(&self) -> Nanos {
        self.pack
    }

    fn is_urgent(&self, id: CanId) -> bool {
        is_urgent(&self.urgent, id)
    }

    fn header_bytes(&self) -> u64 {
        let connect = self.addresses.connect.as_ref();
        let udp = udp_bytes(connect.and_then(PeerAddress::number));
        header_bytes(udp + HEADER as u64, frame_size(Kind::Classic, 0) as u64)
    }

    fn room_bytes(&self) -> u64 {
        (MAX_DATAGRAM - HEADER) as u64
    }

    fn frame_bytes(&self, header: &Header) -> u64 {
        frame_size(header.kind(), header.len()) as u64
    }
}
