//! `cangate stats --watch`: rates, printed repeatedly.

use super::choice::{ANSWER_TIMEOUT, GatewayChoice, understand};
use crate::cli::StatsWatch;
use crate::rates::{GatewayRates, percent, words};
use console::Failure;
use console::table::{row, table};
use gateway::GatewayStats;
use gateway::control::{self, CallError, ControlRequest};
use serde_json::{Value, json};
use std::io::{IsTerminal, Write};
use std::path::Path;
use std::thread::sleep;
use std::time::Instant;

/// One reading of a gateway that answered before.
pub(super) enum WatchResult {
    /// All its counters, as received and as parsed.
    Seen(Value, Box<GatewayStats>),
    /// The gateway has ended.
    Ended,
}

/// Reads the counters of a gateway that answered before.
pub(super) fn fetch(socket: &Path) -> Result<WatchResult, Failure> {
    match control::request(socket, &ControlRequest::Stats, ANSWER_TIMEOUT) {
        Ok(value) => Ok(WatchResult::Seen(value.clone(), understand(value)?)),
        Err(CallError::NoListener { .. } | CallError::Broken { .. }) => Ok(WatchResult::Ended),
        // The connection was accepted and closed again.
        Err(CallError::Strange { .. }) if std::fs::metadata(socket).is_err() => {
            Ok(WatchResult::Ended)
        }
        Err(other) => Err(Failure::run(other)),
    }
}

/// Returns the message that the gateway has ended.
pub(super) fn ended(socket: &Path) -> String {
    format!("The gateway at {} has ended.", socket.display())
}

pub(super) fn watch(args: &StatsWatch, gateway: &GatewayChoice) -> Result<(), Failure> {
    let mut before: GatewayStats = understand(gateway.ask(&ControlRequest::Stats)?)?;
    let mut at = Instant::now();
    let mut out = std::io::stdout();
    let clear = out.is_terminal() && !args.stats.json;
    let mut left = args.count.unwrap_or(u64::MAX);
    while left > 0 {
        sleep(args.interval);
        let WatchResult::Seen(value, now) = fetch(&gateway.socket)? else {
            eprintln!("{}", ended(&gateway.socket));
            return Ok(());
        };
        let over = at.elapsed();
        at += over;
        let rates = GatewayRates::between(&before, &now, over);
        before = *now;
        left -= 1;
        let mut text = if args.stats.json {
            format!("{}\n", json!({ "rates": rates.json(), "counters": value }))
        } else {
            render(&rates)
        };
        if clear {
            // Moves the cursor home and clears only what follows: without the flicker of an empty
            // screen.
            text = format!("\x1b[H{}\x1b[J", text.replace('\n', "\x1b[K\n"));
        }
        out.write_all(text.as_bytes())?;
        out.flush()?;
    }
    Ok(())
}

fn render(rates: &GatewayRates) -> String {
    let mut head = vec![
        "port",
        "state",
        "received/s",
        "sent/s",
        "errors/s",
        "lost/s",
        "waiting",
    ];
    let loads = rates.has_loads();
    head.extend(loads.then_some("load %"));
    let mut ports = table(&head);
    for port in &rates.ports {
        let mut cells = vec![port.name.clone(), port.state.to_owned()];
        cells.extend([port.received, port.sent, port.errors, port.lost].map(words));
        cells.push(
            port.held
                .map_or_else(|| "?".to_owned(), console::table::number),
        );
        cells.extend(loads.then(|| percent(port.load)));
        ports.add_row(row(cells));
    }
    let mut routes = table(&["route", "by", "taken/s", "sent/s", "stopped/s", "lost/s"]);
    for route in &rates.routes {
        let mut cells = vec![route.name.clone(), route.by.clone()];
        cells.extend([route.taken, route.sent, route.stopped, route.lost].map(words));
        routes.add_row(row(cells));
    }
    let over = rates.over.as_secs_f64();
    format!("{ports}\n\n{routes}\n\nFrames per second, over the last {over:.1} s.\n\n")
}
