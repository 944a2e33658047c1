//! The summary as tables on a terminal.

use super::summary::{Quantiles, Summary};
use comfy_table::presets::UTF8_HORIZONTAL_BORDERS_ONLY;
use comfy_table::{Attribute, Cell, CellAlignment, Table};
use std::fmt::Write;

/// The tables as text; bold heads where `styled`.
pub(crate) fn render(summary: &Summary, styled: bool) -> String {
    let mut text = String::new();
    let _ = writeln!(
        text,
        "{} s of bus time, {} frames on the buses from testers, {} from the gateway\n",
        decimal(summary.duration_ns as f64 / 1e9, 3),
        summary.frames.on_the_bus,
        summary.frames.forwarded
    );
    let _ = writeln!(text, "{}\n", routes(summary, styled));
    let _ = writeln!(text, "{}\n", buses(summary, styled));
    text.push_str(&words(summary));
    text
}

fn head(names: &[&str], styled: bool) -> Vec<Cell> {
    let cell = |(i, name): (usize, &&str)| {
        let cell = Cell::new(name);
        let cell = if styled {
            cell.add_attribute(Attribute::Bold)
        } else {
            cell
        };
        if i == 0 {
            cell
        } else {
            cell.set_alignment(CellAlignment::Right)
        }
    };
    names.iter().enumerate().map(cell).collect()
}

fn row(cells: Vec<String>) -> Vec<Cell> {
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

fn table(head: Vec<Cell>) -> Table {
    let mut table = Table::new();
    table
        .load_style(UTF8_HORIZONTAL_BORDERS_ONLY)
        .set_header(head);
    table
}

fn routes(summary: &Summary, styled: bool) -> Table {
    let names = [
        "route", "in", "out", "rule", "rate", "full", "other", "min", "p50", "p99", "max",
    ];
    let mut table = table(head(&names, styled));
    for r in &summary.routes {
        let mut cells = vec![r.name.clone()];
        let counts = [
            r.taken,
            r.out,
            r.dropped_by_rule,
            r.dropped_by_rate,
            r.refused,
            r.other,
        ];
        cells.extend(counts.iter().enumerate().map(|(i, &n)| {
            if n == 0 && i > 1 {
                "·".to_owned()
            } else {
                n.to_string()
            }
        }));
        cells.extend(latency(r.latency_ns));
        table.add_row(row(cells));
    }
    table
}

fn latency(quantiles: Option<Quantiles>) -> Vec<String> {
    match quantiles {
        Some(q) => [q.min, q.p50, q.p99, q.max]
            .iter()
            .map(|&ns| micros(ns))
            .collect(),
        None => vec!["·".to_owned(); 4],
    }
}

fn buses(summary: &Summary, styled: bool) -> Table {
    let mut table = table(head(
        &[
            "bus",
            "kbit/s",
            "frames",
            "errors",
            "load",
            "busiest 100 ms",
        ],
        styled,
    ));
    for b in &summary.buses {
        let mut rate = decimal(f64::from(b.bitrate) / 1e3, 3);
        if let Some(data) = b.data_bitrate {
            let _ = write!(rate, " / {}", decimal(f64::from(data) / 1e3, 3));
        }
        table.add_row(row(vec![
            b.name.clone(),
            rate,
            b.frames.to_string(),
            b.errors.to_string(),
            format!("{:.1} %", b.load * 100.0),
            format!("{:.1} %", b.peak_load * 100.0),
        ]));
    }
    table
}

fn words(summary: &Summary) -> String {
    let mut text = String::new();
    text.push_str(
        "Latency in µs of bus time: end of frame in to end of frame out, less the outgoing\n\
         frame's duration: queueing and arbitration. rule, rate, full: dropped by rule, by rate\n\
         limit, by a full queue; other: hop limit, length, ID, undeliverable, lost.\n",
    );
    if let Some(p) = &summary.processing_ns {
        let q = p.quantiles;
        let _ = writeln!(
            text,
            "Processing, real time on this machine, not part of the latency: p50 {} µs, p99 {} µs,\n\
             max {} µs a frame.",
            micros(q.p50),
            micros(q.p99),
            micros(q.max)
        );
    }
    if let Some(log) = &summary.log {
        let _ = writeln!(
            text,
            "Log: {} frames of {}; {} lines that are no frames left out.",
            log.frames,
            log.interfaces.join(", "),
            log.bad_lines
        );
        for line in &log.first_bad {
            let _ = writeln!(text, "  {line}");
        }
        if log.bad_lines > log.first_bad.len() as u64 {
            let _ = writeln!(
                text,
                "  and {} more",
                log.bad_lines - log.first_bad.len() as u64
            );
        }
        for (why, n) in &log.left_out {
            let _ = writeln!(text, "Not replayed: {n} {why}.");
        }
        if log.backwards > 0 {
            let _ = writeln!(
                text,
                "{} stamps lay before the one of the line above; those frames were sent with it.",
                log.backwards
            );
        }
    }
    let fates: Vec<String> = gateway::Fate::ALL
        .iter()
        .map(|&fate| (fate, summary.gateway.frames(fate)))
        .filter(|&(_, n)| n > 0)
        .map(|(fate, n)| format!("{n} {}", fate_words(fate)))
        .collect();
    let _ = writeln!(
        text,
        "Accounting: {} frames received = {}. {}",
        summary.frames.received,
        fates.join(" + "),
        if summary.accounted {
            "All sums add up."
        } else {
            "THE SUMS DO NOT ADD UP."
        }
    );
    text
}

/// A fate in words.
pub(crate) const fn fate_words(fate: gateway::Fate) -> &'static str {
    use gateway::Fate;
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

/// Nanoseconds as µs with one decimal.
fn micros(ns: i64) -> String {
    decimal(ns as f64 / 1e3, 1)
}

/// With at most so many decimals, without trailing zeros.
fn decimal(value: f64, places: usize) -> String {
    let text = format!("{value:.places$}");
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}
