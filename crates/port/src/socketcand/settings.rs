//! `kind = "socketcand"`: text elements over TCP.

use crate::kind::{
    ExclusiveResource, FramePassage, PeerLimits, PlacedPort, PortSettings, port_kind,
};
use crate::network::address::{AddressRange, allow, allow_words};
use crate::network::endpoint::{PeerAddress, listen};
use crate::network::stream::{self, HubSettings, Listeners, StreamRules, StreamSide};
use crate::{Halves, NetworkLink, PortError, PortOpener};
use config::{Diagnostic, Diagnostics, TomlTable, TomlValue, ValueShape, read};
use frame::{FrameRef, Kind, Nanos};
use net::socketcand::{SocketcandClient, SocketcandServer, carries, is_bus_name};
use std::net::SocketAddr;

port_kind! {
    /// The kind of ports with socketcand's protocol.
    SocketcandPorts = "socketcand", SocketcandKeys::key_specs(), SocketcandSettings::parse;

    fn check(&self, ports: &[PlacedPort<'_>], found: &mut Diagnostics) {
        let of = |port: &PlacedPort<'_>| {
            let settings = port.settings.downcast_ref::<SocketcandSettings>()?;
            let listen = settings.listen?;
            Some((
                listen,
                (settings.allow.clone(), settings.clients, settings.beacon),
            ))
        };
        for (at, port) in ports.iter().enumerate() {
            let Some((listen, own)) = of(port) else {
                continue;
            };
            let differs = |other: &&PlacedPort<'_>| {
                of(other).is_some_and(|(address, theirs)| address == listen && theirs != own)
            };
            if let Some(other) = ports[..at].iter().find(differs) {
                let message = format!(
                    "ports `{}` and `{}` share the listener at {listen}, and differ in `allow`, `clients` or `beacon`",
                    other.name, port.name
                );
                let hint = "give both the same values, or different addresses";
                found.push(Diagnostic::error(port.span.clone(), message).hint(hint));
            }
        }
    }
}

/// Time between the last answer to a client and its first frame, ns. python-can reads the answer
/// together with what follows it, and fails: of 40 connections under load, none failed with this
/// pause, and 3 of 20 without one.
const SETTLE: Nanos = 50_000_000;

config::settings! {
    /// The keys of a port with socketcand's protocol.
    struct SocketcandKeys(port: &str) {
        /// Where clients connect: a port of the loopback interface, or an address and a port;
        /// socketcand's own port is 29536. Several ports can have the same address: a client
        /// chooses one by its `name`. A port has `listen` or `connect`.
        listen: Option<SocketAddr> = None => listen(), value "port, or `\"ADDRESS:PORT\"`",
            default "none",
            not "bind" "listen_address";
        /// The daemon to connect to, again and again.
        connect: Option<PeerAddress> = None => PeerAddress::key(), value "`\"HOST:PORT\"`",
            default "none",
            not "remote" "host" "server" "url";
        /// The name of the bus that clients open, or that this port opens at the daemon.
        name: String = port.to_owned() => read::by(|| ValueShape::Text, bus_name),
            value "name", default "the port's name", not "bus" "channel" "interface";
        /// Clients that are allowed: addresses, or ranges such as `"192.0.2.0/24"`.
        allow: Option<Vec<AddressRange>> = None => allow(), value "list", default "all",
            not "peers" "whitelist" "allow_from";
        /// Number of clients at the same time, of all ports at this address.
        clients: u32 = 16 => read::integer(1..=1024u32), not "max_clients";
        /// Where the names of the buses are announced every 3 s, such as
        /// `"255.255.255.255:42000"`, so that clients find them.
        beacon: Option<SocketAddr> = None => listen(), value "`\"ADDRESS:PORT\"`",
            default "none",
            not "discovery" "broadcast";
        /// Number of frames that wait for each connection. A full queue drops the oldest frame.
        queue: u32 = 1024 => crate::queue(), not "queue_length" "buffer";
    }
}

/// Reads the name of a bus.
fn bus_name(value: &TomlValue<'_>, found: &mut Diagnostics) -> Option<String> {
    let name = value.string(found)?.value;
    if !is_bus_name(name) {
        let hint = "use 1 to 32 characters, without blanks, `<` and `>`";
        value.wrong(
            format!("`{name}` is not a valid name of a bus"),
            hint,
            found,
        );
        return None;
    }
    Some(name.to_owned())
}

/// The settings of a port with socketcand's protocol.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SocketcandSettings {
    listen: Option<SocketAddr>,
    connect: Option<PeerAddress>,
    name: String,
    allow: Option<Vec<AddressRange>>,
    clients: u32,
    beacon: Option<SocketAddr>,
    queue: u32,
}

impl SocketcandSettings {
    fn parse(port: &str, table: &mut TomlTable<'_>, found: &mut Diagnostics) -> Self {
        let keys = SocketcandKeys::read(table, port, found);
        stream::check_sides(table, "29536", found);
        if keys.connect.is_some() && table.has("beacon") {
            let hint = "leave it out, or replace `connect` by `listen`";
            table.wrong("beacon", "`beacon` is for a server", hint, found);
        }
        if keys.listen.is_some() && keys.allow.is_none() {
            stream::warn_of_strangers(table, keys.listen, found);
        }
        Self {
            listen: keys.listen,
            connect: keys.connect,
            name: keys.name,
            allow: keys.allow,
            clients: keys.clients,
            beacon: keys.beacon,
            queue: keys.queue,
        }
    }
}

/// A client cannot send error frames.
fn client_carries(frame: &FrameRef<'_>) -> bool {
    carries(frame) && !frame.id().is_err()
}

impl PortSettings for SocketcandSettings {
    fn kind(&self) -> &'static str {
        KEYWORD
    }

    fn network_link(&self) -> Option<NetworkLink> {
        Some(NetworkLink {
            protocol: format!("socketcand {}", self.name),
            listens: self.listen,
            connects: self.connect.as_ref().and_then(PeerAddress::number),
            both_ways: true,
        })
    }

    fn passes(&self, kind: Kind) -> FramePassage {
        FramePassage::by_data_phase(kind, false)
    }

    fn peer_limits(&self) -> PeerLimits {
        PeerLimits {
            remote: false,
            // A client sends without a time stamp.
            stamps: self.listen.is_some(),
        }
    }

    fn exclusive(&self) -> Option<ExclusiveResource> {
        let listen = self.listen?;
        let hint = "give each port a `name` of its own, or another address";
        let what = format!("bus name `{}` at TCP address {listen}", self.name);
        Some(ExclusiveResource::new(what, hint))
    }

    fn describe(&self) -> String {
        let name = &self.name;
        match (self.listen, &self.connect) {
            (Some(listen), _) => {
                let beacon = self.beacon.map(|to| format!("; beacons to {to}"));
                format!(
                    "socketcand, serves `{name}` at {listen}, clients: {}{}{}",
                    self.clients,
                    allow_words(self.allow.as_deref()),
                    beacon.unwrap_or_default()
                )
            }
            (None, connect) => {
                let connect = connect
                    .as_ref()
                    .map(ToString::to_string)
                    .unwrap_or_default();
                format!("socketcand, opens `{name}` at {connect}")
            }
        }
    }

    fn open(&self, port: &str, opener: &mut PortOpener) -> Result<Halves, PortError> {
        let serves = self.listen.is_some();
        let rules = StreamRules {
            carries: if serves { carries } else { client_carries },
            settle: if serves { SETTLE } else { 0 },
            clients: self.clients as usize,
            queue: self.queue as usize,
            urgent: Vec::new(),
            epoch: opener.epoch(),
        };
        let side = match (self.listen, &self.connect) {
            (Some(listen), _) => {
                let session = Box::new(|| Box::new(SocketcandServer::default()) as _);
                StreamSide::Server {
                    hub: Listeners::at(opener, port, KEYWORD, listen, session)?,
                    bus: self.name.clone(),
                    settings: HubSettings {
                        allow: self.allow.clone(),
                        clients: self.clients as usize,
                        beacon: self.beacon,
                    },
                }
            }
            (None, connect) => {
                let name = self.name.clone();
                StreamSide::Client {
                    peers: stream::resolve(port, connect.as_ref())?,
                    session: Box::new(move || Box::new(SocketcandClient::new(&name))),
                }
            }
        };
        stream::halves(port, side, rules, opener)
    }
}
