//! Attributes: definitions, defaults and values.

use super::raw_id;
use super::split::FilePlaces;
use crate::decimal::Decimal;
use crate::shown::printable;
use crate::statements::{E2eAttributes, SubstituteValues};
use alloc::borrow::ToOwned;
use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use can_dbc_pest::{Pair, Rule};

/// The attribute of a signal, or of a receiver of a signal, with the time after which the signal is
/// lost. Some tools write one attribute of the signal for each node, with the node's name behind.
pub(super) const TIMEOUT: &str = "GenSigTimeoutTime";

/// The attribute with the name of a node that is too long for a statement.
const LONG_NODE: &str = "SystemNodeLongSymbol";

/// The attributes of end-to-end protection.
const E2E: [&str; 5] = [
    "E2EProfile",
    "E2EDataId",
    "E2ECounterSignal",
    "E2ECrcSignal",
    "E2ETimeout",
];

/// A value as it is written, without its quotation marks. A word of an enumeration can have them,
/// and its index has none.
pub(super) struct Value {
    pub(super) text: String,
    pub(super) is_quoted: bool,
    pub(super) line: usize,
}

impl Value {
    fn new(written: &str, line: usize) -> Self {
        let text = unquoted(written);
        let is_quoted = text.len() < written.len();
        Self {
            text,
            is_quoted,
            line,
        }
    }
}

/// The name of an attribute, a node, and the attribute's value for it.
pub(super) type NodeTimeout = (String, String, Value);

/// The attributes of messages, signals, nodes and the file.
#[derive(Default)]
pub(super) struct DbcAttributes {
    enums: BTreeMap<String, Vec<String>>,
    pub(super) defaults: BTreeMap<String, Value>,
    pub(super) of_messages: BTreeMap<(u32, String), Value>,
    pub(super) of_signals: BTreeMap<(u32, String), BTreeMap<String, Value>>,
    /// [`LONG_NODE`] of nodes.
    long_nodes: BTreeMap<String, Value>,
    of_file: BTreeMap<String, Value>,
    /// [`TIMEOUT`] of receivers of a signal.
    pub(super) timeouts: BTreeMap<(u32, String), Vec<NodeTimeout>>,
    /// The line of the first attribute of end-to-end protection of a message.
    e2e_lines: BTreeMap<u32, usize>,
}

impl DbcAttributes {
    /// Adds a statement, if it is about an attribute.
    pub(super) fn add(&mut self, statement: Pair<'_, Rule>, places: &FilePlaces<'_>) {
        let rule = statement.as_rule();
        let line = match rule {
            Rule::attr_def | Rule::ba_def_rel => 0,
            Rule::attr_value | Rule::ba_def_def | Rule::ba_def_def_rel => places.line(&statement),
            Rule::ba_rel => {
                let line = places.line(&statement);
                return self.add_relation(statement, line);
            }
            _ => return,
        };
        let value_of = |text: &Pair<'_, Rule>| Value::new(text.as_str(), line);
        let mut name = String::new();
        for part in statement.into_inner() {
            match (rule, part.as_rule()) {
                (_, Rule::attribute_name) => name = unquoted(part.as_str()),
                (_, Rule::attribute_type_enum) => {
                    let words = part.into_inner().map(|word| unquoted(word.as_str()));
                    self.enums.insert(name.clone(), words.collect());
                }
                (Rule::ba_def_def | Rule::ba_def_def_rel, Rule::number | Rule::quoted_str) => {
                    self.defaults.insert(name.clone(), value_of(&part));
                }
                (Rule::attr_value, Rule::number | Rule::quoted_str) => {
                    self.of_file.insert(name.clone(), value_of(&part));
                }
                (Rule::attr_value, Rule::msg_var_val) => {
                    let mut inner = part.into_inner();
                    let id = inner.next().and_then(|id| raw_id(&id));
                    if let (Some(id), Some(value)) = (id, inner.next()) {
                        if E2E.contains(&name.as_str()) {
                            self.e2e_lines.entry(id).or_insert(line);
                        }
                        let key = (id, name.clone());
                        self.of_messages.insert(key, value_of(&value));
                    }
                }
                (Rule::attr_value, Rule::signal_var) => {
                    if let Some((id, signal, text)) = signal_value(part) {
                        let value = || Value::new(&text, line);
                        if let Some(node) = node_of_timeout(&name) {
                            let key = (id, signal.clone());
                            let own = (name.clone(), node.to_owned(), value());
                            self.timeouts.entry(key).or_default().push(own);
                        }
                        let of_message = self.of_signals.entry((id, name.clone())).or_default();
                        of_message.insert(signal, value());
                    }
                }
                (Rule::attr_value, Rule::node_var_val) if name == LONG_NODE => {
                    let mut inner = part.into_inner();
                    if let (Some(node), Some(value)) = (inner.next(), inner.next()) {
                        let node = node.as_str().to_owned();
                        self.long_nodes.insert(node, value_of(&value));
                    }
                }
                _ => {}
            }
        }
    }

    /// Adds an attribute of a node and a signal that it receives.
    fn add_relation(&mut self, statement: Pair<'_, Rule>, line: usize) {
        let mut parts = statement.into_inner();
        let is_timeout = parts
            .next()
            .is_some_and(|name| unquoted(name.as_str()) == TIMEOUT);
        let data = parts.find(|part| part.as_rule() == Rule::rel_object_data);
        let mut data = data.into_iter().flat_map(Pair::into_inner);
        let (Some(node), Some(signal), true) = (data.next(), data.next(), is_timeout) else {
            return;
        };
        if signal.as_rule() == Rule::signal_var
            && let Some((id, signal, text)) = signal_value(signal)
        {
            let of_signal = self.timeouts.entry((id, signal)).or_default();
            let value = Value::new(&text, line);
            of_signal.push((TIMEOUT.to_owned(), node.as_str().to_owned(), value));
        }
    }

    fn of_message(&self, raw: u32, name: &str) -> Option<&Value> {
        let own = self.of_messages.get(&(raw, name.to_owned()));
        own.or_else(|| self.defaults.get(name))
    }

    /// Returns the value as a word: for an enumeration, its number is the index of a word.
    pub(super) fn word(&self, raw: u32, name: &str) -> Option<String> {
        let value = self.of_message(raw, name)?;
        let own = self.of_messages.contains_key(&(raw, name.to_owned()));
        self.in_words(name, value, own)
    }

    /// Returns the value of a signal as a word; by default, that of all signals.
    pub(super) fn signal_word(&self, raw: u32, signal: &str, name: &str) -> Option<String> {
        match self.own_of_signal(raw, signal, name) {
            Some(value) => self.in_words(name, value, true),
            None => self.in_words(name, self.defaults.get(name)?, false),
        }
    }

    fn own_of_signal(&self, raw: u32, signal: &str, name: &str) -> Option<&Value> {
        self.of_signals.get(&(raw, name.to_owned()))?.get(signal)
    }

    /// Returns the send type of a message as a word. An index that the enumeration does not have is
    /// a word that was not understood, and not a missing one.
    pub(super) fn send_type(&self, raw: u32) -> Option<String> {
        const NAME: &str = "GenMsgSendType";
        let word = self.word(raw, NAME);
        word.or_else(|| Some(self.of_message(raw, NAME)?.text.clone()))
    }

    /// Returns the same of a signal; by default, that of all signals.
    pub(super) fn signal_send_type(&self, raw: u32, signal: &str) -> Option<String> {
        const NAME: &str = "GenSigSendType";
        let own = self.own_of_signal(raw, signal, NAME);
        let word = self.signal_word(raw, signal, NAME);
        word.or_else(|| Some(own.or_else(|| self.defaults.get(NAME))?.text.clone()))
    }

    /// Returns a value as a word. A word can itself be a number; defaults are words, and values are
    /// numbers, unless they have quotation marks.
    pub(super) fn in_words(&self, name: &str, value: &Value, own: bool) -> Option<String> {
        let text = &value.text;
        let is_index = own && !value.is_quoted;
        let index = text.parse::<usize>().ok();
        match (self.enums.get(name), index) {
            (Some(words), Some(index)) if is_index => words.get(index).cloned(),
            (Some(words), Some(index)) if !words.contains(text) => words.get(index).cloned(),
            _ => Some(text.clone()),
        }
    }

    /// Returns the raw values of a signal for times without a received value.
    pub(super) fn substitutes(&self, raw: u32, signal: &str) -> SubstituteValues {
        let value = |name| {
            self.signal_word(raw, signal, name)?
                .trim()
                .parse::<Decimal>()
                .ok()
        };
        SubstituteValues {
            start: value("GenSigStartValue"),
            inactive: value("GenSigInactiveValue"),
            timeout: value("GenSigTimeoutValue"),
            invalid: None,
        }
    }

    /// Returns the attributes of a message's end-to-end protection, if it has one of them.
    pub(super) fn e2e(&self, raw: u32) -> Option<E2eAttributes> {
        let line = *self.e2e_lines.get(&raw)?;
        let text = |name| self.word(raw, name).filter(|text| !text.is_empty());
        Some(E2eAttributes {
            line,
            profile: text("E2EProfile"),
            data_id: text("E2EDataId"),
            counter_signal: text("E2ECounterSignal"),
            crc_signal: text("E2ECrcSignal"),
            timeout: self.millis(raw, "E2ETimeout"),
        })
    }

    /// Returns the name that is too long for a statement, where the file has it in an attribute.
    pub(super) fn long_name(&self, raw: u32) -> Option<String> {
        let key = (raw, "SystemMessageLongSymbol".to_owned());
        identifier(&self.of_messages.get(&key)?.text)
    }

    /// Returns the same for a signal.
    pub(super) fn long_signal(&self, raw: u32, signal: &str) -> Option<String> {
        identifier(
            &self
                .own_of_signal(raw, signal, "SystemSignalLongSymbol")?
                .text,
        )
    }

    /// Returns the same for a node.
    pub(super) fn long_node(&self, node: &str) -> Option<String> {
        identifier(&self.long_nodes.get(node)?.text)
    }

    /// Returns an attribute of the file.
    pub(super) fn text(&self, name: &str) -> Option<String> {
        let value = self.of_file.get(name).or_else(|| self.defaults.get(name));
        let text = value.map(|value| value.text.clone());
        text.filter(|text| !text.is_empty())
    }

    /// Returns an integer attribute of the file.
    pub(super) fn whole(&self, name: &str) -> Option<u32> {
        let value = self.text(name)?.parse::<f64>().ok()?;
        let whole = value.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(&value);
        whole.then_some(value as u32)
    }
}

/// Returns the node in the name of an attribute that is one node's [`TIMEOUT`].
pub(super) fn node_of_timeout(name: &str) -> Option<&str> {
    name.strip_prefix(TIMEOUT)?.strip_prefix('_')
}

/// Returns the ID of a message as the file has it, the name of a signal, and its value as written.
fn signal_value(part: Pair<'_, Rule>) -> Option<(u32, String, String)> {
    let mut inner = part.into_inner();
    let id = raw_id(&inner.next()?)?;
    let signal = inner.next()?.as_str().to_owned();
    Some((id, signal, inner.next()?.as_str().to_owned()))
}

/// Returns a name that a statement could have, apart from its length.
fn identifier(name: &str) -> Option<String> {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_';
    (!name.is_empty() && name.chars().all(fits)).then(|| name.to_owned())
}

pub(super) fn unquoted(text: &str) -> String {
    let inner = text.strip_prefix('"').and_then(|t| t.strip_suffix('"'));
    inner.unwrap_or(text).to_string()
}

/// Returns a text on one line, without control characters: suitable for a comment.
pub(super) fn plain(text: &str) -> String {
    text.chars().map(printable).take(60).collect()
}
