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
    frame.render_widget(port_table(app), upper);
    frame.render_widget(route_table(app), lower);
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

/// A head, with the column marked by which rows are sorted.
fn header(app: &App, names: &[(&'static str, Option<Sort>)], focus: Focus) -> Row<'static> {
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
    Row::new(cells.collect::<Vec<_>>())
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

fn port_table(app: &App) -> Table<'static> {
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
            .map_or_else(|| "?".to_owned(), crate::counters::number);
        Row::new([
            Cell::from(port.name.clone()),
            Cell::from(Span::styled(port.state, alarm(app, !well))),
            rate(port.received),
            rate(port.sent),
            loss(app, port.errors),
            loss(app, port.lost),
            right(waiting, Style::new()),
        ])
    });
    let widths = [
        Constraint::Fill(1),
        Constraint::Length(WORD),
        Constraint::Length(NUMBER),
        Constraint::Length(NUMBER),
        Constraint::Length(NUMBER),
        Constraint::Length(NUMBER),
        Constraint::Length(8),
    ];
    Table::new(rows, widths).header(header(app, &head, Focus::Ports))
}

fn route_table(app: &App) -> Table<'static> {
    let head = [
        ("ROUTE", Some(Sort::Name)),
        ("BY", None),
        ("TAKEN/s", Some(Sort::In)),
        ("SENT/s", Some(Sort::Out)),
        ("STOPPED/s", Some(Sort::Errors)),
        ("LOST/s", Some(Sort::Lost)),
    ];
    let rows = app.routes().into_iter().skip(app.first[1]).map(|route| {
        Row::new([
            Cell::from(route.name.clone()),
            Cell::from(route.by.clone()),
            rate(route.taken),
            rate(route.sent),
            rate(route.stopped),
            loss(app, route.lost),
        ])
    });
    let widths = [
        Constraint::Fill(1),
        Constraint::Length(8),
        Constraint::Length(NUMBER),
        Constraint::Length(NUMBER),
        Constraint::Length(NUMBER),
        Constraint::Length(NUMBER),
    ];
    Table::new(rows, widths).header(header(app, &head, Focus::Routes))
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
