//! `cangate bench --syscalls`.

use crate::cli::bench::Bench;
use crate::counters::{row, table};
use crate::failure::Failure;
use serde_json::json;
use std::fmt::Write as _;
use std::io::Write as _;
use tester::syscalls::{BurstError, MOST_BURST, Point, over_vcan};

/// Times the system calls that move frames.
pub(crate) fn run(interface: &str, args: &Bench) -> Result<(), Failure> {
    // Priority and warm-up are the tester's; here nothing runs beside it that would wait.
    let most = args.traffic.frames.unwrap_or(MOST_BURST);
    let points = over_vcan(interface, most).map_err(|error| match error {
        BurstError::Frames(_) | BurstError::Interface(_) => Failure::input(error),
        _ => Failure::run(error),
    })?;
    let text = if args.output.json {
        let value = json!({
            "interface": interface,
            "time": if args.timing.virtual_time { "virtual" } else { "real" },
            "clock": "CLOCK_MONOTONIC",
            "points": points,
        });
        format!("{value:#}\n")
    } else {
        render(interface, &points)
    };
    std::io::stdout().write_all(text.as_bytes())?;
    Ok(())
}

fn render(interface: &str, points: &[Point]) -> String {
    let mut text = format!("µs to move so many frames on {interface}, median of 5\n\n");
    let mut rows = table(&["frames", "read", "recvmmsg", "write", "sendmmsg"]);
    for p in points {
        let times = [p.read_ns, p.recvmmsg_ns, p.write_ns, p.sendmmsg_ns];
        let mut cells = vec![p.frames.to_string()];
        cells.extend(times.map(|ns| format!("{:.1}", ns as f64 / 1e3)));
        rows.add_row(row(cells));
    }
    let _ = writeln!(text, "{rows}");
    text
}
