//! One thing that is wrong, where, and what to do about it.

use std::ops::Range;

/// How bad it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord)]
pub enum Severity {
    /// Works, but hardly as meant.
    Warning,
    /// Nothing runs until this is mended.
    Error,
}

/// One thing that is wrong in a text, where, and what to do about it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Diagnostic {
    /// How bad it is.
    pub severity: Severity,
    /// What is wrong, in one sentence.
    pub message: String,
    /// The bytes of the text that are meant; empty for "at this place".
    pub span: Range<usize>,
    /// What stands beside the caret; may be empty.
    pub label: String,
    /// What to do; empty where the message says it all.
    pub hint: String,
}

impl Diagnostic {
    /// An error at a place.
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

    /// A warning at a place.
    #[must_use]
    pub fn warning(span: Range<usize>, message: impl Into<String>) -> Self {
        Self {
            severity: Severity::Warning,
            ..Self::error(span, message)
        }
    }

    /// The same with words beside the caret.
    #[must_use]
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = label.into();
        self
    }

    /// The same with advice.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = hint.into();
        self
    }
}
