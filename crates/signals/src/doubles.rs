//! Messages and signals that a database has twice.

use crate::check::is_next_of_range;
use crate::message::{DatabaseWarning, MessageDefinition};
use crate::shown::shown;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::vec::Vec;

/// Returns whether both messages have the same definition in the file: a frame of an ARXML can be
/// sent on several buses, and with several IDs.
fn is_one_definition(first: &MessageDefinition, second: &MessageDefinition) -> bool {
    first.line == second.line && first.name == second.name
}

/// Adds a warning for each message that has an ID or the name of one before it, and for each signal
/// whose name another signal of its message has.
pub(crate) fn warn_of_doubles(messages: &[MessageDefinition], warnings: &mut Vec<DatabaseWarning>) {
    let mut ids: BTreeMap<u32, &MessageDefinition> = BTreeMap::new();
    let mut names: BTreeMap<&str, &MessageDefinition> = BTreeMap::new();
    // The messages of a range of IDs have one definition, and one warning of each kind.
    for definition in messages.chunk_by(is_next_of_range) {
        let Some(message) = definition.first() else {
            continue;
        };
        let mut add = |line, problem| warnings.push(DatabaseWarning { line, problem });
        let name = shown(&message.name);
        let taken = definition.iter().filter_map(|one| {
            let first = *ids.get(&one.id.raw())?;
            (!is_one_definition(first, one)).then_some((one.id, first))
        });
        let taken: Vec<_> = taken.collect();
        if let Some((id, first)) = taken.first() {
            let (other, line) = (shown(&first.name), first.line);
            add(
                message.line,
                match taken.len() {
                    1 => format!(
                        "{name} has the ID {id} of {other} in line {line}: its frames are taken as {other}"
                    ),
                    count => format!(
                        "{name} has {count} IDs of other messages, the first one {id} of {other} in line \
                         {line}: their frames are taken as those of the other messages"
                    ),
                },
            );
        }
        for one in definition {
            ids.entry(one.id.raw()).or_insert(one);
        }
        match names.get(&*message.name) {
            // Its signals have had their warnings.
            Some(first) if is_one_definition(first, message) => continue,
            Some(first) => add(
                message.line,
                format!("line {} has a message {name}, too", first.line),
            ),
            None => {}
        }
        names.entry(&message.name).or_insert(message);
        let mut signals = BTreeMap::new();
        for signal in &message.signals {
            if let Some(first) = signals.insert(&*signal.name, signal.line) {
                let signal_name = shown(&signal.name);
                add(
                    signal.line,
                    format!(
                        "signal {signal_name} of {name}: line {first} has a signal of this name, too"
                    ),
                );
            }
        }
    }
}
