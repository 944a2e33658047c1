//! Messages that a route or a port has no room for.

use super::RouteReport;
use super::flow::{FlowSet, MessageFlow};
use super::probe::{RouteProbe, samples};
use frame::Kind;
use port::FramePassage;
use route::{Action, SignalCondition};
use std::collections::BTreeMap;

/// Warns of FD messages that come from or are sent to a port without FD, and of messages that a
/// route names and that are too short for it, or whose length it does not take.
pub(super) fn check(flows: &FlowSet<'_>, report: &mut RouteReport<'_>) {
    let config = flows.config;
    let mut refused: BTreeMap<(usize, u16), Vec<&MessageFlow<'_>>> = BTreeMap::new();
    for flow in flows.taken() {
        // If FD frames certainly pass the port where they come in, another warning names the ports.
        if flow.message.fd.is_none() || config.passes(flow.from, Kind::Fd) != FramePassage::Open {
            continue;
        }
        for to in flow.destinations() {
            if config.passes(to, Kind::Fd) == FramePassage::No {
                refused.entry((flow.number, to.0)).or_default().push(flow);
            }
        }
    }
    for ((number, to), all) in refused {
        let Some(flow) = all.first() else { continue };
        let more = match all.len() {
            1 => String::new(),
            count => format!(", and {} more,", count - 1),
        };
        let message = format!(
            "{}{more} is CAN FD with {} bytes and never leaves by port `{}`: route `{}` counts it as refused \
             (`unsupported`)",
            flow.place(),
            flow.message.len,
            config.port_name(route::PortId(to)),
            flow.route.name
        );
        let hint = "a port takes FD frames with a `data_bitrate`, and without `fd = false`; or leave the message out \
                    of the route: `kind = \"classic\"`";
        report.warn(number, message, hint);
    }
    for flow in flows.taken().filter(|flow| flow.is_named) {
        let found = never_comes(flow, flows).or_else(|| too_short(flow));
        if let Some((message, hint)) = found {
            report.warn(flow.number, message, hint);
        }
    }
    for flow in flows
        .all
        .iter()
        .filter(|flow| !flow.has_length && flow.is_named)
    {
        let Some((least, most)) = flow.route.matching.len else {
            continue;
        };
        let message = format!(
            "route `{}` takes lengths from {least} to {most} (`length`), and {} has {} bytes: no frame of it takes \
             the route",
            flow.route.name,
            flow.place(),
            flow.message.len
        );
        let hint = format!(
            "write `length = \"{}\"`, or leave `length` out",
            flow.message.len
        );
        report.warn(flow.number, message, hint);
    }
}

/// Returns the mistake of an FD message at a port without FD, and the cure.
fn never_comes(flow: &MessageFlow<'_>, flows: &FlowSet<'_>) -> Option<(String, String)> {
    let config = flows.config;
    let is_never = config.passes(flow.from, Kind::Fd) == FramePassage::No;
    flow.message.fd.filter(|_| is_never)?;
    let message = format!(
        "{} is CAN FD with {} bytes and never comes in at port `{}`: route `{}` waits for it",
        flow.place(),
        flow.message.len,
        config.port_name(flow.from),
        flow.route.name
    );
    let hint = "a port has FD frames with a `data_bitrate`, and without `fd = false`";
    Some((message, hint.to_owned()))
}

/// Returns the mistake of a route that reads or writes signals behind the end of the message, and
/// the cure.
fn too_short(flow: &MessageFlow<'_>) -> Option<(String, String)> {
    let len = flow.message.len;
    let name = &flow.route.name;
    let when = flow.route.matching.when.as_ref();
    let needed = when.map_or(0, SignalCondition::least_length);
    let hint = "correct the message's length or the signal in the database".to_owned();
    if needed > len {
        let message = format!(
            "`when` of route `{name}` reads {needed} bytes, and {} has {len}: it is never true",
            flow.place()
        );
        return Some((message, hint));
    }
    let ends = flow.route.actions.iter().filter_map(|action| match action {
        Action::WriteSignals(signals) => Some(signals.end()),
        _ => None,
    });
    let needed = ends.max().filter(|end| *end > len)?;
    // An action before it can make the frame longer.
    let mut probe = RouteProbe::without_conditions(flow.route)?;
    let mut all = samples(flow.message, flow.route);
    if all.any(|payload| probe.pass(flow.message, &payload).is_some()) {
        return None;
    }
    let message = format!(
        "`do` of route `{name}` needs {needed} bytes for its signals, and {} has {len}: it drops each frame",
        flow.place()
    );
    Some((message, hint))
}
