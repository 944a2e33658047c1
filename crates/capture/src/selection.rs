//! The messages and signals of databases that are decoded.

use crate::FrameDatabases;
use frame::CanId;
use logs::InterfaceName;
use signals::{IndexedDatabase, MessageDefinition, SignalState};
use std::collections::HashMap;

/// A message of one of the databases, and those of its signals that are decoded.
#[derive(Clone, Debug)]
pub struct SelectedMessage<'a> {
    pub(crate) definition: &'a MessageDefinition,
    pub(crate) signals: Vec<usize>,
    is_selected: bool,
    /// Whether some of its signals are not decoded.
    pub(crate) is_partial: bool,
}

impl<'a> SelectedMessage<'a> {
    /// Returns a message of which the signals with these indices are decoded, in ascending order.
    /// One that is not selected is not decoded at all; one without signals can be selected.
    #[must_use]
    pub fn new(definition: &'a MessageDefinition, is_selected: bool, signals: Vec<usize>) -> Self {
        Self {
            definition,
            is_selected,
            is_partial: signals.len() < definition.signals.len(),
            signals,
        }
    }

    /// Returns whether the message is decoded.
    #[must_use]
    pub const fn is_selected(&self) -> bool {
        self.is_selected
    }

    /// Returns the message.
    #[must_use]
    pub const fn definition(&self) -> &'a MessageDefinition {
        self.definition
    }

    /// Returns the indices of the signals that are decoded.
    #[must_use]
    pub fn signals(&self) -> &[usize] {
        &self.signals
    }

    /// Returns the name of the first signal that a payload is too short for.
    #[must_use]
    pub fn first_too_short(&self, payload: &[u8]) -> Option<&str> {
        let states = self.signals.iter().map(|&index| {
            let signal = self.definition.signals.get(index)?;
            let state = self.definition.read(index, payload);
            (state == SignalState::TooShort).then_some(&*signal.name)
        });
        states.flatten().next()
    }
}

/// The result of a search for the message of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FoundMessage {
    /// Its ID is not in the database.
    Unknown,
    /// Its message is not selected.
    NotSelected,
    /// Its message has this index in [`SignalSelection::messages`].
    Selected(usize),
}

/// All messages of the databases, and which of them are decoded.
#[derive(Debug)]
pub struct SignalSelection<'a> {
    databases: &'a FrameDatabases,
    messages: Vec<SelectedMessage<'a>>,
    /// For each database: its messages by their IDs, and their indices in `messages`.
    tables: Vec<(&'a IndexedDatabase, HashMap<u32, usize>)>,
}

impl<'a> SignalSelection<'a> {
    /// Selects messages and signals: `select` is called for each message of the databases.
    pub fn new(
        databases: &'a FrameDatabases,
        mut select: impl FnMut(&'a MessageDefinition) -> SelectedMessage<'a>,
    ) -> Self {
        let (mut messages, mut tables) = (Vec::new(), Vec::new());
        for database in databases.all() {
            let mut numbers = HashMap::new();
            for definition in &database.database().messages {
                // Of messages with one ID, the first one counts, as in the index.
                numbers.entry(definition.id.raw()).or_insert(messages.len());
                messages.push(select(definition));
            }
            tables.push((database, numbers));
        }
        Self {
            databases,
            messages,
            tables,
        }
    }

    /// Returns all messages.
    #[must_use]
    pub fn messages(&self) -> &[SelectedMessage<'a>] {
        &self.messages
    }

    /// Finds the message of a frame.
    #[must_use]
    pub fn find(&self, interface: InterfaceName, id: CanId) -> FoundMessage {
        let table = self.databases.position(Some(interface));
        let table = table.and_then(|position| self.tables.get(position));
        let found = table.and_then(|(database, numbers)| {
            let definition = database.find(id)?;
            numbers.get(&definition.id.raw()).copied()
        });
        match found {
            None => FoundMessage::Unknown,
            Some(number) if self.messages.get(number).is_some_and(|m| m.is_selected) => {
                FoundMessage::Selected(number)
            }
            Some(_) => FoundMessage::NotSelected,
        }
    }
}
