//! Databases in ARXML files: system descriptions and ECU extracts of AUTOSAR 4.x (the schema
//! `http://autosar.org/schema/r4.0`, which later releases have, too).
//!
//! Read are the frames of CAN clusters with the signals in their PDUs: also multiplexed and secured
//! PDUs, and those of network management. Signals in container PDUs have no fixed place: their
//! messages have no signals, with a warning. A file can describe several buses: their messages are
//! all in one database.

mod configuration;
mod multiplex;
mod nodes;
mod paths;
mod pdu;
mod scale;
mod timing;

use crate::DatabaseError;
use crate::define::{one_line, stated_can_id};
use crate::define_signal::identifier;
use crate::doubles::warn_of_doubles;
use crate::encoding::decode;
use crate::message::{DatabaseWarning, ImpossibleMessage, MessageDatabase, MessageDefinition};
use crate::room::SignalRoom;
use crate::shown::shown;
use crate::xml::{self, LineTable};
use alloc::borrow::ToOwned as _;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use frame::CanId;
use paths::{ArxmlPaths, description, integer, short_name, text_at, walk};
use roxmltree::Node;

/// The namespace of AUTOSAR 4.x.
const NAMESPACE: &str = "http://autosar.org/schema/r4.0";

/// The most comparisons of the nodes of signals, and readings of elements of the file: a file can
/// refer to a PDU any number of times. An element of a real file is read 10 times at most.
const MAX_COMPARISONS: usize = 200_000_000;

/// Reads a file in UTF-8, UTF-16 or Windows-1252.
///
/// # Errors
/// [`DatabaseError`] if the file is not XML, or not of AUTOSAR 4.x. A message that no frame can
/// represent does not fail the file ([`MessageDatabase::impossible`]).
pub fn read(bytes: &[u8]) -> Result<MessageDatabase, DatabaseError> {
    read_within(bytes, SignalRoom::default(), MAX_COMPARISONS)
}

/// Reads a file within these limits.
fn read_within(
    bytes: &[u8],
    room: SignalRoom,
    comparisons_left: usize,
) -> Result<MessageDatabase, DatabaseError> {
    let text = decode(bytes);
    let document = xml::parse(&text)?;
    let root = document.root_element();
    let lines = LineTable::new(&text);
    let namespace = root.tag_name().namespace().unwrap_or_default();
    if root.tag_name().name() != "AUTOSAR" || namespace != NAMESPACE {
        let name = root.tag_name().name();
        let problem = format!(
            "the element {name} of the namespace `{namespace}` is not the AUTOSAR of `{NAMESPACE}`: \
             older files can be converted by the program that wrote them"
        );
        return Err(lines.error(root, &problem));
    }
    let mut reader = ArxmlReader {
        paths: ArxmlPaths::new(&document),
        lines,
        messages: Vec::new(),
        of_pdus: BTreeMap::new(),
        room,
        is_full: false,
        comparisons_left,
        impossible: Vec::new(),
        warnings: Vec::new(),
    };
    let named = |name: &'static str| {
        let all = root.descendants();
        all.filter(move |node| node.is_element() && node.tag_name().name() == name)
    };
    for triggering in named("CAN-FRAME-TRIGGERING") {
        reader.read_frame(triggering);
    }
    for element in root.descendants().filter(Node::is_element) {
        match element.tag_name().name() {
            "ECU-INSTANCE" => reader.add_ecu(element),
            "CAN-NM-NODE" => reader.add_management_node(element),
            "END-TO-END-PROTECTION" => reader.add_protection(element),
            _ => {}
        }
    }
    if reader.messages.is_empty() && reader.impossible.is_empty() {
        reader.read_configuration(root);
    }
    let ArxmlReader {
        mut messages,
        impossible,
        mut warnings,
        ..
    } = reader;
    for message in &mut messages {
        message.order_senders();
    }
    warn_of_doubles(&messages, &mut warnings);
    warnings.sort_by_key(|warning| warning.line);
    // The rates and the name of several buses are not those of one.
    let mut clusters = named("CAN-CLUSTER");
    let only = match (clusters.next(), clusters.next()) {
        (Some(cluster), None) => Some(cluster),
        _ => None,
    };
    let properties =
        only.and_then(|only| walk(only, &["CAN-CLUSTER-VARIANTS", "CAN-CLUSTER-CONDITIONAL"]));
    let rate = |name| {
        let rate = integer(text_at(properties?, &[name])?)?;
        u32::try_from(rate).ok().filter(|rate| *rate > 0)
    };
    Ok(MessageDatabase {
        name: only
            .map(|only| identifier(short_name(only)))
            .unwrap_or_default(),
        bitrate: rate("BAUDRATE"),
        data_bitrate: rate("CAN-FD-BAUDRATE"),
        messages,
        impossible,
        warnings,
        has_independent_signals: false,
    })
}

/// State of the file while its messages are read.
struct ArxmlReader<'a, 'input> {
    paths: ArxmlPaths<'a, 'input>,
    lines: LineTable,
    messages: Vec<MessageDefinition>,
    /// The messages that contain a PDU, by their indices.
    of_pdus: BTreeMap<u32, Vec<usize>>,
    room: SignalRoom,
    /// Whether the file had more than the room, which was reported.
    is_full: bool,
    comparisons_left: usize,
    impossible: Vec<ImpossibleMessage>,
    warnings: Vec<DatabaseWarning>,
}

impl<'a, 'input> ArxmlReader<'a, 'input> {
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

    /// Takes room for `count` signals or PDUs, and for `texts` bytes of texts. Returns whether that
    /// is within the limits of a file; the first time that it is not, this adds a warning.
    fn has_room(&mut self, element: Node<'_, '_>, count: usize, texts: usize) -> bool {
        let taken = self.room.take(count, texts);
        if let (Err(problem), false) = (&taken, self.is_full) {
            self.is_full = true;
            self.add_warning(element, &format!("{problem}: further ones are left out"));
        }
        taken.is_ok()
    }

    /// Returns whether the file has time for this number of comparisons and readings.
    fn has_time(&mut self, element: Node<'_, '_>, comparisons: usize) -> bool {
        let had = self.comparisons_left;
        self.comparisons_left = had.saturating_sub(comparisons);
        if had > 0 && self.comparisons_left == 0 {
            let problem =
                "too many receivers, scales and settings of signals: further ones are left out";
            self.warn(element, problem);
        }
        self.comparisons_left > 0
    }

    /// Returns whether an element, with all that it contains, can be read once more.
    fn has_time_for(&mut self, element: Node<'a, 'input>) -> bool {
        let all = element.descendants().take(self.comparisons_left);
        self.has_time(element, all.count())
    }

    /// Returns whether the children of an element can be searched once more.
    fn has_time_in(&mut self, element: Node<'a, 'input>) -> bool {
        let all = element.children().take(self.comparisons_left);
        self.has_time(element, all.count())
    }

    /// Returns the description of an element; empty without the time for it.
    fn description(&mut self, element: Node<'a, 'input>) -> String {
        let text = walk(element, &["DESC"]);
        let has_time = self.has_time_in(element) && text.is_none_or(|text| self.has_time_for(text));
        if has_time {
            description(element)
        } else {
            String::new()
        }
    }

    /// Adds a message, or the reason why no frame can represent it, if the file has room for its
    /// texts.
    fn add_message(
        &mut self,
        element: Node<'a, 'input>,
        read: Result<MessageDefinition, String>,
        name: &str,
    ) {
        match read {
            Ok(message) => self.messages.push(message),
            Err(problem) => {
                if self.has_room(element, 1, name.len().saturating_add(problem.len())) {
                    let (name, error) = (name.to_owned(), self.lines.error(element, &problem));
                    self.impossible.push(ImpossibleMessage { name, error });
                }
            }
        }
    }

    /// Reads a frame of a bus.
    fn read_frame(&mut self, triggering: Node<'a, 'input>) {
        if self.is_full {
            return;
        }
        let read = self.read_possible(triggering).transpose();
        if let Some(read) = read {
            self.add_message(triggering, read, &identifier(short_name(triggering)));
        }
    }

    /// Reads a frame; `None` if the file has no room for it.
    fn read_possible(
        &mut self,
        triggering: Node<'a, 'input>,
    ) -> Result<Option<MessageDefinition>, String> {
        let frame = self.paths.follow(triggering, "FRAME-REF")?;
        let frame = frame.ok_or("it has no FRAME-REF")?;
        let comment = self.description(frame);
        let texts = short_name(frame).len().saturating_add(comment.len());
        if !self.has_room(triggering, 1, texts) {
            return Ok(None);
        }
        let name = identifier(short_name(frame));
        let id = text_at(triggering, &["IDENTIFIER"]).unwrap_or_default();
        let mode = text_at(triggering, &["CAN-ADDRESSING-MODE"]);
        let id = can_id(id, mode == Some("EXTENDED"))?;
        let len = length(text_at(frame, &["FRAME-LENGTH"]).unwrap_or_default())?;
        let line = self.lines.of(frame);
        let mut message = MessageDefinition::new(line, name, id, len);
        message.comment = comment;
        let index = self.messages.len();
        self.read_pdus(frame, index, &mut message);
        let is_fd = ["CAN-FRAME-TX-BEHAVIOR", "CAN-FRAME-RX-BEHAVIOR"]
            .into_iter()
            .any(|name| text_at(triggering, &[name]) == Some("CAN-FD"));
        message.set_fd(is_fd, None);
        self.add_ports(triggering, &mut message);
        Ok(Some(message))
    }
}

/// Returns the identifier for a number as the file has it.
fn can_id(number: &str, is_extended: bool) -> Result<CanId, String> {
    stated_can_id(number, integer(number), is_extended)
}

/// Returns the length of a message.
fn length(text: &str) -> Result<usize, String> {
    let len = integer(text).and_then(|len| u16::try_from(len).ok());
    len.map(usize::from)
        .ok_or_else(|| format!("`{}` is not a valid length of a message", shown(text)))
}

impl MessageDefinition {
    fn has_sender(&self, name: &str) -> bool {
        self.more_senders.iter().any(|known| known == name)
    }

    /// Adds a sender, unless it is known.
    fn add_sender(&mut self, name: &str) {
        if !self.has_sender(name) {
            self.more_senders.push(name.to_owned());
        }
    }

    /// Returns the number of signals without this receiver.
    fn signals_without(&self, receiver: &str) -> usize {
        let all = self.signals.iter();
        all.filter(|signal| !signal.receivers.iter().any(|known| known == receiver))
            .count()
    }

    /// Adds a receiver of all signals, unless it is known.
    fn add_receiver(&mut self, name: &str) {
        for signal in &mut self.signals {
            if !signal.receivers.iter().any(|known| known == name) {
                signal.receivers.push(name.to_owned());
            }
        }
    }

    /// Makes the first of the senders that were added its sender.
    fn order_senders(&mut self) {
        if self.sender.is_none() && !self.more_senders.is_empty() {
            self.sender = Some(self.more_senders.remove(0));
        }
    }
}

#[cfg(test)]
mod tests;
