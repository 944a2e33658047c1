//! The drawing of the screen. The same state and time give the same screen: there is no clock here.

use super::app::WatchApp;
use crate::commands::screen::areas;
use crate::watching::{MessageRow, RowKey};
use frame::{Kind, Nanos};
use ratatui::Frame;
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span, Text};
use ratatui::widgets::Paragraph;
use signals::DecodedFrame;

/// Time for which a byte is marked after a change, ns.
const MARKED: Nanos = 1_000_000_000;
/// Widths of the columns, in characters.
const ID: usize = 8;
const FORMAT: usize = 7;
const LENGTH: usize = 4;
const COUNT: usize = 8;
const PERIOD: usize = 8;
const NAME: usize = 18;
/// The longest name of a port that is shown whole.
const PORT: usize = 12;
/// Width of eight bytes.
const DATA: usize = 23;
/// Number of payload bytes in a line below an open row.
const BYTES_A_LINE: usize = 16;

/// The columns that have room, from left to right.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct ShownColumns {
    /// Width of the port's name; 0: no such column.
    port: usize,
    way: bool,
    format: bool,
    length: bool,
    extremes: bool,
    /// Width of the message's name; 0: no such column.
    name: usize,
    data: usize,
}

impl ShownColumns {
    /// Returns the columns for a width; those that matter least are left out first.
    fn of(app: &WatchApp<'_>, width: usize) -> Self {
        let longest = app.ports.iter().map(|port| port.chars().count()).max();
        let mut columns = Self {
            port: match app.ports.len() {
                1 if !app.is_gateway => 0,
                _ => longest.unwrap_or(0).clamp(4, PORT),
            },
            way: app.is_gateway,
            format: true,
            length: true,
            extremes: true,
            name: if app.databases.is_empty() { 0 } else { NAME },
            data: DATA,
        };
        let leave_out: [fn(&mut Self); 5] = [
            |columns| columns.extremes = false,
            |columns| columns.format = false,
            |columns| columns.length = false,
            |columns| columns.name = 0,
            |columns| columns.port = 0,
        ];
        for leave_out in leave_out {
            if columns.width() <= width {
                break;
            }
            leave_out(&mut columns);
        }
        columns.data += width.saturating_sub(columns.width());
        columns
    }

    fn width(&self) -> usize {
        let optional = |shown: bool, width: usize| if shown { width + 1 } else { 0 };
        // The mark of the selected row, and the columns that are always shown.
        1 + optional(self.port > 0, self.port)
            + optional(self.way, 1)
            + ID
            + 1
            + optional(self.format, FORMAT)
            + optional(self.length, LENGTH)
            + COUNT
            + 1
            + PERIOD
            + 1
            + optional(self.extremes, 2 * PERIOD + 1)
            + optional(self.name > 0, self.name)
            + self.data
    }
}

/// Draws the screen. `now` is the Unix time, ns.
pub(super) fn draw(app: &mut WatchApp<'_>, now: Nanos, frame: &mut Frame<'_>) {
    let area = frame.area();
    let [head, table, foot] = areas(area);
    frame.render_widget(summary(app), head);
    frame.render_widget(Paragraph::new(keys(app)), foot);
    if app.helps {
        frame.render_widget(Paragraph::new(HELP), table);
        return;
    }
    let (width, height) = (usize::from(table.width), usize::from(table.height));
    let columns = ShownColumns::of(app, width);
    let mut lines = vec![header(&columns)];
    lines.extend(rows(app, &columns, now, width, height.saturating_sub(1)));
    frame.render_widget(Paragraph::new(lines), table);
}

const HELP: &str = "\
↑ ↓       select a row; PageUp, PageDown: ten rows; Home, End
Enter     open the row: all bytes of its last frame, and its signals; again, or Esc: close it
d         show the signals of all rows, if there is a database
s         sort by the next column: ID, count, period, latest
r         reverse the order
/         filter by ID, port or message; Enter: done, Esc: clear the filter
p         pause the screen; frames are still counted
c         clear the table
h ?       this page; any key goes back
q Esc ^C  quit

A row has the last frame of a port, an ID and a format, and the times between its frames in
milliseconds: their mean, the shortest and the longest. Bytes that have changed within the last
second are marked. R: received, T: sent by the port of a gateway. Lost frames were not shown,
because this program or the machine was too slow.";

/// Returns the lines of the rows that are in sight, and moves them so that the selected row is one.
fn rows(
    app: &mut WatchApp<'_>,
    columns: &ShownColumns,
    now: Nanos,
    width: usize,
    height: usize,
) -> Vec<Line<'static>> {
    let all = app.rows();
    let selected = app.selected.min(all.len().saturating_sub(1));
    let mut first = app.first.min(selected);
    let lines_of = |place: usize, (key, row): &(&RowKey, &MessageRow)| {
        let mut lines = vec![row_line(app, columns, now, place == selected, (key, row))];
        lines.extend(details(app, width, (key, row)));
        lines
    };
    // From the selected row upwards: as many rows as have room above it.
    let mut room = height;
    let mut earliest = selected;
    for place in (0..=selected).rev() {
        let Some(one) = all.get(place) else {
            break;
        };
        let needed = lines_of(place, one).len();
        if needed > room && place != selected {
            break;
        }
        room = room.saturating_sub(needed);
        earliest = place;
    }
    first = first.max(earliest);
    let mut lines = Vec::new();
    for (place, one) in all.iter().enumerate().skip(first) {
        if lines.len() >= height {
            break;
        }
        lines.extend(lines_of(place, one));
    }
    lines.truncate(height);
    (app.selected, app.first) = (selected, first);
    lines
}

fn header(columns: &ShownColumns) -> Line<'static> {
    let mut text = String::from(" ");
    let mut left = |shown: bool, name: &str, width: usize| {
        if shown {
            text.push_str(&format!("{name:<width$} "));
        }
    };
    left(columns.port > 0, "PORT", columns.port);
    left(columns.way, "", 1);
    left(true, "ID", ID);
    left(columns.format, "FORMAT", FORMAT);
    let mut right = |shown: bool, name: &str, width: usize| {
        if shown {
            text.push_str(&format!("{name:>width$} "));
        }
    };
    right(columns.length, "LEN", LENGTH);
    right(true, "COUNT", COUNT);
    right(true, "MEAN ms", PERIOD);
    right(columns.extremes, "MIN", PERIOD);
    right(columns.extremes, "MAX", PERIOD);
    if columns.name > 0 {
        text.push_str(&format!("{:<width$} ", "MESSAGE", width = columns.name));
    }
    text.push_str("DATA");
    Line::styled(text, Style::new().add_modifier(Modifier::BOLD))
}

/// Returns the line of a row.
fn row_line(
    app: &WatchApp<'_>,
    columns: &ShownColumns,
    now: Nanos,
    is_selected: bool,
    (key, row): (&RowKey, &MessageRow),
) -> Line<'static> {
    let mut text = String::from(if is_selected { "▸" } else { " " });
    if columns.port > 0 {
        text.push_str(&format!(
            "{:<1$} ",
            cut(&key.port, columns.port),
            columns.port
        ));
    }
    if columns.way {
        text.push_str(if key.is_sent { "T " } else { "R " });
    }
    text.push_str(&format!("{:<ID$} ", key.id.to_string()));
    if columns.format {
        text.push_str(&format!("{:<FORMAT$} ", format_words(key, row)));
    }
    if columns.length {
        text.push_str(&format!("{:>LENGTH$} ", row.header.len()));
    }
    text.push_str(&format!("{:>COUNT$} ", row.count));
    let period = row.period();
    let mut time = |of: Option<Nanos>| text.push_str(&format!("{:>PERIOD$} ", milliseconds(of)));
    time(period.map(|period| period.mean));
    if columns.extremes {
        time(period.map(|period| period.min));
        time(period.map(|period| period.max));
    }
    if columns.name > 0 {
        text.push_str(&format!(
            "{:<1$} ",
            cut(app.name(key), columns.name),
            columns.name
        ));
    }
    let mut spans = vec![Span::raw(text)];
    let fits = (columns.data + 1) / 3;
    let shown = match row.data.len() > fits {
        true => fits.saturating_sub(1),
        false => row.data.len(),
    };
    spans.extend(bytes(app, now, row, 0..shown));
    if shown < row.data.len() {
        spans.push(Span::raw("…"));
    }
    Line::from(spans)
}

/// Returns these bytes of the payload, those that have changed marked.
fn bytes(
    app: &WatchApp<'_>,
    now: Nanos,
    row: &MessageRow,
    range: std::ops::Range<usize>,
) -> Vec<Span<'static>> {
    let marked = match app.color {
        true => Style::new().fg(Color::Yellow).add_modifier(Modifier::BOLD),
        false => Style::new().add_modifier(Modifier::REVERSED),
    };
    let mut spans = Vec::new();
    for place in range {
        let Some(byte) = row.data.get(place) else {
            break;
        };
        let style = match row.has_changed(place, now, MARKED) {
            true => marked,
            false => Style::new(),
        };
        spans.push(Span::styled(format!("{byte:02X}"), style));
        spans.push(Span::raw(" "));
    }
    spans
}

/// Returns the lines below a row: its whole payload if it is open, and its signals.
fn details(
    app: &WatchApp<'_>,
    width: usize,
    (key, row): (&RowKey, &MessageRow),
) -> Vec<Line<'static>> {
    let is_open = app.open.as_ref() == Some(key);
    let mut lines = Vec::new();
    if is_open {
        for start in (0..row.data.len()).step_by(BYTES_A_LINE) {
            let end = (start + BYTES_A_LINE).min(row.data.len());
            let bytes: Vec<String> = row
                .data
                .iter()
                .take(end)
                .skip(start)
                .map(|byte| format!("{byte:02X}"))
                .collect();
            lines.push(Line::from(format!("    {start:>4}: {}", bytes.join(" "))));
        }
    }
    let message = app.databases.message(&key.port, key.kind, key.id);
    if let Some(message) = message.filter(|_| (is_open || app.shows_signals) && !key.is_rtr) {
        let decoded = DecodedFrame {
            message,
            payload: &row.data,
        };
        let mut any = false;
        for (signal, raw, physical) in decoded.values() {
            any = true;
            let value = match signal.name_of(raw) {
                Some(name) => format!("{name} ({raw})"),
                None => format!("{physical} {}", signal.unit),
            };
            let text = format!("    {} = {}", signal.name, value.trim_end());
            let plain = text.replace(char::is_control, " ");
            lines.push(Line::from(cut(&plain, width)));
        }
        if !any {
            lines.push(Line::from("    no signal is in this frame"));
        }
    }
    lines
}

fn format_words(key: &RowKey, row: &MessageRow) -> &'static str {
    match key.kind {
        Kind::Classic if key.is_rtr => "remote",
        Kind::Classic => "classic",
        Kind::Fd if row.header.is_brs() => "FD BRS",
        Kind::Fd => "FD",
        Kind::Xl => "XL",
    }
}

/// Returns a time in milliseconds, with three digits or more; `·` if there is none.
fn milliseconds(time: Option<Nanos>) -> String {
    let Some(time) = time else {
        return "·".to_owned();
    };
    let time = time as f64 / 1e6;
    match time {
        ..10.0 => format!("{time:.3}"),
        ..100.0 => format!("{time:.2}"),
        ..1000.0 => format!("{time:.1}"),
        _ => format!("{time:.0}"),
    }
}

/// Returns the start of a text that has at most this width.
fn cut(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let start: String = text.chars().take(width.saturating_sub(1)).collect();
    start + "…"
}

fn summary(app: &WatchApp<'_>) -> Text<'static> {
    let bold = Style::new().add_modifier(Modifier::BOLD);
    let title = Line::from(vec![
        Span::styled("cangate watch", bold),
        Span::raw(format!("  {}", app.ports.join(", "))),
    ]);
    let table = app.shown();
    let count = |number: u64, one: &str, many: &str| match number {
        1 => format!("1 {one}"),
        number => format!("{number} {many}"),
    };
    let rows = table.rows().count() as u64;
    let mut line = vec![Span::raw(format!(
        "{}  {}  ",
        count(table.frames, "frame", "frames"),
        count(rows, "row", "rows")
    ))];
    line.push(Span::styled(
        format!("{} lost", app.losses.lost),
        alarm(app, app.losses.lost > 0),
    ));
    if app.losses.error_frames > 0 {
        let errors = count(app.losses.error_frames, "error frame", "error frames");
        line.push(Span::styled(format!("  {errors}"), alarm(app, true)));
    }
    if table.without_row > 0 {
        let more = count(table.without_row, "frame", "frames");
        line.push(Span::raw(format!("  {more} of IDs without a row")));
    }
    if app.is_paused() {
        line.push(Span::styled("  paused", bold));
    }
    Text::from(vec![title, Line::from(line)])
}

/// Returns the style for an alarm: red if there are colours, otherwise bold.
fn alarm(app: &WatchApp<'_>, rings: bool) -> Style {
    match (rings, app.color) {
        (false, _) => Style::new(),
        (true, true) => Style::new().fg(Color::Red),
        (true, false) => Style::new().add_modifier(Modifier::BOLD),
    }
}

/// Returns the line of keys.
fn keys(app: &WatchApp<'_>) -> String {
    if let Some(line) = app.filter.edited() {
        return line;
    }
    let filter = app.filter.entry();
    let signals = match app.databases.is_empty() {
        true => "",
        false => "  d signals",
    };
    format!(
        "q quit  h help  Enter open{signals}  s sort: {}  {filter}  p pause  c clear",
        app.order.words()
    )
}

#[cfg(test)]
mod tests;
