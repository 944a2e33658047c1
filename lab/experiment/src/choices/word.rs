//! Words: the values that users type after `cangate lab measure`'s options, that are in matrix
//! files, and that are printed with every result. Each is parsed back to the same value.

use guest::machine::{BenchKind, UnknownBench};
use guest::{Kernel, UnknownKernel};
use probe::traffic::{PatternError, TrafficPattern};
use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

/// A word that has no meaning. Displayed as `what: hint`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}: {hint}")]
pub struct WordError {
    /// The error.
    pub what: String,
    /// A correct alternative.
    pub hint: String,
}

impl WordError {
    pub(crate) fn new(what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            hint: hint.into(),
        }
    }

    /// Returns the error that `text` is not a valid word of this kind.
    pub(crate) fn unknown<T: WordKind + ?Sized>(text: &str) -> Self {
        let forms: Vec<_> = T::WORDS.iter().map(|(form, _)| *form).collect();
        Self::unlisted(text, T::KIND, &forms.join(", "))
    }

    fn unlisted(text: &str, kind: &str, choices: &str) -> Self {
        let what = if text.is_empty() {
            format!("no {kind} is given")
        } else {
            format!("`{text}` is not a {kind}")
        };
        Self::new(what, format!("choose one of {choices}"))
    }
}

impl From<UnknownBench> for WordError {
    fn from(UnknownBench(text): UnknownBench) -> Self {
        let all = BenchKind::ALL.map(BenchKind::name);
        Self::unlisted(&text, BenchKind::KIND, &all.join(", "))
    }
}

impl From<UnknownKernel> for WordError {
    fn from(UnknownKernel(text): UnknownKernel) -> Self {
        let all: Vec<_> = Kernel::all().map(|kernel| kernel.to_string()).collect();
        Self::unlisted(&text, Kernel::KIND, &all.join(", "))
    }
}

impl From<PatternError> for WordError {
    fn from(error: PatternError) -> Self {
        Self::new(error.what(), error.hint())
    }
}

impl WordKind for Kernel {
    const KIND: &'static str = "kernel";
}

impl WordKind for BenchKind {
    const KIND: &'static str = "bench";
    const WORDS: &'static [WordMeaning] = &[
        (
            "kvaser",
            &["Emulated SJA1000 cards with the in-tree driver; frames take no bus time"],
        ),
        (
            "ctucan",
            &["Emulated CTU CAN FD cards with the kernel's driver; frames take no bus time"],
        ),
        (
            "timed",
            &["Interfaces of kmod/bitcan on buses with bit time: 1 Mbit/s, FD data 4 Mbit/s"],
        ),
        (
            "vm",
            &["Two such interfaces on one bus, in a guest that runs inner machines"],
        ),
        ("vcan", &["Virtual interfaces, for round trips only"]),
    ];
}

impl WordKind for TrafficPattern {
    const KIND: &'static str = "traffic pattern";
    const WORDS: &'static [WordMeaning] = &[
        (
            "oneatatime",
            &["The next frame after the previous one came out, or after 1 s"],
        ),
        (
            "load:PERCENT",
            &["A bus load of 1 to 100 per cent (timed bench only)"],
        ),
        ("flood", &["As fast as the bus takes the frames"]),
        (
            "period:MICROSECONDS",
            &["One frame per period, 0.001 to 10000000 microseconds"],
        ),
    ];
}

/// Parses a whole number within limits; `what` names it.
pub(crate) fn number<T>(text: &str, range: RangeInclusive<T>, what: &str) -> Result<T, WordError>
where
    T: FromStr + PartialOrd + fmt::Display + Copy,
{
    // `parse` accepts a sign, which would not be printed again.
    let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    match text.parse::<T>() {
        Ok(n) if digits && range.contains(&n) => Ok(n),
        _ => Err(WordError::new(
            format!("`{text}` is not a {what}"),
            format!(
                "give a whole number from {} to {}",
                range.start(),
                range.end()
            ),
        )),
    }
}

/// A kind of value of which each has a word.
pub trait WordKind {
    /// The name of one value: `load`.
    const KIND: &'static str;
    /// The forms of its words, each with the paragraphs that explain it; empty where the setting's
    /// own text lists them.
    const WORDS: &'static [WordMeaning] = &[];

    /// Returns the words with their explanations, as lines of a help text.
    #[must_use]
    fn table() -> String {
        word_table(Self::WORDS)
    }
}

/// The form of a word, and the lines of the text that explains it.
pub type WordMeaning = (&'static str, &'static [&'static str]);

/// The width of help texts, columns: that of the program less the indentation of options' texts.
const COLUMNS: usize = 90;

/// Returns words and the first paragraphs of their explanations, in two columns.
pub(crate) fn word_table(words: &[WordMeaning]) -> String {
    let indent = 4 + words.iter().map(|(word, _)| word.len()).max().unwrap_or(0);
    let mut table = String::new();
    for (word, lines) in words {
        let lines = lines.iter().map(|line| line.trim());
        let lines: Vec<_> = lines.take_while(|line| !line.is_empty()).collect();
        let text = lines.join(" ");
        let mut line = format!("  {word}");
        for part in parts(text.strip_suffix('.').unwrap_or(&text)) {
            if line.len() >= indent && line.chars().count() + 1 + part.len() > COLUMNS {
                table.push_str(&format!("{line}\n"));
                line.clear();
            }
            let begin = if line.len() < indent { indent - 1 } else { 0 };
            line = format!("{line:<begin$} {part}");
        }
        table.push_str(&format!("{line}\n"));
    }
    table
}

/// Returns the parts between which a line may end: words; an option with its value and the word
/// before it.
fn parts(text: &str) -> Vec<String> {
    let mut parts: Vec<String> = Vec::new();
    let mut after_option = false;
    for word in text.split(' ') {
        let is_option = word.starts_with("--");
        match parts.last_mut() {
            Some(last) if is_option || after_option => last.push_str(&format!(" {word}")),
            _ => parts.push(word.to_owned()),
        }
        after_option = is_option;
    }
    parts
}

/// Returns the FNV-1a hash, 64 bits: it is the same on every machine and with every compiler.
pub(crate) fn checksum(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |sum, byte| {
        (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// Defines an enum whose variants are single words, with the word and the explanation of each.
macro_rules! plain_words {
    (
        $(#[$attribute:meta])*
        pub enum $type:ident, $kind:literal {
            $($(#[doc = $doc:literal])+ $value:ident = $word:literal,)+
        }
    ) => {
        $(#[$attribute])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[derive(serde::Serialize, serde::Deserialize)]
        pub enum $type {
            $($(#[doc = $doc])+ #[serde(rename = $word)] $value,)+
        }

        impl $type {
            /// All values.
            pub const ALL: &'static [Self] = &[$(Self::$value,)+];
        }

        impl $crate::choices::WordKind for $type {
            const KIND: &'static str = $kind;
            const WORDS: &'static [$crate::choices::WordMeaning] = &[$(($word, &[$($doc),+]),)+];
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(match self { $(Self::$value => $word,)+ })
            }
        }

        impl std::str::FromStr for $type {
            type Err = $crate::choices::WordError;

            fn from_str(text: &str) -> Result<Self, $crate::choices::WordError> {
                match text {
                    $($word => Ok(Self::$value),)+
                    _ => Err($crate::choices::WordError::unknown::<Self>(text)),
                }
            }
        }

        #[cfg(test)]
        impl $crate::arbitrary::AnyValue for $type {
            fn any() -> proptest::strategy::BoxedStrategy<Self> {
                proptest::strategy::Strategy::boxed(proptest::sample::select(Self::ALL))
            }
        }
    };
}

pub(crate) use plain_words;
