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
pub(super) fn run(all: &[Found<'_>], path: &Path, delay: Nanos) -> Result<(), Failure> {
    let results = probe::results::read(path).map_err(Failure::input)?;
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
        0 => "no frame could be held against a bound: is it the same gateway file?".to_owned(),
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
            message.shape.header().id() == wanted && node.is_some_and(|node| node.name == port)
        };
        Some((found, found.spec.messages.iter().position(is)?))
    })
}
