//! Databases in KCD files, the format of the Kayak project (definition 1.0).
//!
//! A file can describe several buses: their messages are all in one database. Elements are known by
//! their local names, because real files lack the namespace.

mod signal;

use crate::DatabaseError;
use crate::define::{one_line, stated_can_id, stated_nanos};
use crate::define_signal::identifier;
use crate::doubles::warn_of_doubles;
use crate::encoding::decode;
use crate::message::{DatabaseWarning, ImpossibleMessage, MessageDatabase, MessageDefinition};
use crate::room::{SignalRoom, node_bytes};
use crate::shown::shown;
use crate::xml::{self, LineTable, child, children, number};
use alloc::borrow::ToOwned as _;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use roxmltree::Node;

/// Reads a file in UTF-8, UTF-16 or Windows-1252.
///
/// # Errors
/// [`DatabaseError`] if the file is not XML, or its first element is not `NetworkDefinition`. A
/// message that no frame can represent does not fail the file ([`MessageDatabase::impossible`]).
pub fn read(bytes: &[u8]) -> Result<MessageDatabase, DatabaseError> {
    read_within(bytes, SignalRoom::default())
}

/// Reads a file that has no more than this.
fn read_within(bytes: &[u8], room: SignalRoom) -> Result<MessageDatabase, DatabaseError> {
    let text = decode(bytes);
    let document = xml::parse(&text)?;
    let root = document.root_element();
    let lines = LineTable::new(&text);
    if root.tag_name().name() != "NetworkDefinition" {
        let problem = format!(
            "the element {} is not the NetworkDefinition of a KCD",
            shown(root.tag_name().name())
        );
        return Err(lines.error(root, &problem));
    }
    let mut reader = KcdReader {
        lines,
        nodes: children(root, "Node")
            .filter_map(|node| Some((node.attribute("id")?, identifier(node.attribute("name")?))))
            .collect(),
        room,
        is_full: false,
        impossible: Vec::new(),
        warnings: Vec::new(),
    };
    let buses: Vec<Node<'_, '_>> = children(root, "Bus").collect();
    let mut messages: Vec<MessageDefinition> = Vec::new();
    for bus in &buses {
        let of_bus = children(*bus, "Message").filter_map(|message| reader.read_message(message));
        messages.extend(of_bus);
    }
    let KcdReader {
        impossible,
        mut warnings,
        ..
    } = reader;
    warn_of_doubles(&messages, &mut warnings);
    warnings.sort_by_key(|warning| warning.line);
    // The rate and the name of several buses are not those of one.
    let only = match &buses[..] {
        [bus] => Some(*bus),
        _ => None,
    };
    let attribute = |name| only.and_then(|bus| bus.attribute(name));
    let rate = attribute("baudrate").and_then(|rate| rate.trim().parse().ok());
    Ok(MessageDatabase {
        name: attribute("name").map(identifier).unwrap_or_default(),
        bitrate: rate.filter(|rate| *rate > 0),
        data_bitrate: None,
        messages,
        impossible,
        warnings,
        has_independent_signals: false,
    })
}

/// State of the file while its messages are read.
struct KcdReader<'a> {
    lines: LineTable,
    /// The names of nodes by their IDs.
    nodes: BTreeMap<&'a str, String>,
    room: SignalRoom,
    /// Whether the file had more than the room, which was reported.
    is_full: bool,
    impossible: Vec<ImpossibleMessage>,
    warnings: Vec<DatabaseWarning>,
}

impl KcdReader<'_> {
    /// Reads a message; `None` if no frame can represent it, or if the file has no room for it.
    fn read_message(&mut self, element: Node<'_, '_>) -> Option<MessageDefinition> {
        let texts = element.attribute("name").map_or(0, str::len);
        if self.is_full || !self.has_room(element, 1, texts) {
            return None;
        }
        let name = identifier(element.attribute("name").unwrap_or_default());
        match self.read_named(element, &name) {
            Ok(message) => Some(message),
            Err(problem) => {
                let error = self.lines.error(element, &problem);
                self.impossible.push(ImpossibleMessage { name, error });
                None
            }
        }
    }

    fn read_named(
        &mut self,
        element: Node<'_, '_>,
        name: &str,
    ) -> Result<MessageDefinition, String> {
        let line = self.lines.of(element);
        if name.is_empty() {
            return Err("a message without a name".to_owned());
        }
        let id = element.attribute("id").unwrap_or_default();
        let is_extended = element.attribute("format") == Some("extended");
        let can_id = stated_can_id(id, integer(id), is_extended)?;
        let length = element.attribute("length").unwrap_or("auto");
        let stated = match length {
            "auto" => None,
            _ => {
                let bytes = integer(length).and_then(|len| u16::try_from(len).ok());
                Some(usize::from(bytes.ok_or_else(|| {
                    format!("{} is not a valid length of a message", shown(length))
                })?))
            }
        };
        let signals = self.read_signals(element, name, stated);
        let len = stated.unwrap_or_else(|| automatic_length(element));
        for signal in &signals {
            signal.check_end(name, len, &mut self.warnings);
        }
        let mut message = MessageDefinition::new(line, name.to_owned(), can_id, len);
        message.signals = signals;
        message.set_fd(false, None);
        let interval = element.attribute("interval").unwrap_or("0");
        match stated_nanos(interval, number(interval), 1e6) {
            Ok(cycle) => message.cycle = cycle,
            Err(problem) => {
                let name = shown(name);
                let problem = format!("message {name}: interval {problem}; it is left out");
                self.warn(element, &problem);
            }
        }
        if element.attribute("triggered") == Some("true") {
            message.send_type = Some("triggered".to_owned());
        }
        let mut senders = self.read_nodes(child(element, "Producer")).into_iter();
        message.sender = senders.next();
        message.more_senders = senders.collect();
        message.comment = self.read_notes(element);
        Ok(message)
    }

    /// Returns the names of the nodes in a `Producer` or `Consumer`.
    fn read_nodes(&mut self, element: Option<Node<'_, '_>>) -> Vec<String> {
        let mut names = Vec::new();
        let all = element.into_iter();
        for reference in all.flat_map(|element| children(element, "NodeRef")) {
            let id = reference.attribute("id").unwrap_or_default();
            let Some(bytes) = self.nodes.get(id).map(|name| node_bytes(name)) else {
                let problem = format!("no Node has the ID `{}`; it is left out", shown(id));
                self.warn(reference, &problem);
                continue;
            };
            // Any number of references can be to one node with a long name.
            if !self.has_room(reference, 0, bytes) {
                break;
            }
            names.extend(self.nodes.get(id).cloned());
        }
        names
    }

    /// Returns the comment of a message or signal.
    fn read_notes(&mut self, element: Node<'_, '_>) -> String {
        let text = child(element, "Notes").map(xml::text).unwrap_or_default();
        match self.has_room(element, 0, text.len()) {
            true => text,
            false => String::new(),
        }
    }

    /// Takes room for `count` messages and signals, and for `texts` bytes of texts. Returns whether
    /// that is within the limits of a file; the first time that it is not, this adds a warning.
    fn has_room(&mut self, element: Node<'_, '_>, count: usize, texts: usize) -> bool {
        let taken = self.room.take(count, texts);
        if let (Err(problem), false) = (&taken, self.is_full) {
            self.is_full = true;
            self.add_warning(element, &format!("{problem}: further ones are left out"));
        }
        taken.is_ok()
    }

    fn warn(&mut self, element: Node<'_, '_>, problem: &str) {
        if self.has_room(element, 0, problem.len()) {
            self.add_warning(element, problem);
        }
    }

    fn add_warning(&mut self, element: Node<'_, '_>, problem: &str) {
        let line = self.lines.of(element);
        self.warnings.push(DatabaseWarning {
            line,
            problem: one_line(problem),
        });
    }
}

/// Returns the length of a message that ends with its last signal. The offsets of both byte orders
/// count bits in the order in which the signals have them.
fn automatic_length(message: Node<'_, '_>) -> usize {
    let mut bits = 0;
    for signal in message.descendants() {
        if matches!(signal.tag_name().name(), "Signal" | "Multiplex") {
            let number = |name| signal.attribute(name).and_then(integer);
            let end = number("offset")
                .unwrap_or(0)
                .saturating_add(number("length").unwrap_or(1));
            bits = bits.max(end);
        }
    }
    usize::from(u16::try_from(bits).unwrap_or(u16::MAX)).div_ceil(8)
}

/// Parses an integer.
fn integer(text: &str) -> Option<i128> {
    number(text)?.to_i128()
}

#[cfg(test)]
mod tests;
