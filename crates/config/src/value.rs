//! A TOML value and its place.

use crate::{Diagnostic, Diagnostics, TomlTable, UnitError, did_you_mean, units};
use std::ops::{Range, RangeInclusive};
use toml::Spanned;
use toml::de::DeValue;

/// A value that was read from the text, and its place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SpannedValue<T> {
    /// The value.
    pub value: T,
    /// The bytes of the text that it was read from.
    pub span: Range<usize>,
}

/// Returns the word of a value in a list of names as [`TomlValue::one_of`] takes it; empty if the
/// list lacks the value.
pub fn word_of<T: PartialEq>(names: &[(&'static str, T)], value: &T) -> &'static str {
    let named = names.iter().find(|(_, named)| named == value);
    named.map_or("", |(word, _)| word)
}

impl<T> SpannedValue<T> {
    /// Returns another value at the same place.
    pub fn map<U>(self, f: impl FnOnce(T) -> U) -> SpannedValue<U> {
        SpannedValue {
            value: f(self.value),
            span: self.span,
        }
    }
}

/// A TOML value, its place, and the key (or position in a list) that identifies it in messages.
#[derive(Clone, Debug)]
pub struct TomlValue<'t> {
    pub(crate) inner: &'t DeValue<'t>,
    pub(crate) span: Range<usize>,
    pub(crate) name: &'t str,
}

impl<'t> TomlValue<'t> {
    pub(crate) fn new(name: &'t str, value: &'t Spanned<DeValue<'t>>) -> Self {
        Self {
            inner: value.get_ref(),
            span: value.span(),
            name,
        }
    }

    /// Returns the key, or the key of the list that it is in.
    #[must_use]
    pub fn name(&self) -> &'t str {
        self.name
    }

    /// Returns its place.
    #[must_use]
    pub fn span(&self) -> Range<usize> {
        self.span.clone()
    }

    fn kind(&self) -> &'static str {
        match self.inner {
            DeValue::String(_) => "a string",
            DeValue::Integer(_) => "an integer",
            DeValue::Float(_) => "a number with a point",
            DeValue::Boolean(_) => "true or false",
            DeValue::Datetime(_) => "a date or time",
            DeValue::Array(_) => "a list",
            DeValue::Table(_) => "a table",
        }
    }

    /// Reports that something else is expected here, with the value as the user should have written
    /// it where that is clear.
    pub fn expected(&self, what: &str, found: &mut Diagnostics) {
        let hint = match self.inner {
            _ if !what.starts_with("a string") => String::new(),
            DeValue::Integer(n) if n.radix() == 16 => {
                format!("put it in quotes, without 0x: \"{}\"", n.as_str())
            }
            DeValue::Integer(n) => format!("put it in quotes: \"{}\"", n.as_str()),
            DeValue::Float(_) | DeValue::Boolean(_) => "put it in quotes: \"…\"".to_owned(),
            _ => String::new(),
        };
        self.expected_as(what, hint, found);
    }

    /// Like [`expected`](Self::expected), with a hint from the caller.
    pub fn expected_as(&self, what: &str, hint: impl Into<String>, found: &mut Diagnostics) {
        let d = Diagnostic::error(self.span(), format!("`{}` must be {what}", self.name))
            .label(format!("this is {}", self.kind()));
        found.push(d.hint(hint));
    }

    /// Reports a mistake at this value.
    pub fn wrong(&self, message: impl Into<String>, hint: impl Into<String>, f: &mut Diagnostics) {
        f.push(Diagnostic::error(self.span(), message).hint(hint));
    }

    fn unit<T>(
        &self,
        read: Result<T, UnitError>,
        found: &mut Diagnostics,
    ) -> Option<SpannedValue<T>> {
        match read {
            Ok(value) => Some(self.at(value)),
            Err(e) => {
                self.wrong(format!("`{}`: {}", self.name, e.what), e.hint, found);
                None
            }
        }
    }

    /// Returns a value at this place.
    pub fn at<T>(&self, value: T) -> SpannedValue<T> {
        SpannedValue {
            value,
            span: self.span(),
        }
    }

    /// Returns the string, if it is one; reports nothing otherwise.
    #[must_use]
    pub fn as_str(&self) -> Option<&'t str> {
        match self.inner {
            DeValue::String(s) => Some(s),
            _ => None,
        }
    }

    /// Returns the integer, if it is one that fits in 64 bits; reports nothing otherwise.
    #[must_use]
    pub fn as_integer(&self) -> Option<i64> {
        match self.inner {
            DeValue::Integer(i) => i64::from_str_radix(i.as_str(), i.radix()).ok(),
            _ => None,
        }
    }

    /// Returns the digits of an integer as they are written, without `0x`, and their base; reports
    /// nothing if the value is not an integer.
    #[must_use]
    pub fn as_digits(&self) -> Option<(&'t str, u32)> {
        match self.inner {
            DeValue::Integer(n) => Some((n.as_str(), n.radix())),
            _ => None,
        }
    }

    /// Returns the decimal digits of an integer or of a number with a point, without `_`; reports
    /// nothing if the value is neither.
    #[must_use]
    pub fn as_decimal(&self) -> Option<&'t str> {
        match self.inner {
            DeValue::Integer(number) if number.radix() == 10 => Some(number.as_str()),
            DeValue::Float(number) => Some(number.as_str()),
            _ => None,
        }
    }

    /// Returns the place of a part of a string, which is given as a range of the string's bytes.
    /// This is the place of the whole string if it contains escapes or line breaks, or if the value
    /// is not a string.
    #[must_use]
    pub fn part(&self, bytes: Range<usize>) -> Range<usize> {
        // Characters of which no escape is longer by 1 or 4 bytes: these escapes cannot be taken
        // for the four other quotes.
        let is_plain = |text: &str| {
            let mut bytes = text.bytes();
            bytes.all(|byte| matches!(byte, b' '..=b'~') && !matches!(byte, b'"' | b'\\'))
        };
        let text = self.as_str();
        let quotes = text.and_then(|text| match self.span.len().checked_sub(text.len()) {
            // Each escape is longer than its character, so there is none.
            Some(2) => Some(1),
            Some(6) if is_plain(text) => Some(3),
            _ => None,
        });
        match quotes {
            Some(quotes) => {
                let start = self.span.start + quotes;
                start + bytes.start..start + bytes.end
            }
            None => self.span(),
        }
    }

    /// Returns the boolean, if it is one; reports nothing otherwise.
    #[must_use]
    pub fn as_bool(&self) -> Option<bool> {
        match self.inner {
            DeValue::Boolean(b) => Some(*b),
            _ => None,
        }
    }

    /// Returns the elements, if it is a list; reports nothing otherwise.
    #[must_use]
    pub fn as_list(&self) -> Option<Vec<TomlValue<'t>>> {
        match self.inner {
            DeValue::Array(list) => {
                Some(list.iter().map(|v| TomlValue::new(self.name, v)).collect())
            }
            _ => None,
        }
    }

    /// Returns whether it is a table.
    #[must_use]
    pub fn is_table(&self) -> bool {
        matches!(self.inner, DeValue::Table(_))
    }

    /// Returns a string.
    pub fn string(&self, found: &mut Diagnostics) -> Option<SpannedValue<&'t str>> {
        match self.as_str() {
            Some(s) => Some(self.at(s)),
            None => {
                self.expected("a string", found);
                None
            }
        }
    }

    /// Returns true or false.
    pub fn boolean(&self, found: &mut Diagnostics) -> Option<SpannedValue<bool>> {
        match self.as_bool() {
            Some(b) => Some(self.at(b)),
            None => {
                self.expected("true or false", found);
                None
            }
        }
    }

    /// Returns an integer within bounds.
    pub fn integer(
        &self,
        bounds: RangeInclusive<i64>,
        f: &mut Diagnostics,
    ) -> Option<SpannedValue<i64>> {
        let DeValue::Integer(_) = self.inner else {
            self.expected("an integer", f);
            return None;
        };
        match self.as_integer() {
            Some(n) if bounds.contains(&n) => Some(self.at(n)),
            _ => {
                let message = format!(
                    "`{}` must be from {} to {}",
                    self.name,
                    bounds.start(),
                    bounds.end()
                );
                f.push(Diagnostic::error(self.span(), message).label("out of range"));
                None
            }
        }
    }

    /// Returns a number, with or without a point; neither infinite nor NaN.
    pub fn number(&self, found: &mut Diagnostics) -> Option<SpannedValue<f64>> {
        let number = match self.inner {
            DeValue::Float(n) => n.as_str().parse::<f64>().ok(),
            DeValue::Integer(_) => self.as_integer().map(|n| n as f64),
            _ => None,
        };
        match number.filter(|n| n.is_finite()) {
            Some(n) => Some(self.at(n)),
            None => {
                self.expected("a number", found);
                None
            }
        }
    }

    /// Returns a byte, from an integer or a string of one or two hex digits.
    pub fn byte(&self, found: &mut Diagnostics) -> Option<SpannedValue<u8>> {
        if let Some(text) = self.as_str() {
            let digits = text.len() <= 2 && text.bytes().all(|b| b.is_ascii_hexdigit());
            return match u8::from_str_radix(text, 16) {
                Ok(byte) if digits => Some(self.at(byte)),
                _ => {
                    let message = format!("`{}`: `{text}` is not a valid byte in hex", self.name);
                    self.wrong(message, "write two hex digits, such as \"0F\"", found);
                    None
                }
            };
        }
        let DeValue::Integer(_) = self.inner else {
            self.expected("a byte: two hex digits in quotes, or an integer", found);
            return None;
        };
        self.integer(0..=255, found).map(|n| n.map(|n| n as u8))
    }

    /// Returns bits per second, from an integer or a string such as "500k".
    pub fn bitrate(&self, found: &mut Diagnostics) -> Option<SpannedValue<u32>> {
        match self.inner {
            DeValue::Integer(_) => {
                let rate = self.integer(0..=i64::from(u32::MAX), found)?;
                Some(rate.map(|n| n as u32))
            }
            DeValue::String(text) => self.unit(units::bitrate(text), found),
            _ => {
                self.expected("a bit rate such as \"500k\"", found);
                None
            }
        }
    }

    /// Returns bits per second of a line, from an integer or a string such as "1G".
    pub fn line_rate(&self, found: &mut Diagnostics) -> Option<SpannedValue<u64>> {
        self.amount(units::line_rate, "a bit rate such as \"1G\"", found)
    }

    /// Returns a number of bytes, from an integer or a string such as "100M".
    pub fn size(&self, found: &mut Diagnostics) -> Option<SpannedValue<u64>> {
        self.amount(units::size, "a number of bytes such as \"100M\"", found)
    }

    /// Returns an integer from 0, also from a string that `parse` reads.
    fn amount(
        &self,
        parse: impl FnOnce(&str) -> Result<u64, UnitError>,
        what: &str,
        found: &mut Diagnostics,
    ) -> Option<SpannedValue<u64>> {
        match self.inner {
            DeValue::Integer(_) => {
                let amount = self.integer(0..=i64::MAX, found)?;
                Some(amount.map(i64::unsigned_abs))
            }
            DeValue::String(text) => self.unit(parse(text), found),
            _ => {
                self.expected(what, found);
                None
            }
        }
    }

    /// Returns a time in nanoseconds, from a string such as "20ms".
    pub fn duration(&self, found: &mut Diagnostics) -> Option<SpannedValue<u64>> {
        match self.as_str() {
            Some(text) => self.unit(units::duration(text), found),
            None => {
                self.expected("a string with a time such as \"20ms\"", found);
                None
            }
        }
    }

    /// Returns a number per time in nanoseconds, from a string such as "100/s".
    pub fn rate(&self, found: &mut Diagnostics) -> Option<SpannedValue<(u32, u64)>> {
        match self.as_str() {
            Some(text) => self.unit(units::rate(text), found),
            None => {
                self.expected("a string with a rate such as \"100/s\"", found);
                None
            }
        }
    }

    /// Returns bytes, from a string of pairs of hex digits.
    pub fn hex(&self, found: &mut Diagnostics) -> Option<SpannedValue<Vec<u8>>> {
        match self.as_str() {
            Some(text) => self.unit(units::hex_bytes(text), found),
            None => {
                self.expected("a string of hex digits", found);
                None
            }
        }
    }

    /// Returns the value of one of several names.
    pub fn one_of<T: Copy>(
        &self,
        names: &[(&'static str, T)],
        found: &mut Diagnostics,
    ) -> Option<SpannedValue<T>> {
        let text = self.string(found)?;
        if let Some((_, value)) = names.iter().find(|(name, _)| *name == text.value) {
            return Some(self.at(*value));
        }
        let message = format!("`{}` cannot be `{}`", self.name, text.value);
        let hint = did_you_mean(text.value, names.iter().map(|(name, _)| *name));
        self.wrong(message, hint, found);
        None
    }

    /// Returns the elements of a list, or a single value as a list of one.
    #[must_use]
    pub fn one_or_list(&self) -> Vec<TomlValue<'t>> {
        self.as_list().unwrap_or_else(|| vec![self.clone()])
    }

    /// Returns a table; `place` is its name in messages.
    pub fn table(
        &self,
        place: impl Into<String>,
        found: &mut Diagnostics,
    ) -> Option<TomlTable<'t>> {
        match self.inner {
            DeValue::Table(entries) => Some(TomlTable::new(entries, self.span(), place.into())),
            _ => {
                self.expected("a table: { key = value, … }", found);
                None
            }
        }
    }

    /// Returns the tables of an array of tables, `[[key]]`; their names in messages are `word 1`,
    /// `word 2`, ….
    pub fn tables(&self, key: &str, word: &str, found: &mut Diagnostics) -> Vec<TomlTable<'t>> {
        let numbered = |index: usize| format!("{word} {}", index + 1);
        match self.inner {
            DeValue::Array(list) => list
                .iter()
                .enumerate()
                .filter_map(|(i, v)| TomlValue::new(self.name, v).table(numbered(i), found))
                .collect(),
            DeValue::Table(entries) => {
                let d = Diagnostic::error(self.span(), format!("`{key}` must be a list of tables"))
                    .hint(format!("write the header with two brackets: [[{key}]]"));
                found.push(d);
                vec![TomlTable::new(entries, self.span(), numbered(0))]
            }
            _ => {
                self.expected(&format!("a list of tables, [[{key}]]"), found);
                Vec::new()
            }
        }
    }
}
