//! The part of the shell's syntax that scripts of cangw lines need: words, quotes, comments,
//! continuation.

use alloc::{string::String, vec::Vec};
use core::{mem, ops::Range};

/// A word after its quotes were removed.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct ShellWord {
    pub(super) text: String,
    pub(super) span: Range<usize>,
    /// Position of an expansion by the shell: `$VAR`, `$(…)`, backquotes.
    pub(super) expands: Option<usize>,
}

impl ShellWord {
    /// Returns the position of its first byte, if it has no quotes; then the other bytes follow
    /// directly.
    pub(super) fn start(&self) -> Option<usize> {
        (self.span.len() == self.text.len()).then_some(self.span.start)
    }

    /// Returns the position of a part of the word. Exact if the word has no quotes.
    pub(super) fn part(&self, part: Range<usize>) -> Range<usize> {
        match self.start() {
            Some(start) => start + part.start..start + part.end,
            None => self.span.clone(),
        }
    }
}

/// A command with its words; it has at least one.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct ShellCommand {
    pub(super) words: Vec<ShellWord>,
    /// The text after a `#` on its last line, without surrounding blanks.
    pub(super) comment: String,
}

/// Error: a quote that is never closed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct UnclosedQuote(pub(super) usize);

/// Returns all commands of a script.
pub(super) fn commands(text: &str) -> Result<Vec<ShellCommand>, UnclosedQuote> {
    let mut reader = ShellReader {
        chars: text.char_indices().peekable(),
        end: text.len(),
        commands: Vec::new(),
        words: Vec::new(),
        word: None,
        skip: false,
    };
    reader.read(text)?;
    Ok(reader.commands)
}

struct ShellReader<'t> {
    chars: core::iter::Peekable<core::str::CharIndices<'t>>,
    end: usize,
    commands: Vec<ShellCommand>,
    words: Vec<ShellWord>,
    word: Option<ShellWord>,
    /// The next word is the target of a redirection.
    skip: bool,
}

impl ShellReader<'_> {
    fn read(&mut self, text: &str) -> Result<(), UnclosedQuote> {
        while let Some((at, c)) = self.chars.next() {
            match c {
                '\\' => match self.chars.next() {
                    // The line continues.
                    Some((_, '\n')) | None => {}
                    Some((_, '\r')) if self.chars.next_if(|(_, c)| *c == '\n').is_some() => {}
                    Some((_, c)) => self.push(at, c),
                },
                '\'' | '"' => self.quoted(at, c)?,
                '#' if self.word.is_none() => {
                    let start = at + 1;
                    let mut end = self.end;
                    while let Some((next, _)) = self.chars.next_if(|(_, c)| *c != '\n') {
                        end = next;
                    }
                    let end = self
                        .chars
                        .peek()
                        .map_or(self.end, |(n, _)| *n)
                        .max(start.min(end));
                    let comment = text.get(start..end).unwrap_or_default().trim();
                    self.end_command(at, comment);
                }
                '\n' | ';' | '|' | '&' => self.end_command(at, ""),
                '(' | ')' => self.end_command(at, ""),
                '<' | '>' => self.redirect(at),
                c if c.is_whitespace() => self.end_word(at),
                c => {
                    self.push(at, c);
                    if matches!(c, '$' | '`') {
                        self.mark(at);
                    }
                }
            }
        }
        self.end_command(self.end, "");
        Ok(())
    }

    fn push(&mut self, at: usize, c: char) {
        self.open(at).text.push(c);
    }

    fn open(&mut self, at: usize) -> &mut ShellWord {
        self.word.get_or_insert_with(|| ShellWord {
            span: at..at,
            ..ShellWord::default()
        })
    }

    fn mark(&mut self, at: usize) {
        self.open(at).expands.get_or_insert(at);
    }

    fn quoted(&mut self, start: usize, quote: char) -> Result<(), UnclosedQuote> {
        self.open(start);
        while let Some((at, c)) = self.chars.next() {
            match c {
                c if c == quote => return Ok(()),
                '\\' if quote == '"' => match self.chars.next() {
                    Some((_, '\n')) | None => {}
                    Some((_, c)) => {
                        if !matches!(c, '"' | '\\' | '$' | '`') {
                            self.push(at, '\\');
                        }
                        self.push(at, c);
                    }
                },
                '$' | '`' if quote == '"' => {
                    self.push(at, c);
                    self.mark(at);
                }
                c => self.push(at, c),
            }
        }
        Err(UnclosedQuote(start))
    }

    fn redirect(&mut self, at: usize) {
        let number = self
            .word
            .as_ref()
            .is_some_and(|w| w.text.bytes().all(|b| b.is_ascii_digit()));
        if number {
            self.word = None;
        }
        self.end_word(at);
        while self
            .chars
            .next_if(|(_, c)| matches!(c, '<' | '>' | '&'))
            .is_some()
        {}
        self.skip = true;
    }

    fn end_word(&mut self, at: usize) {
        if let Some(mut word) = self.word.take() {
            word.span.end = at;
            if !mem::take(&mut self.skip) {
                self.words.push(word);
            }
        }
    }

    fn end_command(&mut self, at: usize, comment: &str) {
        self.end_word(at);
        self.skip = false;
        if !self.words.is_empty() {
            self.commands.push(ShellCommand {
                words: mem::take(&mut self.words),
                comment: comment.into(),
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    fn words(text: &str) -> Vec<Vec<String>> {
        let commands = commands(text).unwrap();
        let list = |c: &ShellCommand| c.words.iter().map(|w| w.text.clone()).collect();
        commands.iter().map(list).collect()
    }

    #[test]
    fn words_and_commands() {
        assert_eq!(words("a  b\tc\nd"), [vec!["a", "b", "c"], vec!["d"]]);
        assert_eq!(words("a;b&&c||d|e&"), [["a"], ["b"], ["c"], ["d"], ["e"]]);
        assert_eq!(words("a \\\n  b \\\r\n c"), [["a", "b", "c"]]);
        assert_eq!(
            words("'a b' \"c'd\" e\\ f \"\""),
            [["a b", "c'd", "e f", ""]]
        );
        assert_eq!(words("a >/dev/null 2>&1 b"), [["a", "b"]]);
        assert_eq!(words("a 2> f;b"), [["a"], ["b"]]);
        assert_eq!(words("a#b # c"), [["a#b"]]);
        assert_eq!(words(""), [[""; 0]; 0]);
    }

    #[test]
    fn comments_belong_to_their_line() {
        let all = commands("# top\na # one \nb\n#two").unwrap();
        let comments: Vec<_> = all.iter().map(|c| c.comment.as_str()).collect();
        assert_eq!(comments, ["one", ""]);
    }

    #[test]
    fn places() {
        let all = commands("ab 'cd' $x").unwrap();
        assert_eq!(all[0].words[0].part(1..2), 1..2);
        assert_eq!(all[0].words[1].part(1..2), 3..7);
        assert_eq!(all[0].words[2].expands, Some(8));
        assert_eq!(commands("a 'b"), Err(UnclosedQuote(2)));
    }
}
