//! Multiplexed PDUs: parts for the values of a selector.

use super::ArxmlReader;
use super::paths::{integer, short_name, text_at, walk};
use super::pdu::{PduPlace, byte_order, place};
use crate::message::MessageDefinition;
use crate::shown::shown;
use crate::signal::{SignalDefinition, SignalPresence};
use crate::xml::children;
use alloc::format;
use alloc::vec::Vec;
use roxmltree::Node;

impl<'a, 'input> ArxmlReader<'a, 'input> {
    /// Reads a multiplexed PDU: a selector, PDUs for its values, and PDUs that are always there.
    pub(super) fn read_multiplexed(
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
                    shown(&message.name),
                    shown(short_name(pdu))
                );
                return self.warn(pdu, &problem);
            }
        };
        // A warning about the selector has the name of the message, too.
        let texts = message.name.len().saturating_mul(2);
        if !self.has_room(pdu, 1, texts) || !self.has_time(pdu, message.signals.len()) {
            return;
        }
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
        if !self.has_time_for(pdu) {
            return;
        }
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
                    shown(&message.name),
                    shown(short_name(pdu))
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
        let mut later = message.signals.iter().skip(first);
        let own = later.position(|signal| signal.layout == layout);
        let own = own.map(|own| first + own);
        let is_always = |own: &usize| message.signals[*own].presence == SignalPresence::Always;
        if let Some(own) = own.filter(is_always) {
            let signal = take_signal(message, own);
            let known = message.signals[switch].value_names.len();
            // Each new name is compared with each known one.
            if self.has_time(part, signal.value_names.len().saturating_mul(known)) {
                add_selector(&mut message.signals[switch], signal);
            }
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

/// Removes a signal from a message. Later signals keep their switches.
fn take_signal(message: &mut MessageDefinition, index: usize) -> SignalDefinition {
    let signal = message.signals.remove(index);
    for later in &mut message.signals[index..] {
        if let SignalPresence::Switched { switch, .. } = &mut later.presence
            && *switch > index
        {
            *switch -= 1;
        }
    }
    signal
}

/// Adds to a selector what one of the parts states of it.
fn add_selector(selector: &mut SignalDefinition, signal: SignalDefinition) {
    for name in signal.value_names {
        let mut known = selector.value_names.iter();
        if !known.any(|known| known.raw == name.raw) {
            selector.value_names.push(name);
        }
    }
    let invalid = signal.substitutes.invalid;
    selector.substitutes.invalid = invalid.or(selector.substitutes.invalid);
}
