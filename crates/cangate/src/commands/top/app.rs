//! The state of the screen, and the effect of keys on it.

use crate::commands::screen::{RowFilter, TAB, following, is_end};
use crate::rates::{GatewayRates, PortRate, Rate, RouteRate};
use ratatui::termion::event::Key;
use std::cmp::Ordering;

/// The sort order of the rows. Numbers start with the highest.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum SortColumn {
    /// The order of the gateway file.
    #[default]
    File,
    Name,
    /// Frames received by ports, taken by routes.
    In,
    Out,
    /// Errors of ports, and frames that routes stopped.
    Errors,
    Lost,
}

impl SortColumn {
    const ALL: [Self; 6] = [
        Self::File,
        Self::Name,
        Self::In,
        Self::Out,
        Self::Errors,
        Self::Lost,
    ];

    pub(super) const fn words(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Name => "name",
            Self::In => "in",
            Self::Out => "out",
            Self::Errors => "errors, stopped",
            Self::Lost => "lost",
        }
    }

    fn next(self) -> Self {
        following(&Self::ALL, self)
    }
}

/// The table that the arrow keys move.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum TableFocus {
    Ports,
    Routes,
}

/// The state that the screen shows.
pub(super) struct TopApp {
    pub(super) socket: String,
    pub(super) color: bool,
    /// The latest rates; `None` until the first ones have come.
    pub(super) rates: Option<GatewayRates>,
    pub(super) sort: SortColumn,
    pub(super) reverse: bool,
    pub(super) filter: RowFilter,
    pub(super) paused: bool,
    /// Whether the help on the keys is shown in place of the tables, until the next key.
    pub(super) helps: bool,
    pub(super) focus: TableFocus,
    /// The first row shown, of ports and of routes.
    pub(super) first: [usize; 2],
}

impl TopApp {
    pub(super) fn new(socket: String, color: bool) -> Self {
        Self {
            socket,
            color,
            rates: None,
            sort: SortColumn::File,
            reverse: false,
            filter: RowFilter::default(),
            paused: false,
            helps: false,
            focus: TableFocus::Ports,
            first: [0; 2],
        }
    }

    /// Takes new rates. Returns whether the screen must be redrawn.
    pub(super) fn handle_rates(&mut self, rates: GatewayRates) -> bool {
        if self.paused && self.rates.is_some() {
            return false;
        }
        self.rates = Some(rates);
        true
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
            self.first = [0; 2];
            return false;
        }
        let at = usize::from(self.focus == TableFocus::Routes);
        let Some(first) = self.first.get_mut(at) else {
            return false;
        };
        match key {
            Key::Char('q') => return true,
            Key::Esc if self.filter.is_empty() => return true,
            Key::Esc => self.filter.clear(),
            Key::Char('s') => self.sort = self.sort.next(),
            Key::Char('r') => self.reverse = !self.reverse,
            Key::Char('p') => self.paused = !self.paused,
            Key::Char('h' | '?') => self.helps = true,
            Key::Char('/') => self.filter.edit(),
            Key::Char(TAB) | Key::BackTab => {
                self.focus = match self.focus {
                    TableFocus::Ports => TableFocus::Routes,
                    TableFocus::Routes => TableFocus::Ports,
                };
            }
            Key::Up => *first = first.saturating_sub(1),
            Key::Down => *first = first.saturating_add(1),
            Key::PageUp => *first = first.saturating_sub(10),
            Key::PageDown => *first = first.saturating_add(10),
            Key::Home => *first = 0,
            _ => {}
        }
        false
    }

    /// Returns the ports that pass the filter, in the selected order.
    pub(super) fn ports(&self) -> Vec<&PortRate> {
        let all = self.rates.iter().flat_map(|rates| &rates.ports);
        let mut all: Vec<_> = all.filter(|row| self.passes(&row.name)).collect();
        all.sort_by(|a, b| match self.sort {
            SortColumn::File => Ordering::Equal,
            SortColumn::Name => a.name.cmp(&b.name),
            SortColumn::In => highest(a.received, b.received),
            SortColumn::Out => highest(a.sent, b.sent),
            SortColumn::Errors => highest(a.errors, b.errors),
            SortColumn::Lost => highest(a.lost, b.lost),
        });
        if self.reverse {
            all.reverse();
        }
        all
    }

    /// Returns the routes that pass the filter, in the selected order.
    pub(super) fn routes(&self) -> Vec<&RouteRate> {
        let all = self.rates.iter().flat_map(|rates| &rates.routes);
        let passes = |row: &&RouteRate| self.passes(&row.name) || self.passes(&row.messages);
        let mut all: Vec<_> = all.filter(passes).collect();
        all.sort_by(|a, b| match self.sort {
            SortColumn::File => Ordering::Equal,
            SortColumn::Name => a.name.cmp(&b.name),
            SortColumn::In => highest(a.taken, b.taken),
            SortColumn::Out => highest(a.sent, b.sent),
            SortColumn::Errors => highest(a.stopped, b.stopped),
            SortColumn::Lost => highest(a.lost, b.lost),
        });
        if self.reverse {
            all.reverse();
        }
        all
    }

    fn passes(&self, name: &str) -> bool {
        self.filter.passes(&[name])
    }
}

/// Compares two rates: the highest first, unknown ones last.
fn highest(a: Rate, b: Rate) -> Ordering {
    let value = |rate: Rate| rate.unwrap_or(-1.0);
    value(b).total_cmp(&value(a))
}
