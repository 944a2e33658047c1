//! Databases in PEAK's symbol files (versions 5.0 and 6.0).
//!
//! They name no nodes: the sections `{SEND}` and `{RECEIVE}` are those of the program for which the
//! file was made.

mod signal;
mod tokens;

use crate::DatabaseError;
use crate::define::{can_id, one_line, stated_nanos};
use crate::define_signal::identifier;
use crate::doubles::warn_of_doubles;
use crate::encoding::decode;
use crate::message::{DatabaseWarning, ImpossibleMessage, MessageDatabase, MessageDefinition};
use crate::room::{SignalRoom, bytes_of_copies};
use crate::shown::shown;
use crate::statements::ReceiveTimeout;
use alloc::borrow::ToOwned as _;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use frame::{CanId, Nanos};
use signal::{EnumTable, SignalDraft};
use tokens::{SymStatement, SymStatements, Token};

/// The versions that are read. They differ in how an enumeration begins, and in the word for a
/// length.
const VERSIONS: [&str; 2] = ["6.0", "5.0"];

/// The most IDs of one symbol.
const MAX_IDS: u32 = 2048;

/// Keys of statements without a meaning for signals.
const PASSED_OVER: [&str; 6] = [
    "FormatVersion",
    "UniqueVariables",
    "FloatDecimalPlaces",
    "Color",
    "BRS",
    "Title",
];

/// Reads a file in UTF-8, UTF-16 or Windows-1252.
///
/// # Errors
/// [`DatabaseError`] if the file does not begin with its version, or with one that is not read, or
/// if it has too many signals for the memory. A message that no frame can represent does not fail
/// the file ([`MessageDatabase::impossible`]).
pub fn read(bytes: &[u8]) -> Result<MessageDatabase, DatabaseError> {
    let text = decode(bytes);
    let mut reader = SymReader::default();
    let mut has_version = false;
    for statement in SymStatements::new(&text) {
        if !has_version {
            check_version(&statement)?;
            has_version = true;
        }
        reader.add(&statement)?;
    }
    if !has_version {
        return Err(error(1, "a PEAK SYM begins with `FormatVersion=6.0`"));
    }
    reader.complete()
}

fn error(line: usize, problem: &str) -> DatabaseError {
    DatabaseError {
        line,
        column: 1,
        problem: one_line(problem),
    }
}

fn check_version(statement: &SymStatement<'_>) -> Result<(), DatabaseError> {
    let version = match &statement.tokens[..] {
        [
            Token::Word("FormatVersion"),
            Token::Mark('='),
            Token::Word(version),
        ] => Some(*version),
        _ => None,
    };
    let problem = match version {
        Some(version) if VERSIONS.contains(&version) => return Ok(()),
        Some(version) => format!(
            "version {version} is not read: open the file with PEAK's Symbol Editor, and save it as version 6.0"
        ),
        None => "a PEAK SYM begins with `FormatVersion=6.0`".to_owned(),
    };
    Err(error(statement.line, &problem))
}

/// A symbol: a message, or its signals for one value of its multiplexer switch.
#[derive(Default)]
struct SymbolDraft<'a> {
    line: usize,
    name: String,
    /// `ID`, and its comment.
    id: Option<(&'a str, &'a str)>,
    kind: String,
    len: Option<String>,
    cycle: Option<Nanos>,
    timeout: Option<Nanos>,
    delay: Option<Nanos>,
    /// The switch, and its value for which a frame has these signals.
    switch: Option<(SignalDraft<'a>, u64)>,
    signals: Vec<SignalDraft<'a>>,
}

/// State of the file while its statements are read.
#[derive(Default)]
struct SymReader<'a> {
    title: String,
    enums: EnumTable,
    signals: BTreeMap<String, SignalDraft<'a>>,
    symbols: Vec<SymbolDraft<'a>>,
    /// The room for definitions, and that for the statements from which they are made.
    room: SignalRoom,
    drafts: SignalRoom,
    impossible: Vec<ImpossibleMessage>,
    warnings: Vec<DatabaseWarning>,
}

impl<'a> SymReader<'a> {
    fn warn(&mut self, line: usize, problem: &str) {
        let problem = one_line(problem);
        self.warnings.push(DatabaseWarning { line, problem });
    }

    /// Takes room for definitions.
    ///
    /// # Errors
    /// [`DatabaseError`] in this line.
    fn take(&mut self, line: usize, count: usize, texts: usize) -> Result<(), DatabaseError> {
        self.room.take_at(line, count, texts)
    }

    fn add(&mut self, statement: &SymStatement<'a>) -> Result<(), DatabaseError> {
        let line = statement.line;
        if let [Token::Mark('[') | Token::Word("Sig" | "Var" | "Mux"), ..] = statement.tokens[..] {
            self.drafts.take_at(line, 1, 0)?;
        }
        match &statement.tokens[..] {
            [Token::Word(section)] if section.starts_with('{') => {}
            [Token::Mark('['), name, Token::Mark(']')] => self.symbols.push(SymbolDraft {
                line,
                name: identifier(name.text()),
                ..SymbolDraft::default()
            }),
            [Token::Word("enum"), name, values @ ..] => match signal::read_names(values) {
                Ok(names) => {
                    self.enums.insert(name.text().to_owned(), names.into());
                }
                Err(problem) => self.warn(line, &format!("enum: {problem}; it is left out")),
            },
            [Token::Word(key), Token::Mark('='), values @ ..] => {
                if let Err(problem) = self.add_value(key, values, statement) {
                    self.warn(line, &format!("{}: {problem}; it is left out", shown(key)));
                }
            }
            _ => self.warn(line, "not a statement of a PEAK SYM; it is left out"),
        }
        Ok(())
    }

    fn add_value(
        &mut self,
        key: &str,
        values: &[Token<'a>],
        statement: &SymStatement<'a>,
    ) -> Result<(), String> {
        let first = values.first().map(Token::text).unwrap_or_default();
        if key == "Title" && self.title.is_empty() {
            self.title = identifier(first);
        }
        if PASSED_OVER.contains(&key) {
            return Ok(());
        }
        match (key, self.symbols.last_mut()) {
            ("Enum", _) => {
                let names = signal::read_names(values.get(1..).unwrap_or_default())?;
                self.enums.insert(first.to_owned(), names.into());
            }
            ("Sig", None) => {
                let draft = SignalDraft::read(values, false, &self.enums, statement)?;
                self.signals.insert(first.to_owned(), draft);
            }
            ("Sig", Some(symbol)) => {
                let known = self.signals.get(first);
                let known = known
                    .ok_or_else(|| format!("{} is not one of the {{SIGNALS}}", shown(first)))?;
                let start = values.get(1).map(Token::text).unwrap_or_default();
                symbol.signals.push(known.at(start, statement.line)?);
            }
            ("Var", Some(symbol)) => {
                let draft = SignalDraft::read(values, true, &self.enums, statement)?;
                symbol.signals.push(draft);
            }
            ("Mux", Some(symbol)) => {
                symbol.switch = Some(SignalDraft::read_switch(values, statement)?);
            }
            ("ID", Some(symbol)) => match values {
                [Token::Word(id)] => symbol.id = Some((id, statement.comment)),
                _ => return Err("no hexadecimal number, such as 1A0h".to_owned()),
            },
            ("Type", Some(symbol)) => first.clone_into(&mut symbol.kind),
            ("Len" | "DLC", Some(symbol)) => symbol.len = Some(first.to_owned()),
            ("CycleTime", Some(symbol)) => symbol.cycle = millis(first)?,
            ("Timeout", Some(symbol)) => symbol.timeout = millis(first)?,
            ("MinInterval", Some(symbol)) => symbol.delay = millis(first)?,
            _ => return Err("the key is not known".to_owned()),
        }
        Ok(())
    }

    /// Returns the database, with the symbols of each message put together.
    ///
    /// # Errors
    /// [`DatabaseError`] at the message or signal with which the file has too many.
    fn complete(mut self) -> Result<MessageDatabase, DatabaseError> {
        // Symbols of one name: the first one has the ID.
        let mut positions: BTreeMap<String, usize> = BTreeMap::new();
        let mut of_messages: Vec<Vec<SymbolDraft<'_>>> = Vec::new();
        for symbol in core::mem::take(&mut self.symbols) {
            match (symbol.id, positions.get(&symbol.name)) {
                (None, Some(position)) => of_messages[*position].push(symbol),
                _ => {
                    positions.insert(symbol.name.clone(), of_messages.len());
                    of_messages.push(Vec::from([symbol]));
                }
            }
        }
        let mut messages = Vec::new();
        for symbols in of_messages {
            let first = &symbols[0];
            match read_head(first) {
                Ok((message, ids)) => {
                    let texts = message.name.len() + message.comment.len();
                    self.take(first.line, ids.len(), bytes_of_copies(texts, ids.len(), 0))?;
                    let message = self.read_message(message, ids.len(), symbols)?;
                    messages.extend(ids.into_iter().map(|id| MessageDefinition {
                        id,
                        ..message.clone()
                    }));
                }
                Err(problem) => self.impossible.push(ImpossibleMessage {
                    name: first.name.clone(),
                    error: error(first.line, &problem),
                }),
            }
        }
        warn_of_doubles(&messages, &mut self.warnings);
        self.warnings.sort_by_key(|warning| warning.line);
        Ok(MessageDatabase {
            name: self.title,
            bitrate: None,
            data_bitrate: None,
            messages,
            impossible: self.impossible,
            warnings: self.warnings,
            has_independent_signals: false,
        })
    }

    /// Returns the message of these symbols; `ids` is the number of its IDs.
    fn read_message(
        &mut self,
        mut message: MessageDefinition,
        ids: usize,
        symbols: Vec<SymbolDraft<'_>>,
    ) -> Result<MessageDefinition, DatabaseError> {
        let first = &symbols[0];
        let (is_fd, timeout) = (first.kind.starts_with("FD"), first.timeout);
        self.read_signals(symbols, ids, &mut message)?;
        for signal in &mut message.signals {
            let after = timeout.into_iter();
            signal.timeouts = after
                .map(|after| ReceiveTimeout { node: None, after })
                .collect();
            signal.check_end(&message.name, message.len, &mut self.warnings);
        }
        message.set_fd(is_fd, None);
        Ok(message)
    }
}

/// Returns the message of a symbol, without its signals, and all its IDs.
fn read_head(symbol: &SymbolDraft<'_>) -> Result<(MessageDefinition, Vec<CanId>), String> {
    let (ids, comment) = symbol.id.ok_or("the symbol has no ID")?;
    let ids = can_ids(ids, &symbol.kind)?;
    let first = *ids.first().ok_or("the symbol has no ID")?;
    let len = symbol.len.as_deref().map(|len| {
        let parsed = len.parse::<u16>();
        parsed.map_err(|_| format!("`{}` is not a valid length of a message", shown(len)))
    });
    let len = usize::from(len.transpose()?.unwrap_or(8));
    let mut message = MessageDefinition::new(symbol.line, symbol.name.clone(), first, len);
    comment.clone_into(&mut message.comment);
    (message.cycle, message.delay) = (symbol.cycle, symbol.delay);
    Ok((message, ids))
}

impl Token<'_> {
    /// Returns the word or text; empty for others.
    fn text(&self) -> &str {
        match self {
            Self::Word(word) => word,
            Self::Text(text) => text,
            Self::Option(..) | Self::Mark(_) => "",
        }
    }
}

/// Returns the identifiers for `1A0h`, or for `100h-1FFh`.
fn can_ids(text: &str, kind: &str) -> Result<Vec<CanId>, String> {
    let problem = || {
        let text = shown(text);
        format!("`{text}` is not a valid ID: a hexadecimal number, such as 1A0h")
    };
    let number = |text: &str| {
        let digits = text.strip_suffix(['h', 'H'])?;
        u32::from_str_radix(digits, 16).ok()
    };
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let (Some(from), Some(to)) = (number(first), number(last)) else {
        return Err(problem());
    };
    // Eight digits are 29 bits, whatever the type.
    let is_extended = kind.to_ascii_lowercase().ends_with("extended") || first.len() == 9;
    if to < from || to - from >= MAX_IDS {
        return Err(format!("{text} has no IDs, or more than {MAX_IDS}"));
    }
    let ids = (from..=to).map(|number| can_id(number, is_extended));
    let ids: Option<Vec<CanId>> = ids.collect();
    ids.ok_or_else(problem)
}

/// Parses a time in ms; `None` for 0.
fn millis(text: &str) -> Result<Option<Nanos>, String> {
    stated_nanos(text, text.parse().ok(), 1e6)
}

#[cfg(test)]
mod tests;
