//! The summary as tables on a terminal.

use crate::counters::accounting;
use ::demo::{DemoSummary, Quantiles, RouteLine, StoppedCopies};
use comfy_table::Table;
use console::columns::{WIDTH, fitted, width, wrapped};
use console::table::{number, row, table};
use std::fmt::Write;

/// Renders the tables as text, at most [`WIDTH`] wide for up to a billion frames of a route.
pub(crate) fn render(summary: &DemoSummary) -> String {
    let mut text = String::new();
    let _ = writeln!(text, "{}\n", wrapped(&summary.sentence));
    let _ = writeln!(text, "{}\n", routes(&summary.routes));
    let _ = writeln!(text, "{}\n", buses(summary));
    let profile = super::profile::bars(&summary.profile);
    if !profile.is_empty() {
        let _ = writeln!(text, "{profile}");
    }
    for paragraph in words(summary) {
        let _ = writeln!(text, "{}", wrapped(&paragraph));
    }
    text
}

/// The maximum number of columns of 10 digits that fit on a line next to a route's name.
const MAX_COLUMNS: usize = 5;

/// Formats frames and latencies of each route: side by side if they fit, otherwise one below the
/// other. Reasons for which no frame was stopped have no column.
fn routes(all: &[RouteLine]) -> String {
    let happened = |at: usize| all.iter().any(|r| r.stopped.at(at) > 0);
    let reasons = StoppedCopies::REASONS.iter().enumerate();
    let reasons: Vec<_> = reasons.filter(|(at, _)| happened(*at)).collect();
    let mut counts = vec!["in", "out"];
    counts.extend(reasons.iter().map(|(_, reason)| reason.head));
    let counted = |r: &RouteLine| -> Vec<String> {
        let stopped = reasons.iter().map(|(at, _)| number(r.stopped.at(*at)));
        let both = [r.taken.to_string(), r.out.to_string()];
        both.into_iter().chain(stopped).collect()
    };
    let timed = |r: &RouteLine| latency(r.latency_ns);
    const TIMES: [&str; 4] = ["min", "p50", "p99", "max"];
    let together = [counts.as_slice(), &TIMES].concat();
    let table = of_routes(all, &together, |r| [counted(r), timed(r)].concat());
    if width(&table) <= WIDTH {
        return table.to_string();
    }
    let mut tables = vec![fitted(of_routes(all, &counts, counted), &[0])];
    if width(&tables[0]) > WIDTH {
        // Many columns with large numbers are split into tables one below another, too.
        tables = (0..counts.len())
            .step_by(MAX_COLUMNS)
            .map(|first| {
                let end = counts.len().min(first + MAX_COLUMNS);
                let some = |r: &RouteLine| counted(r)[first..end].to_vec();
                fitted(of_routes(all, &counts[first..end], some), &[0])
            })
            .collect();
    }
    tables.push(fitted(of_routes(all, &TIMES, timed), &[0]));
    let texts: Vec<String> = tables.iter().map(ToString::to_string).collect();
    texts.join("\n")
}

fn of_routes(
    all: &[RouteLine],
    names: &[&str],
    cells: impl Fn(&RouteLine) -> Vec<String>,
) -> Table {
    let mut table = table(&[&["route"], names].concat());
    for r in all {
        table.add_row(row([vec![r.name.clone()], cells(r)].concat()));
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

fn buses(summary: &DemoSummary) -> Table {
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

/// Returns the further remarks, a paragraph each.
fn words(summary: &DemoSummary) -> Vec<String> {
    let mut text = vec![
        "Latency in µs of bus time: end of frame in to end of frame out, less the outgoing frame's \
         duration: queueing and arbitration. rule, rate, full: dropped by rule, by rate limit, by a full \
         queue; other: hop limit, length, ID, undeliverable, lost."
            .to_owned(),
    ];
    if summary.latency_ns.is_some_and(|q| q.p50 <= 0) {
        let free = summary.profile.count() - summary.profile.at_least(1);
        text.push(format!(
            "p50 is 0: no time passes in the gateway on this clock, and {free} of {} frames found their bus free.",
            summary.profile.count()
        ));
    }
    if let Some(p) = &summary.processing_ns {
        let q = p.quantiles;
        text.push(format!(
            "Processing, real time on this machine, not part of the latency: p50 {} µs, p99 {} µs, \
             max {} µs a frame.",
            micros(q.p50),
            micros(q.p99),
            micros(q.max)
        ));
    }
    if let Some(log) = &summary.log {
        text.push(format!(
            "Log: {} frames of interfaces [{}]; {} lines left out that are not frames.",
            log.frames,
            log.interfaces.join(", "),
            log.bad_lines
        ));
        text.extend(log.first_bad.iter().map(|line| format!("  {line}")));
        if log.bad_lines > log.first_bad.len() as u64 {
            let more = log.bad_lines - log.first_bad.len() as u64;
            text.push(format!("  and {more} more"));
        }
        let left_out = log.left_out.iter();
        text.extend(left_out.map(|(why, n)| format!("Not replayed: {n} {why}.")));
        text.extend(log.absent());
        if log.backwards > 0 {
            text.push(format!(
                "{} time stamps are earlier than that of the line above; these frames were sent at the time \
                 of the line above.",
                log.backwards
            ));
        }
    }
    text.extend(summary.frames.unsent());
    let warnings = summary.warnings.iter();
    text.extend(warnings.map(|warning| format!("Warning: {warning}")));
    let tester = &summary.tester;
    text.push(format!(
        "A tester that sees only the buses would match {} of the gateway's {} frames and call {} lost; \
         {} of its pairs are right, {} cannot be told apart.",
        tester.matched, summary.frames.forwarded, tester.lost, tester.agreed, tester.ambiguous
    ));
    let verdict = if summary.accounted {
        "All sums add up."
    } else {
        "THE SUMS DO NOT ADD UP."
    };
    text.push(format!(
        "Accounting: {} {verdict}",
        accounting(&summary.gateway)
    ));
    text
}

/// Formats nanoseconds as µs with one decimal.
fn micros(ns: i64) -> String {
    decimal(ns as f64 / 1e3, 1)
}

/// Formats a number with at most `places` decimals, without trailing zeros.
fn decimal(value: f64, places: usize) -> String {
    let text = format!("{value:.places$}");
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn route(name: &str, n: u64) -> RouteLine {
        let ns = i64::try_from(n).unwrap_or(i64::MAX);
        RouteLine {
            name: name.to_owned(),
            from: vec![],
            to: vec![],
            taken: n,
            out: n,
            dropped: n,
            stopped: StoppedCopies([n, 0, n, 0, n, 0, n]),
            latency_ns: Some(Quantiles {
                min: ns,
                p50: ns,
                p99: ns,
                max: ns,
            }),
        }
    }

    fn widest(text: &str) -> usize {
        text.lines().map(|line| line.chars().count()).max().unwrap()
    }

    #[test]
    fn the_routes_fit_a_terminal_of_80_columns() {
        let short = routes(&[route("engine", 1_000)]);
        assert!(widest(&short) <= WIDTH, "{short}");
        assert_eq!(short.matches("route").count(), 1, "one table: {short}");
        // No frame was stopped by a rate limit.
        assert!(!short.contains("rate") && short.contains("full"), "{short}");
        let long =
            "diagnostics of the body and of the brakes, one after the other, for a very long time";
        for n in [0, 1_000_000, 1_000_000_000] {
            for name in ["engine", long, &"x".repeat(120)] {
                let text = routes(&[route(name, n), route("b", n)]);
                assert!(widest(&text) <= WIDTH, "{text}");
                // No name is truncated.
                let letters = text.chars().filter(|c| *c == 'x').count();
                assert!(!name.starts_with('x') || letters >= 120, "{text}");
            }
        }
    }
}
