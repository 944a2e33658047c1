//! The available keys, with descriptions and shapes: for a schema, which editors read, and for
//! documents.

use std::borrow::Cow;
use std::ops::RangeInclusive;

/// A key of a table. [`settings!`](crate::settings!) makes it from the key's definition.
#[derive(Clone, PartialEq, Debug)]
pub struct KeySpec {
    /// The key.
    pub name: &'static str,
    /// The shape of its value.
    pub shape: ValueShape,
    /// Its meaning for users, in Markdown: the first paragraph.
    pub about: &'static str,
    /// The default, in Markdown. Empty if no table of a document has the key.
    pub default: Cow<'static, str>,
    /// Whether the key is required in every case.
    pub is_needed: bool,
    value: Option<&'static str>,
}

/// The shape of a value. A shape covers only what a schema can check: whether a file makes sense,
/// only its reader can decide.
#[derive(Clone, PartialEq, Debug)]
pub enum ValueShape {
    /// Anything.
    Anything,
    /// A string.
    Text,
    /// True or false.
    Flag,
    /// An integer within bounds.
    Integer(RangeInclusive<i64>),
    /// A number within bounds.
    Number(RangeInclusive<f64>),
    /// Bits per second: an integer, or a string such as "500k".
    Bitrate,
    /// Bytes: an integer, or a string such as "100M".
    Size,
    /// A time: a string such as "50ms".
    Duration,
    /// A number per time: a string such as "100/s".
    Rate,
    /// A byte: an integer, or a string of one or two hex digits.
    Byte,
    /// Pairs of hex digits.
    Hex,
    /// One of these strings.
    Words(Vec<&'static str>),
    /// A table with these keys.
    Table(Vec<KeySpec>),
    /// A table with exactly one of these keys.
    OneKey(Vec<KeySpec>),
    /// A table whose keys are names of the user's choice.
    Named(Box<ValueShape>),
    /// A list.
    List(Box<ValueShape>),
    /// One value, or a list of such values.
    OneOrList(Box<ValueShape>),
    /// Any of these.
    Any(Vec<ValueShape>),
}

impl KeySpec {
    /// Creates a key that may be absent.
    #[must_use]
    pub const fn new(name: &'static str, shape: ValueShape, about: &'static str) -> Self {
        Self {
            name,
            shape,
            about,
            default: Cow::Borrowed(""),
            is_needed: false,
            value: None,
        }
    }

    /// Returns the same key as a required one.
    #[must_use]
    pub fn needed(mut self) -> Self {
        self.is_needed = true;
        self
    }

    /// Returns the same key as a required one. The hint is for the reader.
    #[doc(hidden)]
    #[must_use]
    pub fn needed_with(self, _hint: &str) -> Self {
        self.needed()
    }

    /// Returns the same key with its default for documents, in Markdown.
    #[must_use]
    pub fn default(mut self, text: impl Into<Cow<'static, str>>) -> Self {
        self.default = text.into();
        self
    }

    /// Returns the same key with its possible values for documents, in Markdown; without that, the
    /// shape says them.
    #[must_use]
    pub const fn value(mut self, text: &'static str) -> Self {
        self.value = Some(text);
        self
    }

    /// Returns the key's row in the table of a document: key, value, default, meaning.
    #[must_use]
    pub fn row(&self) -> String {
        let value = self
            .value
            .map_or_else(|| self.shape.values(), str::to_owned);
        format!(
            "| `{}` | {value} | {} | {} |",
            self.name,
            self.default,
            self.meaning()
        )
    }

    /// Returns the description for a schema: without links, and with the default.
    #[must_use]
    pub fn description(&self) -> String {
        let mut text = without_links(&self.meaning()).replace("; see below.", ".");
        if !matches!(&*self.default, "" | "none" | "required") {
            text.push_str(&format!(" Default: {}.", self.default.replace('`', "")));
        }
        text
    }

    /// Returns the first paragraph of `about` as one line.
    fn meaning(&self) -> String {
        let paragraph = self.about.split("\n\n").next().unwrap_or_default();
        let lines: Vec<&str> = paragraph.lines().map(str::trim).collect();
        lines.join(" ")
    }
}

/// Returns Markdown with the text of each link in place of the link, and without sentences that
/// point to another place of the same document.
fn without_links(markdown: &str) -> String {
    let mut text = String::new();
    let mut rest = markdown;
    while let Some((before, (word, target, after))) = rest.find('[').and_then(|at| {
        let (word, link) = rest[at + 1..].split_once("](")?;
        let (target, after) = link.split_once(')')?;
        Some((&rest[..at], (word, target, after)))
    }) {
        let pointer = before
            .strip_suffix("See ")
            .filter(|_| target.starts_with('#'));
        if let (Some(before), Some(after)) = (pointer, after.strip_prefix('.')) {
            text.push_str(before.trim_end());
            rest = after;
        } else {
            text.push_str(before);
            text.push_str(word);
            rest = after;
        }
    }
    text + rest
}

impl ValueShape {
    /// Returns the shape for a list of names as [`crate::TomlValue::one_of`] takes it.
    #[must_use]
    pub fn words<T>(names: &[(&'static str, T)]) -> Self {
        Self::Words(names.iter().map(|(name, _)| *name).collect())
    }

    /// Returns the possible values for a document, in Markdown.
    fn values(&self) -> String {
        match self {
            Self::Anything => "any".to_owned(),
            Self::Text => "string".to_owned(),
            Self::Flag => "`true`, `false`".to_owned(),
            Self::Integer(bounds) => format!("{}–{}", bounds.start(), bounds.end()),
            Self::Number(bounds) => format!("{}–{}", bounds.start(), bounds.end()),
            Self::Bitrate => "bit/s".to_owned(),
            Self::Size => "size".to_owned(),
            Self::Duration => "duration".to_owned(),
            Self::Rate => "rate".to_owned(),
            Self::Byte => "byte".to_owned(),
            Self::Hex => "hex digits".to_owned(),
            Self::Words(words) => {
                let words: Vec<String> = words.iter().map(|word| format!("`\"{word}\"`")).collect();
                words.join(", ")
            }
            Self::Table(_) | Self::OneKey(_) | Self::Named(_) => "table".to_owned(),
            Self::List(_) => "list".to_owned(),
            Self::OneOrList(of) => format!("{}, or a list", of.values()),
            Self::Any(all) => {
                let all: Vec<String> = all.iter().map(Self::values).collect();
                all.join(", ")
            }
        }
    }
}
