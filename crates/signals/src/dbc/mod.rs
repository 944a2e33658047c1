//! Databases in DBC files.
//!
//! The grammar is that of `can-dbc-pest`. This module reads from its statements the messages with
//! their senders and signals, and the attributes that Vector's tools define for them. Real files
//! contain statements that Vector's tools do not accept: where the meaning is certain, they are
//! read, with a [warning](crate::MessageDatabase::warnings) where another program may read them
//! otherwise.

mod attributes;
mod message;
mod pairs;
mod signal;
mod split;
mod switches;
mod times;

use crate::define::one_line;
use crate::doubles::warn_of_doubles;
use crate::encoding::decode;
use crate::message::{DatabaseWarning, ImpossibleMessage, MessageDatabase};
use crate::room::SignalRoom;
use crate::{DatabaseError, MessageDefinition};
use alloc::borrow::{Cow, ToOwned as _};
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use attributes::{DbcAttributes, plain};
use can_dbc_pest::{DbcParser, Pair, Parser as _, Rule};
use message::DraftMessage;
use pairs::without_pairs;
use pest::error::InputLocation;
use signal::SignalStatements;
use split::{FilePlaces, Statements};

/// Names that represent no node.
const NO_NODE: [&str; 3] = ["Vector__XXX", "VectorXXX", "VECTOR__XXX"];

/// Reads a file in UTF-8 or UTF-16, with or without a byte order mark, in Windows-1252, or in an
/// encoding of East Asia, of which only the ASCII text is kept.
///
/// # Errors
/// [`DatabaseError`]: the first statement that is not in the grammar, or the message or signal with
/// which the file has too many for the memory. A message that no frame can
/// represent does not fail the file ([`MessageDatabase::impossible`]).
pub fn read(bytes: &[u8]) -> Result<MessageDatabase, DatabaseError> {
    read_within(bytes, &SignalRoom::default())
}

/// Reads a file that has no more than this.
fn read_within(bytes: &[u8], room: &SignalRoom) -> Result<MessageDatabase, DatabaseError> {
    let text = decode(bytes);
    let first = read_text(&text, room);
    match (&first, &text) {
        // The text was not UTF-8: each byte was a character.
        (Err(_), Cow::Owned(_)) => without_pairs(bytes)
            .and_then(|text| read_text(&text, room).ok())
            .map_or(first, Ok),
        _ => first,
    }
}

/// The statements of a file, before those about one message are put together.
#[derive(Default)]
struct FileStatements {
    messages: Vec<DraftMessage>,
    impossible: Vec<ImpossibleMessage>,
    warnings: Vec<DatabaseWarning>,
    has_independent_signals: bool,
    /// The IDs of messages that are left out, as the file has them.
    left_out: BTreeSet<u32>,
    attributes: DbcAttributes,
    /// `BO_TX_BU_`, by the ID as the file has it.
    senders: BTreeMap<u32, Vec<String>>,
    signals: SignalStatements,
}

fn read_text(text: &str, room: &SignalRoom) -> Result<MessageDatabase, DatabaseError> {
    // Some statements end with their line, also the last one.
    let text = match text.ends_with(['\n', '\r']) {
        true => Cow::Borrowed(text),
        false => Cow::Owned(format!("{text}\n")),
    };
    let mut places = FilePlaces::new(&text);
    let mut all = FileStatements::default();
    // IDs that are not whole numbers, as in `BO_ -1 …`.
    let mut wrong_ids = BTreeSet::new();
    for statement in Statements::new(&text) {
        places.enter(&statement);
        match DbcParser::parse(Rule::file, statement.text) {
            Ok(parsed) => {
                for part in parsed.flat_map(Pair::into_inner) {
                    all.add(part, &places);
                }
            }
            Err(_) if statement.has_word(&wrong_ids) => {}
            Err(error) => {
                if let Some((id, name)) = statement.without_id() {
                    wrong_ids.insert(id);
                    let index = statement.text.find(id).unwrap_or_default();
                    let (line, column) = places.at(index);
                    let error = DatabaseError {
                        line,
                        column,
                        problem: format!("{} is not a valid ID: it is no whole number", plain(id)),
                    };
                    let name = name.to_owned();
                    all.impossible.push(ImpossibleMessage { name, error });
                    continue;
                }
                let error = grammar_error(&error, &places, statement.text);
                if !statement.can_be_passed_over() {
                    return Err(error);
                }
                all.warnings.push(DatabaseWarning {
                    line: error.line,
                    problem: format!("{}: the statement is passed over", error.problem),
                });
            }
        }
    }
    all.complete(room.clone())
}

impl FileStatements {
    fn add(&mut self, statement: Pair<'_, Rule>, places: &FilePlaces<'_>) {
        match statement.as_rule() {
            Rule::message => {
                let id = DraftMessage::raw_id(&statement);
                match DraftMessage::parse(statement, places, &mut self.warnings) {
                    Ok(Some(one)) => return self.messages.push(one),
                    Ok(None) => self.has_independent_signals = true,
                    Err(one) => self.impossible.push(one),
                }
                self.left_out.extend(id);
            }
            Rule::message_transmitter => {
                let mut parts = statement.into_inner();
                let raw = parts.next().and_then(|id| raw_id(&id));
                if let Some(raw) = raw {
                    let names = parts.filter_map(|part| node(part.as_str()));
                    self.senders.entry(raw).or_default().extend(names);
                }
            }
            Rule::signal_value_type | Rule::value_table_def | Rule::sg_mul_val | Rule::comment => {
                self.signals.add(statement, places);
            }
            _ => self.attributes.add(statement, places),
        }
    }

    /// Returns the database, with the statements about each message put together.
    ///
    /// # Errors
    /// [`DatabaseError`] at the message or signal with which the file has more than the room:
    /// statements can give any number of messages and signals the same texts.
    fn complete(self, mut room: SignalRoom) -> Result<MessageDatabase, DatabaseError> {
        let Self {
            messages,
            impossible,
            mut warnings,
            has_independent_signals,
            left_out,
            attributes,
            mut senders,
            signals,
        } = self;
        let known = messages
            .iter()
            .flat_map(|message| message.all_names.iter().map(|name| (message.raw, &**name)))
            .collect();
        signals.warn_of_unknown_signals(&known, &left_out, &mut warnings);
        attributes.warn_of_times(&mut warnings);
        let messages = messages.into_iter().map(|draft| {
            let others = senders.remove(&draft.raw).unwrap_or_default();
            draft.complete(&attributes, &signals, others, &mut warnings, &mut room)
        });
        let messages = messages.collect::<Result<Vec<MessageDefinition>, DatabaseError>>()?;
        warn_of_doubles(&messages, &mut warnings);
        warnings.sort_by_key(|warning| warning.line);
        let rate = |name| attributes.whole(name).filter(|rate| *rate > 0);
        Ok(MessageDatabase {
            name: attributes.text("DBName").unwrap_or_default(),
            bitrate: rate("Baudrate"),
            data_bitrate: rate("BaudrateCANFD"),
            messages,
            impossible,
            warnings,
            has_independent_signals,
        })
    }
}

/// Returns the error at the place where the grammar stops.
fn grammar_error(
    error: &can_dbc_pest::Error<Rule>,
    places: &FilePlaces<'_>,
    statement: &str,
) -> DatabaseError {
    let index = match error.location {
        InputLocation::Pos(index) | InputLocation::Span((index, _)) => index,
    };
    let (line, column) = places.at(index);
    let rest = statement.get(index..).unwrap_or_default();
    let rest = rest.split(['\n', '\r']).next().unwrap_or_default();
    let rest: String = one_line(rest).chars().take(30).collect();
    let problem = match rest.trim().is_empty() {
        true => "the statement is not complete".to_owned(),
        false => format!("no statement of a DBC continues with `{}`", rest.trim_end()),
    };
    DatabaseError {
        line,
        column,
        problem,
    }
}

/// Returns the ID as the file has it, with the flags in its highest bits; `None` if it has more
/// than 32 bits.
fn raw_id(pair: &Pair<'_, Rule>) -> Option<u32> {
    pair.as_str().parse().ok()
}

/// Returns the name of a node; `None` for a name that represents none.
fn node(name: &str) -> Option<String> {
    (!NO_NODE.contains(&name)).then(|| name.to_owned())
}

#[cfg(test)]
mod tests;
