//! Attributes: definitions, defaults and values.

use super::raw_id;
use alloc::borrow::ToOwned;
use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use can_dbc_pest::{Pair, Rule};
use frame::Nanos;

/// The longest time that is accepted in an attribute, ms: 11 days.
const LONGEST: f64 = 1e9;

/// A value as it is written, without its quotation marks.
type Value = String;

/// The attributes of messages, signals, nodes and the file.
#[derive(Default)]
pub(super) struct DbcAttributes {
    enums: BTreeMap<String, Vec<String>>,
    defaults: BTreeMap<String, Value>,
    of_messages: BTreeMap<(u32, String), Value>,
    of_signals: BTreeMap<(u32, String), BTreeMap<String, Value>>,
    of_nodes: BTreeMap<(String, String), Value>,
    of_file: BTreeMap<String, Value>,
}

impl DbcAttributes {
    /// Adds a statement, if it is about an attribute.
    pub(super) fn add(&mut self, statement: Pair<'_, Rule>) {
        let rule = statement.as_rule();
        if !matches!(rule, Rule::attr_def | Rule::ba_def_def | Rule::attr_value) {
            return;
        }
        let mut name = String::new();
        for part in statement.into_inner() {
            match (rule, part.as_rule()) {
                (_, Rule::attribute_name) => name = unquoted(part.as_str()),
                (Rule::attr_def, Rule::attribute_type_enum) => {
                    let words = part.into_inner().map(|word| unquoted(word.as_str()));
                    self.enums.insert(name.clone(), words.collect());
                }
                (Rule::ba_def_def, Rule::number | Rule::quoted_str) => {
                    self.defaults.insert(name.clone(), unquoted(part.as_str()));
                }
                (Rule::attr_value, Rule::number | Rule::quoted_str) => {
                    self.of_file.insert(name.clone(), unquoted(part.as_str()));
                }
                (Rule::attr_value, Rule::msg_var_val) => {
                    let mut inner = part.into_inner();
                    let id = inner.next().and_then(|id| raw_id(&id).ok());
                    if let (Some(id), Some(value)) = (id, inner.next()) {
                        let key = (id, name.clone());
                        self.of_messages.insert(key, unquoted(value.as_str()));
                    }
                }
                (Rule::attr_value, Rule::signal_var) => {
                    let mut inner = part.into_inner();
                    let id = inner.next().and_then(|id| raw_id(&id).ok());
                    if let (Some(id), Some(signal), Some(value)) = (id, inner.next(), inner.next())
                    {
                        let of_message = self.of_signals.entry((id, name.clone())).or_default();
                        of_message.insert(signal.as_str().to_owned(), unquoted(value.as_str()));
                    }
                }
                (Rule::attr_value, Rule::node_var_val) => {
                    let mut inner = part.into_inner();
                    if let (Some(node), Some(value)) = (inner.next(), inner.next()) {
                        let key = (node.as_str().to_owned(), name.clone());
                        self.of_nodes.insert(key, unquoted(value.as_str()));
                    }
                }
                _ => {}
            }
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
        let own = self.of_signals.get(&(raw, name.to_owned()));
        match own.and_then(|signals| signals.get(signal)) {
            Some(value) => self.in_words(name, value, true),
            None => self.in_words(name, self.defaults.get(name)?, false),
        }
    }

    /// Returns a value as a word. A word can itself be a number; defaults are words, values are
    /// numbers.
    fn in_words(&self, name: &str, value: &Value, own: bool) -> Option<String> {
        let index = value.parse::<usize>().ok();
        match (self.enums.get(name), index) {
            (Some(words), Some(index)) if own => words.get(index).cloned(),
            (Some(words), Some(index)) if !words.contains(value) => words.get(index).cloned(),
            _ => Some(value.clone()),
        }
    }

    /// Returns a time given in ms, above 0, as ns. For an enumeration, the word is the time.
    pub(super) fn millis(&self, raw: u32, name: &str) -> Option<Nanos> {
        nanos(&self.word(raw, name)?)
    }

    /// Returns the same for a signal.
    pub(super) fn signal_millis(&self, raw: u32, signal: &str, name: &str) -> Option<Nanos> {
        nanos(&self.signal_word(raw, signal, name)?)
    }

    /// Returns the name that is too long for a statement, where the file has it in an attribute.
    pub(super) fn long_name(&self, raw: u32) -> Option<String> {
        identifier(
            self.of_messages
                .get(&(raw, "SystemMessageLongSymbol".to_owned()))?,
        )
    }

    /// Returns the same for a signal.
    pub(super) fn long_signal(&self, raw: u32, signal: &str) -> Option<String> {
        let key = (raw, "SystemSignalLongSymbol".to_owned());
        identifier(self.of_signals.get(&key)?.get(signal)?)
    }

    /// Returns the same for a node.
    pub(super) fn long_node(&self, node: &str) -> Option<String> {
        let key = (node.to_owned(), "SystemNodeLongSymbol".to_owned());
        identifier(self.of_nodes.get(&key)?)
    }

    /// Returns an attribute of the file.
    pub(super) fn text(&self, name: &str) -> Option<String> {
        let value = self.of_file.get(name).or_else(|| self.defaults.get(name));
        value.cloned().filter(|text| !text.is_empty())
    }

    /// Returns an integer attribute of the file.
    pub(super) fn whole(&self, name: &str) -> Option<u32> {
        let value = self.text(name)?.parse::<f64>().ok()?;
        let whole = value.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(&value);
        whole.then_some(value as u32)
    }
}

/// Parses a time in ms, with or without its unit, above 0, and returns it as ns.
fn nanos(text: &str) -> Option<Nanos> {
    let text = text.trim();
    let text = text.strip_suffix("ms").map_or(text, str::trim_end);
    let ms = text.parse::<f64>().ok()?;
    let ns = (ms * 1e6).round();
    (ms <= LONGEST && ns >= 1.0).then_some(ns as Nanos)
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
    let shown = text.chars().map(|c| if c.is_control() { ' ' } else { c });
    shown.take(60).collect()
}
