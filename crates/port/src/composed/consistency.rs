//! The signals of a made message that are set: none twice, none without its switch.

use super::spec::MakeSpec;
use config::{Diagnostic, Diagnostics};
use signals::{MessageDefinition, SignalPresence};
use std::ops::Range;

/// The maximum number of signals that a warning names.
const MOST_NAMED: usize = 5;

/// The index of a signal that is set, and its place in the file.
pub(super) type SetSignal = (usize, Range<usize>);

/// Checks that no two of the signals that are set share bits, and that each multiplexed one has its
/// switch set to a value that selects it.
pub(super) fn check_set(
    message: &MessageDefinition,
    set: &[SetSignal],
    initial: &[u8],
    found: &mut Diagnostics,
) -> bool {
    let mut is_right = true;
    for (count, (at, span)) in set.iter().enumerate() {
        let Some(signal) = message.signals.get(*at) else {
            continue;
        };
        let mut before = set.iter().take(count);
        let other = before.find_map(|(other, _)| {
            let other = message.signals.get(*other)?;
            signal.field.shares_bits(&other.field).then_some(other)
        });
        if let Some(other) = other {
            let text = if other.name == signal.name {
                format!("signal {} is set twice", signal.name)
            } else {
                format!("signals {} and {} share bits", other.name, signal.name)
            };
            found.push(Diagnostic::error(span.clone(), text).hint("set one of them"));
            is_right = false;
        }
        // Its switch is one of the signals that are set, so that the switch of that one is, too.
        if let Some(switch) = message.switches(*at).next() {
            let Some(definition) = message.signals.get(switch.index) else {
                continue;
            };
            let is_set = set.iter().any(|(other, _)| *other == switch.index);
            let value = definition.field.read(initial);
            let selects = value.is_some_and(|value| switch.has(value));
            if !is_set || !selects {
                let text = format!(
                    "signal {} is in frames with certain values of {} only",
                    signal.name, definition.name
                );
                let first = switch.values.first().map_or(0, |range| *range.start());
                let hint = format!(
                    "set {} to a value that selects it (raw {first})",
                    definition.name
                );
                found.push(Diagnostic::error(span.clone(), text).hint(hint));
                is_right = false;
            }
        }
    }
    is_right
}

/// Warns of signals that are sent as 0 because they are not set.
pub(super) fn warn_of_unset(
    message: &MessageDefinition,
    set: &[SetSignal],
    spec: &MakeSpec,
    found: &mut Diagnostics,
) {
    let numbered = message.signals.iter().enumerate();
    let unset = numbered.filter(|(at, signal)| {
        signal.presence == SignalPresence::Always && set.iter().all(|(other, _)| other != at)
    });
    let names: Vec<&str> = unset.map(|(_, signal)| signal.name.as_str()).collect();
    if names.is_empty() {
        return;
    }
    let more = names.len().saturating_sub(MOST_NAMED);
    let mut text = names
        .iter()
        .take(MOST_NAMED)
        .copied()
        .collect::<Vec<_>>()
        .join(", ");
    if more > 0 {
        text.push_str(&format!(" and {more} more"));
    }
    let text = format!(
        "signals of {} that are not set are sent as raw 0: {text}",
        message.name
    );
    let hint = "set them in `signals`";
    found.push(Diagnostic::warning(spec.name.span.clone(), text).hint(hint));
}
