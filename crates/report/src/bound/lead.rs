//! The head of the page: one sentence, and a few figures.

use super::data::{BoundData, BusData, MeasuredMessage, MessageData, NodeData, PartsData};
use crate::tile::Tile;
use crate::words::{count, joined, micros, percent};
use serde::Serialize;

/// The head of the page.
#[derive(Serialize)]
pub(super) struct BoundLead {
    sentence: String,
    tiles: Vec<Tile>,
}

/// The purpose of each part, in the order of [`PartsData::all`].
const PARTS: [&str; 10] = [
    "on the buses before",
    "in the gateway",
    "between gateways",
    "of jitter",
    "for a frame of lower priority",
    "for frames ahead in its queue",
    "for pauses until a mailbox is filled",
    "for frames of higher priority",
    "for errors",
    "for its own frame",
];

/// Number of parts that are named, the longest first.
const NAMED: usize = 3;

/// Returns the time between a message's bound and its deadline; a message without a bound is the
/// worst, then the one with the least slack.
pub(super) fn slack(message: &MessageData) -> Option<i128> {
    let bound = message.bound.as_ref().ok()?.bound();
    Some(i128::from(message.deadline) - i128::from(bound))
}

/// Returns whether the message's deadline can be missed.
pub(super) fn can_miss(message: &MessageData) -> bool {
    slack(message).is_none_or(|slack| slack < 0)
}

/// Returns ID and name.
pub(super) fn label(message: &MessageData) -> String {
    match message.name.as_str() {
        "" => message.id.clone(),
        name => format!("{} {name}", message.id),
    }
}

/// Returns each message with its bus.
fn all(data: &BoundData) -> impl Iterator<Item = (&BusData, &MessageData)> {
    let buses = data.buses.iter();
    buses.flat_map(|bus| bus.messages.iter().map(move |message| (bus, message)))
}

/// Returns the message with the least slack; the first of several.
fn tightest(data: &BoundData) -> Option<(&BusData, &MessageData)> {
    all(data).min_by_key(|(_, message)| slack(message).unwrap_or(i128::MIN))
}

/// Formats a duration; the number and its unit stay on one line.
fn time(ns: u64) -> String {
    micros(i64::try_from(ns).unwrap_or(i64::MAX)).replace(' ', "\u{a0}")
}

pub(super) fn lead(data: &BoundData) -> BoundLead {
    BoundLead {
        sentence: sentence(data),
        tiles: tiles(data),
    }
}

/// Returns a sentence with the number of messages, the number that keep their deadline, the
/// tightest one, and the parts of its bound.
fn sentence(data: &BoundData) -> String {
    let Some((bus, worst)) = tightest(data) else {
        return "The message set is empty, so no message can be late.".to_owned();
    };
    let n = all(data).count();
    let unbounded = all(data).filter(|(_, m)| m.bound.is_err()).count();
    let late = all(data).filter(|(_, m)| can_miss(m)).count() - unbounded;
    let messages = if n == 1 { "message" } else { "messages" };
    let can = match (late, unbounded) {
        (0, 0) if n == 1 => "The only message keeps its deadline at worst".to_owned(),
        (0, 0) => format!(
            "All {} messages keep their deadline at worst",
            count(n as u64)
        ),
        (late, 0) => format!(
            "{} of {} {messages} can miss the deadline",
            count(late as u64),
            count(n as u64)
        ),
        (0, none) => format!(
            "{} of {} {messages} {} no bound",
            count(none as u64),
            count(n as u64),
            have(none)
        ),
        (late, none) => format!(
            "{} of {} {messages} can miss the deadline, and {} {} no bound",
            count(late as u64),
            count(n as u64),
            count(none as u64),
            have(none)
        ),
    };
    let on = if data.buses.len() > 1 {
        format!(" on bus {}", bus.name)
    } else {
        String::new()
    };
    let name = label(worst);
    let which = match (late + unbounded, n) {
        (0, 1) => "it is",
        (0, _) => "the tightest is",
        _ => "the worst is",
    };
    match &worst.bound {
        Err(why) => format!("{can}; {which} {name}{on}: {why}."),
        Ok(parts) => format!(
            "{can}; {which} {name}{on} with {} of {} allowed: {}.",
            time(parts.bound()),
            time(worst.deadline),
            consists(parts)
        ),
    }
}

fn have(n: usize) -> &'static str {
    if n == 1 { "has" } else { "have" }
}

/// Returns "300 µs for frames of higher priority, 200 µs …", the longest first.
fn consists(parts: &PartsData) -> String {
    let mut named: Vec<(u64, &str)> = parts
        .after_the_event()
        .into_iter()
        .zip(PARTS)
        .filter(|(ns, _)| *ns > 0)
        .collect();
    named.sort_by_key(|(ns, _)| std::cmp::Reverse(*ns));
    let rest: u64 = named.iter().skip(NAMED).map(|(ns, _)| ns).sum();
    let mut words: Vec<String> = named
        .iter()
        .take(NAMED)
        .map(|(ns, what)| format!("{} {what}", time(*ns)))
        .collect();
    if rest > 0 {
        words.push(format!("{} for the rest", time(rest)));
    }
    joined(&words)
}

fn tiles(data: &BoundData) -> Vec<Tile> {
    let mut tiles = vec![kept(data)];
    tiles.extend(spare(data));
    tiles.extend(load(data));
    tiles.extend(queue(data));
    tiles.extend(measured(data));
    tiles.extend(margin(data));
    tiles
}

fn kept(data: &BoundData) -> Tile {
    let n = all(data).count();
    let kept = all(data).filter(|(_, m)| !can_miss(m)).count();
    let buses = data.buses.len();
    Tile {
        name: "keep their deadline",
        value: format!("{} of {}", count(kept as u64), count(n as u64)),
        note: format!(
            "messages on {}",
            match data.buses.as_slice() {
                [one] => format!("bus {}", one.name),
                _ => format!("{buses} buses"),
            }
        ),
        bad: kept < n,
    }
}

fn spare(data: &BoundData) -> Option<Tile> {
    let (bus, message) = tightest(data)?;
    let on = if data.buses.len() > 1 {
        format!(" on bus {}", bus.name)
    } else {
        String::new()
    };
    let name = label(message);
    Some(match (slack(message), &message.bound) {
        (Some(slack), Ok(parts)) => Tile {
            name: if slack < 0 { "too long" } else { "least slack" },
            value: time(u64::try_from(slack.unsigned_abs()).unwrap_or(u64::MAX)),
            note: format!(
                "{name}{on}: {} of {}",
                time(parts.bound()),
                time(message.deadline)
            ),
            bad: slack < 0,
        },
        _ => Tile {
            name: "least slack",
            value: "no bound".to_owned(),
            note: format!("{name}{on}"),
            bad: true,
        },
    })
}

fn load(data: &BoundData) -> Option<Tile> {
    let busiest = data.buses.iter().max_by(|a, b| a.load.total_cmp(&b.load))?;
    Some(Tile {
        name: if data.buses.len() > 1 {
            "highest bus load"
        } else {
            "bus load"
        },
        value: format!("{:.1} %", 100.0 * busiest.load),
        note: format!("bus {}, {}", busiest.name, busiest.bit_rate),
        bad: busiest.load > 1.0,
    })
}

/// Returns the queue with the least space left.
fn queue(data: &BoundData) -> Option<Tile> {
    let nodes = data.buses.iter().flat_map(|bus| &bus.nodes);
    let fullest = |node: &&NodeData| {
        let room = node.room?;
        let left = node.backlog.map(|most| i128::from(room) - i128::from(most));
        Some(left.unwrap_or(i128::MIN))
    };
    let node = nodes
        .filter(|node| node.room.is_some())
        .min_by_key(fullest)?;
    let room = count(node.room?);
    Some(Tile {
        name: "fullest queue",
        value: match node.backlog {
            Some(most) => format!("{} of {room}", count(most)),
            None => "no bound".to_owned(),
        },
        note: format!("frames that port {} has room for", node.name),
        bad: node.overflows(),
    })
}

fn measured(data: &BoundData) -> Option<Tile> {
    let of = data.measured.as_ref()?;
    let seen: Vec<(&MessageData, &MeasuredMessage)> = all(data)
        .filter_map(|(_, message)| Some((message, message.seen.as_ref()?)))
        .collect();
    let frames: u64 = seen.iter().map(|(_, seen)| seen.latencies.count()).sum();
    let above: usize = seen.iter().map(|(_, seen)| seen.above.len()).sum();
    let nearest = seen
        .iter()
        .filter_map(|(message, seen)| Some((message, ratio(seen)?)))
        .max_by(|a, b| a.1.total_cmp(&b.1));
    let value = nearest.map_or_else(|| "–".to_owned(), |(_, ratio)| share(ratio));
    let name = nearest.map_or_else(String::new, |(message, _)| {
        format!("of its bound: {}; ", label(message))
    });
    let above = match above {
        0 => "none above".to_owned(),
        n => format!("{} ABOVE", count(n as u64)),
    };
    let strange = match of.strange {
        0 => String::new(),
        n => format!(", {} not in the set", percent(n, n + frames)),
    };
    Some(Tile {
        name: "measured at most",
        value,
        note: format!("{name}{} frames, {above}{strange}", count(frames)),
        bad: frames == 0 || above.ends_with("ABOVE"),
    })
}

/// Formats a share in per cent; only a ratio of exactly 1 is written as 100 %.
fn share(ratio: f64) -> String {
    let text = format!("{:.1} %", 100.0 * ratio);
    match text.as_str() {
        "100.0 %" if ratio > 1.0 => format!(">{text}"),
        "100.0 %" if ratio < 1.0 => format!("<{text}"),
        _ => text,
    }
}

/// Returns the greatest measured latency as a fraction of its limit.
pub(super) fn ratio(seen: &MeasuredMessage) -> Option<f64> {
    let worst = u64::try_from(seen.worst?.latency).unwrap_or(0);
    Some(worst as f64 / seen.limit.max(1) as f64)
}

fn margin(data: &BoundData) -> Option<Tile> {
    let margin = data.margin.as_ref()?;
    Some(Tile {
        name: "margin",
        value: margin.thousandths.map_or_else(
            || "none".to_owned(),
            |n| format!("{}.{:03} ×", n / 1000, n % 1000),
        ),
        note: "message rate that keeps all deadlines".to_owned(),
        bad: margin.thousandths.is_none(),
    })
}

#[cfg(test)]
#[path = "lead_tests.rs"]
mod tests;
