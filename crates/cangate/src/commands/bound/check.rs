//! `cangate bound --check`: a comparison of measured latencies with the bounds.

use super::words::micros;
use super::{AssessedBus, MISSED};
use analysis::Message;
use console::Failure;
use frame::{CanId, Nanos};
use probe::{FrameRecord, RunDescription, RunResults};
use std::collections::BTreeMap;
use std::path::Path;

/// The maximum number of frames that are named.
const NAMED: usize = 5;

/// The result of the comparison.
pub(super) struct CheckedLog {
    /// The name of the results.
    pub(super) name: String,
    /// The description of how the results were made.
    pub(super) description: RunDescription,
    /// The frames of each message that were seen, by its bus and its index there.
    pub(super) seen: BTreeMap<(usize, usize), SeenMessage>,
    /// The number of frames that belong to no message of the set.
    pub(super) strange: u64,
    /// The number of frames of messages without a bound.
    pub(super) unbounded: u64,
    within: u64,
    /// Descriptions of the frames above their bound.
    above: Vec<String>,
    /// The largest ratio of a latency to its bound.
    most: f64,
    /// The reason if no frame could be compared with a bound.
    nothing: String,
}

/// The frames of a message that were seen.
pub(super) struct SeenMessage {
    /// The port that sent it.
    pub(super) port: String,
    /// The latency that no frame may exceed, ns.
    pub(super) limit: Nanos,
    /// Every frame: its number, its end on the outgoing bus, and its latency, ns.
    pub(super) frames: Vec<(u64, Nanos, i64)>,
}

/// Compares each record's latency with its limit: from the end of frame in to the start of frame
/// out, it is at most the gateway's time plus the longest time for which the frame can wait on its
/// next bus.
///
/// `ports` maps ports of the results to ports of the gateway file.
pub(super) fn hold(
    all: &[AssessedBus<'_>],
    path: &Path,
    delay: Nanos,
    ports: &[(String, String)],
) -> Result<CheckedLog, Failure> {
    let mut results = probe::results::read(path).map_err(Failure::input)?;
    rename(&mut results, ports)
        .map_err(|why| Failure::input(format!("{}: {why}", path.display())))?;
    let mut checked = CheckedLog {
        name: path.display().to_string(),
        nothing: nothing(all, &results),
        description: results.description.clone(),
        seen: BTreeMap::new(),
        strange: 0,
        unbounded: 0,
        within: 0,
        above: Vec::new(),
        most: 0.0,
    };
    for record in &results.records {
        checked.add(all, &results, record, delay);
    }
    Ok(checked)
}

/// Renames ports of the results to the names of the gateway file.
fn rename(results: &mut RunResults, ports: &[(String, String)]) -> Result<(), String> {
    for (name, port) in ports {
        let there = results.ports.join(", ");
        let place = results.ports.iter_mut().find(|there| *there == name);
        *place.ok_or_else(|| format!("it has no port {name} (--port), only: {there}"))? =
            port.clone();
    }
    Ok(())
}

/// Returns the reason why no frame could be compared with a bound.
fn nothing(all: &[AssessedBus<'_>], results: &RunResults) -> String {
    let gateway = all.iter().flat_map(|found| {
        let nodes = found.spec.nodes.iter().zip(&found.sends_on);
        nodes
            .filter(|(_, sends_on)| **sends_on)
            .map(|(node, _)| node.name.as_str())
    });
    let gateway: Vec<&str> = gateway.collect();
    format!(
        "no frame could be compared with a bound: the ports of the results are {}; those of the gateway file that send \
         are {}; assign them with --port NAME=PORT",
        results.ports.join(", "),
        gateway.join(", ")
    )
}

impl CheckedLog {
    /// Describes the result in a sentence.
    pub(super) fn sentence(&self) -> String {
        format!(
            "{}: {} frames within their bounds, the nearest at {:.1} % of its own; {} above; {} that the set does \
             not have; {} without a bound.",
            self.name,
            self.within,
            self.most * 100.0,
            self.above.len(),
            self.strange,
            self.unbounded
        )
    }

    /// # Errors
    /// A frame was above its bound, or no frame could be compared with one.
    pub(super) fn verdict(&self) -> Result<(), Failure> {
        let text = match self.above.len() {
            0 if self.within > 0 => return Ok(()),
            0 => self.nothing.clone(),
            n => {
                let named = &self.above[..n.min(NAMED)];
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

    fn add(
        &mut self,
        all: &[AssessedBus<'_>],
        results: &RunResults,
        record: &FrameRecord,
        delay: Nanos,
    ) {
        let (Some(outgoing), Some(latency)) = (&record.outgoing, record.latency()) else {
            return;
        };
        let port = results.ports.get(usize::from(outgoing.port));
        let port = port.map_or("", String::as_str);
        let Some((bus, message)) = find(all, port, outgoing.id) else {
            self.strange += 1;
            return;
        };
        let bound = all[bus].assessment.messages.get(message).map(|m| m.bound);
        let Some(Ok(bound)) = bound else {
            self.unbounded += 1;
            return;
        };
        let limit = bound.waiting.saturating_add(delay);
        let seen = self
            .seen
            .entry((bus, message))
            .or_insert_with(|| SeenMessage {
                port: port.to_owned(),
                limit,
                frames: Vec::new(),
            });
        seen.frames.push((record.tag, outgoing.end, latency));
        // A latency below 0 is an error of the time stamps, and not above any bound.
        let seen = u64::try_from(latency).unwrap_or(0);
        if seen <= limit {
            self.within += 1;
            self.most = self.most.max(seen as f64 / limit.max(1) as f64);
            return;
        }
        self.above.push(format!(
            "  frame {} ({} to port {port}, end of frame at {} ns): {} µs, the bound is {} µs",
            record.tag,
            outgoing.id,
            outgoing.end,
            micros(seen),
            micros(limit)
        ));
    }
}

/// Finds the message that a port of the gateway sends with this ID: its bus, and its index there.
fn find(all: &[AssessedBus<'_>], port: &str, wanted: CanId) -> Option<(usize, usize)> {
    all.iter().enumerate().find_map(|(bus, found)| {
        let is = |message: &Message| {
            let node = found.spec.nodes.get(message.node);
            let name = node.is_some_and(|node| node.name == port);
            let sends_on = found.sends_on.get(message.node) == Some(&true);
            message.shape.header().id() == wanted && (name || sends_on && found.spec.name == port)
        };
        Some((bus, found.spec.messages.iter().position(is)?))
    })
}
