//! The signals in a PDU.

use super::ArxmlReader;
use super::paths::{integer, short_name, text_at, walk};
use crate::define_signal::identifier;
use crate::field::{ByteOrder, FieldLayout, SignalField};
use crate::message::MessageDefinition;
use crate::signal::{SignalDefinition, SignalPresence};
use crate::xml::children;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use roxmltree::Node;

/// The most PDUs within one another.
const MAX_DEPTH: usize = 16;

/// The place of a PDU: in which message, at which byte, and how deep in other PDUs.
#[derive(Clone, Copy)]
struct PduPlace {
    message: usize,
    byte: u16,
    depth: usize,
}

impl<'a, 'input> ArxmlReader<'a, 'input> {
    /// Reads the PDUs of a frame, which is to be the message of this index.
    pub(super) fn read_pdus(
        &mut self,
        frame: Node<'a, 'input>,
        index: usize,
        message: &mut MessageDefinition,
    ) {
        let mappings = walk(frame, &["PDU-TO-FRAME-MAPPINGS"]).into_iter();
        for mapping in mappings.flat_map(|all| children(all, "PDU-TO-FRAME-MAPPING")) {
            let pdu = match self.paths.follow(mapping, "PDU-REF") {
                Ok(Some(pdu)) => pdu,
                Ok(None) => continue,
                Err(problem) => {
                    let problem = format!("message {}: {problem}", message.name);
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
    fn read_pdu(
        &mut self,
        pdu: Node<'a, 'input>,
        place: PduPlace,
        message: &mut MessageDefinition,
    ) {
        self.of_pdus
            .entry(pdu.id().get())
            .or_default()
            .push(place.message);
        if !self.has_room(pdu, 1, 0) {
            return;
        }
        if place.depth == MAX_DEPTH {
            let problem = format!(
                "message {}: more than {MAX_DEPTH} PDUs within one another",
                message.name
            );
            return self.warn(pdu, &problem);
        }
        let inner = PduPlace {
            depth: place.depth + 1,
            ..place
        };
        match pdu.tag_name().name() {
            "CONTAINER-I-PDU" => {
                let problem = format!(
                    "message {}: the PDUs in the container {} have no fixed place; their signals are left out",
                    message.name,
                    short_name(pdu)
                );
                self.warn(pdu, &problem);
                self.note_contained(pdu, place.message);
            }
            "SECURED-I-PDU" => {
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
                        let problem = format!("message {}: {problem}", message.name);
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

    /// Notes the PDUs in a container, so that their nodes are found.
    fn note_contained(&mut self, container: Node<'a, 'input>, message: usize) {
        let Some(list) = walk(container, &["CONTAINED-PDU-TRIGGERING-REFS"]) else {
            return;
        };
        let name = "CONTAINED-PDU-TRIGGERING-REF";
        let triggerings: Vec<Node<'_, '_>> = self.paths.follow_all(list, name).collect();
        for triggering in triggerings {
            let mut next = self.paths.follow(triggering, "I-PDU-REF");
            // A secured PDU has its payload in it.
            for _ in 0..2 {
                let Ok(Some(pdu)) = next else { break };
                self.of_pdus
                    .entry(pdu.id().get())
                    .or_default()
                    .push(message);
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
                            "signal {name} of {}: {bits} bits: a signal has 1 to 64 bits; it is left out",
                            message.name
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
        for mapping in mappings.flat_map(|list| children(list, "I-SIGNAL-TO-I-PDU-MAPPING")) {
            if let Ok(Some(group)) = self.paths.follow(mapping, "I-SIGNAL-GROUP-REF") {
                message.e2e = self.transformer(group).or_else(|| message.e2e.take());
            }
            let read = match self.paths.follow(mapping, "I-SIGNAL-REF") {
                // The mapping of a group, whose signals have mappings of their own.
                Ok(None) => continue,
                Ok(Some(i_signal)) => self
                    .read_signal(mapping, i_signal, byte, message.len)
                    .map_err(|problem| format!("signal {}: {problem}", short_name(i_signal))),
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
                    let problem = format!("message {}: {problem}; it is left out", message.name);
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

    /// Reads a multiplexed PDU: a selector, PDUs for its values, and PDUs that are always there.
    fn read_multiplexed(
        &mut self,
        pdu: Node<'a, 'input>,
        inner: PduPlace,
        message: &mut MessageDefinition,
    ) {
        let text = |name| text_at(pdu, &[name]).unwrap_or_default();
        let order = byte_order(text_at(pdu, &["SELECTOR-FIELD-BYTE-ORDER"]));
        let (start, bits) = (
            text("SELECTOR-FIELD-START-POSITION"),
            text("SELECTOR-FIELD-LENGTH"),
        );
        let (layout, field) = match place(start, bits, order, inner.byte, message.len) {
            Ok(place) => place,
            Err(problem) => {
                let problem = format!(
                    "message {}: the selector of {}: {problem}; its signals are left out",
                    message.name,
                    short_name(pdu)
                );
                return self.warn(pdu, &problem);
            }
        };
        // The file has no name for it.
        let start = format!("{}_selector", message.name);
        let number = message
            .signals
            .iter()
            .filter(|signal| signal.name.starts_with(&start));
        let name = format!("{start}{}", number.count() + 1);
        let switch = message.signals.len();
        let line = self.lines.of(pdu);
        message
            .signals
            .push(SignalDefinition::new(line, name, layout, field));
        let parts = walk(pdu, &["DYNAMIC-PARTS"]).into_iter();
        let parts = parts.flat_map(|all| children(all, "DYNAMIC-PART"));
        let alternatives = parts.filter_map(|part| walk(part, &["DYNAMIC-PART-ALTERNATIVES"]));
        for alternative in alternatives.flat_map(|all| children(all, "DYNAMIC-PART-ALTERNATIVE")) {
            let code = text_at(alternative, &["SELECTOR-FIELD-CODE"]).and_then(integer);
            let code = code.and_then(|code| u64::try_from(code).ok());
            let part = self.paths.follow(alternative, "I-PDU-REF");
            let (Some(code), Ok(Some(part))) = (code, part) else {
                let problem = format!(
                    "message {}: an alternative of {} has no SELECTOR-FIELD-CODE or no PDU; it is left out",
                    message.name,
                    short_name(pdu)
                );
                self.warn(alternative, &problem);
                continue;
            };
            if text_at(alternative, &["INITIAL-DYNAMIC-PART"]) == Some("true") {
                message.signals[switch].substitutes.start = Some(code.into());
            }
            self.read_alternative(part, inner, message, switch, code);
        }
        let parts = walk(pdu, &["STATIC-PARTS"]).into_iter();
        for part in parts.flat_map(|all| children(all, "STATIC-PART")) {
            if let Ok(Some(part)) = self.paths.follow(part, "I-PDU-REF") {
                self.read_pdu(part, inner, message);
            }
        }
    }

    /// Reads the PDU for one value of a selector. It contains the selector, too, as one of its own
    /// signals.
    fn read_alternative(
        &mut self,
        part: Node<'a, 'input>,
        inner: PduPlace,
        message: &mut MessageDefinition,
        switch: usize,
        code: u64,
    ) {
        let first = message.signals.len();
        let cycle = message.cycle.take();
        self.read_pdu(part, inner, message);
        // The shortest cycle of its parts is that of the message.
        message.cycle = match (cycle, message.cycle) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        };
        let layout = message.signals[switch].layout;
        let own = message.signals[first..]
            .iter()
            .position(|signal| signal.layout == layout);
        if let Some(own) =
            own.filter(|own| message.signals[first + own].presence == SignalPresence::Always)
        {
            let own = first + own;
            let signal = message.signals.remove(own);
            for later in &mut message.signals[own..] {
                if let SignalPresence::Switched { switch, .. } = &mut later.presence
                    && *switch > own
                {
                    *switch -= 1;
                }
            }
            let selector = &mut message.signals[switch];
            for name in signal.value_names {
                if !selector
                    .value_names
                    .iter()
                    .any(|known| known.raw == name.raw)
                {
                    selector.value_names.push(name);
                }
            }
            selector.substitutes.invalid =
                signal.substitutes.invalid.or(selector.substitutes.invalid);
        }
        for signal in &mut message.signals[first..] {
            if signal.presence == SignalPresence::Always {
                signal.presence = SignalPresence::Switched {
                    switch,
                    values: Vec::from([code..=code]),
                };
            }
        }
    }
}

fn byte_order(text: Option<&str>) -> ByteOrder {
    match text {
        Some("MOST-SIGNIFICANT-BYTE-FIRST") => ByteOrder::Motorola,
        _ => ByteOrder::Intel,
    }
}

/// Returns the place of a signal whose PDU begins at a byte of the payload.
fn place(
    start: &str,
    bits: &str,
    order: ByteOrder,
    byte: u16,
    len: usize,
) -> Result<(FieldLayout, SignalField), String> {
    let in_pdu = integer(start).and_then(|start| u16::try_from(start).ok());
    let in_frame = in_pdu.and_then(|start| start.checked_add(byte.checked_mul(8)?));
    let (Some(start), Some(bits)) = (in_frame, integer(bits)) else {
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
