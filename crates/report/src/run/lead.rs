//! The head of a run's page: one sentence, and four figures.

use super::names::IdNames;
use crate::tile::Tile;
use crate::words::{count, joined, micros, percent, times};
use probe::{FrameRecord, LatencyProfile, RunResults, SentCopy, Status};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// The head of the page.
#[derive(Serialize)]
pub(super) struct RunLead {
    sentence: String,
    /// The reason why half of the latencies are 0, if they are.
    why_zero: Option<String>,
    tiles: Vec<Tile>,
}

/// The statuses that are not losses: the frame was delivered, or its route, or the absence of a
/// route, is the reason why it was not.
const WANTED: [Status; 4] = [
    Status::Delivered,
    Status::NoRoute,
    Status::DroppedByRule,
    Status::DroppedByRate,
];

/// The frames of a run, and the names of its ports and routes.
#[derive(Clone, Copy, Debug)]
pub struct RunFrames<'a> {
    /// The record of each frame.
    pub records: &'a [FrameRecord],
    /// Names of the ports, by number.
    pub ports: &'a [String],
    /// Names of the routes, by number.
    pub routes: &'a [String],
    /// Names of messages.
    pub names: &'a IdNames,
}

impl<'a> From<&'a RunResults> for RunFrames<'a> {
    fn from(results: &'a RunResults) -> Self {
        Self {
            records: &results.records,
            ports: &results.ports,
            routes: &results.routes,
            names: IdNames::NONE,
        }
    }
}

/// The facts that a sentence states.
struct SentenceFacts<'a> {
    frames: RunFrames<'a>,
    /// Frames that came in; one that goes to several destinations is one.
    came: usize,
    /// Names of the ports where they came in.
    from: Vec<&'a str>,
    /// Time from the first end of frame to the last, ns.
    span: u64,
    /// Numbers of frames and copies by status, without those that went out.
    stopped: BTreeMap<Status, u64>,
    out: u64,
    /// Whether some frame has several destinations.
    copies: bool,
    latencies: LatencyProfile,
}

impl<'a> SentenceFacts<'a> {
    fn from_frames(frames: RunFrames<'a>) -> Self {
        let records = frames.records;
        let came: BTreeSet<_> = records
            .iter()
            .filter_map(|r| r.incoming)
            .map(|f| (f.port, f.end))
            .collect();
        let ports: BTreeSet<u16> = came.iter().map(|f| f.0).collect();
        let rows = records.iter().filter(|r| r.incoming.is_some());
        let ends = || {
            let both = |r: &FrameRecord| [r.incoming.map(|f| f.end), r.outgoing.map(|f| f.end)];
            records.iter().flat_map(both).flatten()
        };
        let mut stopped = BTreeMap::new();
        for record in records {
            *stopped.entry(record.status).or_default() += 1;
        }
        Self {
            came: came.len(),
            from: ports.iter().map(|p| name(frames.ports, *p)).collect(),
            span: ends().max().unwrap_or(0) - ends().min().unwrap_or(0),
            out: stopped.remove(&Status::Delivered).unwrap_or(0),
            stopped,
            copies: rows.count() > came.len(),
            latencies: records.iter().filter_map(FrameRecord::latency).collect(),
            frames,
        }
    }

    /// Returns the number of frames and copies that should have gone out and did not, or went out
    /// and should not have.
    fn lost(&self) -> u64 {
        let others = self.stopped.iter().filter(|(s, _)| !WANTED.contains(s));
        others.fold(0, |sum, (_, n)| sum.saturating_add(*n))
    }

    fn reasons(&self) -> Vec<String> {
        let each = self.stopped.iter();
        each.map(|(status, n)| format!("{} {}", count(*n), fate(*status, *n)))
            .collect()
    }
}

/// Returns the fate of `n` frames, for a sentence.
fn fate(status: Status, n: u64) -> &'static str {
    match status {
        Status::NoRoute => "had no route",
        Status::DroppedByRule if n == 1 => "was dropped by a rule",
        Status::DroppedByRule => "were dropped by a rule",
        Status::DroppedByRate if n == 1 => "was dropped by a rate limit",
        Status::DroppedByRate => "were dropped by a rate limit",
        Status::Refused if n == 1 => "was refused by a full queue",
        Status::Refused => "were refused by a full queue",
        Status::Lost if n == 1 => "was lost",
        Status::Lost => "were lost",
        Status::Displaced if n == 1 => "was displaced from a full queue",
        Status::Displaced => "were displaced from a full queue",
        Status::Expired => "expired in the queue",
        Status::Waiting => "still waited at the end",
        Status::HopLimit => "met the hop limit",
        Status::TooLong => "became too long",
        Status::IdRange => "got an ID out of range",
        Status::SignalAbsent if n == 1 => "did not contain a signal that its route uses",
        Status::SignalAbsent => "did not contain a signal that their route uses",
        Status::OutOfRange => "got a value out of range",
        Status::E2eWrong => "had a wrong end-to-end protection",
        Status::Undeliverable if n == 1 => "was undeliverable",
        Status::Undeliverable => "were undeliverable",
        Status::NeverIn => "never came onto the bus",
        Status::Duplicated if n == 1 => "went out once too often",
        Status::Duplicated => "went out once too often each",
        Status::Unexpected => "went out without having come in",
        Status::Delivered => "went out",
    }
}

fn name(names: &[String], index: u16) -> &str {
    names
        .get(usize::from(index))
        .map_or("an unnamed port", String::as_str)
}

/// Describes a run in one sentence: the frames that came in, their fates, the worst latency, and
/// the frames that were on the outgoing bus meanwhile. `waiting_only`: no time passes in the
/// gateway, so that a latency is only the time of waiting for the bus.
#[must_use]
pub fn sentence(frames: RunFrames<'_>, waiting_only: bool) -> String {
    of_facts(&SentenceFacts::from_frames(frames), waiting_only)
}

fn of_facts(facts: &SentenceFacts<'_>, waiting_only: bool) -> String {
    let mut reasons = facts.reasons();
    if facts.came == 0 {
        return match reasons.is_empty() {
            true => "No frame came in, so none was routed and there is no latency.".to_owned(),
            false => format!("No frame came in; {}.", joined(&reasons)),
        };
    }
    let frames = if facts.came == 1 { "frame" } else { "frames" };
    let mut text = format!(
        "{} {frames} came in from {} in {:.3} s: ",
        count(facts.came as u64),
        joined(&facts.from),
        facts.span as f64 / 1e9
    );
    let copies = match (facts.copies, facts.out) {
        (true, 1) => " copy",
        (true, _) => " copies",
        (false, _) => "",
    };
    reasons.insert(
        0,
        match facts.out {
            0 => "none went out".to_owned(),
            n if n == facts.came as u64 && !facts.copies && n > 1 => "all of them went out".into(),
            n => format!("{}{copies} went out", count(n)),
        },
    );
    if facts.lost() == 0 {
        reasons.push("none was lost".to_owned());
    }
    text.push_str(&joined(&reasons));
    match worst(facts.frames.records) {
        Some(worst) => text.push_str(&format!("; {}.", slowest(facts, worst, waiting_only))),
        None => text.push_str(", so there is no latency."),
    }
    text
}

/// Returns the frame with the greatest latency; the first of several.
fn worst(records: &[FrameRecord]) -> Option<&FrameRecord> {
    let timed = records.iter().filter_map(|r| Some((r, r.latency()?)));
    timed
        .min_by_key(|(_, latency)| std::cmp::Reverse(*latency))
        .map(|(record, _)| record)
}

/// Describes the slowest frame: its ID, its latency, and the reason.
fn slowest(facts: &SentenceFacts<'_>, worst: &FrameRecord, waiting_only: bool) -> String {
    let latency = worst.latency().unwrap_or(0);
    let (Some(came), Some(went)) = (worst.incoming, worst.outgoing) else {
        return String::new();
    };
    if latency <= 0 {
        return "each went out as soon as it had come in".to_owned();
    }
    let route = worst
        .route
        .and_then(|r| facts.frames.routes.get(usize::from(r)));
    let route = route.map_or(String::new(), |name| format!(" of route “{name}”"));
    let names = facts.frames.names;
    let changed = if came.id == went.id {
        String::new()
    } else {
        format!(", sent as {},", names.label(went.port, went.id))
    };
    let latency = micros(latency);
    let frame = format!("ID {}{route}{changed}", names.label(came.port, came.id));
    let bus = name(facts.frames.ports, went.port);
    let ahead = ahead(facts.frames, came.end, &went);
    let why = match (ahead.is_empty(), waiting_only) {
        (false, true) => format!("because {frame} waited for {} on {bus}", list(&ahead)),
        (false, false) => format!("of {frame}, while {} went over {bus}", list(&ahead)),
        (true, true) => format!("of {frame}, although no other frame was on {bus} meanwhile"),
        (true, false) => format!("of {frame}, with no other frame on {bus} meanwhile"),
    };
    format!("the worst latency is {latency}, {}", why.replace(",,", ","))
}

/// Returns the frames that ended on the outgoing bus after a frame had come in and until it began,
/// in their order: those that a port sent, and those that came in from there.
fn ahead(frames: RunFrames<'_>, came: u64, went: &SentCopy) -> Vec<String> {
    let (records, names) = (frames.records, frames.names);
    let start = went.end.saturating_sub(went.duration);
    let sent = records
        .iter()
        .filter_map(|r| r.outgoing)
        .filter(|o| o.port == went.port)
        .map(|o| (o.end, names.label(o.port, o.id)));
    let heard = records
        .iter()
        .filter_map(|r| r.incoming)
        .filter(|i| i.port == went.port)
        .map(|i| (i.end, names.label(i.port, i.id)));
    // Two records of one incoming frame are one frame on its bus.
    let all: BTreeMap<u64, String> = sent
        .chain(heard)
        .filter(|(end, _)| came < *end && *end <= start)
        .collect();
    all.into_values().collect()
}

/// The most different IDs that are named.
const NAMED: usize = 3;

/// Lists IDs in their order, each once.
fn list(ids: &[String]) -> String {
    let mut seen: Vec<(&str, u64)> = Vec::new();
    for id in ids {
        match seen.iter_mut().find(|(known, _)| known == id) {
            Some((_, n)) => *n += 1,
            None => seen.push((id, 1)),
        }
    }
    let named = seen.iter().take(NAMED);
    let mut words: Vec<String> = named
        .map(|(id, n)| match n {
            1 => format!("ID {id}"),
            n => format!("ID {id} ({})", times(*n)),
        })
        .collect();
    let others: u64 = seen.iter().skip(NAMED).map(|(_, n)| n).sum();
    match others {
        0 => {}
        1 => words.push("one frame more".to_owned()),
        n => words.push(format!("{} frames more", count(n))),
    }
    joined(&words)
}

/// Returns the head of the page.
pub(super) fn lead(frames: RunFrames<'_>, waiting_only: bool) -> RunLead {
    let facts = SentenceFacts::from_frames(frames);
    let summary = facts.latencies.summary();
    let zero = facts.latencies.values().iter().filter(|v| **v <= 0).count() as u64;
    let why_zero = summary.filter(|s| s.p50 <= 0 && waiting_only).map(|s| {
        format!(
            "The median is 0 because a latency here is waiting for the outgoing bus, and nothing else: {} of {} \
             frames ({}) found it free. No time passes in the gateway on the buses' clock; what this machine took \
             for a frame is real time, in a chart of its own below.",
            count(zero),
            count(s.count),
            percent(zero, s.count)
        )
    });
    RunLead {
        sentence: of_facts(&facts, waiting_only),
        why_zero,
        tiles: tiles(&facts, summary.as_ref()),
    }
}

fn tiles(facts: &SentenceFacts<'_>, latency: Option<&probe::LatencySummary>) -> Vec<Tile> {
    let came = facts.came as u64;
    let stopped = facts
        .stopped
        .values()
        .fold(0, |sum: u64, n| sum.saturating_add(*n));
    let lost = facts.lost();
    let tile = |name, value, note, bad| Tile {
        name,
        value,
        note,
        bad,
    };
    let from = match facts.from.is_empty() {
        true => "nothing was received".to_owned(),
        false => format!(
            "frames from {}, in {:.3} s",
            joined(&facts.from),
            facts.span as f64 / 1e9
        ),
    };
    let out = match (facts.copies, came) {
        (_, 0) => "there was nothing to route".to_owned(),
        (true, _) => match went_on(facts.frames.records) {
            1 => "copies of one frame".to_owned(),
            n => format!("copies of {} frames", count(n)),
        },
        (false, _) => format!("{} of the frames that came in", percent(facts.out, came)),
    };
    let mut why = facts.reasons();
    if lost == 0 {
        why.push("none was lost".to_owned());
    }
    let worst = match latency {
        Some(s) => (
            micros(s.max),
            format!("median {}, 99 % within {}", micros(s.p50), micros(s.p99)),
        ),
        None => ("–".to_owned(), "no frame came in and went out".to_owned()),
    };
    vec![
        tile("came in", count(came), from, false),
        tile("went out", count(facts.out), out, false),
        tile("did not go out", count(stopped), why.join(", "), lost > 0),
        tile("worst latency", worst.0, worst.1, false),
    ]
}

/// Returns the number of frames of which at least one copy went out.
fn went_on(records: &[FrameRecord]) -> u64 {
    let out = records.iter().filter(|r| r.outgoing.is_some());
    let frames: BTreeSet<_> = out
        .filter_map(|r| r.incoming)
        .map(|f| (f.port, f.end))
        .collect();
    frames.len() as u64
}

#[cfg(test)]
#[path = "lead_tests.rs"]
mod tests;
