//! Words that users write for a key because another tool, or another language, uses them.

/// Words that are not keys, and the key that is meant. A word that is only misspelt needs no entry:
/// [`crate::nearest`] finds it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KeyMisnomer {
    /// The words, in lower case, with `_` for each `-` and `_`.
    pub words: &'static [&'static str],
    /// The key that is meant; empty if it belongs to another table, or if there is none.
    pub key: &'static str,
    /// The advice. It follows "did you mean `key`?", and may be empty if that is sufficient.
    /// Without a key it is the whole hint.
    pub hint: &'static str,
}

impl KeyMisnomer {
    /// Creates an entry of words for this key.
    #[must_use]
    pub const fn new(key: &'static str, words: &'static [&'static str]) -> Self {
        Self {
            words,
            key,
            hint: "",
        }
    }

    /// Returns the same entry with an example, or with further advice.
    #[must_use]
    pub const fn hint(mut self, hint: &'static str) -> Self {
        self.hint = hint;
        self
    }

    /// Creates an entry of words for something that is not a key of this table.
    #[must_use]
    pub const fn elsewhere(words: &'static [&'static str], hint: &'static str) -> Self {
        Self {
            words,
            key: "",
            hint,
        }
    }
}
