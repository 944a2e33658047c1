//! A single diagnostic: the mistake, its place and its remedy.

use std::ops::Range;

/// Severity of a diagnostic.
#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord)]
pub enum Severity {
    /// The text is valid, but probably not as intended.
    Warning,
    /// Nothing runs until the mistake is corrected.
    Error,
}

/// A single mistake in a text, with its place and its remedy.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Diagnostic {
    /// Severity.
    pub severity: Severity,
    /// The mistake, in one sentence.
    pub message: String,
    /// The bytes of the text that the diagnostic refers to; empty for "at this place".
    pub span: Range<usize>,
    /// Text next to the caret; may be empty.
    pub label: String,
    /// The remedy; empty where the message is sufficient.
    pub hint: String,
}

impl Diagnostic {
    /// Creates an error at a place.
    #[must_use]
    pub fn error(span: Range<usize>, message: impl Into<String>) -> Self {
        Self {
            severity: Severity::Error,
            message: message.into(),
            span,
            label: String::new(),
            hint: String::new(),
        }
    }

    /// Creates a warning at a place.
    #[must_use]
    pub fn warning(span: Range<usize>, message: impl Into<String>) -> Self {
        Self {
            severity: Severity::Warning,
            ..Self::error(span, message)
        }
    }

    /// Returns the same diagnostic with a text next to the caret.
    #[must_use]
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = label.into();
        self
    }

    /// Returns the same diagnostic with a hint.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = hint.into();
        self
    }
}
