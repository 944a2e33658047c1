//! The tables `[ports.NAME]`.

use super::DefaultRates;
use super::databases::FileDatabases;
use super::kinds::{self, PortKeys};
use crate::world::RESTART;
use config::read::{self, ReadKey};
use config::{Diagnostic, Diagnostics, SpannedValue, TomlTable, TomlValue, did_you_mean};
use engine::wrap::{QueueOrder, WhenFull};
use frame::Nanos;
use frame::wire::BitRate;
use route::config::NamedDatabase;
use std::ops::Range;
use std::sync::Arc;

/// Maximum number of ports, and of frames in a port's queue.
const MOST_PORTS: usize = 1024;
const LONGEST_QUEUE: u32 = 65_536;

/// Linux's default for the queue of a CAN interface, and the number of a controller's mailboxes.
const QUEUE: u32 = 10;
const MAILBOXES: u8 = 3;

const ORDERS: [(&str, QueueOrder); 2] = [
    ("fifo", QueueOrder::Fifo),
    ("priority", QueueOrder::Priority),
];
const WHEN_FULL: [(&str, WhenFull); 3] = [
    ("refuse", WhenFull::Refuse),
    ("drop-oldest", WhenFull::DropOldest),
    ("wait", WhenFull::Wait),
];

/// The rules of a transmit queue.
#[derive(Clone, Copy, Debug)]
pub(super) struct QueueKeys {
    pub(super) order: QueueOrder,
    pub(super) max_age: Option<Nanos>,
    pub(super) when_full: WhenFull,
}

/// A port as a node of a bus.
#[derive(Clone, Debug)]
pub(super) struct FilePort {
    pub(super) name: String,
    pub(super) bus: String,
    pub(super) bitrate: u32,
    pub(super) data_bitrate: Option<u32>,
    pub(super) queue: usize,
    pub(super) mailboxes: u8,
    pub(super) restart: Option<Nanos>,
    pub(super) one_shot: bool,
    pub(super) listen_only: bool,
    pub(super) queueing: Option<QueueKeys>,
}

/// The ports of a file.
#[derive(Default)]
pub(super) struct FilePorts {
    /// Their names, also of ports with mistakes, which routes may name.
    pub(super) names: Vec<String>,
    /// The databases of all of them, by index.
    pub(super) databases: Vec<Option<Arc<NamedDatabase>>>,
    /// The ports without mistakes; as many as names if there are no errors.
    pub(super) all: Vec<FilePort>,
}

impl FilePorts {
    /// Reads the tables.
    pub(super) fn parse(
        root: &mut TomlTable<'_>,
        rates: DefaultRates,
        databases: &FileDatabases,
        found: &mut Diagnostics,
    ) -> Self {
        let mut ports = Self::default();
        let Some(given) = root.need("ports", found) else {
            return ports;
        };
        let Some(table) = given.table("[ports]", found) else {
            return ports;
        };
        let tables = table.all();
        if tables.len() > MOST_PORTS {
            let message = format!(
                "the file has {} ports; the maximum is {MOST_PORTS}",
                tables.len()
            );
            found.push(Diagnostic::error(table.span(), message));
            return ports;
        }
        let mut places: Vec<Range<usize>> = Vec::new();
        for (name, value) in tables {
            ports.names.push(name.value.to_owned());
            ports.databases.push(database(&value, databases, found));
            if let Some(port) = port(&name, &value, rates, found) {
                ports.all.push(port);
                places.push(name.span);
            }
        }
        ports.check_rates(&places, found);
        ports
    }

    /// Reports ports that share a bus and have different bit rates.
    fn check_rates(&self, places: &[Range<usize>], found: &mut Diagnostics) {
        for (port, place) in self.all.iter().zip(places) {
            let first = self.all.iter().find(|other| other.bus == port.bus);
            let Some(first) = first else { continue };
            if (first.bitrate, first.data_bitrate) != (port.bitrate, port.data_bitrate) {
                let message = format!(
                    "ports `{}` and `{}` share bus `{}` and have different bit rates",
                    first.name, port.name, port.bus
                );
                let hint = "give both the same `bitrate` and `data_bitrate`";
                found.push(Diagnostic::error(place.clone(), message).hint(hint));
            }
        }
    }
}

/// The table of a port, of which only the keys of its kind are read.
struct PortTable<'t> {
    table: TomlTable<'t>,
    keys: &'static PortKeys,
}

impl<'t> PortTable<'t> {
    fn get(&mut self, key: &'static str) -> Option<TomlValue<'t>> {
        match self.keys.uses(key) {
            true => self.table.get(key),
            false => None,
        }
    }

    fn read<T>(
        &mut self,
        key: &'static str,
        reader: &impl ReadKey<'t, Value = T>,
        found: &mut Diagnostics,
    ) -> Option<T> {
        let value = self.get(key)?;
        reader.read(&value, self.table.place(), found)
    }
}

/// Returns the database of a port, also of one with mistakes: routes may name its messages.
fn database(
    port: &TomlValue<'_>,
    databases: &FileDatabases,
    found: &mut Diagnostics,
) -> Option<Arc<NamedDatabase>> {
    // The reader of the port reports a value that is no table.
    let mut table = port.table("", &mut Diagnostics::new())?;
    databases.find(&table.get("database")?, found)
}

fn port(
    name: &SpannedValue<&str>,
    value: &TomlValue<'_>,
    rates: DefaultRates,
    found: &mut Diagnostics,
) -> Option<FilePort> {
    let mut table = value.table(format!("port `{}`", name.value), found)?;
    let kind = table.need("kind", found)?;
    let keys = known_kind(&kind, found)?;
    for key in keys.ignored {
        let _ = table.get(key);
    }
    let mut table = PortTable { table, keys };
    if let Some(faults) = table.get("faults") {
        let message = "`faults` are not available in Python";
        let hint = "leave them out, and disturb frames by disturb_next() of a bus object";
        found.push(Diagnostic::error(faults.span(), message).hint(hint));
    }
    let bus = table.read("bus", &read::text(), found);
    let (bitrate, data_bitrate) = bit_rates(&mut table, rates, found);
    let queue = read::integer(1..=LONGEST_QUEUE);
    let queue = table.read("queue", &queue, found).unwrap_or(QUEUE);
    let mailboxes = table.read("mailboxes", &read::integer(1..=32u8), found);
    for key in ["database", "nodes"] {
        let _ = table.get(key);
    }
    let port = FilePort {
        name: name.value.to_owned(),
        bus: bus.unwrap_or_else(|| name.value.to_owned()),
        bitrate,
        data_bitrate,
        queue: queue as usize,
        mailboxes: mailboxes.unwrap_or(MAILBOXES),
        restart: restart(&mut table, found),
        one_shot: table
            .read("one_shot", &read::boolean(), found)
            .unwrap_or_default(),
        listen_only: table
            .read("listen_only", &read::boolean(), found)
            .unwrap_or_default(),
        queueing: queueing(&mut table, found),
    };
    table.table.finish(found);
    Some(port)
}

fn known_kind(kind: &TomlValue<'_>, found: &mut Diagnostics) -> Option<&'static PortKeys> {
    let word = kind.string(found)?.value;
    if let Some(keys) = PortKeys::find(word) {
        return Some(keys);
    }
    if word == "messages" {
        let message = "ports of kind \"messages\" are not available in Python";
        let hint = "leave the port and its routes out, and send its messages by send_periodic()";
        kind.wrong(message, hint, found);
        return None;
    }
    if word == "split" {
        let message = "ports of kind \"split\" are not available in Python";
        let hint = "leave the port and its routes out";
        kind.wrong(message, hint, found);
        return None;
    }
    let hint = did_you_mean(word, kinds::ALL.iter().map(|keys| keys.kind));
    kind.wrong(format!("there is no kind of port \"{word}\""), hint, found);
    None
}

fn bit_rates(
    table: &mut PortTable<'_>,
    rates: DefaultRates,
    found: &mut Diagnostics,
) -> (u32, Option<u32>) {
    let nominal = table.read("bitrate", &read::bitrate(), found);
    let data = table.read("data_bitrate", &read::bitrate(), found);
    let (bitrate, data) = match nominal {
        Some(nominal) => (nominal, data),
        None => (rates.nominal, data.or(rates.data)),
    };
    let given = ["data_bitrate", "bitrate"];
    let key = given.into_iter().find(|key| table.table.has(key));
    if let (Err(error), Some(key)) = (BitRate::new(bitrate, data), key) {
        let hint = match nominal {
            Some(_) => "write it as 500000, \"500k\" or \"1M\"".to_owned(),
            None => format!("`bitrate` is {bitrate}, as the bus object has it"),
        };
        table.table.wrong(key, error.to_string(), hint, found);
    }
    (bitrate, data)
}

/// Reads the time from bus-off to the restart.
fn restart(table: &mut PortTable<'_>, found: &mut Diagnostics) -> Option<Nanos> {
    match table.get("restart") {
        None => Some(RESTART),
        Some(value) if value.as_str() == Some("never") => None,
        Some(value) => Some(value.duration(found)?.value),
    }
}

/// Reads the rules of the transmit queue; `None` for those of a node.
fn queueing(table: &mut PortTable<'_>, found: &mut Diagnostics) -> Option<QueueKeys> {
    let order = table.read("order", &read::words(&ORDERS), found);
    let max_age = table.read("max_age", &read::duration(), found);
    let when_full = table.read("when_full", &read::words(&WHEN_FULL), found);
    if max_age == Some(0) {
        let hint = "no frame would ever be sent; leave `max_age` out, and frames wait";
        let message = "`max_age` must be above 0";
        table.table.wrong("max_age", message, hint, found);
    }
    let keys = QueueKeys {
        order: order.unwrap_or_default(),
        max_age,
        when_full: when_full.unwrap_or_default(),
    };
    let is_own = keys.order == QueueOrder::Fifo && keys.when_full == WhenFull::Refuse;
    (!is_own || max_age.is_some()).then_some(keys)
}
