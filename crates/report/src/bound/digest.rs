//! The data that the page passes to its scripts.

use super::data::{
    BoundData, BusData, FrameSeen, MeasuredMessage, MeasuredSource, MessageData, NodeData,
    OrderData, PartsData, TimeoutData, TunnelData,
};
use super::lead::{BoundLead, can_miss, lead, ratio};
use crate::curve::ProfileCurve;
use crate::settings::{TimeBase, everything};
use serde::Serialize;

/// The most frames above their bound that are listed for one message.
const NAMED: usize = 5;

/// All data of the page. Times are in ns.
#[derive(Serialize)]
pub(super) struct BoundDigest<'a> {
    title: &'a str,
    lead: BoundLead,
    notes: &'a [String],
    buses: Vec<BusLine<'a>>,
    /// Sentences; absent if the margin was not requested.
    margin: Option<&'a [String]>,
    timeouts: Vec<TimeoutLine<'a>>,
    tunnels: Vec<TunnelSection<'a>>,
    measured: Option<MeasuredLine<'a>>,
    made: &'a [(String, String)],
}

#[derive(Serialize)]
struct BusLine<'a> {
    name: &'a str,
    bit_rate: &'a str,
    load: f64,
    errors: Option<&'a str>,
    nodes: Vec<NodeLine<'a>>,
    /// The messages, by priority.
    messages: Vec<MessageLine<'a>>,
}

#[derive(Serialize)]
struct TimeoutLine<'a> {
    message: &'a str,
    node: &'a str,
    bus: &'a str,
    time: u64,
    losses: u32,
    longest: Option<u64>,
    conditional: bool,
    why: Option<&'a str>,
    source: &'a str,
}

#[derive(Serialize)]
struct TunnelSection<'a> {
    title: &'a str,
    words: &'a [String],
    origin: Option<&'static str>,
    conditional: bool,
    messages: Vec<TunnelLine<'a>>,
    why: Option<&'a str>,
}

#[derive(Serialize)]
struct TunnelLine<'a> {
    message: &'a str,
    urgent: bool,
    parts: [u64; 5],
    least: u64,
    most: u64,
}

#[derive(Serialize)]
struct NodeLine<'a> {
    name: &'a str,
    /// `assumed`, `covered` or `arrival`.
    order: &'static str,
    mailboxes: Option<u8>,
    filled: Option<&'a str>,
    backlog: Option<u64>,
    room: Option<u64>,
    overflows: bool,
}

#[derive(Serialize)]
struct MessageLine<'a> {
    id: &'a str,
    name: &'a str,
    node: &'a str,
    bits: u32,
    frame: u64,
    period: u64,
    deadline: u64,
    via: Option<&'a str>,
    bound: Option<u64>,
    can_miss: bool,
    conditional: bool,
    /// The parts in the order of [`super::PartsData::all`]; their sum, less `since`, is the bound.
    parts: Option<[u64; 10]>,
    since: u64,
    /// The same parts without the time before the event; their sum is the bound.
    drawn: Option<[u64; 10]>,
    /// The reason why there is no bound.
    why: Option<&'a str>,
    late: Option<f64>,
    seen: Option<SeenLine<'a>>,
}

#[derive(Serialize)]
struct SeenLine<'a> {
    port: &'a str,
    limit: u64,
    frames: u64,
    p50: i64,
    max: i64,
    /// The greatest latency over its limit.
    ratio: f64,
    worst: FrameLine,
    /// Number of frames above their limit, and the first of them.
    above: usize,
    named: Vec<FrameLine>,
    curve: ProfileCurve,
}

#[derive(Serialize)]
struct FrameLine {
    tag: u64,
    end: u64,
    latency: i64,
}

#[derive(Serialize)]
struct MeasuredLine<'a> {
    name: &'a str,
    clock: TimeBase,
    time: &'a str,
    strange: u64,
    unbounded: u64,
    description: Vec<(String, String)>,
}

pub(super) fn digest(data: &BoundData) -> BoundDigest<'_> {
    BoundDigest {
        title: &data.title,
        lead: lead(data),
        notes: &data.notes,
        buses: data.buses.iter().map(bus).collect(),
        margin: data.margin.as_ref().map(|m| m.sentences.as_slice()),
        timeouts: data.timeouts.iter().map(timeout).collect(),
        tunnels: data.tunnels.iter().map(tunnel).collect(),
        measured: data.measured.as_ref().map(measured),
        made: &data.made,
    }
}

fn timeout(timeout: &TimeoutData) -> TimeoutLine<'_> {
    TimeoutLine {
        message: &timeout.message,
        node: &timeout.node,
        bus: &timeout.bus,
        time: timeout.time,
        losses: timeout.losses,
        longest: timeout.longest.as_ref().ok().copied(),
        conditional: timeout.conditional,
        why: timeout.longest.as_ref().err().map(String::as_str),
        source: &timeout.source,
    }
}

fn tunnel(tunnel: &TunnelData) -> TunnelSection<'_> {
    let lines = tunnel.messages.iter().map(|one| TunnelLine {
        message: &one.message,
        urgent: one.urgent,
        parts: one.parts,
        least: one.least,
        most: one.most,
    });
    TunnelSection {
        title: &tunnel.title,
        words: &tunnel.words,
        origin: tunnel.origin,
        conditional: tunnel.conditional,
        messages: lines.collect(),
        why: tunnel.why.as_deref(),
    }
}

fn bus(bus: &BusData) -> BusLine<'_> {
    BusLine {
        name: &bus.name,
        bit_rate: &bus.bit_rate,
        load: bus.load,
        errors: bus.errors.as_deref(),
        nodes: bus.nodes.iter().map(node).collect(),
        messages: bus.messages.iter().map(message).collect(),
    }
}

fn node(node: &NodeData) -> NodeLine<'_> {
    let (order, mailboxes) = match node.order {
        OrderData::Assumed => ("assumed", None),
        OrderData::Covered(n) => ("covered", Some(n)),
        OrderData::Arrival(n) => ("arrival", Some(n)),
    };
    NodeLine {
        name: &node.name,
        order,
        mailboxes,
        filled: node.filled.as_deref(),
        backlog: node.backlog,
        room: node.room,
        overflows: node.overflows(),
    }
}

fn message(message: &MessageData) -> MessageLine<'_> {
    let parts = message.bound.as_ref().ok();
    MessageLine {
        id: &message.id,
        name: &message.name,
        node: &message.node,
        bits: message.bits,
        frame: message.frame,
        period: message.period,
        deadline: message.deadline,
        via: message.via.as_deref(),
        bound: parts.map(PartsData::bound),
        can_miss: can_miss(message),
        conditional: message.conditional,
        parts: parts.map(PartsData::all),
        since: parts.map_or(0, |parts| parts.since),
        drawn: parts.map(PartsData::after_the_event),
        why: message.bound.as_ref().err().map(String::as_str),
        late: message.late,
        seen: message.seen.as_ref().and_then(seen),
    }
}

fn seen(seen: &MeasuredMessage) -> Option<SeenLine<'_>> {
    let summary = seen.latencies.summary()?;
    Some(SeenLine {
        port: &seen.port,
        limit: seen.limit,
        frames: summary.count,
        p50: summary.p50,
        max: summary.max,
        ratio: ratio(seen)?,
        worst: frame(&seen.worst?),
        above: seen.above.len(),
        named: seen.above.iter().take(NAMED).map(frame).collect(),
        curve: ProfileCurve::from_profile(&seen.latencies),
    })
}

fn frame(frame: &FrameSeen) -> FrameLine {
    FrameLine {
        tag: frame.tag,
        end: frame.end,
        latency: frame.latency,
    }
}

fn measured(measured: &MeasuredSource) -> MeasuredLine<'_> {
    MeasuredLine {
        name: &measured.name,
        clock: TimeBase::from_description(&measured.description),
        time: &measured.description.time_base,
        strange: measured.strange,
        unbounded: measured.unbounded,
        description: everything(&measured.description),
    }
}
