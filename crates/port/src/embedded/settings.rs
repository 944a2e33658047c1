//! `kind = "bus"`: a node on a bus of the embedded bus model.

use super::join::join;
use super::world::BusWorld;
use crate::keys::{SLOW_DATA_PHASE, queue};
use crate::kind::{FramePassage, LONGEST_NAME, PlacedPort, PortSettings, port_kind};
use crate::{Halves, PortError, PortOpener, QueueSize, SimulatedPlace, SourcePace, StandIn};
use bus::{BusConfig, NodeConfig};
use config::{Diagnostic, Diagnostics, TomlTable, TomlValue, ValueShape, read};
use frame::{Kind, Nanos, dlc};
use std::collections::HashMap;

port_kind! {
    /// The kind of nodes on buses of the embedded bus model.
    EmbeddedBus = "bus", BusSettings::key_specs(), BusSettings::parse;

    fn has_transmit_queue(&self) -> bool {
        true
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
                    "ports `{other}` and `{}` share bus `{bus}` and have different bit rates",
                    port.name
                );
                let hint = "give both the same `bitrate` and `data_bitrate`";
                found.push(Diagnostic::error(port.span.clone(), message).hint(hint));
            }
        }
    }
}

/// The lowest nominal bit rate, bits per second; lower values are most likely a wrong unit.
const LOWEST: u32 = 5_000;
/// The highest nominal bit rate, bits per second (ISO 11898-1).
const HIGHEST: u32 = 1_000_000;
/// The highest bit rate of the data phase, bits per second (CAN FD with SIC transceivers).
const HIGHEST_DATA: u32 = 8_000_000;

/// Time from bus-off to the restart of a node, ns: as `restart-ms 100` of `ip link`, which most
/// set-ups of CAN interfaces use.
const RESTART: Nanos = 100_000_000;

config::settings! {
    /// The settings of a node on a bus of the embedded bus model.
    #[derive(Clone, PartialEq, Eq, Debug)]
    pub struct BusSettings(port: &str) {
        /// The bus. Ports with the same `bus` are on the same bus.
        pub bus: String = port.to_owned() => read::by(|| ValueShape::Text, bus_name),
            value "name", default "the port's name",
            not "channel" "name" "interface" "device" "network";
        /// Nominal bit rate: `"500k"`, `"33.333k"`, `"1M"` or `500000`.
        ///
        /// In bit/s. All ports on a bus agree on it.
        pub bitrate: u32 = 500_000 => within(LOWEST, HIGHEST), value "5k–1M", default "`\"500k\"`",
            not "rate" "speed" "baud" "baudrate";
        /// Bit rate of the data phase, at least `bitrate`. With it, the bus is an FD bus.
        ///
        /// In bit/s. All ports on a bus agree on it.
        pub data_bitrate: Option<u32> = None => within(LOWEST, HIGHEST_DATA), value "up to 8M",
            not "dbitrate" "fd_bitrate" "data_rate" "data_speed";
        /// The number of frames that can wait for a mailbox. 10 is Linux's default for a CAN
        /// interface.
        pub queue: u32 = 10 => queue(), not "txqueuelen" "queue_length" "queue_size";
        /// The number of transmit mailboxes. Of the frames in them, the one with the highest
        /// priority is sent first.
        ///
        /// The MSCAN controllers of the papers have 3.
        pub mailboxes: u8 = 3 => read::integer(1..=32u8),
            not "buffers" "tx_buffers" "transmit_buffers";
    }
    and {
        /// Whether the port passes FD frames, on a bus that carries them. If not, its node
        /// tolerates them, as an FD controller behind a port for classic frames does.
        pub fd: bool = true;
        /// Whether its node only listens.
        pub listen_only: bool = false;
        /// Whether its node tries each frame only once.
        pub one_shot: bool = false;
        /// Time from bus-off to the restart of its node, ns; `None`: never.
        pub restart: Option<Nanos> = Some(RESTART);
        /// Whether traffic is replayed on its bus ([`BusWorld::replay`]), whose end is the end of
        /// the port's input.
        pub replayed: bool = false;
    }
}

impl BusSettings {
    pub(crate) fn parse(port: &str, table: &mut TomlTable<'_>, found: &mut Diagnostics) -> Self {
        let settings = Self::read(table, port, found);
        if settings
            .data_bitrate
            .is_some_and(|data| data < settings.bitrate)
        {
            let hint = format!("`bitrate` is {}", words(settings.bitrate));
            table.wrong("data_bitrate", SLOW_DATA_PHASE, hint, found);
        }
        settings
    }
}

impl PortSettings for BusSettings {
    fn bus(&self) -> Option<String> {
        Some(format!("bus `{}`", self.bus))
    }

    fn passes(&self, kind: Kind) -> FramePassage {
        FramePassage::by_data_phase(kind, self.data_bitrate.is_some() && self.fd)
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
        join(
            &world,
            port,
            &self.bus,
            self.config(),
            self.node(port),
            self.fd,
        )
    }

    fn input_ends(&self) -> bool {
        self.replayed
    }

    fn stand_in(&self, _: SimulatedPlace<'_>) -> StandIn {
        StandIn::Itself
    }
}

/// Returns the world of a gateway's buses, which keeps pace with its clock.
#[must_use]
pub fn world(opener: &mut PortOpener) -> BusWorld {
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
    #[must_use]
    pub fn config(&self) -> BusConfig {
        match self.data_bitrate {
            Some(data) => BusConfig::fd(self.bitrate, data),
            None => BusConfig::classic(self.bitrate),
        }
    }

    /// Returns the configuration of its node.
    #[must_use]
    pub fn node(&self, port: &str) -> NodeConfig {
        NodeConfig {
            mailboxes: self.mailboxes,
            queue: self.queue as usize,
            fd: self.data_bitrate.is_some(),
            listen_only: self.listen_only,
            one_shot: self.one_shot,
            restart: self.restart,
            ..NodeConfig::new(port)
        }
    }
}

fn bus_name(value: &TomlValue<'_>, found: &mut Diagnostics) -> Option<String> {
    let name = value.string(found)?.value;
    if name.is_empty() || name.len() > LONGEST_NAME {
        let message = format!("the name of a bus has 1 to {LONGEST_NAME} characters");
        value.wrong(message, "", found);
        return None;
    }
    Some(name.to_owned())
}

/// A bit rate within bounds, bit/s.
fn within<'t>(low: u32, high: u32) -> impl read::ReadKey<'t, Value = u32> {
    let read = move |value: &TomlValue<'t>, found: &mut Diagnostics| {
        let rate = value.bitrate(found)?.value;
        if (low..=high).contains(&rate) {
            return Some(rate);
        }
        let key = value.name();
        let message = format!("`{key}` must be from {} to {}", words(low), words(high));
        let label = format!("this is {}", words(rate));
        found.push(Diagnostic::error(value.span(), message).label(label));
        None
    };
    read::by(|| ValueShape::Bitrate, read)
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
