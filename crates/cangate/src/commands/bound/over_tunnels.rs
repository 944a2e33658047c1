//! Tunnels on the way of a message to the receiver whose timeout is compared.

use super::connected::ConnectedSet;
use super::tunnel_words;
use super::words::micros;
use analysis::tunnel::TunnelPassage;
use analysis::{MessagePlace, NetworkFound};

/// Returns the reason why a tunnel need not hand on each frame that arrives.
pub(super) fn drops_late(
    connected: &ConnectedSet,
    found: &NetworkFound,
    passage: TunnelPassage,
) -> Option<String> {
    let tunnel = connected.network.tunnels.get(passage.tunnel)?;
    let flow = tunnel.flows.get(passage.flow)?;
    let ends = connected.tunnel_ports.get(passage.tunnel)?;
    let ends = ends.get(flow.port)?;
    let times = ends.play_out?;
    let delay = found.tunnels.get(passage.tunnel)?.as_ref().ok()?;
    let delay = delay.flows.get(passage.flow)?;
    // A frame is due `delay` after its stamp, which is at its end at the earliest, in a clock that
    // is wrong by the stated error at most. With the sender's own clock, the offset between the
    // clocks has the least transit in it.
    let transit = match (times.common_clock, times.delay) {
        (true, _) => 0,
        (false, None) => delay.least,
        (false, Some(due)) => {
            let early = due.saturating_sub(ends.clock_error.unwrap_or(0));
            delay.least.saturating_sub(early)
        }
    };
    let late = delay
        .arrival()
        .saturating_add(ends.clock_error.unwrap_or(0));
    let late = late.saturating_sub(transit.saturating_add(times.delay.unwrap_or(0)));
    let limit = match (times.drops_late && times.delay.is_some(), times.max_age) {
        (true, _) => Some((0, "late frames")),
        (false, Some(age)) => Some((age, "old frames")),
        (false, None) => None,
    };
    let (_, what) = limit.filter(|(limit, _)| late > *limit)?;
    Some(format!(
        "port {} drops {what}, and one of tunnel {} can be {} µs late",
        ends.far,
        tunnel.name,
        micros(late)
    ))
}

/// Returns the times that were measured or stated, and on which a distance depends.
pub(super) fn conditions(
    connected: &ConnectedSet,
    found: &NetworkFound,
    place: MessagePlace,
    passage: Option<TunnelPassage>,
) -> Vec<String> {
    let network = &connected.network;
    let all = found.conditions(network);
    let of_place = all.get(place.bus);
    let of_place = of_place.and_then(|bus| bus.get(place.message));
    let mut tunnels = of_place.cloned().unwrap_or_default();
    if let Some(passage) = passage
        && let Some(tunnel) = network.tunnels.get(passage.tunnel)
    {
        if tunnel.stated.is_some() {
            tunnels.insert(passage.tunnel);
        }
        for flow in &tunnel.flows {
            let known = all
                .get(flow.from.bus)
                .and_then(|bus| bus.get(flow.from.message));
            tunnels.extend(known.into_iter().flatten());
        }
    }
    tunnel_words::conditions(network, &tunnels)
}
