//! The jobs that can-gw should have, checked before anything is changed.

use super::error::Error;
use super::mark::MOST;
use super::version::KernelLimits;
use super::wire::{ECHO, GatewayJob, SAME_PORT};
use linux::link::{NetLink, NetLinks};
use route::cangw::{self, CanGwInexpressible, CanGwRule};
use route::{KernelPort, Routes};
use std::collections::{BTreeMap, BTreeSet};

/// The rules of all routes, in the order in which they are tried.
#[derive(Clone, Debug, Default)]
pub(super) struct DesiredRules {
    /// The routes' names, by [`route::RouteId`].
    pub(super) names: Vec<String>,
    /// The rules, each with the index of its route in `names`.
    pub(super) rules: Vec<(usize, CanGwRule)>,
}

/// Returns, for each route, the reason why this kernel's can-gw cannot run it. This is for callers
/// that run each route where it runs best; [`Offload`](super::CanGwOffload) accepts all routes or
/// none.
///
/// A reason that concerns the routes as a whole (`max_hops`, `match = "first"`) is returned for
/// each route. `there` are the interfaces that this machine has: a check that depends on an
/// interface is skipped until the interface exists.
#[must_use]
pub fn survey(
    routes: &Routes,
    ports: &[Option<KernelPort>],
    there: &[NetLink],
    limits: &KernelLimits,
) -> Vec<Option<CanGwInexpressible>> {
    let ids = (0..).map(route::RouteId).take(routes.routes.len());
    let chains = chains(routes, ports, there);
    ids.map(|id| {
        let because = |why| CanGwInexpressible {
            route: Some(id),
            name: name(routes, id),
            why,
        };
        if let Err(error) = hops(routes, limits) {
            return Some(because(error.to_string()));
        }
        match cangw::rules_of(routes, id, ports) {
            Err(why) => Some(why),
            Ok(rules) => {
                let mut refusals = rules.iter().filter_map(|rule| limits.refusal(rule));
                refusals
                    .next()
                    .or_else(|| chains.get(&id).cloned())
                    .map(because)
            }
        }
    })
    .collect()
}

fn name(routes: &Routes, id: route::RouteId) -> String {
    let route = routes.routes.get(id.0 as usize);
    route.map(|route| route.name.clone()).unwrap_or_default()
}

/// Checks the number of hops: it cannot exceed the module's parameter.
fn hops(routes: &Routes, limits: &KernelLimits) -> Result<(), Error> {
    match limits.max_hops {
        Some(module) if routes.max_hops > module => Err(Error::MaxHops {
            wanted: routes.max_hops,
            module,
        }),
        _ => Ok(()),
    }
}

/// Finds routes whose echo would be taken by other rules. This happens only in can-gw: a port of a
/// gateway does not receive the frames that it sends. With one hop it does not happen in can-gw
/// either.
fn chains(
    routes: &Routes,
    ports: &[Option<KernelPort>],
    there: &[NetLink],
) -> BTreeMap<route::RouteId, String> {
    let mut found = BTreeMap::new();
    if routes.max_hops <= 1 {
        return found;
    }
    let interface = |port: &route::PortId| KernelPort::interface_of(ports, *port);
    let echoes = |port: &route::PortId| {
        let name = interface(port);
        there
            .iter()
            .any(|link| Some(&*link.name) == name && must_echo(link))
    };
    let sources: BTreeSet<_> = routes.routes.iter().flat_map(|route| &route.from).collect();
    for (id, route) in (0..).map(route::RouteId).zip(&routes.routes) {
        if route.hop_limit == Some(1) {
            continue;
        }
        let goes_on = |to: &&route::PortId| sources.contains(to) && (route.echo || echoes(to));
        if let Some(to) = route.to.iter().find(goes_on) {
            let cure = if echoes(to) {
                "a vcan always echoes: set `hop_limit = 1`, or use a vxcan"
            } else {
                "set `hop_limit = 1`, or leave `echo` out"
            };
            let why = format!(
                "can-gw's rules for {} would also take the frames that it echoes there, which \
                 routes do not: {cure}",
                interface(to).unwrap_or("its destination")
            );
            found.insert(id, why);
        }
    }
    found
}

/// Returns whether receivers on this interface get frames only by an echo: a vcan has no other end,
/// regardless of whether it was loaded with `echo=1` (`vcan_tx` in drivers/net/can/vcan.c).
fn must_echo(link: &NetLink) -> bool {
    link.kind == "vcan"
}

/// Returns the job of a rule between these interfaces, with the flags that the semantics of routes
/// require.
fn job(rule: &CanGwRule, source: &NetLink, destination: &NetLink) -> GatewayJob {
    let mut job = GatewayJob::new(rule, source.index, destination.index);
    if must_echo(destination) {
        job.flags |= ECHO;
    }
    // Without this flag can-gw drops a frame, without counting it, if the frame's *first* interface
    // has the destination's index (`can_can_gw_rcv`). That can be an interface of another network
    // namespace, from which a vxcan has brought the frame. A rule from an interface back to itself
    // has the flag only if the route allows that.
    if source.index != destination.index {
        job.flags |= SAME_PORT;
    }
    job
}

impl DesiredRules {
    /// Builds the rules of all routes.
    pub(super) fn new(
        routes: &Routes,
        ports: &[Option<KernelPort>],
        there: &[NetLink],
        limits: &KernelLimits,
    ) -> Result<Self, Error> {
        hops(routes, limits)?;
        let rules = cangw::rules(routes, ports).map_err(Error::Inexpressible)?;
        if rules.len() > MOST {
            return Err(Error::TooMany(rules.len()));
        }
        let mut refused: BTreeMap<route::RouteId, String> = chains(routes, ports, there);
        for (id, rule) in &rules {
            if let Some(why) = limits.refusal(rule) {
                refused.entry(*id).or_insert(why);
            }
        }
        if !refused.is_empty() {
            let all = refused.into_iter().map(|(id, why)| CanGwInexpressible {
                route: Some(id),
                name: name(routes, id),
                why,
            });
            return Err(Error::Inexpressible(all.collect()));
        }
        // If the module allows more hops, each rule specifies the number of hops.
        let lower = limits
            .max_hops
            .is_none_or(|module| routes.max_hops < module);
        let most = routes.max_hops;
        let rules = rules.into_iter().map(|(id, mut rule)| {
            if lower {
                rule.hops = Some(rule.hops.unwrap_or(most).min(most));
            }
            (id.0 as usize, rule)
        });
        Ok(Self {
            names: routes
                .routes
                .iter()
                .map(|route| route.name.clone())
                .collect(),
            rules: rules.collect(),
        })
    }

    /// Returns the name of the route to which a rule belongs.
    pub(super) fn route(&self, place: usize) -> &str {
        let rule = self.rules.get(place);
        let name = rule.and_then(|(route, _)| self.names.get(*route));
        name.map_or("", String::as_str)
    }

    /// Returns the jobs of the rules whose interfaces exist, each with the index of its rule, and
    /// the interfaces that do not exist.
    pub(super) fn resolve(&self, links: &NetLinks) -> (Vec<(usize, GatewayJob)>, BTreeSet<String>) {
        let (mut jobs, mut missing) = (Vec::new(), BTreeSet::new());
        for (place, (_, rule)) in self.rules.iter().enumerate() {
            let find = |name: &String, missing: &mut BTreeSet<String>| {
                let link = links.get(name).filter(|link| link.can);
                if link.is_none() {
                    missing.insert(name.clone());
                }
                link
            };
            let source = find(&rule.source, &mut missing);
            let destination = find(&rule.destination, &mut missing);
            if let (Some(source), Some(destination)) = (source, destination) {
                jobs.push((place, job(rule, source, destination)));
            }
        }
        (jobs, missing)
    }
}
