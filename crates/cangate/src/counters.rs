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

/// A table of numbers: columns in which nothing happened are left out, except the first `kept`.
fn counts(head: &[&str], kept: usize, rows: &[(Vec<String>, Vec<u64>)]) -> Table {
    let words = rows.first().map_or(0, |(words, _)| words.len());
    let shown = |column: usize| {
        column < words + kept || rows.iter().any(|(_, numbers)| numbers[column - words] > 0)
    };
    let columns: Vec<usize> = (0..head.len()).filter(|&column| shown(column)).collect();
    let names: Vec<&str> = columns.iter().map(|&column| head[column]).collect();
    let mut table = table(&names);
    for (words, numbers) in rows {
        let all = words
            .iter()
            .cloned()
            .chain(numbers.iter().map(|&n| number(n)));
        let cells: Vec<String> = all.collect();
        table.add_row(row(columns.iter().map(|&column| cells[column].clone())));
    }
    table
}

/// The routes that run in the kernel.
fn in_kernel(part: &gateway::KernelPart) -> Table {
    let row = |r: &gateway::KernelRow| {
        // can-gw does not count what it takes.
        let seen = r.taken.unwrap_or_else(|| {
            let ends = [r.sent, r.failed, r.hop_limit, r.too_long];
            ends.iter().fold(0, |sum, &n| sum.saturating_add(n))
        });
        let numbers = vec![
            seen,
            r.sent,
            r.dropped_by_rule,
            r.rate_limited,
            r.failed,
            r.hop_limit,
            r.too_long,
            r.id_range,
        ];
        (vec![r.name.clone()], numbers)
    };
    let rows: Vec<_> = part.routes.iter().map(row).collect();
    let head = [
        "route",
        "taken",
        "sent",
        "by rule",
        "by rate",
        "not taken by the interface",
        "hop limit",
        "too long",
        "ID range",
    ];
    counts(&head, 2, &rows)
}

/// Ports, routes and the sums.
pub(crate) fn render(snapshot: &Snapshot) -> String {
    let undeliverable =
        |copies: &gateway::Copies| u64::try_from(copies.undeliverable()).unwrap_or(u64::MAX);
    let port = |p: &gateway::PortRow| {
        let c = &p.count;
        let state = match c.state {
            PortState::Up => "up",
            PortState::Down => "down",
            PortState::Closed => "closed",
            PortState::Finished => "no input",
            PortState::Failed => "failed",
        };
        let numbers = vec![
            c.received,
            c.fates.routed,
            c.copies.offered,
            c.tx.sent,
            c.tx.held,
            c.tx.lost,
            c.copies.refused,
            undeliverable(&c.copies),
            c.rx.overrun,
            c.rx.malformed,
            c.rx.error_frames,
            c.rx.reopened,
        ];
        (vec![p.name.clone(), state.to_owned()], numbers)
    };
    let route = |r: &gateway::RouteRow| {
        let c = &r.count;
        let numbers = vec![
            c.taken,
            c.copies.accepted,
            c.dropped_by_rule,
            c.rate_limited,
            c.copies.refused,
            undeliverable(&c.copies),
            c.hop_limit,
            c.too_long,
            c.id_range,
        ];
        (vec![r.name.clone()], numbers)
    };
    let ports: Vec<_> = snapshot.ports.iter().map(port).collect();
    let routes: Vec<_> = snapshot.routes.iter().map(route).collect();
    let mut text = String::new();
    let head = [
        "port",
        "state",
        "received",
        "routed",
        "offered",
        "sent",
        "held",
        "lost",
        "refused",
        "undeliverable",
        "overrun",
        "bad input",
        "error frames",
        "reopened",
    ];
    if snapshot.kernel.is_empty() || !ports.is_empty() {
        let _ = writeln!(text, "{}\n", counts(&head, 4, &ports));
    }
    let head = [
        "route",
        "taken",
        "accepted",
        "by rule",
        "by rate",
        "queue full",
        "undeliverable",
        "hop limit",
        "too long",
        "ID range",
    ];
    if snapshot.kernel.is_empty() || !routes.is_empty() {
        let _ = writeln!(text, "{}\n", counts(&head, 2, &routes));
    }
    for kernel in &snapshot.kernel {
        let _ = writeln!(
            text,
            "In the kernel ({}):\n{}\n",
            kernel.how,
            in_kernel(kernel)
        );
    }
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
