//! The messages and signals that are written.

use crate::cli::decode::SignalChoice;
use capture::FrameDatabases;
use config::did_you_mean;
use console::Failure;
use frame::CanId;
use port::log::InterfaceName;
use signals::{IndexedDatabase, MessageDefinition, SignalState};
use std::collections::HashMap;

/// A message of one of the databases, and those of its signals that are written.
pub(super) struct SelectedMessage<'a> {
    pub(super) definition: &'a MessageDefinition,
    /// Indices in the message's signals.
    pub(super) signals: Vec<usize>,
    /// Whether the message is written at all.
    is_selected: bool,
    /// Whether some of its signals are not written.
    pub(super) is_partial: bool,
}

impl SelectedMessage<'_> {
    /// Returns the name of the first signal that a payload is too short for.
    pub(super) fn first_too_short(&self, payload: &[u8]) -> Option<&str> {
        let states = self.signals.iter().map(|&index| {
            let signal = self.definition.signals.get(index)?;
            let state = self.definition.read(index, payload);
            (state == SignalState::TooShort).then_some(&*signal.name)
        });
        states.flatten().next()
    }
}

/// The result of a search for the message of a frame.
pub(super) enum FoundMessage {
    /// Its ID is not in the database.
    Unknown,
    /// Its message is not selected.
    NotSelected,
    /// Its message has this index in [`SignalSelection::messages`].
    Selected(usize),
}

/// All messages of the databases, and which of them are written.
pub(super) struct SignalSelection<'a> {
    databases: &'a FrameDatabases,
    messages: Vec<SelectedMessage<'a>>,
    /// For each database: its messages by their IDs, and their indices in `messages`.
    tables: Vec<(&'a IndexedDatabase, HashMap<u32, usize>)>,
}

impl<'a> SignalSelection<'a> {
    /// Selects the signals that the options name, or all.
    ///
    /// # Errors
    /// A name that no database has.
    pub(super) fn new(
        databases: &'a FrameDatabases,
        choice: &SignalChoice,
    ) -> Result<Self, Failure> {
        let (mut messages, mut tables) = (Vec::new(), Vec::new());
        for database in databases.all() {
            let mut numbers = HashMap::new();
            for definition in &database.database().messages {
                // Of messages with one ID, the first one counts, as in the index.
                numbers.entry(definition.id.raw()).or_insert(messages.len());
                messages.push(select(definition, choice));
            }
            tables.push((database, numbers));
        }
        check_names(&messages, choice)?;
        if !messages.iter().any(|message| message.is_selected) {
            return Err(Failure::input(
                "--messages and --signals together select nothing: none of these signals is in one of these messages",
            ));
        }
        Ok(Self {
            databases,
            messages,
            tables,
        })
    }

    /// Returns all messages.
    pub(super) fn messages(&self) -> &[SelectedMessage<'a>] {
        &self.messages
    }

    /// Finds the message of a frame.
    pub(super) fn find(&self, interface: InterfaceName, id: CanId) -> FoundMessage {
        let table = self.databases.position(Some(interface));
        let table = table.and_then(|position| self.tables.get(position));
        let found = table.and_then(|(database, numbers)| {
            let definition = database.find(id)?;
            numbers.get(&definition.id.raw()).copied()
        });
        match found {
            None => FoundMessage::Unknown,
            Some(number) if self.messages[number].is_selected => FoundMessage::Selected(number),
            Some(_) => FoundMessage::NotSelected,
        }
    }
}

fn select<'a>(definition: &'a MessageDefinition, choice: &SignalChoice) -> SelectedMessage<'a> {
    let SignalChoice { messages, signals } = choice;
    let is_named = messages.is_empty() || messages.contains(&definition.name);
    let is_wanted = |signal: &str| {
        signals.is_empty()
            || signals.iter().any(|wanted| match wanted.split_once('.') {
                Some((message, wanted)) => message == definition.name && wanted == signal,
                None => wanted == signal,
            })
    };
    let all = definition.signals.iter().enumerate();
    let chosen: Vec<usize> = all
        .filter(|(_, signal)| is_named && is_wanted(&signal.name))
        .map(|(index, _)| index)
        .collect();
    SelectedMessage {
        definition,
        is_selected: is_named && (signals.is_empty() || !chosen.is_empty()),
        is_partial: chosen.len() < definition.signals.len(),
        signals: chosen,
    }
}

/// Checks that the databases have all names of the options.
fn check_names(messages: &[SelectedMessage<'_>], choice: &SignalChoice) -> Result<(), Failure> {
    let definitions = || messages.iter().map(|message| message.definition);
    let names = || definitions().map(|definition| definition.name.as_str());
    let unknown = |option: &str, name: &str, hint: String| {
        Err(Failure::input(format!(
            "{option} {name}: not in the databases; {hint}"
        )))
    };
    for name in &choice.messages {
        if !names().any(|known| known == name) {
            return unknown("--messages", name, did_you_mean(name, names()));
        }
    }
    for name in &choice.signals {
        let (message, signal) = match name.split_once('.') {
            Some((message, signal)) => (Some(message), signal),
            None => (None, name.as_str()),
        };
        if let Some(message) = message
            && !names().any(|known| known == message)
        {
            return unknown("--signals", name, did_you_mean(message, names()));
        }
        let of = definitions().filter(|one| message.is_none_or(|message| one.name == message));
        let known = of.flat_map(|one| one.signals.iter().map(|signal| signal.name.as_str()));
        if !known.clone().any(|known| known == signal) {
            return unknown("--signals", name, did_you_mean(signal, known));
        }
    }
    Ok(())
}
