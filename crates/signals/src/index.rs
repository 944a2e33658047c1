//! The messages of frames.

use crate::message::{MessageDatabase, MessageDefinition};
use alloc::collections::BTreeMap;
use frame::CanId;

/// An index of a database's messages by their IDs. Standard and extended IDs of one number are two
/// messages. If two messages have one ID, the first one counts.
#[derive(Clone, Debug)]
pub struct MessageIndex<'a> {
    by_id: BTreeMap<u32, &'a MessageDefinition>,
    /// Messages of J1939 by their parameter group number, for frames of other sources, destinations
    /// and priorities.
    by_group: BTreeMap<u32, &'a MessageDefinition>,
}

impl<'a> MessageIndex<'a> {
    /// Returns the index of a database.
    #[must_use]
    pub fn new(database: &'a MessageDatabase) -> Self {
        let (mut by_id, mut by_group) = (BTreeMap::new(), BTreeMap::new());
        for message in &database.messages {
            by_id.entry(message.id.raw()).or_insert(message);
            if message.j1939
                && let Some(group) = parameter_group(message.id)
            {
                by_group.entry(group).or_insert(message);
            }
        }
        Self { by_id, by_group }
    }

    /// Returns the message of frames with this ID; for remote frames, the message that they
    /// request. Error frames have none.
    #[must_use]
    pub fn find(&self, id: CanId) -> Option<&'a MessageDefinition> {
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

impl MessageIndex<'_> {
    /// Returns the part of an extended ID that is the same in all frames of its J1939 parameter
    /// group, and a mask of the bits that belong to it.
    #[must_use]
    pub fn group(id: CanId) -> Option<(u32, u32)> {
        let group = parameter_group(id)?;
        let mask = match is_broadcast(group) {
            true => 0x3_FFFF,
            false => 0x3_FF00,
        };
        Some((group << 8, mask << 8))
    }
}

/// Returns the parameter group number of an extended ID (SAE J1939-21, section 5.2): 18 bits, in
/// which the low byte is 0 for groups that are sent to one destination.
fn parameter_group(id: CanId) -> Option<u32> {
    let group = id.number() >> 8 & 0x3_FFFF;
    let group = if is_broadcast(group) {
        group
    } else {
        group & !0xFF
    };
    id.is_eff().then_some(group)
}

/// Returns whether the low byte belongs to the number of a parameter group: it has no destination.
const fn is_broadcast(group: u32) -> bool {
    /// The first PDU format without a destination.
    const FIRST_BROADCAST: u32 = 0xF0;
    group >> 8 & 0xFF >= FIRST_BROADCAST
}
