//! Databases in DBC files.
//!
//! The grammar is that of `can-dbc-pest`. This module reads from its statements the messages with
//! their senders and signals, and the attributes that Vector's tools define for them. Real files
//! contain statements that Vector's tools do not accept: where the meaning is certain, they are
//! read, with a [warning](crate::MessageDatabase::warnings) where another program may read them
//! otherwise.

mod attributes;
mod encoding;
mod message;
mod signal;

use crate::message::{DatabaseWarning, ImpossibleMessage, MessageDatabase};
use crate::{DatabaseError, MessageDefinition};
use alloc::borrow::{Cow, ToOwned as _};
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use attributes::DbcAttributes;
use can_dbc_pest::{DbcParser, Pair, Parser as _, Rule};
use encoding::{decode, without_pairs};
use message::DraftMessage;
use pest::error::LineColLocation;
use signal::SignalStatements;

/// Names that represent no node.
const NO_NODE: [&str; 3] = ["Vector__XXX", "VectorXXX", "VECTOR__XXX"];

/// Reads a file in UTF-8 or UTF-16, with or without a byte order mark, in Windows-1252, or in an
/// encoding of East Asia, of which only the ASCII text is kept.
///
/// # Errors
/// [`DatabaseError`]: the first statement that is not in the grammar. A message that no frame can
/// represent does not fail the file ([`MessageDatabase::impossible`]).
pub fn read(bytes: &[u8]) -> Result<MessageDatabase, DatabaseError> {
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

/// The statements of a file, before those about one message are put together.
#[derive(Default)]
struct FileStatements {
    messages: Vec<DraftMessage>,
    impossible: Vec<ImpossibleMessage>,
    warnings: Vec<DatabaseWarning>,
    has_independent_signals: bool,
    attributes: DbcAttributes,
    /// `BO_TX_BU_`, by the ID as the file has it.
    senders: BTreeMap<u32, Vec<String>>,
    signals: SignalStatements,
}

fn read_text(text: &str) -> Result<MessageDatabase, DatabaseError> {
    let parsed = DbcParser::parse(Rule::file, text).map_err(|error| grammar_error(&error, text))?;
    let mut all = FileStatements::default();
    for statement in parsed.flat_map(Pair::into_inner) {
        all.add(statement);
    }
    let FileStatements {
        messages,
        impossible,
        mut warnings,
        has_independent_signals,
        attributes,
        mut senders,
        signals,
    } = all;
    let messages = messages.into_iter().map(|draft| {
        let others = senders.remove(&draft.raw).unwrap_or_default();
        draft.complete(&attributes, &signals, others, &mut warnings)
    });
    let messages: Vec<MessageDefinition> = messages.collect();
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

impl FileStatements {
    fn add(&mut self, statement: Pair<'_, Rule>) {
        match statement.as_rule() {
            Rule::message => match DraftMessage::parse(statement, &mut self.warnings) {
                Ok(Some(one)) => self.messages.push(one),
                Ok(None) => self.has_independent_signals = true,
                Err(one) => self.impossible.push(one),
            },
            Rule::message_transmitter => {
                let mut parts = statement.into_inner();
                let raw = parts.next().and_then(|id| raw_id(&id).ok());
                if let Some(raw) = raw {
                    let names = parts.filter_map(|part| node(part.as_str()));
                    self.senders.entry(raw).or_default().extend(names);
                }
            }
            Rule::signal_value_type | Rule::value_table_def | Rule::sg_mul_val => {
                self.signals.add(statement);
            }
            _ => self.attributes.add(statement),
        }
    }
}

/// Returns the error at the place where the grammar stops.
fn grammar_error(error: &can_dbc_pest::Error<Rule>, text: &str) -> DatabaseError {
    let (line, column) = match error.line_col {
        LineColLocation::Pos(place) | LineColLocation::Span(place, _) => place,
    };
    let at = text.lines().nth(line.saturating_sub(1)).unwrap_or("");
    let rest: String = at.chars().skip(column.saturating_sub(1)).take(30).collect();
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

/// Returns the error at the place of a part of a statement.
fn error_at(pair: &Pair<'_, Rule>, problem: String) -> DatabaseError {
    let (line, column) = pair.line_col();
    DatabaseError {
        line,
        column,
        problem,
    }
}

/// Returns the ID as the file has it, with the flags in its highest bits.
fn raw_id(pair: &Pair<'_, Rule>) -> Result<u32, DatabaseError> {
    let problem = || {
        format!(
            "{} is not a valid ID: it has more than 32 bits",
            pair.as_str()
        )
    };
    let raw = pair.as_str().parse();
    raw.map_err(|_| error_at(pair, problem()))
}

/// Returns the name of a node; `None` for a name that represents none.
fn node(name: &str) -> Option<String> {
    (!NO_NODE.contains(&name)).then(|| name.to_owned())
}

#[cfg(test)]
mod tests;
