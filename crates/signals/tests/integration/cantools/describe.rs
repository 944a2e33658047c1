//! Databases in the words of `describe.py`.

use signals::{ByteOrder, MessageDefinition, SignalDefinition, SignalKind, SignalPresence};
use std::collections::BTreeMap;

/// The fields of a message or signal by their names.
pub(crate) type Fields = BTreeMap<&'static str, String>;

/// The names of the fields of a `message` line.
pub(crate) const MESSAGE: [&str; 8] = [
    "id", "format", "name", "len", "fd", "senders", "cycle", "comment",
];

/// The names of the fields of a `signal` line.
pub(crate) const SIGNAL: [&str; 18] = [
    "name",
    "start",
    "bits",
    "order",
    "kind",
    "factor",
    "offset",
    "min",
    "max",
    "unit",
    "receivers",
    "switch",
    "values",
    "initial",
    "invalid",
    "comment",
    "names",
    "",
];

/// Returns the fields of a line of the script.
pub(crate) fn fields(names: &[&'static str], line: &[&str]) -> Fields {
    let values = line.iter().map(|value| (*value).to_owned());
    names.iter().copied().zip(values).collect()
}

/// Returns a text on one line. Python reads any line break as a line feed.
fn on_one_line(text: &str) -> String {
    let text = text.replace("\r\n", "\n");
    let text = text.replace('\\', "\\\\").replace('\t', "\\t");
    text.replace('\r', "\\r").replace('\n', "\\n")
}

fn sorted<'a>(names: impl Iterator<Item = &'a String>) -> String {
    let mut names: Vec<&str> = names.map(String::as_str).collect();
    names.sort_unstable();
    names.join(",")
}

pub(crate) fn message(message: &MessageDefinition) -> Fields {
    let senders = message.sender.iter().chain(&message.more_senders);
    let cycle = message.cycle.map(|ns| (ns as f64 / 1e6).to_string());
    let is_fd = message.fd.is_some_and(|fd| fd.is_stated);
    let values = [
        message.id.number().to_string(),
        if message.id.is_eff() { "e" } else { "s" }.to_owned(),
        message.name.clone(),
        message.len.to_string(),
        if is_fd { "fd" } else { "" }.to_owned(),
        sorted(senders),
        cycle.unwrap_or_default(),
        on_one_line(message.comment.trim()),
    ];
    MESSAGE.into_iter().zip(values).collect()
}

pub(crate) fn signal(message: &MessageDefinition, signal: &SignalDefinition) -> Fields {
    let order = match signal.layout.order {
        ByteOrder::Intel => "intel",
        ByteOrder::Motorola => "motorola",
    };
    let kind = match signal.kind {
        SignalKind::Unsigned => "unsigned",
        SignalKind::Signed => "signed",
        SignalKind::Float32 => "float32",
        SignalKind::Float64 => "float64",
    };
    let (switch, values) = match &signal.presence {
        SignalPresence::Always => (String::new(), String::new()),
        SignalPresence::Switched { switch, values } => {
            let name = message.signals[*switch].name.clone();
            let mut values: Vec<_> = values.iter().map(|v| (*v.start(), *v.end())).collect();
            values.sort_unstable();
            let mut merged: Vec<(u64, u64)> = Vec::new();
            for (first, last) in values {
                match merged.last_mut() {
                    Some(before) if first <= before.1.saturating_add(1) => {
                        before.1 = before.1.max(last);
                    }
                    _ => merged.push((first, last)),
                }
            }
            let merged: Vec<String> = merged.iter().map(|(a, b)| format!("{a}-{b}")).collect();
            (name, merged.join(","))
        }
    };
    let mut names: Vec<(i128, &str)> = Vec::new();
    for name in &signal.value_names {
        names.push((name.raw, &name.name));
    }
    names.sort_by_key(|(raw, _)| *raw);
    let names: Vec<String> = names
        .iter()
        .map(|(raw, name)| format!("{raw}={name}"))
        .collect();
    let decimal =
        |value: Option<signals::Decimal>| value.map(|v| v.to_string()).unwrap_or_default();
    let has_range = signal.range != (signals::Decimal::ZERO, signals::Decimal::ZERO);
    let end = |end| decimal(Some(end).filter(|_| has_range));
    let values = [
        signal.name.clone(),
        signal.layout.start.to_string(),
        signal.layout.bits.to_string(),
        order.to_owned(),
        kind.to_owned(),
        signal.factor.to_string(),
        signal.offset.to_string(),
        end(signal.range.0),
        end(signal.range.1),
        on_one_line(&signal.unit),
        sorted(signal.receivers.iter()),
        switch,
        values,
        decimal(signal.substitutes.start),
        decimal(signal.substitutes.invalid),
        on_one_line(signal.comment.trim()),
        on_one_line(&names.join("\u{1f}")),
        String::new(),
    ];
    SIGNAL.into_iter().zip(values).collect()
}
