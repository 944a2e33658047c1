//! The file of settings.

use crate::class::ClassRules;
use crate::key::{BusKey, BusSide};
use crate::values::{chunk, endpoint_shape, endpoints, ids, ids_shape, stream};
use config::read::{self, ReadKey, address, by};
use config::{Diagnostics, SourceText, TomlDocument, TomlTable, ValueShape};
use net::IdRange;
use net::ieee1722::{DEFAULT_STREAM, MessageVersion};
use std::net::SocketAddr;
use std::time::Duration;

/// The directions of a bus.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum BusDirection {
    /// Frames are published and received.
    #[default]
    Both,
    /// Frames of the gateway are published.
    Publish,
    /// Frames are received for the gateway.
    Receive,
}

impl BusDirection {
    const WORDS: [(&'static str, Self); 3] = [
        ("both", Self::Both),
        ("publish", Self::Publish),
        ("receive", Self::Receive),
    ];

    /// Returns whether frames of the gateway are published.
    #[must_use]
    pub fn publishes(self) -> bool {
        self != Self::Receive
    }

    /// Returns whether frames are received for the gateway.
    #[must_use]
    pub fn receives(self) -> bool {
        self != Self::Publish
    }
}

const VERSIONS: std::ops::RangeInclusive<u8> = 1..=2;

config::settings! {
    /// The keys of `[zenoh]`.
    #[derive(Clone, PartialEq, Eq, Debug)]
    pub struct ZenohKeys {
        /// A file of Zenoh's own (JSON5): TLS, user and password, queues, any endpoint. A relative
        /// path starts at the folder of this file.
        pub config: Option<String> = None => read::text(), value "path", default "none";
        /// Routers to connect to, one of them: `"tcp/HOST:PORT"`, `"tls/HOST:PORT"`.
        pub connect: Vec<String> = Vec::new() => by(endpoint_shape, endpoints),
            value "endpoint or list", default "those of `config`",
            not "endpoint" "endpoints" "router" "server";
    }
}

config::settings! {
    /// The keys of a table `[[buses]]`.
    #[derive(Clone, PartialEq, Eq, Debug)]
    pub struct BusKeys {
        /// The name of the bus, a chunk of its keys: letters, digits, `.`, `_` and `-`.
        pub name: String = String::new() => chunk(), default "required", needed "such as \"can0\"";
        /// The vehicle that has the bus.
        pub vehicle: Option<String> = None => chunk(), default "the file's `vehicle`";
        /// The side of this program: with the gateway in the vehicle, or at the far end.
        pub side: BusSide = BusSide::Vehicle => read::words(&BusSide::WORDS),
            default "`\"vehicle\"`";
        /// Whether frames are published, received or both.
        pub direction: BusDirection = BusDirection::Both => read::words(&BusDirection::WORDS),
            default "`\"both\"`";
        /// The address at which the gateway's datagrams come in, the `connect` of its port.
        pub listen: Option<SocketAddr> = None => address(), value "`\"ADDRESS:PORT\"`",
            default "required", needed "such as \"127.0.0.1:17321\"";
        /// The address of the gateway's port, its `listen`. Datagrams from others are refused.
        pub gateway: Option<SocketAddr> = None => address(), value "`\"ADDRESS:PORT\"`",
            default "required", needed "such as \"127.0.0.1:17320\"",
            not "connect" "port" "peer";
        /// The stream of the gateway's port, 16 hex digits.
        pub stream: u64 = DEFAULT_STREAM => by(|| ValueShape::Text, stream),
            value "16 hex digits", default "`\"AABBCCDDEEFF0001\"`";
        /// The number of the bus of the gateway's port.
        pub bus: u16 = 0 => read::integer(0..=2047_u16);
        /// The version of the messages, in samples and to the gateway: 2 has CAN XL.
        pub version: u8 = 1 => read::integer(VERSIONS), value "1, 2";
        /// Identifiers, in hex, of frames that leave first, with Zenoh's priority 1 (real-time).
        pub urgent: Vec<IdRange> = Vec::new() => by(ids_shape, ids),
            value "list", default "none";
        /// Identifiers of frames that leave last, with priority 7 (background). All others have
        /// priority 5 (data).
        pub bulk: Vec<IdRange> = Vec::new() => by(ids_shape, ids),
            value "list", default "none", not "background" "low";
        /// Identifiers that may go to the gateway; others are denied.
        pub accept: Vec<IdRange> = Vec::new() => by(ids_shape, ids),
            value "list", default "all", not "allow" "ids" "filter";
        /// Frames older than this are dropped: by the time that they waited here, and, when they
        /// arrive, by their stamps. The clocks of both machines must follow a common one (NTP,
        /// PTP).
        ///
        /// Nanoseconds.
        pub max_age: u64 = 0 => read::duration(), default "required",
            needed "such as \"200ms\": what is older must not reach a bus any more",
            not "maxage" "expiry" "ttl" "timeout";
        /// Number of samples that wait to be published.
        pub queue: u32 = 1024 => read::integer(1..=65_536_u32);
        /// The time after traffic at which a statement of what was published follows, three times,
        /// so that losses at the end of a burst are known.
        ///
        /// Nanoseconds.
        pub report: u64 = 1_000_000_000 => read::duration(), default "`\"1s\"`";
    }
}

/// The settings of a bus.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BusSettings {
    /// Its keys in Zenoh.
    pub key: BusKey,
    /// The vehicle.
    pub vehicle: String,
    /// Where the gateway's datagrams come in.
    pub listen: SocketAddr,
    /// The gateway's port.
    pub gateway: SocketAddr,
    /// The classes of identifiers.
    pub classes: ClassRules,
    /// The version of the messages.
    pub version: MessageVersion,
    /// See [`BusKeys::max_age`].
    pub max_age: Duration,
    /// See [`BusKeys::report`].
    pub report: Duration,
    /// The other keys.
    pub keys: BusKeys,
}

/// The settings of a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FleetSettings {
    /// The session.
    pub zenoh: ZenohKeys,
    /// The buses, at least one.
    pub buses: Vec<BusSettings>,
}

/// Reads a file of settings. All mistakes are in `found`; with one, there are no settings.
pub fn load(source: &SourceText, found: &mut Diagnostics) -> Option<FleetSettings> {
    let document = TomlDocument::parse(source, found);
    let mut root = document.root();
    let vehicle = root.get("vehicle");
    let vehicle = vehicle.and_then(|value| chunk().read(&value, "the file", found));
    let zenoh = match root.table("zenoh", "[zenoh]", found) {
        Some(mut table) => {
            let keys = ZenohKeys::read(&mut table, found);
            if keys.config.is_none() && keys.connect.is_empty() && !table.is_misnamed("connect") {
                table.missing(
                    "connect",
                    "such as connect = \"tls/router.example:7447\"",
                    found,
                );
            }
            table.finish(found);
            keys
        }
        None => {
            root.missing(
                "zenoh",
                "add [zenoh] with connect = \"tls/router.example:7447\"",
                found,
            );
            ZenohKeys::defaults()
        }
    };
    let tables = root.tables("buses", "bus", found);
    if tables.is_empty() {
        root.missing("buses", "add a table [[buses]] for each bus", found);
    }
    let mut buses: Vec<BusSettings> = Vec::new();
    for mut table in tables {
        let bus = read_bus(&mut table, vehicle.as_deref(), found);
        if let Some(bus) = bus {
            compare(&table, &bus, &buses, found);
            buses.push(bus);
        }
        table.finish(found);
    }
    root.finish(found);
    (!found.has_errors()).then_some(FleetSettings { zenoh, buses })
}

fn read_bus(
    table: &mut TomlTable<'_>,
    vehicle: Option<&str>,
    found: &mut Diagnostics,
) -> Option<BusSettings> {
    let keys = BusKeys::read(table, found);
    let own = keys.vehicle.as_deref().or(vehicle);
    if own.is_none() && !table.has("vehicle") {
        let hint = "write vehicle = \"NAME\" here, or above all tables for all buses";
        table.missing("vehicle", hint, found);
    }
    let version = match keys.version {
        1 => MessageVersion::V1,
        _ => MessageVersion::V2,
    };
    if keys.bus > version.last_bus() {
        let message = format!(
            "messages of version {} have no bus {}",
            keys.version, keys.bus
        );
        table.wrong(
            "bus",
            message,
            "take one up to 31, or add version = 2",
            found,
        );
    }
    for key in ["max_age", "report"] {
        let value = if key == "report" {
            keys.report
        } else {
            keys.max_age
        };
        if table.has(key) && value == 0 {
            table.wrong(
                key,
                format!("`{key}` is 0"),
                "write a longer time, such as \"200ms\"",
                found,
            );
        }
    }
    let vehicle = own?.to_owned();
    Some(BusSettings {
        key: BusKey::new(&vehicle, &keys.name)?,
        vehicle,
        listen: keys.listen?,
        gateway: keys.gateway?,
        classes: ClassRules {
            urgent: keys.urgent.clone(),
            bulk: keys.bulk.clone(),
        },
        version,
        max_age: Duration::from_nanos(keys.max_age),
        report: Duration::from_nanos(keys.report),
        keys,
    })
}

/// Reports what a bus has in common with one before it and must not.
fn compare(
    table: &TomlTable<'_>,
    bus: &BusSettings,
    before: &[BusSettings],
    found: &mut Diagnostics,
) {
    if before.iter().any(|other| other.listen == bus.listen) {
        let hint = "give each bus its own port, and its gateway's port the same as `connect`";
        table.wrong(
            "listen",
            format!("another bus listens at {}", bus.listen),
            hint,
            found,
        );
    }
    let is_same = |other: &&BusSettings| other.key == bus.key && other.keys.side == bus.keys.side;
    if before.iter().any(|other| is_same(&other)) {
        let name = &bus.keys.name;
        let message = format!("vehicle {} has a bus {name} already", bus.vehicle);
        table.wrong("name", message, "choose another name", found);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the mistakes in a file, as a user sees them.
    fn mistakes(text: &str) -> String {
        let source = SourceText::new("fleet.toml", text);
        let mut found = Diagnostics::new();
        assert_eq!(load(&source, &mut found), None);
        config::render(&source, found.list(), false)
    }

    const BUS: &str = "[[buses]]\nname = \"can0\"\nlisten = \"127.0.0.1:1\"\n\
                       gateway = \"127.0.0.1:2\"\nmax_age = \"1s\"\n";
    const ZENOH: &str = "[zenoh]\nconnect = \"tls/router:7447\"\n";

    #[test]
    fn mistakes_name_their_place_and_their_cure() {
        let vehicle = "vehicle = \"v1\"\n";
        for (text, place, message, cure) in [
            (String::new(), "", "`zenoh`", "tls/router.example:7447"),
            (format!("{ZENOH}{BUS}"), ":3:", "`vehicle`", "for all buses"),
            (
                format!("vehicle = \"a/b\"\n{ZENOH}{BUS}"),
                ":1:11",
                "`a/b` is not one chunk",
                "letters",
            ),
            (
                format!("{vehicle}{ZENOH}{BUS}urgent = \"800\""),
                ":9:10",
                "`800` names no",
                "100-1FF",
            ),
            (
                format!("{vehicle}{ZENOH}{BUS}stream = \"1\""),
                ":9:10",
                "not a valid stream",
                "16 hex",
            ),
            (
                format!("{vehicle}{ZENOH}{BUS}bus = 32"),
                ":9:7",
                "no bus 32",
                "version = 2",
            ),
            (
                format!("{vehicle}{ZENOH}{BUS}{BUS}"),
                ":11:",
                "listens at 127.0.0.1:1",
                "its own port",
            ),
            (
                format!("{vehicle}{ZENOH}{BUS}ttl = \"1s\""),
                ":9:1",
                "`ttl`",
                "`max_age`",
            ),
            (
                format!("{vehicle}[zenoh]\nconnect = \"host\"\n{BUS}"),
                ":3:11",
                "`host`",
                "tls/HOST:7447",
            ),
            (
                format!("{vehicle}{ZENOH}{BUS}report = \"0s\""),
                ":9:10",
                "`report` is 0",
                "longer",
            ),
        ] {
            let said = mistakes(&text);
            for part in [place, message, cure] {
                assert!(said.contains(part), "{part:?} is not in:\n{said}");
            }
        }
    }

    /// docs/fleet.md has each key with its default and its meaning.
    #[test]
    fn the_document_has_the_keys() {
        let document = include_str!("../../docs/fleet.md");
        let keys = ZenohKeys::key_specs()
            .into_iter()
            .chain(BusKeys::key_specs());
        let missing: Vec<String> = keys
            .map(|key| key.row())
            .filter(|row| !document.contains(row))
            .collect();
        assert!(
            missing.is_empty(),
            "docs/fleet.md has not these rows:\n{}",
            missing.join("\n")
        );
    }
}
