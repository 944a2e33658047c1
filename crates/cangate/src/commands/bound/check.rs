//! `cangate bound --check`: what was measured, held against the bounds.

use super::table::micros;
use super::{Found, MISSED};
use crate::failure::Failure;
use analysis::Message;
use frame::{CanId, Nanos};
use probe::{Record, Results};
use std::io::Write;
use std::path::Path;

/// As many frames are named.
const NAMED: usize = 5;

/// What was held against what.
#[derive(Default)]
struct Checked {
    within: u64,
    /// Frames that no message of the set can be.
    strange: u64,
    /// Frames of messages without a bound.
    unbounded: u64,
    /// Frames above their bound, in words.
    above: Vec<String>,
    /// The greatest part of a bound that was seen.
    most: f64,
}

/// Each record's latency, from the end of frame in to the start of frame out, is at most what the gateway
/// takes and what the frame can wait on its next bus.
///
/// `ports` says how ports of the results are called in the gateway file.
pub(super) fn run(
    all: &[Found<'_>],
    path: &Path,
    delay: Nanos,
    ports: &[(String, String)],
) -> Result<(), Failure> {
    let mut results = probe::results::read(path).map_err(Failure::input)?;
    rename(&mut results, ports)
        .map_err(|why| Failure::input(format!("{}: {why}", path.display())))?;
    let mut checked = Checked::default();
    for record in &results.records {
        checked.add(all, &results, record, delay);
    }
    let mut stdout = std::io::stdout().lock();
    writeln!(
        stdout,
        "{}: {} frames within their bounds, the nearest at {:.1} % of its own; {} above; {} that the set does \
         not have; {} without a bound.",
        path.display(),
        checked.within,
        checked.most * 100.0,
        checked.above.len(),
        checked.strange,
        checked.unbounded
    )?;
    if checked.above.is_empty() && checked.within > 0 {
        return Ok(());
    }
    let text = match checked.above.len() {
        0 => nothing(all, &results),
        n => {
            let named = &checked.above[..n.min(NAMED)];
            format!(
                "{n} frames took longer than their bounds:\n{}",
                named.join("\n")
            )
        }
    };
    Err(Failure::Ended {
        status: MISSED,
        text,
    })
}

/// Gives ports of the results the names of the gateway file.
fn rename(results: &mut Results, ports: &[(String, String)]) -> Result<(), String> {
    for (name, port) in ports {
        let there = results.ports.join(", ");
        let place = results.ports.iter_mut().find(|there| *there == name);
        *place.ok_or_else(|| format!("it has no port {name} (--port), only: {there}"))? =
            port.clone();
    }
    Ok(())
}

/// Why nothing could be held against anything.
fn nothing(all: &[Found<'_>], results: &Results) -> String {
    let gateway = all.iter().flat_map(|found| {
        let nodes = found.spec.nodes.iter().zip(&found.sends_on);
        nodes
            .filter(|(_, sends_on)| **sends_on)
            .map(|(node, _)| node.name.as_str())
    });
    let gateway: Vec<&str> = gateway.collect();
    format!(
        "no frame could be held against a bound: the ports of the results are {}; those of the gateway file that send \
         are {}; --port NAME=PORT says which is which",
        results.ports.join(", "),
        gateway.join(", ")
    )
}

impl Checked {
    fn add(&mut self, all: &[Found<'_>], results: &Results, record: &Record, delay: Nanos) {
        let (Some(outgoing), Some(latency)) = (&record.outgoing, record.latency()) else {
            return;
        };
        let port = results.ports.get(usize::from(outgoing.port));
        let port = port.map_or("", String::as_str);
        let Some((found, message)) = find(all, port, outgoing.id) else {
            self.strange += 1;
            return;
        };
        let bound = found.assessment.messages.get(message).map(|m| m.bound);
        let Some(Ok(bound)) = bound else {
            self.unbounded += 1;
            return;
        };
        let limit = bound.waiting.saturating_add(delay);
        // A latency below 0 is an error of the stamps, and not above any bound.
        let seen = u64::try_from(latency).unwrap_or(0);
        if seen <= limit {
            self.within += 1;
            self.most = self.most.max(seen as f64 / limit.max(1) as f64);
            return;
        }
        self.above.push(format!(
            "  frame {} ({} to port {port}, end of frame at {} ns): {} µs, the bound is {} µs",
            record.tag,
            id(outgoing.id),
            outgoing.end,
            micros(seen),
            micros(limit)
        ));
    }
}

fn id(id: CanId) -> String {
    if id.is_eff() {
        format!("{:08X}", id.number())
    } else {
        format!("{:03X}", id.number())
    }
}

/// The message that a port of the gateway sends with this ID.
fn find<'a, 's>(all: &'a [Found<'s>], port: &str, wanted: CanId) -> Option<(&'a Found<'s>, usize)> {
    all.iter().find_map(|found| {
        let is = |message: &Message| {
            let node = found.spec.nodes.get(message.node);
            let name = node.is_some_and(|node| node.name == port);
            let sends_on = found.sends_on.get(message.node) == Some(&true);
            message.shape.header().id() == wanted && (name || sends_on && found.spec.name == port)
        };
        Some((found, found.spec.messages.iter().position(is)?))
    })
}
