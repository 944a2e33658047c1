//! Messages that a route or a port has no room for.

use super::RouteReport;
use super::flow::{FlowSet, MessageFlow};
use frame::Kind;
use port::FramePassage;
use std::collections::BTreeMap;

/// Warns of FD messages that are sent to a port without FD, and of messages that a route names and
/// whose length it does not take.
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
