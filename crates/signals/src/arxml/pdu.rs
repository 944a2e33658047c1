//! The signals in a PDU.

use super::ArxmlReader;
use super::paths::{integer, short_name, text_at, walk};
use crate::define_signal::identifier;
use crate::field::{ByteOrder, FieldLayout, SignalField};
use crate::message::{MessageDefinition, WholePdu, WholePduKind};
use crate::shown::shown;
use crate::signal::SignalDefinition;
use crate::xml::children;
use alloc::borrow::ToOwned as _;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use roxmltree::Node;

/// The most PDUs within one another.
const MAX_DEPTH: usize = 16;

/// The place of a PDU: in which message, at which byte, and how deep in other PDUs.
#[derive(Clone, Copy)]
pub(super) struct PduPlace {
    pub(super) message: usize,
    pub(super) byte: u16,
    pub(super) depth: usize,
}

impl<'a, 'input> ArxmlReader<'a, 'input> {
    /// Reads the PDUs of a frame, which becomes the message of this index.
    pub(super) fn read_pdus(
        &mut self,
        frame: Node<'a, 'input>,
        index: usize,
        message: &mut MessageDefinition,
    ) {
        let mappings = walk(frame, &["PDU-TO-FRAME-MAPPINGS"]);
        if !mappings.is_none_or(|all| self.has_time_for(all)) {
            return;
        }
        for mapping in mappings
            .into_iter()
            .flat_map(|all| children(all, "PDU-TO-FRAME-MAPPING"))
        {
            let pdu = match self.paths.follow(mapping, "PDU-REF") {
                Ok(Some(pdu)) => pdu,
                Ok(None) => continue,
                Err(problem) => {
                    let problem = format!("message {}: {problem}", shown(&message.name));
                    self.warn(mapping, &problem);
                    continue;
                }
            };
            let start = text_at(mapping, &["START-POSITION"]).and_then(integer);
            let start = start.and_then(|start| u16::try_from(start).ok());
            let place = PduPlace {
                message: index,
                byte: start.unwrap_or(0) / 8,
                depth: 0,
            };
            self.read_pdu(pdu, place, message);
        }
        for signal in &message.signals {
            signal.check_end(&message.name, message.len, &mut self.warnings);
        }
    }

    /// Reads a PDU: its signals are added to the message.
    pub(super) fn read_pdu(
        &mut self,
        pdu: Node<'a, 'input>,
        place: PduPlace,
        message: &mut MessageDefinition,
    ) {
        if !self.note_pdu(pdu, place.message) || !self.has_time_in(pdu) {
            return;
        }
        if place.depth == MAX_DEPTH {
            let problem = format!(
                "message {}: more than {MAX_DEPTH} PDUs within one another",
                shown(&message.name)
            );
            return self.warn(pdu, &problem);
        }
        let inner = PduPlace {
            depth: place.depth + 1,
            ..place
        };
        match pdu.tag_name().name() {
            "CONTAINER-I-PDU" => {
                self.note_whole(pdu, WholePduKind::Container, message);
                let problem = format!(
                    "message {}: the PDUs in the container {} have no fixed place; their signals are left out",
                    shown(&message.name),
                    shown(short_name(pdu))
                );
                self.warn(pdu, &problem);
                self.note_contained(pdu, place.message);
            }
            "SECURED-I-PDU" => {
                self.note_whole(pdu, WholePduKind::Secured, message);
                let payload = self.paths.follow(pdu, "PAYLOAD-REF");
                let payload = payload.and_then(|payload| match payload {
                    Some(payload) => self.paths.follow(payload, "I-PDU-REF"),
                    None => Ok(None),
                });
                match payload {
                    Ok(Some(payload)) => {
                        self.read_pdu(payload, inner, message);
                        self.read_security(pdu, payload, place.byte, message);
                    }
                    Ok(None) => {}
                    Err(problem) => {
                        let problem = format!("message {}: {problem}", shown(&message.name));
                        self.warn(pdu, &problem);
                    }
                }
            }
            "MULTIPLEXED-I-PDU" => self.read_multiplexed(pdu, inner, message),
            _ => {
                self.read_timing(pdu, message);
                self.read_signals(pdu, place.byte, message);
            }
        }
    }

    /// Notes a PDU that receivers understand only as it was sent. The first one of a message
    /// counts.
    fn note_whole(
        &self,
        pdu: Node<'a, 'input>,
        kind: WholePduKind,
        message: &mut MessageDefinition,
    ) {
        let line = self.lines.of(pdu);
        message.whole.get_or_insert(WholePdu { kind, line });
    }

    /// Notes that a message contains a PDU. Returns whether the file has room for it.
    fn note_pdu(&mut self, pdu: Node<'a, 'input>, message: usize) -> bool {
        let has_room = self.has_room(pdu, 1, 0);
        if has_room {
            let messages = self.of_pdus.entry(pdu.id().get()).or_default();
            if messages.last() != Some(&message) {
                messages.push(message);
            }
        }
        has_room
    }

    /// Notes the PDUs in a container, so that their nodes are found.
    fn note_contained(&mut self, container: Node<'a, 'input>, message: usize) {
        let Some(list) = walk(container, &["CONTAINED-PDU-TRIGGERING-REFS"]) else {
            return;
        };
        if !self.has_time_for(list) {
            return;
        }
        let name = "CONTAINED-PDU-TRIGGERING-REF";
        let triggerings: Vec<Node<'_, '_>> = self.paths.follow_all(list, name).collect();
        for triggering in triggerings {
            let mut next = self.paths.follow(triggering, "I-PDU-REF");
            // A secured PDU has its payload in it.
            for _ in 0..2 {
                let Ok(Some(pdu)) = next else { break };
                if !self.note_pdu(pdu, message) {
                    return;
                }
                let payload = self.paths.follow(pdu, "PAYLOAD-REF");
                next = match payload {
                    Ok(Some(payload)) => self.paths.follow(payload, "I-PDU-REF"),
                    other => other,
                };
            }
        }
    }

    /// Adds the freshness value and the authenticator that follow the payload of a secured PDU.
    fn read_security(
        &mut self,
        pdu: Node<'a, 'input>,
        payload: Node<'a, 'input>,
        byte: u16,
        message: &mut MessageDefinition,
    ) {
        let len = text_at(payload, &["LENGTH"]).and_then(integer);
        let len = len.and_then(|len| u16::try_from(len).ok());
        // A warning about a signal can have the name of the message twice.
        if !self.has_room(pdu, 2, message.name.len().saturating_mul(4)) {
            return;
        }
        let Some(mut at) = len.and_then(|len| len.checked_add(byte)?.checked_mul(8)) else {
            return;
        };
        for (reference, bits, name) in [
            (
                "FRESHNESS-PROPS-REF",
                "FRESHNESS-VALUE-TX-LENGTH",
                "Freshness",
            ),
            (
                "AUTHENTICATION-PROPS-REF",
                "AUTH-INFO-TX-LENGTH",
                "Authenticator",
            ),
        ] {
            let Ok(Some(properties)) = self.paths.follow(pdu, reference) else {
                continue;
            };
            let bits = text_at(properties, &[bits]).and_then(integer).unwrap_or(0);
            let name = format!("{}_{name}", message.name);
            let Some(next) = u16::try_from(bits)
                .ok()
                .and_then(|bits| at.checked_add(bits))
            else {
                return;
            };
            if bits > 0 {
                let start = FieldLayout::motorola_start(at);
                let found = u8::try_from(bits).ok().and_then(|bits| {
                    let layout = FieldLayout {
                        start,
                        bits,
                        order: ByteOrder::Motorola,
                    };
                    Some((layout, SignalField::new(layout, message.len).ok()?))
                });
                match found {
                    Some((layout, field)) => {
                        let line = self.lines.of(properties);
                        let signal = SignalDefinition::new(line, name, layout, field);
                        message.signals.push(signal);
                    }
                    None => {
                        let problem = format!(
                            "signal {} of {}: {bits} bits: a signal has 1 to 64 bits; it is left out",
                            shown(&name),
                            shown(&message.name)
                        );
                        self.warn(properties, &problem);
                    }
                }
            }
            at = next;
        }
    }

    /// Reads the signals that are mapped to a PDU.
    fn read_signals(&mut self, pdu: Node<'a, 'input>, byte: u16, message: &mut MessageDefinition) {
        let lists = ["I-SIGNAL-TO-PDU-MAPPINGS", "I-SIGNAL-TO-I-PDU-MAPPINGS"];
        let mappings = lists.into_iter().filter_map(|list| walk(pdu, &[list]));
        let mappings: Vec<Node<'_, '_>> = mappings.collect();
        if !mappings.iter().all(|list| self.has_time_for(*list)) {
            return;
        }
        for mapping in mappings
            .into_iter()
            .flat_map(|list| children(list, "I-SIGNAL-TO-I-PDU-MAPPING"))
        {
            if let Ok(Some(group)) = self.paths.follow(mapping, "I-SIGNAL-GROUP-REF") {
                message.e2e = self.transformer(group).or_else(|| message.e2e.take());
            }
            let read = match self.paths.follow(mapping, "I-SIGNAL-REF") {
                // The mapping of a group, whose signals have mappings of their own.
                Ok(None) => continue,
                Ok(Some(i_signal)) => self
                    .read_signal(mapping, i_signal, byte, message.len)
                    .map_err(|problem| {
                        format!("signal {}: {problem}", shown(short_name(i_signal)))
                    }),
                Err(problem) => Err(problem),
            };
            // A warning about the signal has its name, and that of the message.
            let texts = read.as_ref().map_or(0, SignalDefinition::text_bytes) + message.name.len();
            if !self.has_room(mapping, 1, texts) {
                return;
            }
            match read {
                Ok(signal) => message.signals.push(signal),
                Err(problem) => {
                    let problem = format!(
                        "message {}: {problem}; it is left out",
                        shown(&message.name)
                    );
                    self.warn(mapping, &problem);
                }
            }
        }
    }

    fn read_signal(
        &mut self,
        mapping: Node<'a, 'input>,
        i_signal: Node<'a, 'input>,
        byte: u16,
        len: usize,
    ) -> Result<SignalDefinition, String> {
        if !self.has_time_in(i_signal) {
            return Err("it is not read".to_owned());
        }
        let order = byte_order(text_at(mapping, &["PACKING-BYTE-ORDER"]));
        let start = text_at(mapping, &["START-POSITION"]).unwrap_or_default();
        let bits = text_at(i_signal, &["LENGTH"]).unwrap_or_default();
        let (layout, field) = place(start, bits, order, byte, len)?;
        let name = identifier(short_name(i_signal));
        let line = self.lines.of(i_signal);
        let mut signal = SignalDefinition::new(line, name, layout, field);
        self.read_meaning(i_signal, &mut signal)?;
        Ok(signal)
    }
}

pub(super) fn byte_order(text: Option<&str>) -> ByteOrder {
    match text {
        Some("MOST-SIGNIFICANT-BYTE-FIRST") => ByteOrder::Motorola,
        _ => ByteOrder::Intel,
    }
}

/// Returns the place of a signal whose PDU begins at a byte of the payload.
pub(super) fn place(
    start: &str,
    bits: &str,
    order: ByteOrder,
    byte: u16,
    len: usize,
) -> Result<(FieldLayout, SignalField), String> {
    let in_pdu = integer(start).and_then(|start| u16::try_from(start).ok());
    let in_frame = in_pdu.and_then(|start| start.checked_add(byte.checked_mul(8)?));
    let (Some(start), Some(bits)) = (in_frame, integer(bits)) else {
        let (start, bits) = (shown(start), shown(bits));
        return Err(format!("`{start}`|`{bits}` is not a place in a payload"));
    };
    let layout = FieldLayout {
        start,
        bits: u8::try_from(bits).map_err(|_| format!("{bits} bits: a signal has 1 to 64 bits"))?,
        order,
    };
    let field = SignalField::new(layout, len);
    Ok((layout, field.map_err(|error| format!("{error}"))?))
}
