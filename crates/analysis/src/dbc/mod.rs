//! Reading of the traffic of a bus from a DBC.
//!
//! The grammar is that of `can-dbc-pest`. This module reads from its statements what a message set
//! needs: messages with their senders, and attributes that Vector's tools define for messages and
//! for their signals.

mod attributes;
mod decode;
mod sending;

use alloc::borrow::{Cow, ToOwned};
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use attributes::{DbcAttributes, plain};
use can_dbc_pest::{DbcParser, Pair, Parser, Rule};
use decode::{decode, without_pairs};
use frame::{CanId, Nanos, dlc};
use pest::error::LineColLocation;

/// The bit that marks an ID of 29 bits.
const EXTENDED: u32 = 1 << 31;

/// The pseudo-message for signals that belong to no message: by its usual ID, or by its name.
const INDEPENDENT: u32 = 0xC000_0000;
const INDEPENDENT_NAME: &str = "VECTOR__INDEPENDENT_SIG_MSG";

/// Names that represent no node.
const NOBODY: [&str; 3] = ["Vector__XXX", "VectorXXX", "VECTOR__XXX"];

/// The messages of a file.
#[derive(Clone, PartialEq, Debug)]
pub struct DbcDatabase {
    /// The name, from the attribute `DBName`; empty if it has none.
    pub name: String,
    /// Nominal bit rate, from the attribute `Baudrate`, bit/s.
    pub bitrate: Option<u32>,
    /// Bit rate of the data phase, from the attribute `BaudrateCANFD`, bit/s.
    pub data_bitrate: Option<u32>,
    /// The messages, in the order of the file.
    pub messages: Vec<DbcMessage>,
    /// Messages that no frame can represent, in the order of the file.
    pub impossible: Vec<ImpossibleMessage>,
    /// Whether the file has a pseudo-message for signals that belong to no message, which is left
    /// out.
    pub has_independent_signals: bool,
}

/// A message.
#[derive(Clone, PartialEq, Debug)]
pub struct DbcMessage {
    /// The line of its `BO_`, from 1.
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
    /// Further senders, from `BO_TX_BU_`.
    pub more_senders: Vec<String>,
    /// `GenMsgCycleTime`, ns.
    pub cycle: Option<Nanos>,
    /// `GenMsgCycleTimeFast`, ns.
    pub fast: Option<Nanos>,
    /// The shortest cycle time of its signals (`GenSigCycleTime`, `GenSigCycleTimeActive`), ns.
    pub signal_cycle: Option<Nanos>,
    /// `GenMsgDelayTime`: the least time between two frames, ns.
    pub delay: Option<Nanos>,
    /// `GenMsgSendType` as a word.
    pub send_type: Option<String>,
    /// The first of its signals that is sent on an event (`GenSigSendType`), and its send type as a
    /// word.
    pub signal_event: Option<(String, String)>,
    /// Whether it is a parameter group of J1939.
    pub j1939: bool,
}

/// A message that no frame can represent.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ImpossibleMessage {
    /// Its name: letters, digits and `_`.
    pub name: String,
    /// The mistake and its place.
    pub error: DbcError,
}

/// The FD properties of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FdMessage {
    /// Whether `VFrameFormat` states that it is FD; otherwise this follows only from its length.
    pub is_said: bool,
    /// `CANFD_BRS`: with bit rate switch; `None` if the file does not specify it.
    pub brs: Option<bool>,
}

/// The reason why a file cannot be read.
#[derive(thiserror::Error, Clone, PartialEq, Eq, Debug)]
#[error("line {line}, column {column}: {problem}")]
pub struct DbcError {
    /// The line, from 1.
    pub line: usize,
    /// The column, from 1, in characters.
    pub column: usize,
    /// The mistake.
    pub problem: String,
}

impl DbcError {
    fn at(pair: &Pair<'_, Rule>, problem: String) -> Self {
        let (line, column) = pair.line_col();
        Self {
            line,
            column,
            problem,
        }
    }
}

impl DbcMessage {
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
}

/// Reads a file in UTF-8 or UTF-16, with or without a byte order mark, in Latin-1, or in an
/// encoding of East Asia, of which only the ASCII text is kept.
///
/// # Errors
/// [`DbcError`]: the first statement that is not in the grammar. A message that no frame can
/// represent does not fail the file ([`DbcDatabase::impossible`]).
pub fn read(bytes: &[u8]) -> Result<DbcDatabase, DbcError> {
    let text = decode(bytes);
    let first = read_text(&text);
    match (&first, &text) {
        // The text was not UTF-8: each byte was a character.
        (Err(_), Cow::Owned(_)) => without_pairs(bytes)
            .and_then(|text| read_text(&text).ok())
            .map_or(first, Ok),
        _ => first,
    }
}

fn read_text(text: &str) -> Result<DbcDatabase, DbcError> {
    let parsed = DbcParser::parse(Rule::file, text).map_err(|error| grammar(&error, text))?;
    let mut attributes = DbcAttributes::default();
    let mut found: Vec<(u32, DbcMessage, Vec<String>)> = Vec::new();
    let mut impossible = Vec::new();
    let mut senders: BTreeMap<u32, Vec<String>> = BTreeMap::new();
    let mut has_independent_signals = false;
    for statement in parsed.flat_map(Pair::into_inner) {
        match statement.as_rule() {
            Rule::message => match message(statement) {
                Ok(Some(one)) => found.push(one),
                Ok(None) => has_independent_signals = true,
                Err(one) => impossible.push(one),
            },
            Rule::message_transmitter => {
                let all = statement.into_inner();
                let mut raw = None;
                for part in all {
                    match part.as_rule() {
                        Rule::message_id => raw = raw_id(&part).ok(),
                        _ => senders
                            .entry(raw.unwrap_or(INDEPENDENT))
                            .or_default()
                            .extend(somebody(part.as_str())),
                    }
                }
            }
            _ => attributes.add(statement),
        }
    }
    let messages = found.into_iter().map(|(raw, mut message, signals)| {
        message.complete(raw, &attributes, &signals);
        let others = senders.remove(&raw).unwrap_or_default();
        for other in others {
            if message.sender.is_none() {
                message.sender = Some(other);
            } else if message.sender.as_ref() != Some(&other) {
                message.more_senders.push(other);
            }
        }
        let long = |node: &mut String| {
            if let Some(long) = attributes.long_node(node) {
                *node = long;
            }
        };
        message.sender.iter_mut().for_each(long);
        message.more_senders.iter_mut().for_each(long);
        message
    });
    let messages = messages.collect();
    let rate = |name| attributes.whole(name).filter(|rate| *rate > 0);
    Ok(DbcDatabase {
        name: attributes.text("DBName").unwrap_or_default(),
        bitrate: rate("Baudrate"),
        data_bitrate: rate("BaudrateCANFD"),
        messages,
        impossible,
        has_independent_signals,
    })
}

/// Returns the error at the place where the grammar stops.
fn grammar(error: &can_dbc_pest::Error<Rule>, text: &str) -> DbcError {
    let (line, column) = match error.line_col {
        LineColLocation::Pos(place) | LineColLocation::Span(place, _) => place,
    };
    let at = text.lines().nth(line.saturating_sub(1)).unwrap_or("");
    let rest: String = at.chars().skip(column.saturating_sub(1)).take(30).collect();
    let problem = match rest.trim().is_empty() {
        true => "the statement is not complete".to_owned(),
        false => format!("no statement of a DBC goes on with `{}`", rest.trim_end()),
    };
    DbcError {
        line,
        column,
        problem,
    }
}

/// Returns the ID as the file has it, with the flags in its highest bits.
fn raw_id(pair: &Pair<'_, Rule>) -> Result<u32, DbcError> {
    let raw = pair.as_str().parse();
    raw.map_err(|_| {
        DbcError::at(
            pair,
            format!("{} is no ID: it has more than 32 bits", pair.as_str()),
        )
    })
}

fn somebody(name: &str) -> Option<String> {
    (!NOBODY.contains(&name)).then(|| name.to_owned())
}

/// A message without its attributes, and the names of its signals.
type Parsed = (u32, DbcMessage, Vec<String>);

/// Reads a message; `None` for signals that belong to no message.
fn message(statement: Pair<'_, Rule>) -> Result<Option<Parsed>, ImpossibleMessage> {
    let named = |part: Pair<'_, Rule>| part.as_rule() == Rule::message_name;
    let name = statement
        .clone()
        .into_inner()
        .find(|part| named(part.clone()));
    let name = name.map_or(String::new(), |part| part.as_str().to_owned());
    if name == INDEPENDENT_NAME {
        return Ok(None);
    }
    parse(statement).map_err(|error| ImpossibleMessage { name, error })
}

fn parse(statement: Pair<'_, Rule>) -> Result<Option<Parsed>, DbcError> {
    let (line, _) = statement.line_col();
    let place = statement.clone();
    let mut parts = statement.into_inner();
    let mut next = |what: &str| {
        let part = parts.next();
        part.ok_or_else(|| DbcError::at(&place, format!("a message without its {what}")))
    };
    let id = next("ID")?;
    let id = id.clone().into_inner().next().unwrap_or(id);
    let raw = raw_id(&id)?;
    if raw == INDEPENDENT {
        return Ok(None);
    }
    let name = next("name")?.as_str().to_owned();
    let size = next("length")?;
    let len = size.as_str().parse::<usize>().ok();
    let Some(len) = len.filter(|len| *len <= usize::from(u16::MAX)) else {
        let problem = format!("{} is no length of a message", size.as_str());
        return Err(DbcError::at(&size, problem));
    };
    let sender = somebody(next("sender")?.as_str());
    let signals = parts.filter_map(|signal| {
        let mut inner = signal.into_inner();
        let name = inner.find(|part| part.as_rule() == Rule::signal_name)?;
        Some(name.as_str().to_owned())
    });
    let signals = signals.collect();
    let number = raw & !EXTENDED;
    let can_id = match raw & EXTENDED {
        0 => CanId::sff(number),
        _ => CanId::eff(number),
    };
    let Ok(can_id) = can_id else {
        let problem = match raw & EXTENDED {
            0 => format!("ID {raw}: above 2047 it needs 2147483648 added, which marks 29 bits"),
            _ => format!("ID {raw}: {number:X} has more than 29 bits"),
        };
        return Err(DbcError::at(&id, problem));
    };
    let message = DbcMessage {
        line,
        name,
        id: can_id,
        len,
        fd: None,
        sender,
        more_senders: Vec::new(),
        cycle: None,
        fast: None,
        signal_cycle: None,
        delay: None,
        send_type: None,
        signal_event: None,
        j1939: false,
    };
    Ok(Some((raw, message, signals)))
}

impl DbcMessage {
    fn complete(&mut self, raw: u32, attributes: &DbcAttributes, signals: &[String]) {
        if let Some(name) = attributes.long_name(raw) {
            self.name = name;
        }
        self.signal_event = signals.iter().find_map(|signal| {
            let word = attributes.signal_word(raw, signal, "GenSigSendType")?;
            sending::is_on_event(&word).then(|| (signal.clone(), plain(&word)))
        });
        let cycles = signals.iter().flat_map(|signal| {
            ["GenSigCycleTime", "GenSigCycleTimeActive"]
                .map(|name| attributes.signal_millis(raw, signal, name))
        });
        self.signal_cycle = cycles.flatten().min();
        self.cycle = attributes.millis(raw, "GenMsgCycleTime");
        self.fast = attributes.millis(raw, "GenMsgCycleTimeFast");
        self.delay = attributes.millis(raw, "GenMsgDelayTime");
        self.send_type = attributes.word(raw, "GenMsgSendType").map(|w| plain(&w));
        let format = attributes.word(raw, "VFrameFormat").unwrap_or_default();
        self.j1939 = format.contains("J1939");
        // The numbers of Vector's tools, where the file does not define them.
        let is_said = format.ends_with("_FD") || ["14", "15"].contains(&format.as_str());
        let long = self.len > dlc::CLASSIC_MAX && self.len <= dlc::FD_MAX && !self.j1939;
        if is_said || long {
            let brs = attributes.word(raw, "CANFD_BRS");
            self.fd = Some(FdMessage {
                is_said,
                brs: brs.map(|word| word == "1" || word.eq_ignore_ascii_case("true")),
            });
            // The next length that a frame can have.
            if self.len <= dlc::FD_MAX {
                self.len = dlc::fd_padded(self.len);
            }
        }
    }
}

#[cfg(test)]
mod tests;
