//! The parts that live displays on a terminal share (`cangate top`, `cangate watch`).

use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::termion::event::Key;

/// The maximum length of the text of a filter.
const MAX_TEXT: usize = 40;

/// The key Enter.
pub(super) const ENTER: Key = Key::Char('\n');
/// The character of the key Tab.
pub(super) const TAB: char = '\t';

/// Returns whether a key ends the display at any time.
pub(super) const fn is_end(key: Key) -> bool {
    matches!(key, Key::Ctrl('c' | 'd'))
}

/// A text that selects rows, and its editing.
#[derive(Default)]
pub(super) struct RowFilter {
    text: String,
    /// Whether the keys go into the text.
    is_editing: bool,
}

impl RowFilter {
    /// Lets the keys go into the text.
    pub(super) fn edit(&mut self) {
        self.is_editing = true;
    }

    /// Handles a key, if the text is being edited; otherwise it returns false.
    pub(super) fn press(&mut self, key: Key) -> bool {
        let was_editing = self.is_editing;
        match key {
            _ if !was_editing => {}
            ENTER => self.is_editing = false,
            Key::Esc => self.clear(),
            Key::Backspace | Key::Ctrl('h') => {
                self.text.pop();
            }
            Key::Char(c) if c != TAB && self.text.chars().count() < MAX_TEXT => self.text.push(c),
            _ => {}
        }
        was_editing
    }

    /// Empties the text, which ends its editing.
    pub(super) fn clear(&mut self) {
        self.text.clear();
        self.is_editing = false;
    }

    pub(super) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Returns whether one of the texts of a row contains the filter's, in upper or lower case.
    pub(super) fn passes(&self, texts: &[&str]) -> bool {
        let wanted = self.text.to_lowercase();
        let has = |text: &&str| text.to_lowercase().contains(&wanted);
        wanted.is_empty() || texts.iter().any(has)
    }

    /// Returns the line of keys while the text is edited.
    pub(super) fn edited(&self) -> Option<String> {
        self.is_editing
            .then(|| format!("filter: {}▏ (Enter: done, Esc: clear)", self.text))
    }

    /// Returns the entry of the key in the line of keys.
    pub(super) fn entry(&self) -> String {
        match self.text.as_str() {
            "" => "/ filter".to_owned(),
            text => format!("/ filter: {text}"),
        }
    }
}

/// Returns the value after this one in a list of all; the first one follows the last one.
pub(super) fn following<T: Copy + PartialEq>(all: &[T], now: T) -> T {
    let mut rest = all.iter().skip_while(|value| **value != now).skip(1);
    rest.next().or(all.first()).copied().unwrap_or(now)
}

/// Returns the areas for the summary, the tables and the line of keys.
pub(super) fn areas(screen: Rect) -> [Rect; 3] {
    let [head, _, tables, foot] = Layout::vertical([
        Constraint::Length(2),
        Constraint::Length(1),
        Constraint::Fill(1),
        Constraint::Length(1),
    ])
    .areas(screen);
    [head, tables, foot]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_value_follows_the_last() {
        assert_eq!([1, 2, 3].map(|now| following(&[1, 2, 3], now)), [2, 3, 1]);
        assert_eq!(following(&[], 7), 7);
    }

    #[test]
    fn keys_go_into_the_text_only_while_it_is_edited() {
        let mut filter = RowFilter::default();
        assert!(!filter.press(Key::Char('x')) && filter.is_empty());
        filter.edit();
        assert!(filter.press(Key::Char('B')) && filter.edited().is_some());
        assert!(filter.press(ENTER) && filter.edited().is_none());
        assert!(filter.passes(&["engine", "body"]) && !filter.passes(&["engine"]));
        assert_eq!(filter.entry(), "/ filter: B");
        filter.clear();
        assert!(filter.passes(&[]) && filter.entry() == "/ filter");
    }
}
