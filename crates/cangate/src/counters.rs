//! A gateway's counters as tables.

use comfy_table::Table;
use console::table::{number, row, table};
use engine::{
    CopyCounters, CounterDefinition, CounterSnapshot, Fate, LinkState, PortCount, PortRow,
    PortState, RouteRow, RxCounters, Stops, TxCounters,
};
use gateway::{GatewayStats, InterfaceRow, KernelPart, KernelRow, NOT_ASKED_FOR, RouteMessages};
use route::StopReason;
use std::fmt::Write;

/// Returns "N frames received = a routed + b …".
pub(crate) fn accounting(snapshot: &CounterSnapshot) -> String {
    let fates: Vec<String> = Fate::ALL
        .iter()
        .map(|&fate| (fate, snapshot.frames(fate)))
        .filter(|&(_, n)| n > 0)
        .map(|(fate, n)| format!("{n} {fate}"))
        .collect();
    let sum = if fates.is_empty() {
        "0".to_owned()
    } else {
        fates.join(" + ")
    };
    format!("{} frames received = {sum}.", snapshot.received())
}

/// Returns a table of numbers: columns with only zeros are left out, except the first `kept`.
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

/// Reasons for which a route stops a frame, in the order of columns: the reasons that routes are
/// configured for come first. The columns for the fates of copies are between the two groups.
const ASKED_FOR: [StopReason; 2] = [StopReason::DropRule, StopReason::RateLimit];
const OTHERS: [StopReason; 6] = [
    StopReason::HopLimit,
    StopReason::TooLong,
    StopReason::IdRange,
    StopReason::Absent,
    StopReason::OutOfRange,
    StopReason::E2eWrong,
];

/// Returns the numbers of frames that routes stopped for these reasons.
fn stopped(stops: &Stops, reasons: &[StopReason]) -> Vec<u64> {
    reasons.iter().map(|&why| stops.get(why)).collect()
}

/// Returns the heads of columns: all reasons, with others in the middle.
fn heads(first: &[&'static str], middle: &[&'static str]) -> Vec<&'static str> {
    let mut head = first.to_vec();
    head.extend(ASKED_FOR.map(StopReason::words));
    head.extend(middle);
    head.extend(OTHERS.map(StopReason::words));
    head
}

/// Returns the table of the routes that run in the kernel.
fn in_kernel(part: &KernelPart) -> Table {
    // can-gw does not count the frames that it takes.
    let counted = part.routes.iter().all(|row| row.taken.is_some());
    let row = |r: &KernelRow| {
        let mut numbers: Vec<u64> = r.taken.filter(|_| counted).into_iter().collect();
        numbers.push(r.sent);
        numbers.extend(stopped(&r.stopped, &ASKED_FOR));
        numbers.push(r.failed);
        numbers.extend(stopped(&r.stopped, &OTHERS));
        (vec![r.name.clone()], numbers)
    };
    let rows: Vec<_> = part.routes.iter().map(row).collect();
    let mut first = vec!["route"];
    first.extend(counted.then_some("taken"));
    let kept = first.len();
    first.push("sent");
    counts(&heads(&first, &["not taken by the interface"]), kept, &rows)
}

/// Describes the injected faults of a port; returns an empty text if there were none.
fn injected(port: &PortRow) -> String {
    let sides = [
        ("received", port.count.rx.faults),
        ("sent", port.count.tx.faults),
    ];
    let words = sides.into_iter().filter_map(|(side, faults)| {
        let counts = faults.iter().filter(|(_, n)| *n > 0);
        let counts: Vec<String> = counts.map(|(what, n)| format!("{n} {what}")).collect();
        (!counts.is_empty()).then(|| format!("of frames {side}, {}", counts.join(", ")))
    });
    let words: Vec<String> = words.collect();
    if words.is_empty() {
        return String::new();
    }
    format!(
        "Faults injected on port {}: {}.\n",
        port.name,
        words.join("; ")
    )
}

/// Returns the state of a port of this process; the state of its interface is newer, and
/// distinguishes more than up and down.
pub(crate) fn state(port: &PortRow, interfaces: &[InterfaceRow]) -> &'static str {
    let interface = interfaces.iter().find(|row| row.port == port.name);
    let link = interface.and_then(|row| row.state);
    match (port.count.state, link) {
        (PortState::Up | PortState::Down, Some(link)) if !link.passes() => link.words(),
        (PortState::Up, Some(link)) => link.words(),
        (PortState::Up, None) => "up",
        (PortState::Down, _) => "down",
        (PortState::Closed, _) => "closed",
        (PortState::Finished, _) => "no input",
        (PortState::Failed, _) => "failed",
    }
}

/// Returns the table of the ports that only routes in the kernel use; `None` if there are none.
fn ports_in_kernel(interfaces: &[InterfaceRow]) -> Option<Table> {
    let row = |row: &InterfaceRow| {
        let state = row.state.map_or("unknown", LinkState::words);
        let words = vec![row.port.clone(), row.interface.clone(), state.to_owned()];
        let numbers = [
            row.received,
            row.sent,
            row.receive_dropped,
            row.send_dropped,
        ];
        (words, numbers.map(|n| n.unwrap_or(0)).to_vec())
    };
    let there = interfaces.iter().filter(|row| row.in_kernel);
    let rows: Vec<_> = there.map(row).collect();
    let head = [
        "port",
        "interface",
        "state",
        "received",
        "sent",
        "no room in the kernel",
        "not taken by the interface",
    ];
    (!rows.is_empty()).then(|| counts(&head, 2, &rows))
}

/// Reports the number of frames that the kernel kept away because no route can take them; returns
/// an empty text if there were none.
fn not_asked_for(row: &InterfaceRow) -> String {
    let words = NOT_ASKED_FOR.words;
    match (row.not_asked_for, &row.not_asked_for_unknown) {
        (_, Some(why)) => format!(
            "Port {}: frames {words}: not counted, because {why}.\n",
            row.port
        ),
        (Some(n), None) if n > 0 => format!("Port {}: {n} frames {words}.\n", row.port),
        _ => String::new(),
    }
}

/// The head of a column, and a function that reads its number.
type Column = (&'static str, Box<dyn Fn(&PortCount) -> u64>);

/// Returns the columns of ports: frames received, copies offered, their outcomes, and all others.
fn port_columns() -> impl Iterator<Item = Column> {
    let routed: Column = (
        Fate::Routed.words(),
        Box::new(|c| c.fates.get(Fate::Routed)),
    );
    let column = |counter: &'static CounterDefinition| -> Option<Column> {
        Some((counter.column?, Box::new(|port| counter.get(port))))
    };
    let [offered, tx] = [CopyCounters::DEFINITIONS, TxCounters::DEFINITIONS]
        .map(|all| all.iter().filter(|counter| !counter.is_outcome()));
    let after = offered.chain(PortCount::outcomes()).chain(tx);
    let received = column(&PortCount::RECEIVED).into_iter();
    let after = after.chain([&PortCount::INJECTED]);
    let after = after.chain(RxCounters::DEFINITIONS).filter_map(column);
    received.chain([routed]).chain(after)
}

/// Renders ports, routes and the sums.
pub(crate) fn render(stats: &GatewayStats) -> String {
    let GatewayStats {
        process: snapshot,
        kernel,
        interfaces,
        messages,
        uptime_ns: _,
    } = stats;
    let undeliverable =
        |copies: &CopyCounters| u64::try_from(copies.undeliverable()).unwrap_or(u64::MAX);
    let columns: Vec<Column> = port_columns().collect();
    let port = |p: &PortRow| {
        let numbers = columns.iter().map(|(_, number)| number(&p.count)).collect();
        (
            vec![p.name.clone(), state(p, interfaces).to_owned()],
            numbers,
        )
    };
    let route = |r: &RouteRow| {
        let c = &r.count;
        let mut numbers = vec![c.taken, c.copies.accepted];
        numbers.extend(stopped(&c.stopped, &ASKED_FOR));
        numbers.extend([c.copies.refused, undeliverable(&c.copies)]);
        numbers.extend(stopped(&c.stopped, &OTHERS));
        (vec![r.name.clone()], numbers)
    };
    let ports: Vec<_> = snapshot.ports.iter().map(port).collect();
    let routes: Vec<_> = snapshot.routes.iter().map(route).collect();
    let mut text = String::new();
    let mut head = vec!["port", "state"];
    head.extend(columns.iter().map(|(head, _)| *head));
    if kernel.is_empty() || !ports.is_empty() {
        let _ = writeln!(text, "{}\n", counts(&head, 4, &ports));
    }
    let head = heads(
        &["route", "taken", "accepted"],
        &[Fate::Refused.words(), Fate::Undeliverable.words()],
    );
    if kernel.is_empty() || !routes.is_empty() {
        let _ = writeln!(text, "{}\n", counts(&head, 2, &routes));
    }
    for part in kernel {
        let _ = writeln!(text, "In the kernel ({}):\n{}\n", part.how, in_kernel(part));
        if part.restored > 0 {
            let _ = writeln!(
                text,
                "Another process removed {} rules or programs of {}; the gateway put them back. Frames \
                 received in between were neither routed nor counted.",
                part.restored, part.how
            );
        }
    }
    for RouteMessages { route, messages } in messages {
        let _ = writeln!(text, "Messages of {route}: {messages}.");
    }
    if !messages.is_empty() {
        text.push('\n');
    }
    if let Some(ports) = ports_in_kernel(interfaces) {
        let _ = writeln!(
            text,
            "Ports of the kernel's routes (counted by their interfaces, frames of all programs):\n\
             {ports}\n"
        );
    }
    for row in interfaces {
        text.push_str(&not_asked_for(row));
    }
    for p in &snapshot.ports {
        text.push_str(&injected(p));
        if let Some(why) = &p.failure {
            let _ = writeln!(text, "Port {} is out of service: {why}", p.name);
        }
    }
    match snapshot.check() {
        // No frame came to this process.
        Ok(()) if !kernel.is_empty() && snapshot.received() == 0 => {}
        Ok(()) => drop(writeln!(text, "{} All sums add up.", accounting(snapshot))),
        Err(imbalance) => {
            let sums = accounting(snapshot);
            let _ = writeln!(text, "{sums} THE SUMS DO NOT ADD UP: {imbalance}");
        }
    }
    text
}

#[cfg(test)]
mod tests;
