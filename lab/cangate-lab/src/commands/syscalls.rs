//! `cangate bench syscalls`.

use crate::cli::bench::Syscalls;
use console::Failure;
use console::table::{row, table};
use serde_json::json;
use std::fmt::Write as _;
use std::io::Write as _;
use tester::syscalls::{BurstError, SyscallResults, WayDirection, WayRow, measure};

/// The additional costs of a way to send.
const VIRTUAL: &str =
    "sending includes the delivery to the other socket; frames take no time on this interface";
const REAL: &str =
    "sending includes the driver and the interrupts that come meanwhile; frames go on the bus";

/// Times the ways to receive and to send.
pub(crate) fn run(args: &Syscalls) -> Result<(), Failure> {
    let measured = measure(&args.interface, args.frames, args.id).map_err(|error| match error {
        BurstError::Frames(_) | BurstError::Down(_) | BurstError::Queue { .. } => {
            Failure::input(error)
        }
        _ => Failure::run(error),
    })?;
    let time = if args.virtual_time { "virtual" } else { "real" };
    let text = if args.json {
        let value = json!({
            "interface": args.interface,
            "time": time,
            "clock": "CLOCK_MONOTONIC",
            "virtual_interface": measured.is_virtual,
            "ways": measured.ways,
            "points": measured.points,
        });
        format!("{value:#}\n")
    } else {
        render(&args.interface, time, &measured)
    };
    std::io::stdout().write_all(text.as_bytes())?;
    Ok(())
}

fn render(interface: &str, time: &str, measured: &SyscallResults) -> String {
    let most = measured.ways.iter().filter_map(|way| way.times_ns.last());
    let most = most.map(|(n, _)| *n).max().unwrap_or(0);
    let mut text = format!(
        "bursts of 1 to {most} frames on {interface}, medians of 5, {time} time (CLOCK_MONOTONIC)\n\n"
    );
    let mut lines = table(&["way", "ns: frame", "call", "alone", "off", "ratio"]);
    for way in &measured.ways {
        lines.add_row(row(cells(way)));
    }
    let _ = writeln!(text, "{lines}\n");
    for way in &measured.ways {
        if let Some(remark) = way.remark {
            let _ = writeln!(text, "{}: {remark}", name(way));
        }
        if let Some(why) = &way.refused {
            let _ = writeln!(text, "{}: not measured: {why}", name(way));
        }
    }
    text.push_str("\nµs for this number of frames\n");
    text.push_str(&times(&measured.ways));
    let beside = if measured.is_virtual { VIRTUAL } else { REAL };
    let _ = writeln!(text, "\n{beside}");
    text
}

fn name(way: &WayRow) -> String {
    let direction = match way.direction {
        WayDirection::Receive => "receive",
        WayDirection::Send => "send",
    };
    format!("{direction} {}", way.way)
}

fn cells(way: &WayRow) -> Vec<String> {
    let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
    vec![
        name(way),
        or_dash(way.fit.map(|fit| format!("{:.1}", fit.per_frame_ns))),
        or_dash(way.fit.map(|fit| format!("{:.0}", fit.fixed_ns))),
        or_dash(way.alone_ns().map(|ns| ns.to_string())),
        or_dash(way.fit.map(|fit| format!("{:.1} %", 100.0 * fit.residual))),
        or_dash(way.ratio.map(|ratio| format!("{ratio:.2}"))),
    ]
}

/// Formats a line for each number of frames, with a column for each way.
fn times(ways: &[WayRow]) -> String {
    let mut head = vec!["frames".to_owned()];
    let measured = || ways.iter().filter(|way| way.refused.is_none());
    head.extend(measured().map(name));
    let head: Vec<&str> = head.iter().map(String::as_str).collect();
    let mut rows = table(&head);
    let numbers = measured().next().map(|way| way.times_ns.as_slice());
    for (i, (n, _)) in numbers.unwrap_or_default().iter().enumerate() {
        let mut cells = vec![n.to_string()];
        cells.extend(measured().map(|way| match way.times_ns.get(i) {
            Some((_, ns)) => format!("{:.1}", *ns as f64 / 1e3),
            None => "-".to_owned(),
        }));
        rows.add_row(row(cells));
    }
    format!("{rows}\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use tester::syscalls::LinearFit;

    #[test]
    fn a_way_that_is_missing_is_a_line_that_gives_the_reason() {
        let way = |way, refused: Option<&str>| WayRow {
            way,
            direction: WayDirection::Receive,
            times_ns: refused.map_or(vec![(1, 1_100), (2, 1_350)], |_| vec![]),
            fit: refused.map_or(LinearFit::through(&[(1, 1_100), (2, 1_350)]), |_| None),
            ratio: refused.map_or(Some(1.0), |_| None),
            remark: None,
            refused: refused.map(str::to_owned),
        };
        let measured = SyscallResults {
            is_virtual: true,
            ways: vec![way("read", None), way("io_uring", Some("needs Linux 6.0"))],
            points: vec![],
        };
        let text = render("vcan0", "virtual", &measured);
        for words in [
            "bursts of 1 to 2 frames on vcan0",
            "virtual time",
            "250.0",
            "850",
            "1100",
            "receive io_uring: not measured: needs Linux 6.0",
            "frames take no time",
        ] {
            assert!(text.contains(words), "{words}: {text}");
        }
    }
}
