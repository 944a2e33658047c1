//! Signals: `Signal`, and `Multiplex` with its groups.

use super::KcdReader;
use super::integer;
use crate::decimal::Decimal;
use crate::define::one_line;
use crate::define_signal::identifier;
use crate::field::{ByteOrder, FieldLayout, SignalField};
use crate::room::name_bytes;
use crate::shown::shown;
use crate::signal::{SignalDefinition, SignalKind, SignalPresence, ValueName};
use crate::xml::{child, children, float_kind, number};
use alloc::borrow::ToOwned as _;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use roxmltree::Node;

/// The most values of a label group that get its name, each for itself.
const MAX_GROUP: i128 = 16;

impl KcdReader<'_> {
    /// Reads the signals of a message. Those that no payload can contain are left out, with a
    /// warning.
    pub(super) fn read_signals(
        &mut self,
        element: Node<'_, '_>,
        message: &str,
        len: Option<usize>,
    ) -> Vec<SignalDefinition> {
        let mut signals = Vec::new();
        for multiplex in children(element, "Multiplex") {
            let Some(switch) = self.read_signal(multiplex, message, len) else {
                continue;
            };
            let index = signals.len();
            signals.push(switch);
            for group in children(multiplex, "MuxGroup") {
                let count = group.attribute("count").unwrap_or_default();
                let value = integer(count).and_then(|value| u64::try_from(value).ok());
                let Some(value) = value else {
                    let problem = format!(
                        "message {}: the group `{}` of a multiplex is left out: its count is not the value of a switch",
                        shown(message),
                        shown(count)
                    );
                    self.warn(group, &problem);
                    continue;
                };
                for element in children(group, "Signal") {
                    if let Some(mut signal) = self.read_signal(element, message, len) {
                        signal.presence = SignalPresence::Switched {
                            switch: index,
                            values: Vec::from([value..=value]),
                        };
                        signals.push(signal);
                    }
                }
            }
        }
        for element in children(element, "Signal") {
            signals.extend(self.read_signal(element, message, len));
        }
        signals
    }

    /// Reads a `Signal`, or the switch of a `Multiplex`.
    fn read_signal(
        &mut self,
        element: Node<'_, '_>,
        message: &str,
        len: Option<usize>,
    ) -> Option<SignalDefinition> {
        let name = element.attribute("name").unwrap_or_default();
        if !self.has_room(element, 1, name.len()) {
            return None;
        }
        let name = identifier(name);
        let read = match name.is_empty() {
            true => Err("it has no name".to_owned()),
            false => read_place(element, len),
        };
        let (layout, field) = match read {
            Ok(place) => place,
            Err(problem) => {
                let (name, message) = (shown(&name), shown(message));
                let problem = format!("signal {name} of {message}: {problem}; it is left out");
                self.warn(element, &problem);
                return None;
            }
        };
        let line = self.lines.of(element);
        let mut signal = SignalDefinition::new(line, name, layout, field);
        if let Some(value) = child(element, "Value")
            && let Err(problem) = read_value(value, &mut signal)
        {
            let problem = format!(
                "signal {} of {}: {problem}; it is left out",
                shown(&signal.name),
                shown(message)
            );
            self.warn(value, &problem);
            return None;
        }
        signal.receivers = self.read_nodes(child(element, "Consumer"));
        signal.comment = self.read_notes(element);
        if let Some(labels) = child(element, "LabelSet") {
            self.read_labels(labels, &mut signal, message);
        }
        Some(signal)
    }

    /// Reads the names of raw values.
    fn read_labels(&mut self, set: Node<'_, '_>, signal: &mut SignalDefinition, message: &str) {
        for label in set.children().filter(Node::is_element) {
            let name = label.attribute("name").unwrap_or_default();
            let value = |attribute| label.attribute(attribute).and_then(integer);
            let values = match label.tag_name().name() {
                "Label" => value("value").map(|raw| raw..=raw),
                "LabelGroup" => match (value("from"), value("to")) {
                    (Some(from), Some(to)) if (0..MAX_GROUP).contains(&to.saturating_sub(from)) => {
                        Some(from..=to)
                    }
                    _ => None,
                },
                _ => continue,
            };
            match values {
                Some(values) => {
                    let names = values.map(|raw| ValueName {
                        raw,
                        name: one_line(name),
                    });
                    let names: Vec<ValueName> = names.collect();
                    if !self.has_room(label, 0, name_bytes(&names)) {
                        break;
                    }
                    signal.value_names.extend(names);
                }
                None => {
                    let problem = format!(
                        "signal {} of {}: the name `{}` has no value, or more than {MAX_GROUP}; it is left out",
                        shown(&signal.name),
                        shown(message),
                        shown(name)
                    );
                    self.warn(label, &problem);
                }
            }
        }
    }
}

/// Returns the place of a signal.
fn read_place(
    element: Node<'_, '_>,
    len: Option<usize>,
) -> Result<(FieldLayout, SignalField), String> {
    let attribute = |name, default| element.attribute(name).unwrap_or(default);
    let (offset, length) = (attribute("offset", ""), attribute("length", "1"));
    let start = integer(offset).and_then(|offset| u16::try_from(offset).ok());
    let bits = integer(length).and_then(|length| u32::try_from(length).ok());
    let (Some(start), Some(bits)) = (start, bits) else {
        return Err(format!(
            "{}|{} is not a place in a payload",
            shown(offset),
            shown(length)
        ));
    };
    let order = match attribute("endianess", "little") {
        "big" => ByteOrder::Motorola,
        _ => ByteOrder::Intel,
    };
    let layout = FieldLayout {
        // The bits of a big-endian signal are counted from bit 7 of byte 0.
        start: match order {
            ByteOrder::Intel => start,
            ByteOrder::Motorola => FieldLayout::motorola_start(start),
        },
        bits: u8::try_from(bits).map_err(|_| format!("{bits} bits: a signal has 1 to 64 bits"))?,
        order,
    };
    let field = SignalField::new(layout, len.unwrap_or(frame::dlc::CLASSIC_MAX));
    Ok((layout, field.map_err(|error| format!("{error}"))?))
}

/// Reads the meaning of a signal's bits.
fn read_value(value: Node<'_, '_>, signal: &mut SignalDefinition) -> Result<(), String> {
    let decimal = |name: &str| match value.attribute(name) {
        Some(text) => match number(text) {
            Some(number) => Ok(Some(number)),
            None => Err(format!("{name} `{}` is not a number", shown(text))),
        },
        None => Ok(None),
    };
    signal.factor = decimal("slope")?.unwrap_or(Decimal::ONE);
    signal.offset = decimal("intercept")?.unwrap_or(Decimal::ZERO);
    signal.unit = one_line(value.attribute("unit").unwrap_or_default());
    signal.kind = match value.attribute("type") {
        Some("signed") => SignalKind::Signed,
        Some("single" | "double") => {
            let bits = signal.layout.bits;
            float_kind(bits).ok_or_else(|| format!("{bits} bits are not a float"))?
        }
        _ => SignalKind::Unsigned,
    };
    signal.set_range(decimal("min")?, decimal("max")?);
    Ok(())
}
