//! Bounds as a table on a terminal.

use super::delay::GatewayDelay;
use super::tunnel_words::{marked, sentence};
use super::words::micros;
use super::{AssessedBus, can_miss};
use analysis::offset::{MOST_PHASES, OffsetUse};
use analysis::{BufferRefill, LatencyBound, Message, QueueService, SendOrder};
use console::columns::{WIDTH, fitted, width, wrapped};
use console::table::{row, table};
use std::fmt::Write as _;

pub(super) fn render(all: &[AssessedBus<'_>]) -> String {
    let mut text = String::new();
    for found in all {
        head(&mut text, found);
        nodes(&mut text, found);
        let _ = writeln!(text, "{}", messages(found));
        no_bounds(&mut text, found);
        vias(&mut text, found);
        text.push('\n');
    }
    if all.iter().any(|found| found.spec.random_errors.is_some()) {
        let late = "late: highest probability that errors at random make a frame late; other columns are \
                    without them.";
        let _ = writeln!(text, "{}", wrapped(late));
    }
    let legend = "Times in µs. bound: from the event to the end of the frame: jitter, a frame of lower priority on \
                  the bus, frames of the own message and queue ahead, frames of higher priority, errors, the frame \
                  itself. Not covered: error-passive nodes, overload frames, and time to fill a mailbox where no \
                  `refill` states it.";
    let _ = writeln!(text, "{}", wrapped(legend));
    let conditional = all
        .iter()
        .flat_map(|found| found.conditions.iter().flatten());
    if let Some(sentence) = sentence(conditional, "A bound") {
        let _ = writeln!(text, "{}", wrapped(&sentence));
    }
    text
}

fn head(text: &mut String, found: &AssessedBus<'_>) {
    let spec = found.spec;
    let _ = write!(
        text,
        "Bus {}: {}, load {:.1} %",
        spec.name,
        spec.rate,
        found.assessment.load * 100.0
    );
    if let Some(distance) = spec.errors {
        let _ = write!(text, ", at most one error every {} µs", micros(distance));
    }
    if let Some(mean) = spec.random_errors {
        let _ = write!(
            text,
            ", errors at random, one in {} µs on average",
            micros(mean)
        );
    }
    text.push('\n');
}

fn nodes(text: &mut String, found: &AssessedBus<'_>) {
    let nodes = found.spec.nodes.iter().zip(&found.assessment.nodes);
    let mut assumed = 0;
    for (i, (node, bound)) in nodes.enumerate() {
        let most = bound.backlog.map_or_else(
            || "frames wait without a bound".to_owned(),
            |most| match most {
                1 => "at most 1 frame".to_owned(),
                most => format!("at most {most} frames"),
            },
        );
        let SendOrder::Mailboxes(mailboxes) = node.order else {
            assumed += 1;
            continue;
        };
        let order = match bound.service {
            QueueService::Queue => "in order of arrival",
            QueueService::Covered | QueueService::Priority => "in order of priority",
        };
        let words = format!(
            "Node {}: {mailboxes} {}{}, {most}{}: {order}",
            node.name,
            if mailboxes.get() == 1 {
                "mailbox"
            } else {
                "mailboxes"
            },
            node.refill
                .map_or_else(String::new, |refill| format!(", {}", filled(refill))),
            match found.room.get(i).copied().flatten() {
                Some(room) if found.overflows(i) => format!(", ROOM FOR {room}"),
                Some(room) => format!(", room for {room}"),
                None => String::new(),
            }
        );
        let _ = writeln!(text, "{}", wrapped(&words));
    }
    for (i, node) in found.spec.nodes.iter().enumerate() {
        if let Some(offsets) = found.assessment.nodes.get(i).and_then(|n| n.offsets) {
            let words = format!("Node {}: {}", node.name, clock(&offsets));
            let _ = writeln!(text, "{}", wrapped(&words));
        }
    }
    if assumed > 0 {
        let words = format!(
            "{assumed} {} assumed to send in order of priority; set `mailboxes = N` in [nodes.NAME] to verify it",
            if assumed == 1 { "node is" } else { "nodes are" }
        );
        let _ = writeln!(text, "{}", wrapped(&words));
    }
}

/// Describes how a node fills its mailboxes.
pub(super) fn filled(refill: BufferRefill) -> String {
    let within = format!("up to {} µs to fill one", micros(refill.time));
    match refill.every {
        0 | 1 => within,
        every => format!("{within} once in {every} frames"),
    }
}

/// Describes how a node's offsets were used in the analysis.
fn clock(offsets: &OffsetUse) -> String {
    let OffsetUse { given, used, own } = *offsets;
    let messages = if given == 1 { "message" } else { "messages" };
    let mut text = if used == given {
        format!("offsets of {given} {messages}, in all phases")
    } else {
        format!(
            "offsets of {used} of {given} {messages}, in all phases; the others are assumed to have any phase, because \
             together there are more than {MOST_PHASES}"
        )
    };
    if !own {
        text.push_str(
            "; not for its own frames: in a queue, all messages must have an offset and none a distance",
        );
    }
    text
}

/// Returns all messages of a bus, the highest priority first.
pub(super) fn by_priority(found: &AssessedBus<'_>) -> Vec<usize> {
    let mut order: Vec<usize> = (0..found.spec.messages.len()).collect();
    order.sort_by_key(|&i| found.spec.messages.get(i).map(field));
    order
}

/// A column: its head, and a cell for each message.
struct TableColumn {
    head: &'static str,
    cells: Vec<String>,
}

/// Formats all messages by priority: bounds and their parts side by side if they fit, otherwise one
/// below the other. A part that no bound has gets no column.
fn messages(found: &AssessedBus<'_>) -> String {
    let order = by_priority(found);
    let column = |head: &'static str, cell: &dyn Fn(usize) -> String| TableColumn {
        head,
        cells: order.iter().map(|&i| cell(i)).collect(),
    };
    let message = |i: usize| found.spec.messages.get(i);
    let of_it = |i: usize| found.assessment.messages.get(i);
    let names = column("message", &|i| {
        message(i).map_or_else(String::new, Message::label)
    });
    let node = |i: usize| found.spec.nodes.get(message(i)?.node);
    let known = [
        column("node", &|i| {
            node(i).map_or_else(String::new, |node| node.name.clone())
        }),
        column("bits", &|i| {
            of_it(i).map_or_else(String::new, |m| m.bits.all().to_string())
        }),
    ];
    let parts: Vec<[String; PARTS.len()]> = (0..found.spec.messages.len())
        .map(|i| of_it(i).and_then(|m| m.bound.ok()))
        .enumerate()
        .map(|(i, bound)| match bound {
            Some(bound) => parts(&bound, found.base.get(i).copied().unwrap_or(0)),
            None => PARTS.map(|_| NOTHING.to_owned()),
        })
        .collect();
    let mut consists: Vec<TableColumn> = PARTS
        .iter()
        .enumerate()
        .map(|(n, head)| column(head, &|i| parts[i][n].clone()))
        .filter(|column| column.cells.iter().any(|cell| cell != NOTHING))
        .collect();
    consists.push(column("frame", &|i| {
        of_it(i).map_or_else(String::new, |m| micros(m.frame))
    }));
    let mut results = vec![
        column("bound", &|i| {
            let conditions = found.conditions.get(i).map_or(&[][..], Vec::as_slice);
            let bound = found.response(i);
            bound.map_or_else(
                || "none".to_owned(),
                |bound| marked(micros(bound), conditions),
            )
        }),
        column("deadline", &|i| {
            message(i).map_or_else(String::new, |m| micros(m.deadline))
        }),
        column("slack", &|i| slack(found, i)),
    ];
    if found.spec.random_errors.is_some() {
        let misses = |i: usize| found.misses.get(i).copied().flatten();
        results.push(column("late", &|i| late(misses(i))));
    }
    let together = of_columns(
        [&names]
            .into_iter()
            .chain(&known)
            .chain(&consists)
            .chain(&results),
    );
    if width(&together) <= WIDTH {
        return together.to_string();
    }
    let first = of_columns([&names].into_iter().chain(&known).chain(&results));
    let second = of_columns([&names].into_iter().chain(&consists));
    format!("{}\n{}", fitted(first, &[0, 1]), fitted(second, &[0]))
}

fn of_columns<'c>(columns: impl Iterator<Item = &'c TableColumn>) -> comfy_table::Table {
    let columns: Vec<&TableColumn> = columns.collect();
    let heads: Vec<&str> = columns.iter().map(|column| column.head).collect();
    let mut table = table(&heads);
    for line in 0..columns.first().map_or(0, |column| column.cells.len()) {
        table.add_row(row(columns
            .iter()
            .map(|column| column.cells.get(line).cloned().unwrap_or_default())));
    }
    table
}

/// Returns the time to spare, or that there may be none.
fn slack(found: &AssessedBus<'_>, i: usize) -> String {
    let both = found.response(i).zip(found.spec.messages.get(i));
    match both {
        _ if can_miss(found, i) => "MISSED".to_owned(),
        Some((response, message)) => micros(message.deadline.saturating_sub(response)),
        None => String::new(),
    }
}

/// Formats a probability, rounded up.
fn late(probability: Option<f64>) -> String {
    match probability {
        None => NOTHING.to_owned(),
        Some(p) if p >= 1.0 => "1".to_owned(),
        Some(p) if p <= analysis::miss::LEAST_PROBABILITY => {
            format!("<{:e}", analysis::miss::LEAST_PROBABILITY)
        }
        // Adds half of the last digit.
        Some(p) => format!("{:.1e}", p + 0.5 * 10_f64.powf(p.log10().floor() - 1.0)),
    }
}

fn field(message: &Message) -> u64 {
    frame::wire::arbitration_key(message.shape.header())
}

/// The parts that a bound can have, in addition to the frame itself.
const PARTS: [&str; 6] = ["jitter", "lower", "ahead", "pauses", "higher", "errors"];

fn parts(bound: &LatencyBound, before: u64) -> [String; PARTS.len()] {
    let p = bound.parts;
    // The frames ahead, less the time since the first of them was released.
    let ahead = if p.ahead >= p.since {
        dotted(p.ahead - p.since)
    } else {
        format!("-{}", micros(p.since - p.ahead))
    };
    [
        dotted(before + p.jitter),
        dotted(p.blocking),
        ahead,
        dotted(p.pauses),
        dotted(p.interference),
        dotted(p.errors),
    ]
}

/// Describes the gateway's time, and the messages that it cannot send on.
pub(super) fn gateway(delay: &GatewayDelay, notes: &[String]) -> String {
    let mut text = delay.sentence();
    text.push_str(
        "For forwarded messages, jitter is all time from the event to the second release.\n",
    );
    for note in notes {
        let _ = writeln!(text, "Left out: {note}.");
    }
    text
}

fn vias(text: &mut String, found: &AssessedBus<'_>) {
    for (message, via) in found.spec.messages.iter().zip(&found.via) {
        if let Some(via) = via {
            let _ = writeln!(text, "{}: from {via}", message.label());
        }
    }
}

fn no_bounds(text: &mut String, found: &AssessedBus<'_>) {
    let all = found.spec.messages.iter().zip(&found.assessment.messages);
    for (message, of_it) in all {
        if let Err(why) = of_it.bound {
            let _ = writeln!(
                text,
                "No bound for {}: {}",
                message.label(),
                why.describe(Some(found.spec))
            );
        }
    }
}

/// The symbol for 0.
const NOTHING: &str = "·";

/// Formats nanoseconds as µs; a dot for 0.
pub(super) fn dotted(ns: u64) -> String {
    if ns == 0 {
        NOTHING.to_owned()
    } else {
        micros(ns)
    }
}
