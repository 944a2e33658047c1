//! The output of `cangate ping`: the display, the statistics, JSON.

use super::{DISPLAY, PingOutcome};
use crate::cli::ping::Ping;
use crate::round_trips::{LiveCounts, PartyEnd, PartyRole, PingPlan};
use console::table::{row, table};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::io::{IsTerminal as _, Write as _};

/// The quantiles of the table, in thousandths.
const QUANTILES: [u64; 3] = [500, 990, 999];

/// The widest bar of a histogram, in characters.
const BAR: u64 = 40;

/// Draws a line for each master, repeatedly until all are done; only on a terminal.
pub(super) fn display(
    args: &Ping,
    masters: &[(usize, PingPlan)],
    live: &[LiveCounts],
    through: &dyn Fn() -> bool,
) {
    if args.output.quiet || masters.is_empty() || !std::io::stderr().is_terminal() {
        return;
    }
    let mut drawn = false;
    while !through() {
        std::thread::sleep(DISPLAY);
        let mut text = String::new();
        if drawn {
            let _ = write!(text, "\x1b[{}A", masters.len());
        }
        for (thread, (place, plan)) in masters.iter().enumerate() {
            if let Some(one) = live.get(*place) {
                let [min, act, avg, max] = one.figures();
                let figures = [min, act, avg, max];
                let all = one.answered() + one.lost();
                let _ = writeln!(text, "{}\x1b[K", line(args, thread, plan, all, figures));
            }
        }
        drawn = true;
        // The reader may be gone.
        let _ = std::io::stderr().write_all(text.as_bytes());
    }
    if drawn {
        // The last lines come with the result.
        let _ = write!(std::io::stderr(), "\x1b[{}A\x1b[J", masters.len());
    }
}

/// Formats a line like that of cyclictest: thread, priority, interval, count, and µs.
fn line(args: &Ping, thread: usize, plan: &PingPlan, count: u64, figures: [u64; 4]) -> String {
    let [min, act, avg, max] = figures.map(|ns| format!("{:.1}", ns as f64 / 1e3));
    format!(
        "T:{thread:2} ({}) P:{:2} I:{} C:{count:7} Min:{min:>8} Act:{act:>8} Avg:{avg:>8} Max:{max:>8}",
        plan.id, args.timing.priority, args.timing.period
    )
}

/// Describes the frames that are sent.
pub(super) fn what(args: &Ping) -> String {
    let frames = &args.frames;
    let kind = match (frames.fd, frames.brs) {
        (true, true) => " of FD with BRS",
        (true, false) => " of FD",
        (false, _) => "",
    };
    let when = match args.timing.period {
        0 => "one after the other".to_owned(),
        period => format!("every {period} µs"),
    };
    let masters = match frames.masters {
        1 => String::new(),
        n => format!("{n} masters, "),
    };
    format!("{masters}{} bytes{kind}, {when}", frames.payload)
}

/// Returns the result for people.
pub(super) fn text(args: &Ping, outcome: &PingOutcome) -> String {
    let mut text = String::new();
    let masters = || {
        outcome
            .played
            .iter()
            .filter(|one| one.part == PartyRole::Master)
    };
    let from = args.ports.join(" and ");
    if masters().next().is_some() {
        let kind = if args.own {
            "own frames"
        } else {
            "round trips"
        };
        let _ = writeln!(text, "{kind} over {from}: {}", what(args));
    }
    for (thread, one) in masters().enumerate() {
        let trips = &one.trips;
        let figures = [trips.min(), trips.last(), trips.mean(), trips.max()];
        let all = one.counts.answered + one.counts.lost;
        let _ = writeln!(text, "{}", line(args, thread, &one.plan, all, figures));
    }
    if masters().any(|one| one.trips.count() > 0) {
        let _ = writeln!(text, "\n{}", figures(outcome));
    }
    for one in &outcome.played {
        let _ = writeln!(text, "{}", fates(one));
    }
    if masters().any(|one| !one.trips.is_exact()) {
        text.push_str("p50 to p99.9 are exact to 0.1 %, because there are more than a million\n");
    }
    if let Some(width) = args.output.histogram {
        for one in masters() {
            text.push_str(&histogram(one, width));
        }
    }
    for warning in &outcome.warnings {
        let _ = writeln!(text, "note: {warning}");
    }
    text
}

/// Returns the table of round trips, and the remaining time without the bus.
fn figures(outcome: &PingOutcome) -> String {
    let mut lines = table(&["µs", "min", "p50", "p99", "p99.9", "max"]);
    let micros = |ns: u64| format!("{:.2}", ns as f64 / 1e3);
    for one in outcome
        .played
        .iter()
        .filter(|one| one.part == PartyRole::Master)
    {
        let Some([p50, p99, p999]) = one.trips.quantiles(QUANTILES) else {
            continue;
        };
        let all = [one.trips.min(), p50, p99, p999, one.trips.max()];
        let name = format!("{} > {}", one.plan.id, one.plan.answer);
        lines.add_row(row(std::iter::once(name).chain(all.map(micros))));
        if let Some(bus) = outcome.bus {
            let name = format!("  without {} µs of bus", micros(bus));
            let less = all.map(|ns| ns.saturating_sub(bus));
            lines.add_row(row(std::iter::once(name).chain(less.map(micros))));
        }
    }
    format!("{lines}\n")
}

/// Returns the numbers of all fates, in one line.
fn fates(one: &PartyEnd) -> String {
    let mut parts = match one.part {
        PartyRole::Slave => vec![(one.answered.answered, "answered", true)],
        PartyRole::Master => vec![
            (one.counts.sent, "sent", true),
            (one.counts.answered, "answered", true),
            (one.counts.lost, "not answered in time", true),
        ],
    };
    parts.extend([
        (one.counts.late, "of these answered later", false),
        (one.counts.strange, "unexpected answers", false),
        (
            one.counts.unsent,
            "given up (queue full or interface down)",
            false,
        ),
        (
            one.counts.stalled,
            "send retries (queue full or interface down)",
            false,
        ),
        (one.counts.skipped, "periods skipped", false),
        (
            one.answered.unanswered,
            "not answered (queue full or interface down)",
            false,
        ),
        (one.received.overrun, "lost in the receive queue", false),
        (one.transmitted.lost, "lost on sending", false),
    ]);
    let parts: Vec<String> = parts
        .into_iter()
        .filter(|(n, _, always)| *always || *n > 0)
        .map(|(n, word, _)| format!("{n} {word}"))
        .collect();
    let ids = match one.part {
        PartyRole::Master => format!("{} > {}", one.plan.id, one.plan.answer),
        PartyRole::Slave => format!("answers {} by {}", one.plan.id, one.plan.answer),
    };
    format!("{} {ids}: {}", one.name, parts.join(", "))
}

/// Draws a histogram of round trips.
fn histogram(one: &PartyEnd, width: u64) -> String {
    let bins = one.trips.histogram(width * 1_000);
    let most = bins
        .iter()
        .map(|(_, count)| *count)
        .max()
        .unwrap_or(1)
        .max(1);
    let mut text = format!(
        "\n{} > {}, µs and round trips\n",
        one.plan.id, one.plan.answer
    );
    for (start, count) in bins {
        let bar = "█".repeat(usize::try_from((count * BAR).div_ceil(most)).unwrap_or(0));
        let _ = writeln!(text, "{:>9} {count:>9} {bar}", start / 1_000);
    }
    text
}

/// Returns the result for programs.
pub(super) fn json(args: &Ping, outcome: &PingOutcome) -> Value {
    let quantiles = |one: &PartyEnd| {
        let found = one.trips.quantiles(QUANTILES);
        let [p50, p99, p999] = found.map_or([None; 3], |all| all.map(Some));
        (p50, p99, p999)
    };
    let width = args.output.histogram.map(|width| width * 1_000);
    let masters = outcome
        .played
        .iter()
        .filter(|one| one.part == PartyRole::Master);
    let masters: Vec<Value> = masters
        .map(|one| {
            let (p50, p99, p999) = quantiles(one);
            let some = one.trips.count() > 0;
            let of = |ns: u64| some.then_some(ns);
            json!({
                "port": one.name,
                "id": one.plan.id.to_string(),
                "answer": one.plan.answer.to_string(),
                "sent": one.counts.sent,
                "answered": one.counts.answered,
                "lost": one.counts.lost,
                "late": one.counts.late,
                "strange": one.counts.strange,
                "unsent": one.counts.unsent,
                "stalled": one.counts.stalled,
                "skipped": one.counts.skipped,
                "overrun": one.received.overrun,
                "min_ns": of(one.trips.min()),
                "mean_ns": of(one.trips.mean()),
                "p50_ns": p50,
                "p99_ns": p99,
                "p999_ns": p999,
                "max_ns": of(one.trips.max()),
                "quantiles_exact": one.trips.is_exact(),
                "histogram_ns": width.map(|width| one.trips.histogram(width)),
            })
        })
        .collect();
    let slaves = outcome
        .played
        .iter()
        .filter(|one| one.part == PartyRole::Slave);
    let slaves: Vec<Value> = slaves
        .map(|one| {
            json!({
                "port": one.name,
                "id": one.plan.id.to_string(),
                "answer": one.plan.answer.to_string(),
                "answered": one.answered.answered,
                "unanswered": one.answered.unanswered,
                "overrun": one.received.overrun,
                "lost_on_sending": one.transmitted.lost,
            })
        })
        .collect();
    json!({
        "payload": args.frames.payload,
        "fd": args.frames.fd,
        "period_us": args.timing.period,
        "priority": args.timing.priority,
        "clock": "CLOCK_MONOTONIC",
        "bus_time_ns": outcome.bus,
        "masters": masters,
        "slaves": slaves,
        "warnings": outcome.warnings,
    })
}
