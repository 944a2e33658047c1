//! `kind = "slcan"`: text lines over TCP, or at a serial device.
//!
//! docs/decisions/0035-slcan.md has the reasons why the kernel's driver is not used.

use crate::kind::{ExclusiveResource, FramePassage, PeerLimits, PortSettings, port_kind};
use crate::network::address::{AddressRange, allow, allow_words};
use crate::network::endpoint::{PeerAddress, listen};
use crate::network::stream::{
    self, HubSettings, Listeners, SerialDevice, StreamPeer, StreamRules, StreamSide,
};
use crate::{Halves, NetworkLink, NodeStandIn, PortError, PortOpener, SimulatedPlace, StandIn};
use config::{Diagnostics, TomlTable, TomlValue, ValueShape, read};
use frame::Kind;
use frame::wire::BitRate;
use net::slcan::{BIT_RATES, SlcanClient, SlcanServer, carries};
use std::net::SocketAddr;

port_kind! {
    /// The kind of ports with slcan over TCP or at a serial device.
    SlcanPorts = "slcan", SlcanKeys::key_specs(),
        |_, table, found| SlcanSettings::parse(table, found);
}

config::settings! {
    /// The keys of a port with slcan over TCP.
    struct SlcanKeys {
        /// Where clients connect: a port of the loopback interface, or an address and a port. A
        /// port has one of `device`, `listen` and `connect`.
        listen: Option<SocketAddr> = None => listen(), value "port, or `\"ADDRESS:PORT\"`",
            default "none",
            not "bind" "listen_address";
        /// The adapter to connect to, again and again.
        connect: Option<PeerAddress> = None => PeerAddress::key(), value "`\"HOST:PORT\"`",
            default "none",
            not "remote" "host" "server";
        /// The serial device of an adapter, such as `/dev/ttyACM0`, or a path below
        /// `/dev/serial/by-id`, which stays the same. The port opens it for itself alone, again
        /// when it was unplugged.
        device: Option<String> = None => read::by(|| ValueShape::Text, device),
            value "path", default "none", not "channel" "tty" "port" "serial" "slcan";
        /// With `device`: the speed of the serial line, bit/s. Adapters that are USB devices
        /// themselves ignore it.
        serial_speed: Option<u32> = None => read::bitrate(), default "115200 bit/s",
            not "tty_baudrate" "ttybaudrate" "uart" "serial_baudrate";
        /// Clients that are allowed: addresses, or ranges such as `"192.0.2.0/24"`.
        allow: Option<Vec<AddressRange>> = None => allow(), value "list", default "all",
            not "peers" "whitelist" "allow_from";
        /// Number of clients at the same time.
        clients: u32 = 16 => read::integer(1..=1024u32), not "max_clients";
        /// With `device` or `connect`: the bit rate that the adapter is set to, one of 10, 20, 50,
        /// 100, 125, 250, 500, 800 kbit/s and 1 Mbit/s.
        bitrate: Option<u32> = None => read::bitrate(), default "the adapter's",
            not "rate" "speed" "baud" "baudrate";
        /// Number of frames that wait for each connection. A full queue drops the oldest frame.
        queue: u32 = 1024 => crate::queue(), not "queue_length" "buffer";
    }
}

/// The speed of a serial line, if the file gives none, bit/s: that of most adapters.
const SERIAL_SPEED: u32 = 115_200;

/// Reads the path of a serial device.
fn device(value: &TomlValue<'_>, found: &mut Diagnostics) -> Option<String> {
    let path = value.string(found)?.value;
    if !path.starts_with('/') || path.contains('\0') {
        let hint = "write a path such as \"/dev/ttyACM0\"; an adapter in a network is `connect`";
        value.wrong("`device` is the path of a serial device", hint, found);
        return None;
    }
    Some(path.to_owned())
}

/// Checks that a port has one other side.
fn check_sides(table: &TomlTable<'_>, found: &mut Diagnostics) {
    if table.has("device") {
        for key in ["listen", "connect", "allow", "clients"] {
            if table.has(key) {
                let message = format!("`{key}` is for a port without `device`");
                table.wrong(key, message, "leave one of the two out", found);
            }
        }
        return;
    }
    stream::check_sides(table, "3333", found);
    if table.has("serial_speed") {
        let message = "`serial_speed` is for a port with `device`";
        table.wrong("serial_speed", message, "leave it out", found);
    }
}

/// The settings of a port with slcan.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SlcanSettings {
    listen: Option<SocketAddr>,
    connect: Option<PeerAddress>,
    device: Option<SerialDevice>,
    allow: Option<Vec<AddressRange>>,
    clients: u32,
    bitrate: Option<u32>,
    queue: u32,
}

impl SlcanSettings {
    fn parse(table: &mut TomlTable<'_>, found: &mut Diagnostics) -> Self {
        let keys = SlcanKeys::read(table, found);
        check_sides(table, found);
        if keys.listen.is_some() {
            if keys.bitrate.is_some() {
                let hint = "leave it out: clients set a bit rate, and the bus behind the gateway has its own";
                table.wrong(
                    "bitrate",
                    "`bitrate` is for a port with `device` or `connect`",
                    hint,
                    found,
                );
            }
            if keys.allow.is_none() {
                stream::warn_of_strangers(table, keys.listen, found);
            }
        } else if keys.bitrate.is_some_and(|rate| !BIT_RATES.contains(&rate)) {
            let hint = "slcan has 10, 20, 50, 100, 125, 250, 500, 800 kbit/s and 1 Mbit/s, such as \"500k\"";
            table.wrong("bitrate", "slcan has no such bit rate", hint, found);
        }
        Self {
            listen: keys.listen,
            connect: keys.connect,
            device: keys.device.map(|path| SerialDevice {
                path,
                speed: keys.serial_speed.unwrap_or(SERIAL_SPEED),
            }),
            allow: keys.allow,
            clients: keys.clients,
            bitrate: keys.bitrate,
            queue: keys.queue,
        }
    }
}

impl PortSettings for SlcanSettings {
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
        Some(NetworkLink {
            protocol: "slcan".to_owned(),
            listens: self.listen,
            connects: self.connect.as_ref().and_then(PeerAddress::number),
            both_ways: true,
        })
    }

    fn exclusive(&self) -> Option<ExclusiveResource> {
        if let Some(device) = &self.device {
            let hint = "use one port: a port both receives and sends";
            return Some(ExclusiveResource::new(device.to_string(), hint));
        }
        let listen = self.listen?;
        let hint =
            "each port of this kind has a port number of its own: slcan has no names of buses";
        Some(ExclusiveResource::new(
            format!("TCP address {listen}"),
            hint,
        ))
    }

    /// An adapter is a controller on a bus; a program is not.
    fn stand_in(&self, place: SimulatedPlace<'_>) -> StandIn {
        if self.listen.is_some() {
            return StandIn::Nothing("whose other side is another program or machine");
        }
        StandIn::Node(NodeStandIn {
            rate: self.bitrate.and_then(|rate| BitRate::new(rate, None).ok()),
            ..NodeStandIn::new(place.port, self.queue)
        })
    }

    fn describe(&self) -> String {
        let allow = allow_words(self.allow.as_deref());
        match (self.listen, &self.connect) {
            (Some(listen), _) => {
                format!(
                    "slcan, listens at {listen}, clients: {}{allow}",
                    self.clients
                )
            }
            (None, connect) => {
                let to = match (&self.device, connect) {
                    (Some(device), _) => format!("adapter at {device}"),
                    (None, Some(connect)) => format!("connects to {connect}"),
                    (None, None) => String::new(),
                };
                let rate = self
                    .bitrate
                    .map(|rate| format!(" at {} kbit/s", rate / 1000));
                format!("slcan, {to}{}", rate.unwrap_or_default())
            }
        }
    }

    fn open(&self, port: &str, opener: &mut PortOpener) -> Result<Halves, PortError> {
        let rules = StreamRules {
            carries,
            settle: 0,
            clients: self.clients as usize,
            queue: self.queue as usize,
            urgent: Vec::new(),
            epoch: opener.epoch(),
        };
        let side = match (self.listen, &self.connect) {
            (Some(listen), _) => {
                let session = Box::new(|| Box::new(SlcanServer::default()) as _);
                StreamSide::Server {
                    hub: Listeners::at(opener, port, KEYWORD, listen, session)?,
                    bus: String::new(),
                    settings: HubSettings {
                        allow: self.allow.clone(),
                        clients: self.clients as usize,
                        beacon: None,
                    },
                }
            }
            (None, connect) => {
                let bitrate = self.bitrate;
                StreamSide::Client {
                    peers: match &self.device {
                        Some(device) => vec![StreamPeer::Device(device.clone())],
                        None => stream::resolve(port, connect.as_ref())?,
                    },
                    session: Box::new(move || Box::new(SlcanClient::new(bitrate))),
                }
            }
        };
        stream::halves(port, side, rules, opener)
    }
}
