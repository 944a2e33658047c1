//! The state of the screen, and the effect of keys on it.

use crate::commands::screen::{ENTER, RowFilter, following, is_end};
use crate::watching::{MessageRow, MessageTable, NamedDatabases, RowKey, SeenFrame, WatchLosses};
use frame::Nanos;
use ratatui::termion::event::Key;

/// The order of the rows.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum RowOrder {
    /// By port and ID.
    #[default]
    Id,
    /// The most frames first.
    Count,
    /// The shortest mean period first.
    Period,
    /// The last frame first.
    Recent,
}

impl RowOrder {
    const ALL: [Self; 4] = [Self::Id, Self::Count, Self::Period, Self::Recent];

    pub(super) const fn words(self) -> &'static str {
        match self {
            Self::Id => "ID",
            Self::Count => "count",
            Self::Period => "period",
            Self::Recent => "latest",
        }
    }

    fn next(self) -> Self {
        following(&Self::ALL, self)
    }
}

/// The state that the screen shows.
pub(super) struct WatchApp<'d> {
    /// The names of the ports.
    pub(super) ports: Vec<String>,
    pub(super) color: bool,
    /// Whether the ports also send: those of a gateway.
    pub(super) is_gateway: bool,
    pub(super) databases: &'d NamedDatabases,
    table: MessageTable,
    pub(super) losses: WatchLosses,
    pub(super) order: RowOrder,
    pub(super) is_reversed: bool,
    pub(super) filter: RowFilter,
    /// The table as it was when the screen was paused.
    paused: Option<MessageTable>,
    /// Whether the help on the keys is shown in place of the table, until the next key.
    pub(super) helps: bool,
    /// Whether each row is followed by its signals.
    pub(super) shows_signals: bool,
    /// The selected row, and the first one shown.
    pub(super) selected: usize,
    pub(super) first: usize,
    /// The rows whose whole payload and signals are shown.
    pub(super) open: Option<RowKey>,
}

/// Returns the mean period of a row, ns; rows without one are last.
fn mean(row: &MessageRow) -> Nanos {
    row.period().map_or(Nanos::MAX, |period| period.mean)
}

impl<'d> WatchApp<'d> {
    pub(super) fn new(
        ports: Vec<String>,
        is_gateway: bool,
        databases: &'d NamedDatabases,
        color: bool,
    ) -> Self {
        Self {
            ports,
            color,
            is_gateway,
            databases,
            table: MessageTable::default(),
            losses: WatchLosses::default(),
            order: RowOrder::Id,
            is_reversed: false,
            filter: RowFilter::default(),
            paused: None,
            helps: false,
            shows_signals: false,
            selected: 0,
            first: 0,
            open: None,
        }
    }

    /// Takes frames, also while the screen is paused.
    pub(super) fn take(&mut self, frames: Vec<SeenFrame>, losses: WatchLosses) {
        self.losses = losses;
        for seen in frames {
            self.table.add(seen);
        }
    }

    /// Handles a key. Returns whether the program should end.
    pub(super) fn press(&mut self, key: Key) -> bool {
        if is_end(key) {
            return true;
        }
        if self.helps {
            self.helps = false;
            return key == Key::Char('q');
        }
        if self.filter.press(key) {
            self.selected = 0;
            return false;
        }
        match key {
            Key::Char('q') => return true,
            Key::Esc if self.open.is_some() => self.open = None,
            Key::Esc if self.filter.is_empty() => return true,
            Key::Esc => self.filter.clear(),
            Key::Char('s') => self.order = self.order.next(),
            Key::Char('r') => self.is_reversed = !self.is_reversed,
            Key::Char('p') => {
                self.paused = match self.paused {
                    Some(_) => None,
                    None => Some(self.table.clone()),
                };
            }
            Key::Char('c') => {
                self.table = MessageTable::default();
                self.paused = None;
                self.open = None;
            }
            Key::Char('d') => self.shows_signals = !self.shows_signals,
            Key::Char('h' | '?') => self.helps = true,
            Key::Char('/') => self.filter.edit(),
            ENTER => self.toggle(),
            Key::Up => self.selected = self.selected.saturating_sub(1),
            Key::Down => self.selected = self.selected.saturating_add(1),
            Key::PageUp => self.selected = self.selected.saturating_sub(10),
            Key::PageDown => self.selected = self.selected.saturating_add(10),
            Key::Home => self.selected = 0,
            Key::End => self.selected = usize::MAX,
            _ => {}
        }
        false
    }

    /// Opens the selected row, or closes it.
    fn toggle(&mut self) {
        let selected = self
            .rows()
            .get(self.selected)
            .map(|(key, _)| (*key).clone());
        self.open = selected.filter(|key| self.open.as_ref() != Some(key));
    }

    /// Returns the rows that pass the filter, in the selected order.
    pub(super) fn rows(&self) -> Vec<(&RowKey, &MessageRow)> {
        let all = self.shown().rows();
        let mut all: Vec<_> = all.filter(|(key, _)| self.passes(key)).collect();
        match self.order {
            RowOrder::Id => {}
            RowOrder::Count => all.sort_by_key(|(_, row)| std::cmp::Reverse(row.count)),
            RowOrder::Period => all.sort_by_key(|(_, row)| mean(row)),
            RowOrder::Recent => all.sort_by_key(|(_, row)| std::cmp::Reverse(row.last)),
        }
        if self.is_reversed {
            all.reverse();
        }
        all
    }

    /// Returns whether the screen is paused.
    pub(super) const fn is_paused(&self) -> bool {
        self.paused.is_some()
    }

    /// Returns the table that the screen shows.
    pub(super) fn shown(&self) -> &MessageTable {
        self.paused.as_ref().unwrap_or(&self.table)
    }

    /// Returns the name of the message of a row; empty if no database has it.
    pub(super) fn name(&self, key: &RowKey) -> &str {
        let message = self.databases.message(&key.port, key.kind, key.id);
        message.map_or("", |message| message.name.as_str())
    }

    fn passes(&self, key: &RowKey) -> bool {
        let id = key.id.to_string();
        self.filter.passes(&[&id, &key.port, self.name(key)])
    }
}
