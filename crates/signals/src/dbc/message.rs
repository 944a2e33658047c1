//! Messages: `BO_`, and the attributes of messages.

use super::attributes::{DbcAttributes, plain};
use super::signal::{DraftSignal, SignalStatements, resolve};
use super::split::FilePlaces;
use super::{node, raw_id};
use crate::DatabaseError;
use crate::message::{DatabaseWarning, ImpossibleMessage, MessageDefinition};
use crate::room::{SignalRoom, node_bytes};
use crate::sending;
use crate::shown::shown;
use crate::statements::E2eAttributes;
use alloc::borrow::ToOwned as _;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use can_dbc_pest::{Pair, Rule};
use frame::CanId;

/// The bit that marks an ID of 29 bits.
const EXTENDED: u32 = 1 << 31;

/// The pseudo-message for signals that belong to no message: by its usual ID, or by its name.
const INDEPENDENT: u32 = 0xC000_0000;
const INDEPENDENT_NAME: &str = "VECTOR__INDEPENDENT_SIG_MSG";

/// A message as its `BO_` has it.
pub(super) struct DraftMessage {
    /// The ID as the file has it.
    pub(super) raw: u32,
    line: usize,
    name: String,
    id: CanId,
    len: usize,
    sender: Option<String>,
    signals: Vec<DraftSignal>,
    /// The names of all its signals, also of those that are left out.
    pub(super) all_names: Vec<String>,
}

impl DraftMessage {
    /// Reads a `BO_` with its signals; `None` for signals that belong to no message.
    pub(super) fn parse(
        statement: Pair<'_, Rule>,
        places: &FilePlaces<'_>,
        warnings: &mut Vec<DatabaseWarning>,
    ) -> Result<Option<Self>, ImpossibleMessage> {
        let parts = statement.clone().into_inner();
        let name = parts
            .filter(|part| part.as_rule() == Rule::message_name)
            .map(|part| part.as_str().to_owned())
            .next()
            .unwrap_or_default();
        if name == INDEPENDENT_NAME {
            return Ok(None);
        }
        Self::parse_named(statement, places, warnings)
            .map_err(|error| ImpossibleMessage { name, error })
    }

    /// Returns the ID in a `BO_` as the file has it.
    pub(super) fn raw_id(statement: &Pair<'_, Rule>) -> Option<u32> {
        let id = statement.clone().into_inner().next()?;
        let id = id.clone().into_inner().next().unwrap_or(id);
        raw_id(&id)
    }

    fn parse_named(
        statement: Pair<'_, Rule>,
        places: &FilePlaces<'_>,
        warnings: &mut Vec<DatabaseWarning>,
    ) -> Result<Option<Self>, DatabaseError> {
        let line = places.line(&statement);
        let place = statement.clone();
        let error_at = |pair: &Pair<'_, Rule>, problem: String| {
            let (line, column) = places.of(pair);
            DatabaseError {
                line,
                column,
                problem,
            }
        };
        let mut parts = statement.into_inner();
        let mut next = |what: &str| {
            let part = parts.next();
            part.ok_or_else(|| error_at(&place, format!("a message without its {what}")))
        };
        let id = next("ID")?;
        let id = id.clone().into_inner().next().unwrap_or(id);
        let raw = raw_id(&id).ok_or_else(|| {
            let text = id.as_str();
            error_at(
                &id,
                format!(
                    "{} is not a valid ID: it has more than 32 bits",
                    shown(text)
                ),
            )
        })?;
        if raw == INDEPENDENT {
            return Ok(None);
        }
        let name = next("name")?.as_str().to_owned();
        let size = next("length")?;
        let len = size.as_str().parse::<usize>().ok();
        let Some(len) = len.filter(|len| *len <= usize::from(u16::MAX)) else {
            let problem = format!(
                "{} is not a valid length of a message",
                shown(size.as_str())
            );
            return Err(error_at(&size, problem));
        };
        let sender = node(next("sender")?.as_str());
        let can_id = can_id(raw).map_err(|problem| error_at(&id, problem))?;
        if can_id.is_eff() && raw & EXTENDED == 0 {
            warnings.push(DatabaseWarning {
                line,
                problem: format!(
                    "ID {raw} of {} is above 2047 without the bit that marks 29 bits \
                     (2147483648): it is taken as one of 29 bits",
                    shown(&name)
                ),
            });
        }
        let mut all_names = Vec::new();
        let signals = parts.filter_map(|signal| {
            let parts = signal.clone().into_inner();
            let mut names = parts.filter(|part| part.as_rule() == Rule::signal_name);
            all_names.extend(names.next().map(|name| name.as_str().to_owned()));
            DraftSignal::parse(signal, &name, len, places, warnings)
        });
        let signals = signals.collect();
        Ok(Some(Self {
            raw,
            line,
            id: can_id,
            len,
            sender,
            signals,
            all_names,
            name,
        }))
    }

    /// Returns the message with what other statements of the file add to it.
    ///
    /// # Errors
    /// [`DatabaseError`] if the file has no room for it.
    pub(super) fn complete(
        self,
        attributes: &DbcAttributes,
        statements: &SignalStatements,
        others: Vec<String>,
        warnings: &mut Vec<DatabaseWarning>,
        room: &mut SignalRoom,
    ) -> Result<MessageDefinition, DatabaseError> {
        let (raw, line) = (self.raw, self.line);
        room.take_at(line, 1, 0)?;
        let of_signals = || self.signals.iter().map(|signal| signal.name.as_str());
        let signal_event = of_signals().find_map(|signal| {
            let word = attributes.signal_send_type(raw, signal)?;
            sending::is_on_event(&word).then(|| (signal.to_owned(), plain(&word)))
        });
        let cycles = of_signals().flat_map(|signal| {
            ["GenSigCycleTime", "GenSigCycleTimeActive"]
                .map(|name| attributes.signal_millis(raw, signal, name))
        });
        let signal_cycle = cycles.flatten().min();
        let mut senders = Vec::new();
        for name in all_senders(self.sender, others) {
            let name = attributes.long_node(&name).unwrap_or(name);
            room.take_at(line, 0, node_bytes(&name))?;
            senders.push(name);
        }
        let mut senders = senders.into_iter();
        let (sender, more_senders) = (senders.next(), senders.collect());
        let signals = resolve(
            raw,
            &self.name,
            self.signals,
            attributes,
            statements,
            warnings,
            room,
        )?;
        let name = attributes.long_name(raw).unwrap_or(self.name);
        let mut message = MessageDefinition {
            sender,
            more_senders,
            cycle: attributes.millis(raw, "GenMsgCycleTime"),
            fast: attributes.millis(raw, "GenMsgCycleTimeFast"),
            signal_cycle,
            delay: attributes.millis(raw, "GenMsgDelayTime"),
            send_type: attributes.send_type(raw).map(|w| plain(&w)),
            signal_event,
            e2e: attributes.e2e(raw),
            comment: statements.comment_of(raw),
            signals,
            ..MessageDefinition::new(line, name, self.id, self.len)
        };
        let texts = message.name.len() + message.comment.len();
        let protection = message.e2e.as_ref().map_or(0, E2eAttributes::text_bytes);
        room.take_at(line, 0, texts + protection)?;
        set_format(&mut message, raw, attributes);
        Ok(message)
    }
}

/// Returns the identifier for an ID as the file has it.
fn can_id(raw: u32) -> Result<CanId, String> {
    let number = raw & !EXTENDED;
    let standard = match raw & EXTENDED {
        0 => CanId::sff(number).ok(),
        _ => None,
    };
    let id = standard.map_or_else(|| CanId::eff(number), Ok);
    id.map_err(|_| format!("ID {raw}: {number:X} has more than 29 bits"))
}

/// Returns the first sender, and the others.
fn all_senders(first: Option<String>, others: Vec<String>) -> Vec<String> {
    let mut all: Vec<String> = first.into_iter().collect();
    for other in others {
        // `BO_TX_BU_` can repeat the sender of `BO_`.
        if all.first() != Some(&other) {
            all.push(other);
        }
    }
    all
}

/// Sets whether the message is FD or a parameter group of J1939, and the length of its frames.
fn set_format(message: &mut MessageDefinition, raw: u32, attributes: &DbcAttributes) {
    let format = attributes.word(raw, "VFrameFormat").unwrap_or_default();
    message.j1939 = format.contains("J1939");
    // The numbers of Vector's tools, where the file does not define them.
    let is_stated = format.ends_with("_FD") || ["14", "15"].contains(&format.as_str());
    let brs = attributes.word(raw, "CANFD_BRS");
    let brs = brs.map(|word| word == "1" || word.eq_ignore_ascii_case("true"));
    message.set_fd(is_stated, brs);
}
