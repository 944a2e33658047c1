//! How the screen looks. It is the same for the same state: there is no clock here.

use super::app::{App, Focus, Sort};
use crate::rates::{Rate, words};
use ratatui::Frame;
use ratatui::layout::{Alignment, Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span, Text};
use ratatui::widgets::{Cell, Paragraph, Row, Table};

/// Width of a column of numbers.
const NUMBER: u16 = 10;
/// Width of the state of a port, or of where a route runs.
const WORD: u16 = 13;
/// What a name has at least: on a narrow terminal, columns are left out for it.
const NAME: u16 = 12;

pub(super) fn draw(app: &mut App, frame: &mut Frame<'_>) {
    let area = frame.area();
    let ports = app.ports().len();
    let routes = app.routes().len();
    let room = usize::from(area.height.saturating_sub(5));
    // Ports are few: they get what they need, up to half of the room, or all that routes leave.
    let for_ports = (ports + 1).min((room / 2).max(room.saturating_sub(routes + 1)));
    let [head, _, upper, _, lower, foot] = Layout::vertical([
        Constraint::Length(2),
        Constraint::Length(1),
        Constraint::Length(u16::try_from(for_ports).unwrap_or(u16::MAX)),
        Constraint::Length(1),
        Constraint::Fill(1),
        Constraint::Length(1),
    ])
    .areas(area);
    keep_in_sight(app, [(ports, upper), (routes, lower)]);
    frame.render_widget(summary(app), head);
    frame.render_widget(port_table(app, area.width), upper);
    frame.render_widget(route_table(app, area.width), lower);
    frame.render_widget(Paragraph::new(keys(app, area.width)), foot);
}

/// Nobody scrolls past the end.
fn keep_in_sight(app: &mut App, tables: [(usize, Rect); 2]) {
    for (first, (rows, area)) in app.first.iter_mut().zip(tables) {
        let shown = usize::from(area.height.saturating_sub(1));
        *first = (*first).min(rows.saturating_sub(shown.max(1)));
    }
}

fn summary(app: &App) -> Text<'static> {
    let bold = Style::new().add_modifier(Modifier::BOLD);
    let title = Line::from(vec![
        Span::styled("cangate top", bold),
        Span::raw(format!("  {}", app.socket)),
    ]);
    let Some(rates) = &app.rates else {
        return Text::from(vec![title, Line::from("measuring …")]);
    };
    let sum = |rates: &mut dyn Iterator<Item = Rate>| words(Some(rates.flatten().sum()));
    let received = sum(&mut rates.ports.iter().map(|port| port.received));
    let sent = sum(&mut rates.ports.iter().map(|port| port.sent));
    let lost: f64 = rates.ports.iter().filter_map(|port| port.lost).sum();
    let mut line = vec![
        Span::raw(format!("received {received}/s  sent {sent}/s  ")),
        Span::styled(
            format!("lost {}/s", words(Some(lost))),
            alarm(app, lost > 0.0),
        ),
        Span::raw(format!("  over {:.1} s", rates.over.as_secs_f64())),
    ];
    if app.paused {
        line.push(Span::styled("  paused", bold));
    }
    Text::from(vec![title, Line::from(line)])
}

/// What should not be seen without a look: red where there are colours, else bold.
fn alarm(app: &App, rings: bool) -> Style {
    match (rings, app.color) {
        (false, _) => Style::new(),
        (true, true) => Style::new().fg(Color::Red),
        (true, false) => Style::new().add_modifier(Modifier::BOLD),
    }
}

/// A table without the columns for which there is no room. `widths`: of all but the first column;
/// `dispensable`: their places in the order in which they are left out.
fn fitted(
    width: u16,
    head: Vec<Cell<'static>>,
    rows: Vec<Vec<Cell<'static>>>,
    widths: &[u16],
    dispensable: &[usize],
) -> Table<'static> {
    let mut shown = vec![true; widths.len() + 1];
    let needed = |shown: &[bool]| -> u16 {
        let columns = widths.iter().zip(shown.iter().skip(1));
        NAME + columns
            .map(|(width, shown)| if *shown { width + 1 } else { 0 })
            .sum::<u16>()
    };
    for &column in dispensable {
        if needed(&shown) <= width {
            break;
        }
        if let Some(shown) = shown.get_mut(column) {
            *shown = false;
        }
    }
    let only_shown = |cells: Vec<Cell<'static>>| {
        let cells = cells.into_iter().zip(&shown);
        Row::new(
            cells
                .filter(|(_, shown)| **shown)
                .map(|(cell, _)| cell)
                .collect::<Vec<_>>(),
        )
    };
    let widths = widths.iter().map(|&width| Constraint::Length(width));
    let widths = std::iter::once(Constraint::Fill(1))
        .chain(widths)
        .zip(&shown);
    let widths = widths.filter(|(_, shown)| **shown).map(|(width, _)| width);
    Table::new(
        rows.into_iter().map(&only_shown),
        widths.collect::<Vec<_>>(),
    )
    .header(only_shown(head))
}

/// A head, with the column marked by which rows are sorted.
fn header(app: &App, names: &[(&'static str, Option<Sort>)], focus: Focus) -> Vec<Cell<'static>> {
    let cells = names.iter().enumerate().map(|(i, (name, sort))| {
        let mut style = Style::new().add_modifier(Modifier::BOLD);
        if *sort == Some(app.sort) {
            style = style.add_modifier(Modifier::UNDERLINED);
        }
        let mark = if i == 0 && app.focus == focus {
            "▸"
        } else {
            ""
        };
        let align = if i < 2 {
            Alignment::Left
        } else {
            Alignment::Right
        };
        Cell::from(Line::styled(format!("{mark}{name}"), style).alignment(align))
    });
    cells.collect()
}

fn right(text: String, style: Style) -> Cell<'static> {
    Cell::from(Line::styled(text, style).alignment(Alignment::Right))
}

fn rate(rate: Rate) -> Cell<'static> {
    right(words(rate), Style::new())
}

fn loss(app: &App, rate: Rate) -> Cell<'static> {
    right(words(rate), alarm(app, rate.is_some_and(|rate| rate > 0.0)))
}

fn port_table(app: &App, width: u16) -> Table<'static> {
    let head = [
        ("PORT", Some(Sort::Name)),
        ("STATE", None),
        ("RECV/s", Some(Sort::In)),
        ("SENT/s", Some(Sort::Out)),
        ("ERRORS/s", Some(Sort::Errors)),
        ("LOST/s", Some(Sort::Lost)),
        ("WAITING", None),
    ];
    let rows = app.ports().into_iter().skip(app.first[0]).map(|port| {
        let well = matches!(port.state, "up" | "no input" | "closed");
        let waiting = port
            .held
            .map_or_else(|| "?".to_owned(), console::table::number);
        vec![
            Cell::from(port.name.clone()),
            Cell::from(Span::styled(port.state, alarm(app, !well))),
            rate(port.received),
            rate(port.sent),
            loss(app, port.errors),
            loss(app, port.lost),
            right(waiting, Style::new()),
        ]
    });
    let widths = [WORD, NUMBER, NUMBER, NUMBER, NUMBER, 8];
    let head = header(app, &head, Focus::Ports);
    fitted(width, head, rows.collect(), &widths, &[6, 4, 1, 5, 3, 2])
}

fn route_table(app: &App, width: u16) -> Table<'static> {
    let head = [
        ("ROUTE", Some(Sort::Name)),
        ("BY", None),
        ("TAKEN/s", Some(Sort::In)),
        ("SENT/s", Some(Sort::Out)),
        ("STOPPED/s", Some(Sort::Errors)),
        ("LOST/s", Some(Sort::Lost)),
    ];
    let rows = app.routes().into_iter().skip(app.first[1]).map(|route| {
        vec![
            Cell::from(route.name.clone()),
            Cell::from(route.by.clone()),
            rate(route.taken),
            rate(route.sent),
            rate(route.stopped),
            loss(app, route.lost),
        ]
    });
    let widths = [8, NUMBER, NUMBER, NUMBER, NUMBER];
    let head = header(app, &head, Focus::Routes);
    fitted(width, head, rows.collect(), &widths, &[1, 4, 5, 3, 2])
}

/// What the keys do, as far as it fits.
fn keys(app: &App, width: u16) -> Line<'static> {
    if app.editing {
        return Line::from(format!(
            "names with: {}▏ (Enter: done, Esc: all)",
            app.filter
        ));
    }
    let back = if app.reverse { ", reversed" } else { "" };
    let filter = match app.filter.as_str() {
        "" => "/ filter".to_owned(),
        filter => format!("/ filter: {filter}"),
    };
    let parts = [
        "q quit".to_owned(),
        format!("s sort: {}{back}", app.sort.words()),
        "r reverse".to_owned(),
        filter,
        "p pause".to_owned(),
        "Tab ↑ ↓ scroll".to_owned(),
    ];
    let mut line = String::new();
    for part in parts {
        let gap = if line.is_empty() { 0 } else { 2 };
        if line.chars().count() + gap + part.chars().count() > usize::from(width) {
            break;
        }
        line.push_str(&" ".repeat(gap));
        line.push_str(&part);
    }
    Line::styled(line, Style::new().add_modifier(Modifier::DIM))
}

#[cfg(test)]
mod tests;
