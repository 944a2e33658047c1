//! The messages of frames.

use crate::j1939::{group_id_mask, parameter_group};
use crate::message::{MessageDatabase, MessageDefinition};
use alloc::collections::BTreeMap;
use frame::CanId;

/// An index of a database's messages by their IDs. Standard and extended IDs of one number are two
/// messages. If two messages have one ID, the first one counts.
#[derive(Clone, Debug)]
pub struct MessageIndex<'a> {
    messages: &'a [MessageDefinition],
    positions: MessagePositions,
}

impl<'a> MessageIndex<'a> {
    /// Returns the index of a database.
    #[must_use]
    pub fn new(database: &'a MessageDatabase) -> Self {
        Self {
            messages: &database.messages,
            positions: MessagePositions::of(&database.messages),
        }
    }

    /// Returns the message of frames with this ID; for remote frames, the message that they
    /// request. Error frames have none.
    #[must_use]
    pub fn find(&self, id: CanId) -> Option<&'a MessageDefinition> {
        self.messages.get(self.positions.find(id)?)
    }
}

/// A database with its index, for programs that keep both.
#[derive(Clone, Debug)]
pub struct IndexedDatabase {
    database: MessageDatabase,
    positions: MessagePositions,
}

impl IndexedDatabase {
    /// Makes the index of a database.
    #[must_use]
    pub fn new(database: MessageDatabase) -> Self {
        Self {
            positions: MessagePositions::of(&database.messages),
            database,
        }
    }

    /// Returns the database.
    #[must_use]
    pub const fn database(&self) -> &MessageDatabase {
        &self.database
    }

    /// Returns the message of frames with this ID, as [`MessageIndex::find`] does.
    #[must_use]
    pub fn find(&self, id: CanId) -> Option<&MessageDefinition> {
        self.database.messages.get(self.positions.find(id)?)
    }
}

/// The positions of messages in their database.
#[derive(Clone, Debug)]
struct MessagePositions {
    by_id: BTreeMap<u32, usize>,
    /// Messages of J1939 by their parameter group number, for frames of other sources, destinations
    /// and priorities.
    by_group: BTreeMap<u32, usize>,
}

impl MessagePositions {
    fn of(messages: &[MessageDefinition]) -> Self {
        let (mut by_id, mut by_group) = (BTreeMap::new(), BTreeMap::new());
        for (at, message) in messages.iter().enumerate() {
            by_id.entry(message.id.raw()).or_insert(at);
            if message.j1939
                && let Some(group) = parameter_group(message.id)
            {
                by_group.entry(group).or_insert(at);
            }
        }
        Self { by_id, by_group }
    }

    fn find(&self, id: CanId) -> Option<usize> {
        if id.is_err() {
            return None;
        }
        let plain = match id.is_eff() {
            true => CanId::eff(id.number()),
            false => CanId::sff(id.number()),
        };
        let exact = self.by_id.get(&plain.ok()?.raw());
        let group = || self.by_group.get(&parameter_group(id)?);
        exact.or_else(group).copied()
    }
}

impl MessageDefinition {
    /// Returns SocketCAN's 32 bits of the message's ID and the mask of those that its frames have
    /// in common, flags included. Frames of a parameter group of J1939 have any priority and
    /// source; of a group that is sent to one address, any destination.
    #[must_use]
    pub fn frame_filter(&self) -> (u32, u32) {
        let id = self.id.raw();
        match parameter_group(self.id) {
            Some(group) if self.j1939 => (id, !CanId::EFF_MASK | group_id_mask(group)),
            _ => (id, u32::MAX),
        }
    }
}

impl MessageIndex<'_> {
    /// Returns the part of an extended ID that is the same in all frames of its J1939 parameter
    /// group, and a mask of the bits that belong to it.
    #[must_use]
    pub fn group(id: CanId) -> Option<(u32, u32)> {
        let group = parameter_group(id)?;
        Some((group << 8, group_id_mask(group)))
    }
}
