//! Texts of a database in messages to the user.

use core::fmt::{self, Write as _};

/// The most characters of a text that are shown: one name can be part of many messages.
const MOST_SHOWN: usize = 100;

/// The beginning of a text on one line, without control characters.
#[derive(Clone, Copy)]
pub(crate) struct ShownText<'a>(&'a str);

/// Returns a name or another text of a database as a message shows it.
pub(crate) const fn shown(text: &str) -> ShownText<'_> {
    ShownText(text)
}

impl fmt::Display for ShownText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut first = self.0.chars().map(printable).take(MOST_SHOWN);
        first.try_for_each(|c| f.write_char(c))
    }
}

/// Returns a blank in place of a control character.
pub(crate) fn printable(c: char) -> char {
    if c.is_control() { ' ' } else { c }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString as _;

    #[test]
    fn a_text_is_shown_on_one_line_of_limited_length() {
        assert_eq!(shown("Speed\n2").to_string(), "Speed 2");
        let long = "ä".repeat(MOST_SHOWN);
        assert_eq!(shown(&long).to_string(), long);
        assert_eq!(shown(&(long.clone() + "b")).to_string(), long);
    }
}
