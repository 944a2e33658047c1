//! Message sets as TOML: buses, nodes, messages.
//!
//! [`load`] reads one and reports every mistake with its place. docs/bound.md describes the keys.

mod bus;
mod distances;
mod id;
mod message;
mod timeouts;
mod tunnels;

use crate::{BusSpec, Message, MessagePlace, NodeSpec, SendOrder};
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use config::{
    Diagnostic, Diagnostics, KeyMisnomer, SourceText, SpannedValue, TomlDocument, TomlTable,
};
use core::ops::Range;
use frame::Nanos;
use timeouts::ParsedTimeout;
pub use tunnels::{GatewayTunnel, PortPair};

/// Maximum number of messages in a set.
pub const MOST_MESSAGES: usize = 100_000;

/// Maximum number of buses in a set.
pub const MAX_BUSES: usize = 1_000;

/// A message set as it was read.
#[derive(Clone, Debug)]
pub struct MessageSet {
    /// The buses, in the order of the file.
    pub buses: Vec<BusSpec>,
    /// For each bus and message, the longest time between two events, ns; `None` if there is no
    /// limit.
    pub longest_periods: Vec<Vec<Option<Nanos>>>,
    /// The timeouts of receivers, in the order of the file.
    pub timeouts: Vec<ReceiverTimeout>,
    /// The networks between gateways, in the order of the file.
    pub tunnels: Vec<GatewayTunnel>,
}

/// The time for which a node waits for a message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReceiverTimeout {
    /// The message on its own bus.
    pub message: MessagePlace,
    /// The bus of the receiver: an index into [`MessageSet::buses`].
    pub bus: usize,
    /// The receiver.
    pub node: String,
    /// The time without a frame after which it regards the message as lost, ns.
    pub time: Nanos,
    /// The most frames in a row that may be lost without a timeout.
    pub losses: u32,
    /// The line in the file, from 1.
    pub line: usize,
}

/// The tables of a message set.
const TABLES: [&str; 4] = ["buses", "nodes", "messages", "tunnels"];

/// Misnomers for the tables of a message set.
const TOP: &[KeyMisnomer] = &[
    KeyMisnomer::new("buses", &["bus", "network", "networks"]).hint("write [buses.NAME]"),
    KeyMisnomer::new("nodes", &["node", "ecu", "ecus"]).hint("write [nodes.NAME]"),
    KeyMisnomer::new("messages", &["message", "frame", "frames", "signals"])
        .hint("write [[messages]]"),
    KeyMisnomer::new("tunnels", &["tunnel", "links"]).hint("write [tunnels.NAME]"),
];

/// The parts that have been read so far.
#[derive(Default)]
struct SetReader {
    buses: Vec<BusSpec>,
    /// For each node name, its bus and its index there.
    nodes: BTreeMap<String, (usize, usize)>,
    /// For each bus, the places of its messages in the file.
    spans: Vec<Vec<Range<usize>>>,
    longest_periods: Vec<Vec<Option<Nanos>>>,
    /// The timeouts; their lines are offsets in the text.
    timeouts: Vec<ReceiverTimeout>,
}

/// Reads a message set.
///
/// # Errors
/// All mistakes, sorted by place.
pub fn load(source: &SourceText) -> Result<MessageSet, Vec<Diagnostic>> {
    let mut found = Diagnostics::new();
    let document = TomlDocument::parse(source, &mut found);
    let mut root = document.root();
    root.misnomers(TOP);
    if root.is_instead("routes", &TABLES) || root.is_instead("ports", &TABLES) {
        let key = if root.is_instead("ports", &TABLES) {
            "ports"
        } else {
            "routes"
        };
        let hint =
            "`cangate bound SET.toml --gateway FILE` follows the messages of a set through it";
        root.wrong_file(
            key,
            "this is a gateway file, not a message set",
            hint,
            &mut found,
        );
        return Err(found.into_sorted());
    }
    let mut reading = SetReader::default();
    reading.read_buses(&mut root, &mut found);
    reading.read_nodes(&mut root, &mut found);
    let tunnels = read_tunnels(&mut root, &mut found);
    let messages = root.tables("messages", "message", &mut found);
    if messages.is_empty() && root.key_span("messages").is_none() {
        root.missing("messages", "describe one in [[messages]]", &mut found);
    }
    if messages.len() > MOST_MESSAGES {
        let message = format!(
            "{} messages are too many: {MOST_MESSAGES} is the most",
            messages.len()
        );
        let span = root.key_span("messages").unwrap_or_default();
        return Err([Diagnostic::error(span, message)].into());
    }
    for table in messages {
        reading.read_message(table, &mut found);
    }
    root.finish(&mut found);
    reading.same_fields(&mut found);
    if found.has_errors() {
        return Err(found.into_sorted());
    }
    for timeout in &mut reading.timeouts {
        (timeout.line, _) = source.line_column(timeout.line);
    }
    Ok(MessageSet {
        buses: reading.buses,
        longest_periods: reading.longest_periods,
        timeouts: reading.timeouts,
        tunnels,
    })
}

fn read_tunnels(root: &mut TomlTable<'_>, found: &mut Diagnostics) -> Vec<GatewayTunnel> {
    let given = root.get("tunnels");
    let Some(table) = given.and_then(|given| given.table("[tunnels]", found)) else {
        return Vec::new();
    };
    let each = table.all().into_iter().filter_map(|(name, value)| {
        let table = value.table(format!("[tunnels.{}]", name.value), found)?;
        tunnels::parse(name.value, table, name.span, found)
    });
    each.collect()
}

impl SetReader {
    fn read_buses(&mut self, root: &mut TomlTable<'_>, found: &mut Diagnostics) {
        let Some(given) = root.get("buses") else {
            root.missing(
                "buses",
                "describe one in a table such as [buses.can0]",
                found,
            );
            return;
        };
        let Some(table) = given.table("[buses]", found) else {
            return;
        };
        let all = table.all();
        if all.len() > MAX_BUSES {
            given.wrong(
                format!("{} buses are too many: {MAX_BUSES} is the most", all.len()),
                "",
                found,
            );
            return;
        }
        if all.is_empty() {
            given.wrong(
                "there is no bus",
                "describe one in a table such as [buses.can0]",
                found,
            );
        }
        for (name, value) in all {
            let place = format!("[buses.{}]", name.value);
            if let Some(table) = value.table(place, found)
                && let Some(bus) = bus::parse(name.value, table, found)
            {
                self.buses.push(bus);
                self.spans.push(Vec::new());
                self.longest_periods.push(Vec::new());
            }
        }
    }

    fn read_nodes(&mut self, root: &mut TomlTable<'_>, found: &mut Diagnostics) {
        let Some(table) = root.get("nodes").and_then(|v| v.table("[nodes]", found)) else {
            return;
        };
        for (name, value) in table.all() {
            let Some(mut table) = value.table(format!("[nodes.{}]", name.value), found) else {
                continue;
            };
            let spec = bus::node(name.value, &mut table, found);
            let bus = table.string("bus", found);
            table.finish(found);
            if let Some(bus) = self.bus(bus, &name.span, found) {
                self.add_node(spec, bus);
            }
        }
    }

    fn add_node(&mut self, spec: NodeSpec, bus: usize) -> usize {
        let name = spec.name.clone();
        let Some(nodes) = self.buses.get_mut(bus).map(|bus| &mut bus.nodes) else {
            return 0;
        };
        nodes.push(spec);
        let node = nodes.len() - 1;
        self.nodes.insert(name, (bus, node));
        node
    }

    /// Returns the bus of this name; the only one if there is no name.
    fn bus(
        &self,
        name: Option<SpannedValue<&str>>,
        place: &Range<usize>,
        found: &mut Diagnostics,
    ) -> Option<usize> {
        let names = || self.buses.iter().map(|bus| bus.name.as_str());
        match name {
            Some(name) => {
                let bus = names().position(|known| known == name.value);
                if bus.is_none() {
                    let message = format!("there is no bus `{}`", name.value);
                    let hint = config::did_you_mean(name.value, names());
                    found.missing(Diagnostic::error(name.span, message).hint(hint));
                }
                bus
            }
            None if self.buses.len() == 1 => Some(0),
            None if self.buses.is_empty() => None,
            None => {
                let message = "there are several buses: on which one?";
                let hint = "add `bus = \"…\"`";
                found.missing(Diagnostic::error(place.clone(), message).hint(hint));
                None
            }
        }
    }

    fn read_message(&mut self, mut table: TomlTable<'_>, found: &mut Diagnostics) {
        table.misnomers(message::WORDS);
        let span = table.span();
        let bus = table.string("bus", found);
        let node = table.string("node", found);
        let known = node
            .as_ref()
            .and_then(|node| self.nodes.get(node.value).copied());
        let bus = match (known, bus) {
            (Some((of_node, _)), Some(bus)) => {
                let place = bus.span.clone();
                let named = self.bus(Some(bus), &span, found);
                if named.is_some_and(|named| named != of_node) {
                    let message = "its node is on another bus";
                    found.push(Diagnostic::error(place, message).hint("leave `bus` out"));
                }
                Some(of_node)
            }
            (Some((of_node, _)), None) => Some(of_node),
            (None, bus) => self.bus(bus, &span, found),
        };
        let parsed = message::parse(&mut table, found);
        table.finish(found);
        let (Some(bus), Some(mut parsed)) = (bus, parsed) else {
            return;
        };
        let timeouts = core::mem::take(&mut parsed.timeouts);
        if let (None, Some(offset)) = (&node, &parsed.offset) {
            let message = "an offset of a message that has a node of its own";
            let hint = "add `node`: an offset is to the other messages of a node";
            found.push(Diagnostic::error(offset.span.clone(), message).hint(hint));
        }
        let node = match (known, node) {
            (Some((_, node)), _) => node,
            (None, Some(node)) => {
                self.add_node(NodeSpec::new(node.value, SendOrder::Priority), bus)
            }
            // A node for this message alone, which no other message can name.
            (None, None) => {
                let name = format!("of {}", parsed.text);
                self.add_node(NodeSpec::new(&name, SendOrder::Priority), bus)
            }
        };
        if let (Some(spec), Some(spans)) = (self.buses.get_mut(bus), self.spans.get_mut(bus)) {
            let kind = parsed.shape.header().kind();
            if kind == frame::Kind::Fd && spec.rate.data().is_none() {
                let message = format!(
                    "an FD message on bus `{}`, which has no data bit rate",
                    spec.name
                );
                let hint = format!("add `data_bitrate` to [buses.{}]", spec.name);
                found.push(Diagnostic::error(span.clone(), message).hint(hint));
            }
            spec.messages.push(Message {
                name: parsed.name,
                node,
                shape: parsed.shape,
                arrival: parsed.arrival,
                offset: parsed.offset.map(|offset| offset.value),
                deadline: parsed.deadline,
            });
            spans.push(span);
            if let Some(all) = self.longest_periods.get_mut(bus) {
                all.push(parsed.longest_period);
            }
            let message = spec.messages.len() - 1;
            self.add_timeouts(MessagePlace { bus, message }, timeouts, found);
        }
    }

    fn add_timeouts(
        &mut self,
        message: MessagePlace,
        timeouts: Vec<ParsedTimeout>,
        found: &mut Diagnostics,
    ) {
        for timeout in timeouts {
            let bus = match &timeout.bus {
                None => Some(message.bus),
                Some(bus) => {
                    let name = SpannedValue {
                        value: bus.value.as_str(),
                        span: bus.span.clone(),
                    };
                    self.bus(Some(name), &bus.span, found)
                }
            };
            let Some(bus) = bus else { continue };
            self.timeouts.push(ReceiverTimeout {
                message,
                bus,
                node: timeout.node,
                time: timeout.time,
                losses: timeout.losses,
                line: timeout.at,
            });
        }
    }

    /// Reports messages with the same arbitration field.
    fn same_fields(&self, found: &mut Diagnostics) {
        for (bus, spans) in self.buses.iter().zip(&self.spans) {
            let mut taken: BTreeMap<u64, &Message> = BTreeMap::new();
            for (message, span) in bus.messages.iter().zip(spans) {
                let field = crate::compiled::field(message.shape.header());
                if taken.insert(field, message).is_some() {
                    let text = format!(
                        "another message of bus `{}` has this ID: arbitration cannot decide \
                         between them",
                        bus.name
                    );
                    let hint = "give each message of a bus an ID of its own";
                    found.push(Diagnostic::error(span.clone(), text).hint(hint));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
