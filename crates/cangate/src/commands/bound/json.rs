//! Bounds as JSON.

use super::ages::DataAge;
use super::delay::GatewayDelay;
use super::timeouts::{TimeoutResult, TimeoutResults};
use super::tunnel_report::{TunnelReport, TunnelResults};
use super::{AssessedBus, can_miss};
use analysis::{LatencyBound, ReceptionDistance, SendOrder};
use serde::Serialize;

#[derive(Serialize)]
pub(super) struct BoundReport {
    /// The longest time that the gateway takes; `null` without a gateway, and if none was given.
    gateway_delay_ns: Option<u64>,
    /// The source of a measured time, as a sentence.
    #[serde(skip_serializing_if = "Option::is_none")]
    gateway_delay_from: Option<String>,
    buses: Vec<BusReport>,
    /// Messages that no route can send on, and the reasons, in sentences.
    left_out: Vec<String>,
    /// Networks between gateways, in each direction in which messages go; absent if there is none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tunnels: Vec<TunnelReport>,
    /// The ages of values in messages that the gateway makes; absent if it makes none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    ages: Vec<DataAge>,
    timeouts: Vec<TimeoutReport>,
}

/// The timeout of a receiver.
#[derive(Serialize)]
struct TimeoutReport {
    id: String,
    name: String,
    bus: String,
    node: String,
    /// The place of the timeout: a file and a line, or a port.
    source: String,
    timeout_ns: u64,
    losses: u32,
    /// The longest time between two receptions; `null` if there is no bound.
    longest_ns: Option<u64>,
    /// The longest time between the events of the two frames.
    events_ns: Option<u64>,
    /// The bound over all buses, from the event to the end of the frame here.
    response_ns: Option<u64>,
    /// The shortest frames on all buses.
    shortest_ns: Option<u64>,
    /// The buses before, each with the route to the next one.
    hops: Vec<String>,
    can_expire: bool,
    /// Times that were measured or stated, and on which the distance depends.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    conditional_on: Vec<String>,
    /// The reason why there is no bound.
    no_bound: Option<String>,
}

#[derive(Serialize)]
struct BusReport {
    name: String,
    bitrate: u32,
    data_bitrate: Option<u32>,
    /// The part of the bus's time that all messages take together; 1 is all of it.
    load: f64,
    error_distance_ns: Option<u64>,
    /// The mean time between random errors.
    random_errors_ns: Option<u64>,
    joins_ns: u64,
    nodes: Vec<NodeReport>,
    messages: Vec<MessageReport>,
}

#[derive(Serialize)]
struct NodeReport {
    name: String,
    mailboxes: Option<u8>,
    /// The longest time to fill a mailbox; absent if it is not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    refill_ns: Option<u64>,
    /// The minimum number of frames from one such refill to the next.
    #[serde(skip_serializing_if = "Option::is_none")]
    refill_every: Option<u32>,
    /// `priority`, `covered` (the mailboxes hold all frames that can wait) or `queue`.
    service: &'static str,
    /// The maximum number of frames in it at one time.
    backlog: Option<u64>,
    /// The number of frames that it can hold; only for a gateway's ports with a queue.
    room: Option<u64>,
    can_overflow: bool,
    /// Absent if none of its messages has an offset.
    #[serde(skip_serializing_if = "Option::is_none")]
    offsets: Option<OffsetsReport>,
}

#[derive(Serialize)]
struct OffsetsReport {
    /// The number of messages with an offset.
    given: usize,
    /// The number of these that were analysed in all phases; the others have any phase.
    in_all_phases: usize,
    /// Whether the node's own frames were analysed in all phases, too.
    own_frames: bool,
}

#[derive(Serialize)]
struct MessageReport {
    id: String,
    name: String,
    node: String,
    /// The number of bits without the intermission.
    bits: u32,
    data_phase_bits: u32,
    frame_ns: u64,
    /// The period; with a list of distances, the mean distance of the densest frames in the long
    /// run.
    period_ns: u64,
    /// The number of frames that each event releases at once; absent if it is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    parts: Option<u64>,
    /// The minimum time that 2, 3 ... frames span; absent for a message with a period.
    #[serde(skip_serializing_if = "Option::is_none")]
    distances_ns: Option<Vec<u64>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    offset_ns: Option<u64>,
    deadline_ns: u64,
    /// The origin of a message that a gateway sends on; `null` for a bus's own message.
    via: Option<String>,
    /// Whether the deadline can be missed.
    can_miss: bool,
    /// Times that were measured or stated, and on which the bound depends.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    conditional_on: Vec<String>,
    /// An upper bound on the probability that random errors make a frame late.
    miss_probability: Option<f64>,
    bound: Option<PartsReport>,
    /// The reason why there is no bound.
    no_bound: Option<String>,
}

/// The parts of a bound. The response is `before_ns` and the sum of the parts, less `since_ns`.
#[derive(Serialize)]
struct PartsReport {
    /// The time from the event to the end of the frame.
    response_ns: u64,
    /// The minimum time on the buses before; any longer time there is jitter here.
    before_ns: u64,
    /// The time from the release to the end of the frame.
    latency_ns: u64,
    jitter_ns: u64,
    blocking_ns: u64,
    ahead_ns: u64,
    /// Times in which the node has no frame in a mailbox.
    pauses_ns: u64,
    interference_ns: u64,
    errors_ns: u64,
    frame_ns: u64,
    since_ns: u64,
    /// The number of frames of the message that come before it in the worst case.
    instance: u64,
}

pub(super) fn report(
    all: &[AssessedBus<'_>],
    delay: &GatewayDelay,
    notes: &[String],
    timeouts: &TimeoutResults,
    tunnels: &TunnelResults<'_>,
    ages: &[DataAge],
) -> BoundReport {
    BoundReport {
        gateway_delay_ns: delay.ns,
        gateway_delay_from: delay.from.clone(),
        left_out: notes.to_vec(),
        buses: all.iter().map(bus).collect(),
        tunnels: tunnels.reports(),
        ages: ages.to_vec(),
        timeouts: timeouts.all.iter().map(timeout).collect(),
    }
}

fn timeout(result: &TimeoutResult) -> TimeoutReport {
    let parts = result.longest.as_ref().ok();
    TimeoutReport {
        id: result.id.clone(),
        name: result.name.clone(),
        bus: result.bus.clone(),
        node: result.node.clone(),
        source: result.source.clone(),
        timeout_ns: result.time,
        losses: result.losses,
        longest_ns: parts.map(ReceptionDistance::longest),
        events_ns: parts.map(|parts| parts.events),
        response_ns: parts.map(|parts| parts.response),
        shortest_ns: parts.map(|parts| parts.shortest),
        hops: result.hops.clone(),
        can_expire: result.can_expire(),
        conditional_on: result.conditions.clone(),
        no_bound: result.longest.as_ref().err().cloned(),
    }
}

fn bus(found: &AssessedBus<'_>) -> BusReport {
    let spec = found.spec;
    let nodes = spec.nodes.iter().zip(&found.assessment.nodes);
    let messages = spec.messages.iter().zip(&found.assessment.messages);
    BusReport {
        name: spec.name.clone(),
        bitrate: spec.rate.nominal(),
        data_bitrate: spec.rate.data(),
        load: found.assessment.load,
        error_distance_ns: spec.errors,
        random_errors_ns: spec.random_errors,
        joins_ns: spec.joins,
        nodes: nodes
            .enumerate()
            .map(|(i, (node, bound))| NodeReport {
                room: found.room.get(i).copied().flatten(),
                can_overflow: found.overflows(i),
                name: node.name.clone(),
                mailboxes: match node.order {
                    SendOrder::Priority => None,
                    SendOrder::Mailboxes(n) => Some(n.get()),
                },
                refill_ns: node.refill.map(|refill| refill.time),
                refill_every: node.refill.map(|refill| refill.every),
                service: bound.service.name(),
                backlog: bound.backlog,
                offsets: bound.offsets.map(|offsets| OffsetsReport {
                    given: offsets.given,
                    in_all_phases: offsets.used,
                    own_frames: offsets.own,
                }),
            })
            .collect(),
        messages: messages
            .enumerate()
            .map(|(i, (message, found_of_it))| MessageReport {
                id: message.id().to_string(),
                name: message.name.clone(),
                node: spec
                    .nodes
                    .get(message.node)
                    .map_or_else(String::new, |n| n.name.clone()),
                bits: found_of_it.bits.all(),
                data_phase_bits: found_of_it.bits.data,
                frame_ns: found_of_it.frame,
                period_ns: message.arrival.period(),
                parts: Some(message.arrival.parts().get()).filter(|parts| *parts > 1),
                distances_ns: message.arrival.distances().map(<[u64]>::to_vec),
                offset_ns: message.offset,
                deadline_ns: message.deadline,
                via: found.via.get(i).cloned().flatten(),
                can_miss: can_miss(found, i),
                conditional_on: found.conditions.get(i).cloned().unwrap_or_default(),
                miss_probability: found.misses.get(i).copied().flatten(),
                bound: found_of_it
                    .bound
                    .as_ref()
                    .ok()
                    .map(|bound| parts(bound, found.base.get(i).copied().unwrap_or(0))),
                no_bound: found_of_it
                    .bound
                    .err()
                    .map(|why| why.describe(Some(found.spec))),
            })
            .collect(),
    }
}

fn parts(bound: &LatencyBound, before: u64) -> PartsReport {
    let parts = bound.parts;
    PartsReport {
        response_ns: bound.response + before,
        before_ns: before,
        latency_ns: bound.latency,
        jitter_ns: parts.jitter,
        blocking_ns: parts.blocking,
        ahead_ns: parts.ahead,
        pauses_ns: parts.pauses,
        interference_ns: parts.interference,
        errors_ns: parts.errors,
        frame_ns: parts.frame,
        since_ns: parts.since,
        instance: bound.instance,
    }
}
