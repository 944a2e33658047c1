//! A gateway's counters as tables.

use comfy_table::{Cell, CellAlignment, Table, TableStyle};
use gateway::{Fate, PortState, Snapshot};
use std::fmt::Write;

/// Lines above and below the head and below the table, none between rows.
pub(crate) fn style() -> TableStyle {
    let rule = comfy_table::LineStyle::none().fill('─').junction('─');
    TableStyle::new()
        .top_border(rule)
        .header_separator(rule)
        .bottom_border(rule)
}

/// The first column left, the others right.
pub(crate) fn row(cells: impl IntoIterator<Item = String>) -> Vec<Cell> {
    let cell = |(i, text): (usize, String)| {
        let cell = Cell::new(text);
        if i == 0 {
            cell
        } else {
            cell.set_alignment(CellAlignment::Right)
        }
    };
    cells.into_iter().enumerate().map(cell).collect()
}

/// A table with a head.
pub(crate) fn table(head: &[&str]) -> Table {
    let mut table = Table::new();
    table
        .load_style(style())
        .set_header(row(head.iter().map(|&h| h.to_owned())));
    table
}

/// A number; a dot for 0, so that the eye finds the others.
pub(crate) fn number(n: u64) -> String {
    if n == 0 {
        "·".to_owned()
    } else {
        n.to_string()
    }
}

/// A fate in words.
pub(crate) const fn fate_words(fate: Fate) -> &'static str {
    match fate {
        Fate::Routed => "routed",
        Fate::Refused => "refused by a full queue",
        Fate::Undeliverable => "undeliverable",
        Fate::RateLimited => "dropped by rate",
        Fate::DroppedByRule => "dropped by rule",
        Fate::HopLimit => "at the hop limit",
        Fate::TooLong => "too long",
        Fate::IdRange => "with an ID out of range",
        Fate::NoRoute => "without a route",
    }
}

/// "N frames received = a routed + b …", and whether it adds up.
pub(crate) fn accounting(snapshot: &Snapshot) -> String {
    let fates: Vec<String> = Fate::ALL
        .iter()
        .map(|&fate| (fate, snapshot.frames(fate)))
        .filter(|&(_, n)| n > 0)
        .map(|(fate, n)| format!("{n} {}", fate_words(fate)))
        .collect();
    let sum = if fates.is_empty() {
        "0".to_owned()
    } else {
        fates.join(" + ")
    };
    format!("{} frames received = {sum}.", snapshot.received())
}

/// Ports, routes and the sums.
pub(crate) fn render(snapshot: &Snapshot) -> String {
    let mut text = String::new();
    let mut ports = table(&[
        "port",
        "state",
        "received",
        "routed",
        "overrun",
        "bad",
        "offered",
        "accepted",
        "sent",
        "held",
        "lost",
        "refused",
        "undeliverable",
    ]);
    for p in &snapshot.ports {
        let c = &p.count;
        let state = match c.state {
            PortState::Up => "up",
            PortState::Down => "down",
            PortState::Finished => "at its end",
            PortState::Failed => "failed",
        };
        let undeliverable = u64::try_from(c.copies.undeliverable()).unwrap_or(u64::MAX);
        let numbers = [
            c.received,
            c.fates.routed,
            c.rx.overrun,
            c.rx.malformed,
            c.copies.offered,
            c.copies.accepted,
            c.tx.sent,
            c.tx.held,
            c.tx.lost,
            c.copies.refused,
            undeliverable,
        ];
        let cells = [p.name.clone(), state.to_owned()]
            .into_iter()
            .chain(numbers.map(number));
        ports.add_row(row(cells));
    }
    let mut routes = table(&[
        "route",
        "taken",
        "accepted",
        "rule",
        "rate",
        "full",
        "undeliverable",
        "other",
    ]);
    for r in &snapshot.routes {
        let c = &r.count;
        let undeliverable = u64::try_from(c.copies.undeliverable()).unwrap_or(u64::MAX);
        let numbers = [
            c.taken,
            c.copies.accepted,
            c.dropped_by_rule,
            c.rate_limited,
            c.copies.refused,
            undeliverable,
            c.hop_limit + c.too_long + c.id_range,
        ];
        routes.add_row(row(
            std::iter::once(r.name.clone()).chain(numbers.map(number))
        ));
    }
    let _ = writeln!(text, "{ports}\n\n{routes}\n");
    for p in &snapshot.ports {
        if let Some(why) = &p.failure {
            let _ = writeln!(text, "Port {} is out of service: {why}", p.name);
        }
    }
    let verdict = match snapshot.check() {
        Ok(()) => "All sums add up.".to_owned(),
        Err(imbalance) => format!("THE SUMS DO NOT ADD UP: {imbalance}"),
    };
    let _ = writeln!(text, "{} {verdict}", accounting(snapshot));
    text
}
