//! A TOML table that remembers which keys were asked for.

use crate::{At, Diagnostic, Diagnostics, Value, did_you_mean, nearest};
use std::ops::{Range, RangeInclusive};
use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};

/// A TOML table. Getters return nothing where the key is absent, and where its value is wrong,
/// which they report. [`Table::finish`] reports the keys that nobody asked for.
#[derive(Debug)]
pub struct Table<'t> {
    entries: &'t DeTable<'t>,
    span: Range<usize>,
    place: String,
    known: Vec<&'static str>,
}

impl<'t> Table<'t> {
    pub(crate) fn new(entries: &'t DeTable<'t>, span: Range<usize>, place: String) -> Self {
        Self {
            entries,
            span,
            place,
            known: Vec::new(),
        }
    }

    /// Where it stands: the header or the braces.
    #[must_use]
    pub fn span(&self) -> Range<usize> {
        self.span.clone()
    }

    /// What messages call it.
    #[must_use]
    pub fn place(&self) -> &str {
        &self.place
    }

    /// Calls it something else from here on.
    pub fn rename(&mut self, place: impl Into<String>) {
        self.place = place.into();
    }

    /// Is there nothing in it?
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The value of a key, which is known from now on.
    pub fn get(&mut self, key: &'static str) -> Option<Value<'t>> {
        if !self.known.contains(&key) {
            self.known.push(key);
        }
        let (name, value) = self.entries.get_key_value(key)?;
        Some(Value::new(name.get_ref(), value))
    }

    /// The value of a key that must be there.
    pub fn need(&mut self, key: &'static str, found: &mut Diagnostics) -> Option<Value<'t>> {
        let value = self.get(key);
        if value.is_none() {
            self.missing(key, "", found);
        }
        value
    }

    /// Reports that a key is missing.
    pub fn missing(&self, key: &str, hint: &str, found: &mut Diagnostics) {
        let message = format!("{} needs `{key}`", self.place);
        let hint = if hint.is_empty() {
            format!("add `{key} = …`")
        } else {
            hint.to_owned()
        };
        found.missing(Diagnostic::error(self.span(), message).hint(hint));
    }

    /// Where a key stands, for messages about the key instead of its value.
    #[must_use]
    pub fn key_span(&self, key: &str) -> Option<Range<usize>> {
        let (name, _) = self.entries.get_key_value(key)?;
        Some(name.span())
    }

    /// All keys with their places and values, in the order of the text. All count as known.
    #[must_use]
    pub fn all(&self) -> Vec<(At<&'t str>, Value<'t>)> {
        let mut all: Vec<_> = self
            .entries
            .iter()
            .map(|(key, value)| (key_at(key), Value::new(key.get_ref(), value)))
            .collect();
        all.sort_by_key(|(key, _)| key.span.start);
        all
    }

    /// A string.
    pub fn string(&mut self, key: &'static str, found: &mut Diagnostics) -> Option<At<&'t str>> {
        self.get(key)?.string(found)
    }

    /// True or false.
    pub fn boolean(&mut self, key: &'static str, found: &mut Diagnostics) -> Option<At<bool>> {
        self.get(key)?.boolean(found)
    }

    /// True or false, with a default.
    pub fn flag(&mut self, key: &'static str, default: bool, found: &mut Diagnostics) -> bool {
        self.boolean(key, found).map_or(default, |b| b.value)
    }

    /// An integer within bounds.
    pub fn integer(
        &mut self,
        key: &'static str,
        bounds: RangeInclusive<i64>,
        found: &mut Diagnostics,
    ) -> Option<At<i64>> {
        self.get(key)?.integer(bounds, found)
    }

    /// Bits per second: an integer, or a string such as "500k".
    pub fn bitrate(&mut self, key: &'static str, found: &mut Diagnostics) -> Option<At<u32>> {
        self.get(key)?.bitrate(found)
    }

    /// A byte: an integer, or a string of one or two hex digits.
    pub fn byte(&mut self, key: &'static str, found: &mut Diagnostics) -> Option<At<u8>> {
        self.get(key)?.byte(found)
    }

    /// Bytes from pairs of hex digits.
    pub fn hex(&mut self, key: &'static str, found: &mut Diagnostics) -> Option<At<Vec<u8>>> {
        self.get(key)?.hex(found)
    }

    /// One of several names.
    pub fn one_of<T: Copy>(
        &mut self,
        key: &'static str,
        names: &[(&'static str, T)],
        found: &mut Diagnostics,
    ) -> Option<At<T>> {
        self.get(key)?.one_of(names, found)
    }

    /// The values of a key that may be a list or one value; empty where the key is absent.
    pub fn list(&mut self, key: &'static str) -> Vec<Value<'t>> {
        self.get(key).map(|v| v.one_or_list()).unwrap_or_default()
    }

    /// The table under a key; it is called by `place`.
    pub fn table(
        &mut self,
        key: &'static str,
        place: impl Into<String>,
        found: &mut Diagnostics,
    ) -> Option<Table<'t>> {
        self.get(key)?.table(place, found)
    }

    /// The tables of an array of tables, `[[key]]`; they are called `word 1`, `word 2`, ….
    pub fn tables(
        &mut self,
        key: &'static str,
        word: &str,
        found: &mut Diagnostics,
    ) -> Vec<Table<'t>> {
        let Some(value) = self.get(key) else {
            return Vec::new();
        };
        match value.inner {
            DeValue::Array(list) => list
                .iter()
                .enumerate()
                .filter_map(|(i, v)| Value::new(value.name, v).table(numbered(word, i), found))
                .collect(),
            DeValue::Table(entries) => {
                let d = Diagnostic::error(value.span(), format!("`{key}` is a list of tables"))
                    .hint(format!("write the header with two brackets: [[{key}]]"));
                found.push(d);
                vec![Table::new(entries, value.span(), numbered(word, 0))]
            }
            _ => {
                value.expected(&format!("a list of tables, [[{key}]]"), found);
                Vec::new()
            }
        }
    }

    /// Reports the keys that nobody asked for, with the one that may have been meant.
    pub fn finish(self, found: &mut Diagnostics) {
        for (key, _) in self.entries {
            let name: &str = key.get_ref();
            if self.known.contains(&name) {
                continue;
            }
            if !found.wants_more() {
                found.count_only();
                continue;
            }
            let message = format!("{} has no key `{name}`", self.place);
            let hint = match nearest(name, self.known.iter().copied()) {
                Some(best) if self.entries.contains_key(best) => {
                    format!("`{best}` is there already: leave this out")
                }
                _ => did_you_mean(name, self.known.iter().copied()),
            };
            found.push(Diagnostic::error(key.span(), message).hint(hint));
        }
    }
}

fn numbered(word: &str, index: usize) -> String {
    format!("{word} {}", index + 1)
}

fn key_at<'t>(key: &'t Spanned<DeString<'t>>) -> At<&'t str> {
    At {
        value: key.get_ref(),
        span: key.span(),
    }
}
