//! The words of a condition.

use core::ops::Range;

/// A text and the position up to which it has been read.
pub(super) struct ConditionScanner<'t> {
    text: &'t str,
    at: usize,
}

/// A part of the text, and its place.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct ScannedPart<'t> {
    pub(super) text: &'t str,
    pub(super) part: Range<usize>,
}

impl<'t> ConditionScanner<'t> {
    pub(super) const fn new(text: &'t str) -> Self {
        Self { text, at: 0 }
    }

    /// Returns the rest of the text, from the next character that is not a blank.
    pub(super) fn rest(&mut self) -> &'t str {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let trimmed = rest.trim_start();
        self.at += rest.len() - trimmed.len();
        trimmed
    }

    /// Returns the position of the next character that is not a blank.
    pub(super) fn position(&mut self) -> usize {
        self.rest();
        self.at
    }

    /// Returns the place of what comes next: a word, or one character.
    pub(super) fn next_part(&mut self) -> Range<usize> {
        let rest = self.rest();
        let word = rest.find(|c: char| !is_word(c)).unwrap_or(rest.len());
        let len = match word {
            0 => rest.chars().next().map_or(0, char::len_utf8),
            word => word,
        };
        self.at..self.at + len
    }

    /// Reads this text, if it comes next.
    pub(super) fn eat(&mut self, text: &str) -> bool {
        let has = self.rest().starts_with(text);
        if has {
            self.at += text.len();
        }
        has
    }

    /// Reads this word, if it comes next as a whole.
    pub(super) fn eat_word(&mut self, word: &str) -> bool {
        let rest = self.rest();
        let is_next = rest
            .strip_prefix(word)
            .is_some_and(|after| !after.starts_with(is_word));
        is_next && self.eat(word)
    }

    /// Reads a name of letters, digits and `_`, if one comes next.
    pub(super) fn name(&mut self) -> Option<ScannedPart<'t>> {
        let rest = self.rest();
        let len = rest.find(|c: char| !is_word(c)).unwrap_or(rest.len());
        self.take(len)
    }

    /// Reads a decimal number, if one comes next. A point that a second one follows does not belong
    /// to it.
    pub(super) fn number(&mut self) -> Option<ScannedPart<'t>> {
        let bytes = self.rest().as_bytes();
        let at = |index: usize| bytes.get(index).copied().unwrap_or(0);
        let digits = |mut index: usize| {
            while at(index).is_ascii_digit() {
                index += 1;
            }
            index
        };
        let start = usize::from(matches!(at(0), b'+' | b'-'));
        let mut end = digits(start);
        let mut count = end - start;
        if at(end) == b'.' && at(end + 1) != b'.' {
            let after = digits(end + 1);
            count += after - end - 1;
            if after > end + 1 {
                end = after;
            }
        }
        if count == 0 {
            return None;
        }
        if matches!(at(end), b'e' | b'E') {
            let sign = usize::from(matches!(at(end + 1), b'+' | b'-'));
            let after = digits(end + 1 + sign);
            if after > end + 1 + sign {
                end = after;
            }
        }
        self.take(end)
    }

    /// Reads a text in single or double quotes. `Some(Err)`: the closing quote is missing.
    pub(super) fn quoted(&mut self) -> Option<Result<ScannedPart<'t>, Range<usize>>> {
        let rest = self.rest();
        let quote = rest.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
        let start = self.at;
        let inner = rest.get(1..).unwrap_or_default();
        Some(match inner.split_once(quote) {
            Some((text, _)) => {
                self.at += text.len() + 2;
                let part = start..self.at;
                Ok(ScannedPart { text, part })
            }
            None => Err(start..start + rest.trim_end().len()),
        })
    }

    /// Reads a unit: all up to an operator, a comma, two points, or a closing parenthesis that the
    /// unit does not open. `None` if nothing comes before these.
    pub(super) fn unit(&mut self) -> Option<ScannedPart<'t>> {
        let rest = self.rest();
        let mut open = 0_usize;
        let mut end = rest.len();
        for (at, c) in rest.char_indices() {
            let tail = rest.get(at..).unwrap_or_default();
            let is_end = match c {
                '(' => {
                    open += 1;
                    false
                }
                ')' if open > 0 => {
                    open -= 1;
                    false
                }
                ')' | ',' | '<' | '>' | '=' | '!' | '|' | '&' => true,
                _ => tail.starts_with(".."),
            };
            if is_end {
                end = at;
                break;
            }
        }
        let unit = rest.get(..end).unwrap_or_default().trim_end();
        self.take(unit.len())
    }

    fn take(&mut self, len: usize) -> Option<ScannedPart<'t>> {
        let part = self.at..self.at + len;
        let text = self
            .text
            .get(part.clone())
            .filter(|text| !text.is_empty())?;
        self.at += len;
        Some(ScannedPart { text, part })
    }
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(text: &str) -> (Option<&str>, &str) {
        let mut scanner = ConditionScanner::new(text);
        let number = scanner.number().map(|part| part.text);
        (number, scanner.rest())
    }

    #[test]
    fn numbers_end_before_what_is_not_a_digit() {
        assert_eq!(number(" 5 km/h"), (Some("5"), "km/h"));
        assert_eq!(number("-0.25e3x"), (Some("-0.25e3"), "x"));
        assert_eq!(number("5e V"), (Some("5"), "e V"));
        assert_eq!(number("3..5"), (Some("3"), "..5"));
        assert_eq!(number(".5"), (Some(".5"), ""));
        assert_eq!(number("5."), (Some("5"), "."));
        assert_eq!(number("."), (None, "."));
        assert_eq!(number("-x"), (None, "-x"));
    }

    #[test]
    fn units_end_before_operators() {
        let unit = |text| ConditionScanner::new(text).unit().map(|unit| unit.text);
        assert_eq!(unit(" km/h && x"), Some("km/h"));
        assert_eq!(unit("m/(s s)) || x"), Some("m/(s s)"));
        assert_eq!(unit("°C..5"), Some("°C"));
        assert_eq!(unit(") && x"), None);
        assert_eq!(unit(""), None);
    }
}
