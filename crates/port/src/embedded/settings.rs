//! `kind = "bus"`: a node on a bus of the embedded bus model.

use super::join::join;
use super::world::BusWorld;
use crate::kind::{
    FramePassage, LONGEST_NAME, PlacedPort, PortKind, PortSettings, queue, queue_key,
};
use crate::{Halves, PortError, PortOpener, QueueSettings, QueueSize, SourcePace};
use bus::{BusConfig, NodeConfig};
use config::{Diagnostic, Diagnostics, KeyMisnomer, KeySpec, SpannedValue, TomlTable, ValueShape};
use frame::{Kind, Nanos, dlc};
use std::collections::HashMap;
use std::ops::RangeInclusive;
use std::sync::Arc;

/// The kind of nodes on buses of the embedded bus model.
#[derive(Clone, Copy, Debug)]
pub struct EmbeddedBus;

impl PortKind for EmbeddedBus {
    fn keyword(&self) -> &'static str {
        KEYWORD
    }

    fn keys(&self) -> Option<Vec<KeySpec>> {
        Some(keys())
    }

    fn parse(
        &self,
        port: &str,
        table: &mut TomlTable<'_>,
        found: &mut Diagnostics,
    ) -> Arc<dyn PortSettings> {
        Arc::new(BusSettings::parse(port, table, found))
    }

    fn check(&self, ports: &[PlacedPort<'_>], found: &mut Diagnostics) {
        let mut buses: HashMap<&str, (&str, &BusSettings)> = HashMap::new();
        for port in ports {
            let Some(settings) = port.settings.downcast_ref::<BusSettings>() else {
                continue;
            };
            let bus = settings.bus.as_str();
            let (other, first) = *buses.entry(bus).or_insert((port.name, settings));
            if (first.bitrate, first.data_bitrate) != (settings.bitrate, settings.data_bitrate) {
                let message = format!(
                    "ports `{other}` and `{}` share bus `{bus}` and do not agree on its bit rate",
                    port.name
                );
                let hint = "give both the same `bitrate` and `data_bitrate`";
                found.push(Diagnostic::error(port.span.clone(), message).hint(hint));
            }
        }
    }
}

const KEYWORD: &str = "bus";

/// The lowest nominal bit rate, bits per second; lower values are most likely a wrong unit.
const LOWEST: u32 = 5_000;
/// The highest nominal bit rate, bits per second (ISO 11898-1).
const HIGHEST: u32 = 1_000_000;
/// The highest bit rate of the data phase, bits per second (CAN FD with SIC transceivers).
const HIGHEST_DATA: u32 = 8_000_000;

/// Time from bus-off to the restart of a node, ns: as `restart-ms 100` of `ip link`, which most
/// set-ups of CAN interfaces use.
const RESTART: Nanos = 100_000_000;

/// The settings of a node on a bus of the embedded bus model.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BusSettings {
    /// Name of the bus; ports with the same name share a bus. By default the port's name.
    pub bus: String,
    /// Nominal bit rate in bits per second, 5000 to 1000000; default 500000. All ports on a bus
    /// agree on it.
    pub bitrate: u32,
    /// Bit rate of the data phase in bits per second, up to 8000000, at least the nominal one;
    /// makes the bus an FD bus. All ports on a bus agree on it.
    pub data_bitrate: Option<u32>,
    /// Number of frames that can wait in front of the transmit mailboxes; 1 to 65536, default 10
    /// (Linux's queue length of a CAN interface).
    pub queue: u32,
    /// Number of transmit mailboxes, from which the highest priority goes first; 1 to 32, default 3
    /// (as the MSCAN controllers of the papers have).
    pub mailboxes: u8,
}

/// Range of the number of transmit mailboxes.
const MAILBOXES: RangeInclusive<i64> = 1..=32;

/// Names of these settings in other tools.
const MISNOMERS: &[KeyMisnomer] = &[
    KeyMisnomer::of(
        "bus",
        &["channel", "name", "interface", "device", "network"],
    ),
    KeyMisnomer::of("bitrate", &["rate", "speed", "baud", "baudrate"]),
    KeyMisnomer::of(
        "data_bitrate",
        &["dbitrate", "fd_bitrate", "data_rate", "data_speed"],
    ),
    KeyMisnomer::of("queue", &["txqueuelen", "queue_length", "queue_size"]),
    KeyMisnomer::of("mailboxes", &["buffers", "tx_buffers", "transmit_buffers"]),
];

/// Returns the keys that [`BusSettings::parse`] reads, and those of the transmit queue.
pub(crate) fn keys() -> Vec<KeySpec> {
    let own = vec![
        KeySpec::new(
            "bus",
            ValueShape::Text,
            "The bus's name; by default the port's. Ports with the same name share it.",
        ),
        KeySpec::new(
            "bitrate",
            ValueShape::Bitrate,
            "Nominal bit rate, such as \"500k\", which is the default.",
        ),
        KeySpec::new(
            "data_bitrate",
            ValueShape::Bitrate,
            "Bit rate of the data phase, such as \"2M\"; with it, it is an FD bus.",
        ),
        queue_key("Frames that wait for a mailbox. Default 10."),
        KeySpec::new(
            "mailboxes",
            ValueShape::Integer(MAILBOXES),
            "Transmit mailboxes. Default 3.",
        ),
    ];
    [own, QueueSettings::all_keys()].concat()
}

impl BusSettings {
    pub(crate) fn parse(port: &str, table: &mut TomlTable<'_>, found: &mut Diagnostics) -> Self {
        table.misnomers(MISNOMERS);
        let bus = table.string("bus", found);
        if let Some(name) = &bus
            && (name.value.is_empty() || name.value.len() > LONGEST_NAME)
        {
            let message = format!("the name of a bus has 1 to {} characters", LONGEST_NAME);
            found.push(Diagnostic::error(name.span.clone(), message));
        }
        let bitrate = table.bitrate("bitrate", found);
        if let Some(rate) = &bitrate {
            within(rate, "bitrate", LOWEST, HIGHEST, found);
        }
        let nominal = bitrate.map_or(500_000, |rate| rate.value);
        let data_bitrate = table.bitrate("data_bitrate", found);
        if let Some(rate) = &data_bitrate
            && within(rate, "data_bitrate", LOWEST, HIGHEST_DATA, found)
            && rate.value < nominal
        {
            let message = "the data phase cannot be slower than the arbitration phase";
            let hint = format!("`bitrate` is {}", words(nominal));
            found.push(Diagnostic::error(rate.span.clone(), message).hint(hint));
        }
        let queue = queue(table, 10, found);
        let mailboxes = table
            .integer("mailboxes", MAILBOXES, found)
            .map_or(3, |n| n.value as u8);
        Self {
            bus: bus.map_or(port, |b| b.value).to_owned(),
            bitrate: nominal,
            data_bitrate: data_bitrate.map(|rate| rate.value),
            queue,
            mailboxes,
        }
    }
}

impl PortSettings for BusSettings {
    fn bus(&self) -> Option<String> {
        Some(format!("bus `{}`", self.bus))
    }

    fn passes(&self, kind: Kind) -> FramePassage {
        FramePassage::by_data_phase(kind, self.data_bitrate.is_some())
    }

    fn transmit_queue(&self) -> Option<QueueSize> {
        Some(QueueSize {
            frames: self.queue as usize,
            longest: dlc::FD_MAX,
        })
    }

    fn kind(&self) -> &'static str {
        KEYWORD
    }

    fn describe(&self) -> String {
        let data = self
            .data_bitrate
            .map(|rate| format!(", data phase {}", words(rate)))
            .unwrap_or_default();
        format!(
            "embedded bus {} at {}{data}; {} mailboxes, up to {} frames wait",
            self.bus,
            words(self.bitrate),
            self.mailboxes,
            self.queue
        )
    }

    fn open(&self, port: &str, opener: &mut PortOpener) -> Result<Halves, PortError> {
        let world = world(opener);
        join(&world, port, &self.bus, self.config(), self.node(port))
    }
}

/// Returns the world of a gateway's buses, which keeps pace with its clock.
pub(crate) fn world(opener: &mut PortOpener) -> BusWorld {
    let started = opener.started();
    let world = opener.shared(|| {
        let world = BusWorld::new();
        world.pace(SourcePace::real_time(started, 0));
        world
    });
    world.clone()
}

impl BusSettings {
    /// Returns the configuration of its bus.
    pub(crate) fn config(&self) -> BusConfig {
        match self.data_bitrate {
            Some(data) => BusConfig::fd(self.bitrate, data),
            None => BusConfig::classic(self.bitrate),
        }
    }

    /// Returns the configuration of its node.
    pub(crate) fn node(&self, port: &str) -> NodeConfig {
        NodeConfig {
            mailboxes: self.mailboxes,
            queue: self.queue as usize,
            fd: self.data_bitrate.is_some(),
            restart: Some(RESTART),
            ..NodeConfig::new(port)
        }
    }
}

fn within(
    rate: &SpannedValue<u32>,
    key: &str,
    low: u32,
    high: u32,
    found: &mut Diagnostics,
) -> bool {
    if (low..=high).contains(&rate.value) {
        return true;
    }
    let message = format!("`{key}` must be from {} to {}", words(low), words(high));
    let label = format!("this is {}", words(rate.value));
    found.push(Diagnostic::error(rate.span.clone(), message).label(label));
    false
}

fn words(rate: u32) -> String {
    if rate >= 1_000_000 && rate.is_multiple_of(100_000) {
        format!("{} Mbit/s", f64::from(rate) / 1e6)
    } else if rate >= 1000 {
        format!("{} kbit/s", f64::from(rate) / 1e3)
    } else {
        format!("{rate} bit/s")
    }
}
