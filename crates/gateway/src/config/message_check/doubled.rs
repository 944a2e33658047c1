//! Messages of two senders that have one ID on one bus.

use super::RouteReport;
use super::flow::FlowSet;
use super::sequence::{LeavingMessages, pair, way};
use frame::CanId;
use route::PortId;
use std::collections::BTreeSet;

/// Warns of two messages that reach a port with the same ID. `reported` are those of which
/// something worse was reported.
pub(super) fn check(
    flows: &FlowSet<'_>,
    leaving: &LeavingMessages<'_, '_>,
    reported: &BTreeSet<(PortId, u32)>,
    report: &mut RouteReport<'_>,
) {
    let config = flows.config;
    for ((to, id), all) in leaving {
        let (to, id) = (*to, *id);
        if reported.contains(&(to, id)) {
            continue;
        }
        let Some((first, second)) = pair(all, config.routes.mode) else {
            continue;
        };
        // One frame on two routes is found without a database, too.
        if first.from == second.from && first.message.id == second.message.id {
            continue;
        }
        let what = match first.message.id == second.message.id {
            true => format!("{} of two senders", second.place()),
            false => format!(
                "{} and {}, both with the ID {}",
                first.place(),
                second.place(),
                CanId::from_raw(id)
            ),
        };
        let message = format!(
            "port `{}` gets {what}: {} and {}",
            config.port_name(to),
            way(flows, first),
            way(flows, second)
        );
        let hint = "take the message from one port by one route, or give one of them another ID (`map`): \
                    receivers cannot tell the two apart";
        report.warn(second.number, message, hint);
    }
}
