//! Messages and signals that a database has twice.

use crate::message::{DatabaseWarning, MessageDefinition};
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::vec::Vec;

/// Adds a warning for each message whose ID or name is that of one before it, and for each signal
/// whose name another signal of its message has.
pub(crate) fn warn_of_doubles(messages: &[MessageDefinition], warnings: &mut Vec<DatabaseWarning>) {
    let mut ids: BTreeMap<u32, &MessageDefinition> = BTreeMap::new();
    let mut names: BTreeMap<&str, &MessageDefinition> = BTreeMap::new();
    for message in messages {
        let MessageDefinition { line, name, .. } = message;
        if let Some(first) = ids.get(&message.id.raw()) {
            let (id, other) = (message.id, &first.name);
            warnings.push(DatabaseWarning {
                line: *line,
                problem: format!(
                    "{name} has the ID {id} of {other} in line {}: its frames are taken as {other}",
                    first.line
                ),
            });
        }
        ids.entry(message.id.raw()).or_insert(message);
        // A range of IDs has one definition.
        let first = names.get(&**name);
        if let Some(first) = first.filter(|first| first.line != *line) {
            warnings.push(DatabaseWarning {
                line: *line,
                problem: format!("line {} has a message {name}, too", first.line),
            });
        }
        names.entry(name).or_insert(message);
        let mut signals = BTreeMap::new();
        for signal in &message.signals {
            if let Some(first) = signals.insert(&*signal.name, signal.line) {
                warnings.push(DatabaseWarning {
                    line: signal.line,
                    problem: format!(
                        "signal {} of {name}: line {first} has a signal of this name, too",
                        signal.name
                    ),
                });
            }
        }
    }
}
