//! The drawing of the screen. The same state gives the same screen: there is no clock here.

use super::app::{SortColumn, TableFocus, TopApp};
use crate::commands::screen::areas;
use crate::rates::{GatewayRates, PortRate, Rate, RouteRate, percent, words};
use ratatui::Frame;
use ratatui::layout::{Alignment, Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span, Text};
use ratatui::widgets::{Cell, Paragraph, Row, Table};

/// Width of a column of numbers.
const NUMBER: u16 = 10;
/// Width of the column for the load of a bus.
const LOAD: u16 = 6;
/// Width of the column for the state of a port, or for the data path of a route.
const WORD: u16 = 13;
/// Minimum width of a name: on a narrow terminal, columns are left out for it.
const NAME: u16 = 12;

/// The width from which on the tables are side by side, each as wide as a usual terminal.
const SIDE_BY_SIDE: u16 = 150;
/// Number of character columns between them.
const GAP: u16 = 4;
/// The height of the area for the tables above which each table has a line with totals.
const TOTALS: u16 = 9;

pub(super) fn draw(app: &mut TopApp, frame: &mut Frame<'_>) {
    let area = frame.area();
    let [head, tables, foot] = areas(area);
    frame.render_widget(summary(app), head);
    frame.render_widget(Paragraph::new(keys(app, area.width)), foot);
    if app.helps {
        frame.render_widget(Paragraph::new(HELP), tables);
        return;
    }
    let (ports, routes) = (app.ports().len(), app.routes().len());
    let (upper, lower) = places(tables, ports, routes);
    let totals =
        [upper, lower].map(|place| usize::from(place.height) >= 4 && tables.height > TOTALS);
    keep_in_sight(app, [(ports, upper), (routes, lower)], totals);
    frame.render_widget(port_table(app, upper.width, totals[0]), upper);
    frame.render_widget(route_table(app, lower.width, totals[1]), lower);
}

/// Returns the areas for the tables of ports and of routes.
fn places(area: Rect, ports: usize, routes: usize) -> (Rect, Rect) {
    if area.width >= SIDE_BY_SIDE {
        let half = Constraint::Fill(1);
        let [left, _, right] =
            Layout::horizontal([half, Constraint::Length(GAP), half]).areas(area);
        return (left, right);
    }
    let room = usize::from(area.height.saturating_sub(1));
    let more = if area.height > TOTALS { 2 } else { 1 };
    // Ports are few: they get the lines that they need, up to half of the area, or all that routes
    // leave.
    let for_ports = (ports + more).min((room / 2).max(room.saturating_sub(routes + more)));
    let [upper, _, lower] = Layout::vertical([
        Constraint::Length(u16::try_from(for_ports).unwrap_or(u16::MAX)),
        Constraint::Length(1),
        Constraint::Fill(1),
    ])
    .areas(area);
    (upper, lower)
}

/// The full help on the keys.
const HELP: &str = "\
s         sort by the next column: file, name, in, out, errors and stopped, lost
r         reverse the order
/         filter by name or message; Enter: done, Esc: clear the filter
p         pause the screen; the gateway continues
Tab       switch to the other table: ▸ marks the one that scrolls
↑ ↓       scroll by one row; PageUp, PageDown: by ten; Home: to the first row
h ?       this page; any key goes back
q Esc ^C  quit

RECV, SENT: frames a second. ERRORS: errors of a port. STOPPED: frames that a route
took and did not send. LOST: frames that were lost, refused or not received for lack
of room. WAITING: frames that a port holds now. LOAD: how much of the time frames
take on the bus, at least (no stuff bits). ? means unknown, · means zero.";

/// Limits scrolling to the end of the tables.
fn keep_in_sight(app: &mut TopApp, tables: [(usize, Rect); 2], totals: [bool; 2]) {
    let each = app.first.iter_mut().zip(tables).zip(totals);
    for ((first, (rows, area)), totals) in each {
        let shown = usize::from(area.height.saturating_sub(1 + u16::from(totals)));
        *first = (*first).min(rows.saturating_sub(shown.max(1)));
    }
}

fn summary(app: &TopApp) -> Text<'static> {
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

/// Returns the style for an alarm: red if there are colours, otherwise bold.
fn alarm(app: &TopApp, rings: bool) -> Style {
    match (rings, app.color) {
        (false, _) => Style::new(),
        (true, true) => Style::new().fg(Color::Red),
        (true, false) => Style::new().add_modifier(Modifier::BOLD),
    }
}

/// Returns a table without the columns that do not fit. `widths`: of all but the first column;
/// `dispensable`: the indices of columns in the order in which they are left out.
fn fitted(
    width: u16,
    head: Vec<Cell<'static>>,
    rows: Vec<Vec<Cell<'static>>>,
    totals: Option<Vec<Cell<'static>>>,
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
    let table = Table::new(
        rows.into_iter().map(&only_shown),
        widths.collect::<Vec<_>>(),
    )
    .header(only_shown(head));
    match totals {
        Some(totals) => {
            let bold = Style::new().add_modifier(Modifier::BOLD);
            table.footer(only_shown(totals).style(bold))
        }
        None => table,
    }
}

/// Returns the sum of the known rates; `None` if none is known.
fn total(rates: impl Iterator<Item = Rate>) -> Rate {
    rates
        .flatten()
        .fold(None, |sum, rate| Some(sum.unwrap_or(0.0) + rate))
}

/// Returns a head in which the column that sorts the rows is marked.
fn header(
    app: &TopApp,
    names: &[(&'static str, Option<SortColumn>)],
    focus: TableFocus,
) -> Vec<Cell<'static>> {
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

fn loss(app: &TopApp, rate: Rate) -> Cell<'static> {
    right(words(rate), alarm(app, rate.is_some_and(|rate| rate > 0.0)))
}

fn port_table(app: &TopApp, width: u16, totals: bool) -> Table<'static> {
    let loads = app.rates.as_ref().is_some_and(GatewayRates::has_loads);
    let mut head = vec![
        ("PORT", Some(SortColumn::Name)),
        ("STATE", None),
        ("RECV/s", Some(SortColumn::In)),
        ("SENT/s", Some(SortColumn::Out)),
        ("ERRORS/s", Some(SortColumn::Errors)),
        ("LOST/s", Some(SortColumn::Lost)),
        ("WAITING", None),
    ];
    head.extend(loads.then_some(("LOAD %", None)));
    let rows = app.ports().into_iter().skip(app.first[0]).map(|port| {
        let well = matches!(port.state, "up" | "no input" | "closed");
        let waiting = port
            .held
            .map_or_else(|| "?".to_owned(), console::table::number);
        let load = loads.then(|| right(percent(port.load), Style::new()));
        let cells = [
            Cell::from(port.name.clone()),
            Cell::from(Span::styled(port.state, alarm(app, !well))),
            rate(port.received),
            rate(port.sent),
            loss(app, port.errors),
            loss(app, port.lost),
            right(waiting, Style::new()),
        ];
        cells.into_iter().chain(load).collect()
    });
    let all = app.ports();
    let sum = |of: fn(&PortRate) -> Rate| total(all.iter().map(|port| of(port)));
    let totals = totals.then(|| {
        let cells = [
            Cell::from("all ports"),
            Cell::from(""),
            rate(sum(|port| port.received)),
            rate(sum(|port| port.sent)),
            loss(app, sum(|port| port.errors)),
            loss(app, sum(|port| port.lost)),
            right(
                console::table::number(all.iter().filter_map(|port| port.held).sum()),
                Style::new(),
            ),
        ];
        // Loads of different buses have no sum.
        let load = loads.then(|| Cell::from(""));
        cells.into_iter().chain(load).collect()
    });
    let mut widths = vec![WORD, NUMBER, NUMBER, NUMBER, NUMBER, 8];
    widths.extend(loads.then_some(LOAD));
    let head = header(app, &head, TableFocus::Ports);
    fitted(
        width,
        head,
        rows.collect(),
        totals,
        &widths,
        &[6, 4, 7, 1, 5, 3, 2],
    )
}

/// Returns the name of a route, and its messages as far as there is room.
fn route_name(route: &RouteRate) -> Line<'static> {
    let mut line = Line::from(route.name.clone());
    if !route.messages.is_empty() {
        let dim = Style::new().add_modifier(Modifier::DIM);
        line.push_span(Span::styled(format!("  {}", route.messages), dim));
    }
    line
}

fn route_table(app: &TopApp, width: u16, totals: bool) -> Table<'static> {
    let head = [
        ("ROUTE", Some(SortColumn::Name)),
        ("BY", None),
        ("TAKEN/s", Some(SortColumn::In)),
        ("SENT/s", Some(SortColumn::Out)),
        ("STOPPED/s", Some(SortColumn::Errors)),
        ("LOST/s", Some(SortColumn::Lost)),
    ];
    let rows = app.routes().into_iter().skip(app.first[1]).map(|route| {
        vec![
            Cell::from(route_name(route)),
            Cell::from(route.by.clone()),
            rate(route.taken),
            rate(route.sent),
            rate(route.stopped),
            loss(app, route.lost),
        ]
    });
    let all = app.routes();
    let sum = |of: fn(&RouteRate) -> Rate| total(all.iter().map(|route| of(route)));
    let totals = totals.then(|| {
        vec![
            Cell::from("all routes"),
            Cell::from(""),
            rate(sum(|route| route.taken)),
            rate(sum(|route| route.sent)),
            rate(sum(|route| route.stopped)),
            loss(app, sum(|route| route.lost)),
        ]
    });
    let widths = [8, NUMBER, NUMBER, NUMBER, NUMBER];
    let head = header(app, &head, TableFocus::Routes);
    fitted(
        width,
        head,
        rows.collect(),
        totals,
        &widths,
        &[1, 4, 5, 3, 2],
    )
}

/// Returns the short help on the keys, as far as it fits.
fn keys(app: &TopApp, width: u16) -> Line<'static> {
    if let Some(line) = app.filter.edited() {
        return Line::from(line);
    }
    let back = if app.reverse { ", reversed" } else { "" };
    let parts = [
        "q quit".to_owned(),
        "h help".to_owned(),
        format!("s sort: {}{back}", app.sort.words()),
        "r reverse".to_owned(),
        app.filter.entry(),
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
