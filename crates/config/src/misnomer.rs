//! Words that people write for a key because another tool, or another language, calls it so.

/// Words that are not a key, and the key that is meant. A word that is only misspelt needs no
/// entry: [`crate::nearest`] finds it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Misnomer {
    /// The words, in small letters, with `_` where there is a `-` or a `_`.
    pub words: &'static [&'static str],
    /// The key that is meant; empty if it stands elsewhere, or if there is none.
    pub key: &'static str,
    /// What to write. It follows "did you mean `key`?", and may be empty if that says it all.
    /// Without a key it stands alone.
    pub hint: &'static str,
}

impl Misnomer {
    /// Words for this key.
    #[must_use]
    pub const fn of(key: &'static str, words: &'static [&'static str]) -> Self {
        Self {
            words,
            key,
            hint: "",
        }
    }

    /// The same with an example, or with what else there is to know.
    #[must_use]
    pub const fn hint(mut self, hint: &'static str) -> Self {
        self.hint = hint;
        self
    }

    /// Words for something that is not a key of this table.
    #[must_use]
    pub const fn elsewhere(words: &'static [&'static str], hint: &'static str) -> Self {
        Self {
            words,
            key: "",
            hint,
        }
    }
}
