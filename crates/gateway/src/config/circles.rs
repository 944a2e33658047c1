//! Routes that form a loop for frames, over buses that several ports are on, and over networks
//! between two ports of the file.

use super::GatewayConfig;
use config::{Diagnostic, Diagnostics, SourceText};
use port::{NetworkLink, PortSpec};
use route::{PortId, RouteCircle, RouteId, circles};
use std::collections::HashMap;
use std::ops::Range;

/// Warns of each loop, with the names of its routes and their lines. `spans` are the places of the
/// routes in the file.
pub(super) fn warn(
    source: &SourceText,
    config: &GatewayConfig,
    spans: &[Range<usize>],
    found: &mut Diagnostics,
) {
    let on: Vec<Option<String>> = config.ports.iter().map(|p| p.settings.bus()).collect();
    let mut ports: HashMap<&str, Vec<PortId>> = HashMap::new();
    for (number, bus) in (0..).zip(&on) {
        if let Some(bus) = bus {
            ports.entry(bus).or_default().push(PortId(number));
        }
    }
    let link = |p: &PortSpec| p.settings.network_link();
    let links: Vec<Option<NetworkLink>> = config.ports.iter().map(link).collect();
    let bus_of = |port: PortId| on.get(usize::from(port.0))?.as_deref();
    let hears = |port: PortId| {
        let all = bus_of(port).and_then(|bus| ports.get(bus));
        let others = all.into_iter().flatten().filter(|other| **other != port);
        let others = others.copied().chain(over_network(&links, port));
        others.collect()
    };
    let all = circles(&config.routes, &hears);
    for circle in &all.circles {
        let first = circle.routes.first().map_or(RouteId(0), |(id, _)| *id);
        let message = format!(
            "a frame can go round in a circle, again and again: {}",
            path(source, config, spans, circle, &bus_of)
        );
        let hint = "take away one of the routes, or give them IDs (`id`) that do not lead back";
        found.push(Diagnostic::warning(span(spans, first), message).hint(hint));
    }
    if all.incomplete {
        let message = "too many routes lead back to their own buses to find all circles";
        found.push(Diagnostic::warning(0..0, message).hint("use fewer ports on one bus"));
    }
}

/// Returns the ports at which the frames come in that a port sends to a network.
fn over_network(links: &[Option<NetworkLink>], port: PortId) -> impl Iterator<Item = PortId> {
    let from = links.get(usize::from(port.0)).and_then(Option::as_ref);
    let others = (0..)
        .zip(links)
        .filter(move |(number, _)| *number != port.0);
    others.filter_map(move |(number, link)| {
        let is_reached = from?.reaches(link.as_ref()?);
        is_reached.then_some(PortId(number))
    })
}

fn span(spans: &[Range<usize>], route: RouteId) -> Range<usize> {
    spans.get(route.0 as usize).cloned().unwrap_or(0..0)
}

/// Formats a loop as `from port a by route x (line 9) to bus y, …`.
fn path<'a>(
    source: &SourceText,
    config: &GatewayConfig,
    spans: &[Range<usize>],
    circle: &RouteCircle,
    bus_of: &impl Fn(PortId) -> Option<&'a str>,
) -> String {
    let name = |port: PortId| {
        let port = config.ports.get(usize::from(port.0));
        port.map_or("", |port| port.name.as_str())
    };
    let mut text = String::new();
    for (route, port) in &circle.routes {
        if !text.is_empty() {
            text.push_str(", then ");
        }
        let before = source.text.get(..span(spans, *route).start);
        let line = before.map_or(0, |before| before.matches('\n').count()) + 1;
        let of = config.routes.routes.get(route.0 as usize);
        text.push_str(&format!(
            "route `{}` (line {line}) from port `{}`",
            of.map_or("", |route| route.name.as_str()),
            name(*port),
        ));
        if let Some(bus) = bus_of(*port) {
            text.push_str(&format!(" on {bus}"));
        }
    }
    text
}
