//! Messages, signals and values of a database by the names that the keys have.

use super::rules::AliveCounter;
use super::spec::{MakeSpec, ValueSpec};
use config::{Diagnostic, Diagnostics, SpannedValue, did_you_mean};
use frame::flags;
use frame::{Header, Kind};
use signals::{MessageDatabase, MessageDefinition, SignalDefinition, SignalKind};
use std::ops::Range;

pub(super) fn find_message<'d>(
    database: &'d MessageDatabase,
    name: &str,
    message: &str,
    span: Range<usize>,
    found: &mut Diagnostics,
) -> Option<&'d MessageDefinition> {
    let known = database.messages.iter().find(|known| known.name == message);
    if known.is_none() {
        let text = format!("database `{name}` has no message `{message}`");
        let names = database
            .messages
            .iter()
            .map(|message| message.name.as_str());
        let hint = did_you_mean(message, names);
        found.push(Diagnostic::error(span, text).hint(hint));
    }
    known
}

pub(super) fn find_signal(
    message: &MessageDefinition,
    name: &SpannedValue<String>,
    found: &mut Diagnostics,
) -> Option<usize> {
    let known = message
        .signals
        .iter()
        .position(|known| known.name == name.value);
    if known.is_none() {
        let text = format!("message {} has no signal `{}`", message.name, name.value);
        let names = message.signals.iter().map(|signal| signal.name.as_str());
        let hint = did_you_mean(&name.value, names);
        found.push(Diagnostic::error(name.span.clone(), text).hint(hint));
    }
    known
}

pub(super) fn header(
    message: &MessageDefinition,
    spec: &MakeSpec,
    found: &mut Diagnostics,
) -> Option<Header> {
    let (kind, flags) = match message.fd {
        None => (Kind::Classic, 0),
        Some(fd) => (Kind::Fd, if fd.brs == Some(false) { 0 } else { flags::BRS }),
    };
    match Header::new(kind, message.id, message.len) {
        Ok(header) => Some(header.with_flags(flags)),
        Err(error) => {
            let text = format!("message {}: {error}", message.name);
            found.push(Diagnostic::error(spec.name.span.clone(), text));
            None
        }
    }
}

/// Returns the raw bits of a value.
pub(super) fn bits(
    signal: &SignalDefinition,
    value: &SpannedValue<ValueSpec>,
    found: &mut Diagnostics,
) -> Option<u64> {
    let problem = match &value.value {
        ValueSpec::Number(number) => match signal.bits_of(*number) {
            Ok(bits) => return Some(bits),
            Err(error) => (format!("signal {}: {error}", signal.name), String::new()),
        },
        ValueSpec::Name(name) => {
            let named = signal.value_names.iter().find(|named| named.name == *name);
            match named.and_then(|named| signal.bits_of_raw(named.raw)) {
                Some(bits) => return Some(bits),
                None => {
                    let names = signal.value_names.iter().map(|named| named.name.as_str());
                    (
                        format!("signal {} has no value named `{name}`", signal.name),
                        did_you_mean(name, names),
                    )
                }
            }
        }
    };
    let (text, hint) = problem;
    found.push(Diagnostic::error(value.span.clone(), text).hint(hint));
    None
}

pub(super) fn counter_of(
    message: &MessageDefinition,
    name: &SpannedValue<String>,
    found: &mut Diagnostics,
) -> Option<(usize, AliveCounter)> {
    let at = find_signal(message, name, found)?;
    let signal = message.signals.get(at)?;
    let highest = match (signal.kind, signal.stated_range()) {
        (SignalKind::Unsigned, Ok((_, highest))) => u64::try_from(highest).ok(),
        _ => None,
    };
    let Some(highest) = highest else {
        let text = format!(
            "signal {} cannot count: it is not an unsigned integer",
            signal.name
        );
        found.push(Diagnostic::error(name.span.clone(), text));
        return None;
    };
    let counter = AliveCounter {
        field: signal.field,
        values: highest.saturating_add(1),
    };
    Some((at, counter))
}
