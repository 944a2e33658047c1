//! Attributes: definitions, defaults and values.

use super::{DbcError, raw_id};
use alloc::borrow::ToOwned;
use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use can_dbc_pest::{Pair, Rule};
use frame::Nanos;

/// No time in an attribute is taken for longer than this, ms: 11 days.
const LONGEST: f64 = 1e9;

/// A value, as it is written: without its quotation marks.
type Value = String;

/// Those of messages and of the file.
#[derive(Default)]
pub(super) struct Attributes {
    enums: BTreeMap<String, Vec<String>>,
    defaults: BTreeMap<String, Value>,
    of_messages: BTreeMap<(u32, String), Value>,
    of_file: BTreeMap<String, Value>,
}

impl Attributes {
    /// Takes a statement that is about an attribute.
    pub(super) fn add(&mut self, statement: Pair<'_, Rule>) -> Result<(), DbcError> {
        let rule = statement.as_rule();
        if !matches!(rule, Rule::attr_def | Rule::ba_def_def | Rule::attr_value) {
            return Ok(());
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
                    if let (Some(id), Some(value)) = (inner.next(), inner.next()) {
                        let key = (raw_id(&id)?, name.clone());
                        self.of_messages.insert(key, unquoted(value.as_str()));
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn of_message(&self, raw: u32, name: &str) -> Option<&Value> {
        let own = self.of_messages.get(&(raw, name.to_owned()));
        own.or_else(|| self.defaults.get(name))
    }

    /// A value in words: of an enumeration, its number stands for a word.
    pub(super) fn word(&self, raw: u32, name: &str) -> Option<String> {
        let value = self.of_message(raw, name)?;
        let index = value.parse::<usize>().ok();
        let words = self.enums.get(name);
        // A word can itself be a number; defaults are words, values are numbers.
        let own = self.of_messages.contains_key(&(raw, name.to_owned()));
        match (words, index) {
            (Some(words), Some(index)) if own => words.get(index).cloned(),
            (Some(words), Some(index)) if !words.contains(value) => words.get(index).cloned(),
            _ => Some(value.clone()),
        }
    }

    /// A time in ms, above 0; as ns.
    pub(super) fn millis(&self, raw: u32, name: &str) -> Option<Nanos> {
        let ms = self.of_message(raw, name)?.parse::<f64>().ok()?;
        let ns = (ms * 1e6).round();
        (ms <= LONGEST && ns >= 1.0).then_some(ns as Nanos)
    }

    /// An attribute of the file.
    pub(super) fn text(&self, name: &str) -> Option<String> {
        let value = self.of_file.get(name).or_else(|| self.defaults.get(name));
        value.cloned().filter(|text| !text.is_empty())
    }

    /// A whole number of the file.
    pub(super) fn whole(&self, name: &str) -> Option<u32> {
        let value = self.text(name)?.parse::<f64>().ok()?;
        let whole = value.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(&value);
        whole.then_some(value as u32)
    }
}

fn unquoted(text: &str) -> String {
    let inner = text.strip_prefix('"').and_then(|t| t.strip_suffix('"'));
    inner.unwrap_or(text).to_string()
}

/// On one line, without control characters: fit for a comment.
pub(super) fn plain(text: &str) -> String {
    let shown = text.chars().map(|c| if c.is_control() { ' ' } else { c });
    shown.take(60).collect()
}
