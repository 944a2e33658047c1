//! Databases and their messages.

use crate::DatabaseError;
use crate::sending;
use crate::signal::{RawValue, SignalDefinition, SignalState};
use crate::statements::E2eAttributes;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use frame::{CanId, Nanos};

/// The messages of a bus.
#[derive(Clone, PartialEq, Debug)]
pub struct MessageDatabase {
    /// The name of the database; empty if it has none.
    pub name: String,
    /// Nominal bit rate, bit/s.
    pub bitrate: Option<u32>,
    /// Bit rate of the data phase, bit/s.
    pub data_bitrate: Option<u32>,
    /// The messages, in the order of the file.
    pub messages: Vec<MessageDefinition>,
    /// Messages that no frame can represent, in the order of the file.
    pub impossible: Vec<ImpossibleMessage>,
    /// Statements that are doubtful, and how they were taken, in the order of the file.
    pub warnings: Vec<DatabaseWarning>,
    /// Whether the file has a pseudo-message for signals that belong to no message, which is left
    /// out.
    pub has_independent_signals: bool,
}

/// A doubtful statement of a database, and how it was taken.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DatabaseWarning {
    /// The line, from 1.
    pub line: usize,
    /// The mistake and its effect.
    pub problem: String,
}

/// A message.
#[derive(Clone, PartialEq, Debug)]
pub struct MessageDefinition {
    /// The line of its definition, from 1.
    pub line: usize,
    /// Its name: letters, digits and `_`.
    pub name: String,
    /// Its ID.
    pub id: CanId,
    /// Payload bytes; for FD, a length that a frame can have.
    pub len: usize,
    /// The FD properties, if it is FD; `None` for a classic frame.
    pub fd: Option<FdMessage>,
    /// Its first sender; `None` if the file names no node.
    pub sender: Option<String>,
    /// Further senders.
    pub more_senders: Vec<String>,
    /// The cycle time (`GenMsgCycleTime`), ns.
    pub cycle: Option<Nanos>,
    /// The cycle time while a signal is active (`GenMsgCycleTimeFast`), ns.
    pub fast: Option<Nanos>,
    /// The shortest cycle time of its signals (`GenSigCycleTime`, `GenSigCycleTimeActive`), ns.
    pub signal_cycle: Option<Nanos>,
    /// The least time between two frames (`GenMsgDelayTime`), ns.
    pub delay: Option<Nanos>,
    /// The send type (`GenMsgSendType`) as a word.
    pub send_type: Option<String>,
    /// The first of its signals that is sent on an event (`GenSigSendType`), and its send type as a
    /// word.
    pub signal_event: Option<(String, String)>,
    /// Whether it is a parameter group of J1939.
    pub j1939: bool,
    /// The secured or container PDU in it, if there is one.
    pub whole: Option<WholePdu>,
    /// The end-to-end protection that the database states, if it does.
    pub e2e: Option<E2eAttributes>,
    /// The comment of the database; can be empty.
    pub comment: String,
    /// Its signals, in the order of the file.
    pub signals: Vec<SignalDefinition>,
}

/// A message that no frame can represent.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ImpossibleMessage {
    /// Its name: letters, digits and `_`.
    pub name: String,
    /// The mistake and its place.
    pub error: DatabaseError,
}

/// A PDU of AUTOSAR that receivers understand only as it was sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WholePdu {
    /// Its kind.
    pub kind: WholePduKind,
    /// The line of its definition, from 1.
    pub line: usize,
}

/// The kinds of PDUs that receivers understand only as they were sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WholePduKind {
    /// A payload with a freshness value and an authenticator (`SECURED-I-PDU`).
    Secured,
    /// Several PDUs in an order that differs from frame to frame (`CONTAINER-I-PDU`).
    Container,
}

/// The FD properties of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FdMessage {
    /// Whether the database states that it is FD; otherwise this follows only from its length.
    pub is_stated: bool,
    /// With bit rate switch (`CANFD_BRS`); `None` if the database does not specify it.
    pub brs: Option<bool>,
}

impl MessageDefinition {
    /// Returns whether it is also sent on events, and not only in its cycle. This follows from the
    /// words of tools for the send types of the message and of its signals. Unknown words count as
    /// events.
    #[must_use]
    pub fn is_on_event(&self) -> bool {
        self.signal_event.is_some() || sending::is_on_event(self.send_type.as_deref().unwrap_or(""))
    }

    /// Returns the reason for this: the message's send type, or that of a signal.
    #[must_use]
    pub fn event(&self) -> Option<String> {
        let own = self
            .send_type
            .clone()
            .filter(|word| sending::is_on_event(word));
        let signal = self.signal_event.as_ref();
        own.or_else(|| signal.map(|(name, word)| format!("signal {name}: {word}")))
    }

    /// Returns whether a message with a cycle time is sent in it at all times. One that is sent on
    /// events, or only while it is active, is not.
    #[must_use]
    pub fn keeps_cycle(&self) -> bool {
        let word = self.send_type.as_deref().unwrap_or("");
        sending::is_cyclic(word).unwrap_or_else(|| {
            let own_event = self.is_on_event() && self.event() == self.send_type;
            let signal_alone = self.cycle.is_none() && self.is_on_event();
            !own_event && !signal_alone
        })
    }

    /// Returns the state of the signal with this index in a payload.
    ///
    /// # Panics
    /// If the message has no signal of this index.
    #[must_use]
    pub fn read(&self, signal: usize, payload: &[u8]) -> SignalState {
        let definition = &self.signals[signal];
        if let Some(absence) = self.absence(signal, payload) {
            return absence;
        }
        match definition.raw(payload) {
            Some(raw) => SignalState::Value(raw),
            None => SignalState::TooShort,
        }
    }

    /// Returns the signals that a payload contains, with their raw values.
    pub fn decode<'a>(
        &'a self,
        payload: &'a [u8],
    ) -> impl Iterator<Item = (&'a SignalDefinition, RawValue)> {
        let all = self.signals.iter().enumerate();
        all.filter_map(|(index, signal)| match self.read(index, payload) {
            SignalState::Value(raw) => Some((signal, raw)),
            SignalState::Switched | SignalState::TooShort => None,
        })
    }
}
