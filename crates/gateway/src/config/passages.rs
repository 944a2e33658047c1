//! Kinds of frame that a route takes and its ports do not support.

use super::GatewayConfig;
use super::carried::single;
use config::{Diagnostic, Diagnostics};
use frame::Kind;
use port::{FramePassage, PeerLimits};
use route::{KindSet, PortId, Route, Routes, TriState};
use std::ops::Range;

/// Returns the kinds that a route takes.
fn kinds(route: &Route) -> impl Iterator<Item = Kind> {
    let KindSet { classic, fd, xl } = route.matching.kinds;
    let all = !(classic || fd || xl);
    let each = [(Kind::Classic, classic), (Kind::Fd, fd), (Kind::Xl, xl)];
    each.into_iter()
        .filter(move |(_, taken)| *taken || all)
        .map(|(kind, _)| kind)
}

fn word(kind: Kind) -> &'static str {
    match kind {
        Kind::Classic => "classic",
        Kind::Fd => "FD",
        Kind::Xl => "XL",
    }
}

/// Returns the setting that lets frames of a kind pass a port.
fn cure(kind: Kind) -> &'static str {
    match kind {
        Kind::Classic => "",
        Kind::Fd => {
            "a port takes FD frames with a `data_bitrate`, and without `fd = false`; one of kind \"socketcand\" never"
        }
        Kind::Xl => {
            "a port of kind \"socketcan\" takes XL frames with `xl = true`, other kinds of port never"
        }
    }
}

/// Warns of frames that come in at one port and never leave by the other, and of routes whose kinds
/// of frame never come in. `spans` are the places of the routes in the file.
pub(super) fn warn(config: &GatewayConfig, spans: &[Range<usize>], found: &mut Diagnostics) {
    for (route, span) in config.routes.routes.iter().zip(spans) {
        let refused = kinds(route).find_map(|kind| {
            let comes = |from: &&PortId| {
                let passes = config.passes(**from, kind) == FramePassage::Yes;
                passes && !(kind == Kind::Fd && takes_parts_only(config, route, **from))
            };
            let from = route.from.iter().find(comes)?;
            let leaves =
                |to: &&PortId| *to != from && config.passes(**to, kind) == FramePassage::No;
            Some((kind, *from, *route.to.iter().find(leaves)?))
        });
        if let Some((kind, from, to)) = refused {
            let message = format!(
                "{} frames from port `{}` never leave by port `{}`: route `{}` counts them as refused (`unsupported`)",
                word(kind),
                config.port_name(from),
                config.port_name(to),
                route.name
            );
            let hint = format!(
                "leave them out by `kind`, such as `kind = \"classic\"`; {}",
                cure(kind)
            );
            found.push(Diagnostic::warning(span.clone(), message).hint(hint));
        }
        warn_of_limits(config, route, span, found);
        let never = |kind| {
            route
                .from
                .iter()
                .all(|from| config.passes(*from, kind) == FramePassage::No)
        };
        if !route.from.is_empty() && kinds(route).all(never) {
            let all: Vec<&str> = kinds(route).map(word).collect();
            let ports: Vec<String> = route
                .from
                .iter()
                .map(|id| format!("`{}`", config.port_name(*id)))
                .collect();
            let message = format!(
                "no frame reaches route `{}`: it takes {} frames, and port {} has none of them",
                route.name,
                all.join(" and "),
                ports.join(", ")
            );
            let hint = kinds(route).last().map_or("", cure);
            found.push(Diagnostic::warning(span.clone(), message).hint(hint));
        }
    }
}

/// Returns whether a route takes only parts of FD frames from a port that splits these: classic
/// frames.
fn takes_parts_only(config: &GatewayConfig, route: &Route, from: PortId) -> bool {
    let port = config.ports.get(usize::from(from.0));
    let pairs = port.map_or_else(Vec::new, |port| port.settings.split_ids());
    let is_of_parts =
        |filter| single(filter).is_some_and(|id| pairs.iter().any(|pair| pair.parts == id));
    let ids = &route.matching.ids;
    !ids.is_empty() && ids.iter().all(is_of_parts)
}

/// Warns of what a route takes or keeps, and the protocol of a port's other side cannot express.
fn warn_of_limits(
    config: &GatewayConfig,
    route: &Route,
    span: &Range<usize>,
    found: &mut Diagnostics,
) {
    let port = |id: &PortId| config.ports.get(usize::from(id.0));
    let limits =
        |id: &PortId| port(id).map_or_else(PeerLimits::default, |port| port.settings.peer_limits());
    let takes_remote = route.matching.rtr != TriState::No
        && kinds(route).any(|kind| kind == Kind::Classic)
        && route.from.iter().any(|from| limits(from).remote);
    if takes_remote && let Some(to) = route.to.iter().find(|to| !limits(to).remote) {
        let message = format!(
            "remote frames never leave by port `{}`: route `{}` counts them as refused (`unsupported`)",
            config.port_name(*to),
            route.name
        );
        let hint = "its protocol has none: leave them out by `rtr = false`, or use a port of kind \"cannelloni\" or \"slcan\"";
        found.push(Diagnostic::warning(span.clone(), message).hint(hint));
    }
    let plays_out = |id: &&PortId| port(id).is_some_and(|port| port.settings.plays_out());
    let has_stamps = |id: &PortId| port(id).is_some_and(|port| port.settings.interface().is_some());
    if !route.keep_stamp
        && route.from.iter().any(has_stamps)
        && let Some(to) = route.to.iter().find(plays_out)
    {
        let message = format!(
            "the other side of port `{}` gets the times of sending, not those on the bus: it cannot restore the gaps of \
             the bus behind route `{}`",
            config.port_name(*to),
            route.name
        );
        let hint = "add `keep_stamp = true` to the route";
        found.push(Diagnostic::warning(span.clone(), message).hint(hint));
    }
    if route.keep_stamp
        && let Some(to) = route.to.iter().find(|to| !limits(to).stamps)
    {
        let message = format!(
            "`keep_stamp` has no effect at port `{}` of route `{}`: the other side gets no time stamps, or replaces them",
            config.port_name(*to),
            route.name
        );
        let hint = "leave it out; a port of kind \"socketcand\" with `listen` and one of kind \"log\" have stamps";
        found.push(Diagnostic::warning(span.clone(), message).hint(hint));
    }
}

impl GatewayConfig {
    /// Returns whether this kind of frame passes a port, as far as the file shows.
    pub(super) fn passes(&self, port: PortId, kind: Kind) -> FramePassage {
        let port = self.ports.get(usize::from(port.0));
        port.map_or(FramePassage::Open, |port| port.settings.passes(kind))
    }

    pub(super) fn port_name(&self, port: PortId) -> &str {
        let port = self.ports.get(usize::from(port.0));
        port.map_or("", |port| port.name.as_str())
    }

    /// Returns whether none of the ports at which the route begins has XL frames.
    #[must_use]
    pub(crate) fn begins_without_xl(&self, route: &Route) -> bool {
        let mut from = route.from.iter();
        from.all(|port| self.passes(*port, Kind::Xl) == FramePassage::No)
    }

    /// Returns the routes in the form for the kernel: a route that would take XL frames as well,
    /// from ports that have none (by default no port has), takes classic and FD frames.
    #[must_use]
    pub fn kernel_routes(&self) -> Routes {
        let mut routes = self.routes.clone();
        for route in &mut routes.routes {
            let without = self.begins_without_xl(route);
            let kinds = &mut route.matching.kinds;
            if without && (kinds.classic || kinds.fd) {
                kinds.xl = false;
            }
        }
        routes
    }
}
