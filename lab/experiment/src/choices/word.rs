//! Words: the values that users type after `cangate lab measure`'s options, that are in matrix
//! files, and that are printed with every result. Each is parsed back to the same value.

use guest::machine::{BenchKind, UnknownBench};
use guest::{Kernel, UnknownKernel};
use probe::traffic::PatternError;
use std::fmt;
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

    /// Returns the error that `text` is not a valid word of the kind `kind`, of which there are
    /// `choices`.
    pub(crate) fn unknown(text: &str, kind: &str, choices: &str) -> Self {
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
        Self::unknown(
            &text,
            "bench",
            &BenchKind::ALL.map(BenchKind::name).join(", "),
        )
    }
}

impl From<UnknownKernel> for WordError {
    fn from(UnknownKernel(text): UnknownKernel) -> Self {
        let all: Vec<_> = Kernel::all().map(|kernel| kernel.to_string()).collect();
        Self::unknown(&text, "kernel", &all.join(", "))
    }
}

impl From<PatternError> for WordError {
    fn from(error: PatternError) -> Self {
        Self::new(error.what(), error.hint())
    }
}

/// Parses a whole number within limits; `what` names it.
pub(crate) fn number<T>(text: &str, least: T, most: T, what: &str) -> Result<T, WordError>
where
    T: FromStr + PartialOrd + fmt::Display + Copy,
{
    // `parse` accepts a sign, which would not be printed again.
    let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    match text.parse::<T>() {
        Ok(n) if digits && n >= least && n <= most => Ok(n),
        _ => Err(WordError::new(
            format!("`{text}` is not a {what}"),
            format!("give a whole number from {least} to {most}"),
        )),
    }
}

/// Display and FromStr of an enum whose variants are single words.
macro_rules! plain_words {
    ($type:ty, $kind:literal, $($value:path = $word:literal),+ $(,)?) => {
        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(match self { $($value => $word,)+ })
            }
        }

        impl std::str::FromStr for $type {
            type Err = WordError;

            fn from_str(text: &str) -> Result<Self, WordError> {
                match text {
                    $($word => Ok($value),)+
                    _ => Err(WordError::unknown(text, $kind, &[$($word),+].join(", "))),
                }
            }
        }
    };
}

pub(super) use plain_words;
