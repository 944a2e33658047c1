//! A TOML table that remembers which keys were requested.

use crate::suggest::plain;
use crate::{Diagnostic, Diagnostics, KeyMisnomer, SpannedValue, TomlValue, did_you_mean, nearest};
use std::ops::{Range, RangeInclusive};
use toml::Spanned;
use toml::de::{DeString, DeTable};

/// A TOML table. Getters return nothing where the key is absent, and where its value is wrong,
/// which they report. [`TomlTable::finish`] reports the keys that no getter requested.
#[derive(Debug)]
pub struct TomlTable<'t> {
    entries: &'t DeTable<'t>,
    span: Range<usize>,
    place: String,
    known: Vec<&'static str>,
    /// Keys that were reported and must not be reported again.
    reported: Vec<String>,
    misnomers: Vec<&'static [KeyMisnomer]>,
}

impl<'t> TomlTable<'t> {
    pub(crate) fn new(entries: &'t DeTable<'t>, span: Range<usize>, place: String) -> Self {
        Self {
            entries,
            span,
            place,
            known: Vec::new(),
            reported: Vec::new(),
            misnomers: Vec::new(),
        }
    }

    /// Returns the place of the table: its header or its braces.
    #[must_use]
    pub fn span(&self) -> Range<usize> {
        self.span.clone()
    }

    /// Returns its name in messages.
    #[must_use]
    pub fn place(&self) -> &str {
        &self.place
    }

    /// Gives it another name in messages from here on.
    pub fn rename(&mut self, place: impl Into<String>) {
        self.place = place.into();
    }

    /// Returns whether the table has no entries.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns whether the table has this key, and none of the keys in `of`.
    #[must_use]
    pub fn is_instead(&self, key: &str, of: &[&str]) -> bool {
        self.has(key) && !of.iter().any(|key| self.has(key))
    }

    /// Reports, at a key, that the whole file is of another kind.
    pub fn wrong_file(&self, key: &str, message: &str, hint: &str, found: &mut Diagnostics) {
        let span = self.key_span(key).unwrap_or_default();
        found.push(Diagnostic::error(span, message).hint(hint));
    }

    /// Returns the value of a key, which counts as known from now on.
    pub fn get(&mut self, key: &'static str) -> Option<TomlValue<'t>> {
        if !self.known.contains(&key) {
            self.known.push(key);
        }
        let (name, value) = self.entries.get_key_value(key)?;
        Some(TomlValue::new(name.get_ref(), value))
    }

    /// Returns whether a getter has requested this key already.
    #[must_use]
    pub fn is_known(&self, key: &str) -> bool {
        self.known.contains(&key)
    }

    /// Adds words that users write here for one of the keys, or for something that belongs to
    /// another table. Add them before requesting a required key: if one of these words is present
    /// in its place, only the word is reported.
    pub fn misnomers(&mut self, list: &'static [KeyMisnomer]) {
        self.misnomers.push(list);
    }

    /// Returns the value of a key with a wrong name, so that it can be read as if the name were
    /// right. The name is reported, with this hint.
    pub fn misnamed(
        &mut self,
        wrong: &str,
        hint: impl FnOnce(&TomlValue<'t>) -> String,
        found: &mut Diagnostics,
    ) -> Option<TomlValue<'t>> {
        let (name, value) = self.entries.get_key_value(wrong)?;
        let value = TomlValue::new(name.get_ref(), value);
        self.reported.push(wrong.to_owned());
        found.push(self.no_key(name).hint(hint(&value)));
        Some(value)
    }

    /// Reports the keys that are known misnomers, and no others: for a table whose valid keys are
    /// not known. Returns true if there was one.
    pub fn report_misnomers(&self, found: &mut Diagnostics) -> bool {
        let mut any = false;
        for (key, _) in self.entries {
            if let Some(hint) = self.misnomer_hint(key.get_ref()) {
                found.push(self.no_key(key).hint(hint));
                any = true;
            }
        }
        any
    }

    /// Returns the hint for a word, if it is one of [`TomlTable::misnomers`].
    fn misnomer_hint(&self, name: &str) -> Option<String> {
        let misnomer = self.misnomer(&plain(name))?;
        let key = misnomer.key;
        Some(if key.is_empty() {
            misnomer.hint.to_owned()
        } else if self.entries.contains_key(key) {
            format!("`{key}` is already set: leave this out")
        } else if misnomer.hint.is_empty() {
            format!("did you mean `{key}`?")
        } else {
            format!("did you mean `{key}`? {}", misnomer.hint)
        })
    }

    fn misnomer(&self, plain_name: &str) -> Option<&'static KeyMisnomer> {
        let mut all = self.misnomers.iter().flat_map(|list| list.iter());
        all.find(|misnomer| misnomer.words.contains(&plain_name))
    }

    fn no_key(&self, key: &Spanned<DeString<'t>>) -> Diagnostic {
        let message = format!("{} has no key `{}`", self.place, key.get_ref());
        Diagnostic::error(key.span(), message)
    }

    /// Returns the value of a required key.
    pub fn need(&mut self, key: &'static str, found: &mut Diagnostics) -> Option<TomlValue<'t>> {
        let value = self.get(key);
        if value.is_none() {
            self.missing(key, "", found);
        }
        value
    }

    /// Reports that a key is missing. If it is present under a misnomer, only the misnomer is
    /// reported, by [`TomlTable::finish`].
    pub fn missing(&self, key: &str, hint: &str, found: &mut Diagnostics) {
        if self.is_misnamed(key) {
            return;
        }
        let message = format!("{} needs `{key}`", self.place);
        let hint = if hint.is_empty() {
            format!("add `{key} = …`")
        } else {
            hint.to_owned()
        };
        found.missing(Diagnostic::error(self.span(), message).hint(hint));
    }

    /// Returns whether a key is present under one of its [`TomlTable::misnomers`].
    #[must_use]
    pub fn is_misnamed(&self, key: &str) -> bool {
        let mut names = self.entries.keys().map(|name| plain(name.get_ref()));
        names.any(|name| self.misnomer(&name).is_some_and(|m| m.key == key))
    }

    /// Reports an error at the value of a key, or at the table if the key is absent.
    pub fn wrong(
        &self,
        key: &str,
        message: impl Into<String>,
        hint: impl Into<String>,
        found: &mut Diagnostics,
    ) {
        found.push(Diagnostic::error(self.value_span(key), message).hint(hint));
    }

    /// Returns the place of the value of a key, or of the table if the key is absent.
    #[must_use]
    pub fn value_span(&self, key: &str) -> Range<usize> {
        let value = self.entries.get(key);
        value.map_or_else(|| self.span(), Spanned::span)
    }

    /// Returns whether the table has this key.
    #[must_use]
    pub fn has(&self, key: &str) -> bool {
        self.entries.contains_key(key)
    }

    /// Returns the place of a key, for messages about the key instead of its value.
    #[must_use]
    pub fn key_span(&self, key: &str) -> Option<Range<usize>> {
        let (name, _) = self.entries.get_key_value(key)?;
        Some(name.span())
    }

    /// Returns all keys with their places and values, in the order of the text. All count as known.
    #[must_use]
    pub fn all(&self) -> Vec<(SpannedValue<&'t str>, TomlValue<'t>)> {
        let mut all: Vec<_> = self
            .entries
            .iter()
            .map(|(key, value)| (key_at(key), TomlValue::new(key.get_ref(), value)))
            .collect();
        all.sort_by_key(|(key, _)| key.span.start);
        all
    }

    /// Returns a string.
    pub fn string(
        &mut self,
        key: &'static str,
        found: &mut Diagnostics,
    ) -> Option<SpannedValue<&'t str>> {
        self.get(key)?.string(found)
    }

    /// Returns true or false.
    pub fn boolean(
        &mut self,
        key: &'static str,
        found: &mut Diagnostics,
    ) -> Option<SpannedValue<bool>> {
        self.get(key)?.boolean(found)
    }

    /// Returns true or false, with a default.
    pub fn flag(&mut self, key: &'static str, default: bool, found: &mut Diagnostics) -> bool {
        self.boolean(key, found).map_or(default, |b| b.value)
    }

    /// Returns an integer within bounds.
    pub fn integer(
        &mut self,
        key: &'static str,
        bounds: RangeInclusive<i64>,
        found: &mut Diagnostics,
    ) -> Option<SpannedValue<i64>> {
        self.get(key)?.integer(bounds, found)
    }

    /// Returns bits per second, from an integer or a string such as "500k".
    pub fn bitrate(
        &mut self,
        key: &'static str,
        found: &mut Diagnostics,
    ) -> Option<SpannedValue<u32>> {
        self.get(key)?.bitrate(found)
    }

    /// Returns a byte, from an integer or a string of one or two hex digits.
    pub fn byte(&mut self, key: &'static str, found: &mut Diagnostics) -> Option<SpannedValue<u8>> {
        self.get(key)?.byte(found)
    }

    /// Returns bytes, from pairs of hex digits.
    pub fn hex(
        &mut self,
        key: &'static str,
        found: &mut Diagnostics,
    ) -> Option<SpannedValue<Vec<u8>>> {
        self.get(key)?.hex(found)
    }

    /// Returns the value of one of several names.
    pub fn one_of<T: Copy>(
        &mut self,
        key: &'static str,
        names: &[(&'static str, T)],
        found: &mut Diagnostics,
    ) -> Option<SpannedValue<T>> {
        self.get(key)?.one_of(names, found)
    }

    /// Returns the values of a key that may be a list or one value; empty where the key is absent.
    pub fn list(&mut self, key: &'static str) -> Vec<TomlValue<'t>> {
        self.get(key).map(|v| v.one_or_list()).unwrap_or_default()
    }

    /// Returns the table under a key; its name in messages is `place`.
    pub fn table(
        &mut self,
        key: &'static str,
        place: impl Into<String>,
        found: &mut Diagnostics,
    ) -> Option<TomlTable<'t>> {
        self.get(key)?.table(place, found)
    }

    /// Returns the tables of an array of tables, `[[key]]`; their names in messages are `word 1`,
    /// `word 2`, ….
    pub fn tables(
        &mut self,
        key: &'static str,
        word: &str,
        found: &mut Diagnostics,
    ) -> Vec<TomlTable<'t>> {
        match self.get(key) {
            Some(value) => value.tables(key, word, found),
            None => Vec::new(),
        }
    }

    /// Reports the keys that no getter requested, each with the one that may have been meant.
    pub fn finish(self, found: &mut Diagnostics) {
        for (key, _) in self.entries {
            let name: &str = key.get_ref();
            if self.known.contains(&name) || self.reported.iter().any(|known| known == name) {
                continue;
            }
            if !found.wants_more() {
                found.count_only();
                continue;
            }
            let known = || self.known.iter().copied();
            let hint = self
                .misnomer_hint(name)
                .unwrap_or_else(|| match nearest(name, known()) {
                    Some(best) if self.entries.contains_key(best) => {
                        format!("`{best}` is already set: leave this out")
                    }
                    _ => did_you_mean(name, self.known.iter().copied()),
                });
            found.push(self.no_key(key).hint(hint));
        }
    }
}

fn key_at<'t>(key: &'t Spanned<DeString<'t>>) -> SpannedValue<&'t str> {
    SpannedValue {
        value: key.get_ref(),
        span: key.span(),
    }
}
