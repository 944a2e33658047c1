//! The summary as tables on a terminal.

use crate::counters::{accounting, row, table};
use ::demo::{Quantiles, Summary};
use comfy_table::Table;
use std::fmt::Write;

/// The tables as text.
pub(crate) fn render(summary: &Summary) -> String {
    let mut text = String::new();
    let _ = writeln!(
        text,
        "{} s of bus time, {} frames on the buses from testers, {} from the gateway\n",
        decimal(summary.duration_ns as f64 / 1e9, 3),
        summary.frames.on_the_bus,
        summary.frames.forwarded
    );
    let _ = writeln!(text, "{}\n", routes(summary));
    let _ = writeln!(text, "{}\n", buses(summary));
    let profile = super::profile::bars(&summary.profile);
    if !profile.is_empty() {
        let _ = writeln!(text, "{profile}");
    }
    text.push_str(&words(summary));
    text
}

fn routes(summary: &Summary) -> Table {
    let names = [
        "route", "in", "out", "rule", "rate", "full", "other", "min", "p50", "p99", "max",
    ];
    let mut table = table(&names);
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

fn buses(summary: &Summary) -> Table {
    let window = summary.buses.first().map_or(0, |b| b.peak_window_ns);
    let mut table = table(&[
        "bus",
        "kbit/s",
        "frames",
        "errors",
        "load",
        &format!("busiest {} ms", decimal(window as f64 / 1e6, 1)),
    ]);
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
            "Log: {} frames of interfaces [{}]; {} lines that are no frames left out.",
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
    if let Some(note) = summary.frames.unsent() {
        let _ = writeln!(text, "{note}");
    }
    for warning in &summary.warnings {
        let _ = writeln!(text, "Warning: {warning}");
    }
    let tester = &summary.tester;
    let _ = writeln!(
        text,
        "A tester that sees only the buses would match {} of the gateway's {} frames and call {} \
         lost;\n{} of its pairs are right, {} cannot be told apart.",
        tester.matched, summary.frames.forwarded, tester.lost, tester.agreed, tester.ambiguous
    );
    let verdict = if summary.accounted {
        "All sums add up."
    } else {
        "THE SUMS DO NOT ADD UP."
    };
    let _ = writeln!(
        text,
        "Accounting: {} {verdict}",
        accounting(&summary.gateway)
    );
    text
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
