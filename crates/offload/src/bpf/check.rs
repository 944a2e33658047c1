//! The routes that BPF cannot express, with the reasons.

use super::Interface;
use super::compile::{PortInterface, compile, program, sorts};
use super::condition::plan;
use super::interfaces::swallows;
use super::layout::{CANDIDATES, DESTINATIONS, GROUPS, MERGED, OPS};
use route::parts::sort;
use route::{KernelPort, PortId, Route, RouteId, Routes};
use std::fmt;

/// A route that BPF cannot express.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BpfInexpressible {
    /// The route.
    pub route: RouteId,
    /// Its name.
    pub name: String,
    /// The port that is concerned, if it is one that is not a CAN interface.
    pub port: Option<PortId>,
    /// The reason and its remedy.
    pub why: String,
}

impl fmt::Display for BpfInexpressible {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "route {:?}: {}", self.name, self.why)
    }
}

/// Returns every route that BPF cannot express, with the reason. `ports` are by
/// [`PortId`]; `None` for a port that is not a Linux interface. `there` are those
/// that this machine has: a check that depends on an interface is skipped until the interface
/// exists. The routes must have a meaning ([`route::RoutingTable::compile`]).
#[must_use]
pub fn survey(
    routes: &Routes,
    ports: &[Option<KernelPort>],
    there: &[Interface],
) -> Vec<BpfInexpressible> {
    let find = |port: &Option<KernelPort>| {
        let name = &port.as_ref()?.interface;
        there.iter().find(|link| link.name == *name)
    };
    let mut found = not_can(routes, ports);
    let ports: Vec<Option<&Interface>> = ports.iter().map(find).collect();
    let elsewhere = found.len();
    for (route, about) in all(routes) {
        let wrong = |why| about_route(route, about, None, why);
        found.extend(reasons(about, &ports).into_iter().map(wrong));
    }
    if found.len() == elsewhere {
        found.extend(one_too_many(routes, ports.len()));
    }
    found
}

fn all(routes: &Routes) -> impl Iterator<Item = (RouteId, &Route)> {
    (0..).map(RouteId).zip(&routes.routes)
}

fn about_route(
    route: RouteId,
    about: &Route,
    port: Option<PortId>,
    why: String,
) -> BpfInexpressible {
    BpfInexpressible {
        route,
        name: about.name.clone(),
        port,
        why,
    }
}

/// Returns the routes with ports that are not CAN interfaces.
fn not_can(routes: &Routes, ports: &[Option<KernelPort>]) -> Vec<BpfInexpressible> {
    let is_none = |port: &&PortId| KernelPort::interface_of(ports, **port).is_none();
    let mut found = Vec::new();
    for (route, about) in all(routes) {
        let from = about.from.iter().find(is_none);
        let to = about.to.iter().find(is_none);
        let which = match (from, to) {
            (None, None) => continue,
            (Some(_), None) => "comes from",
            (None, Some(_)) => "goes to",
            (Some(_), Some(_)) => "comes from and goes to",
        };
        let why = format!(
            "{which} a port that is not a CAN interface of Linux, and BPF routes among these only"
        );
        found.push(about_route(route, about, from.or(to).copied(), why));
    }
    found
}

/// Returns the reasons against this route that do not depend on the other routes.
fn reasons(route: &Route, ports: &[Option<&Interface>]) -> Vec<String> {
    let interface = |port: &PortId| ports.get(usize::from(port.0)).copied().flatten();
    let mut why = Vec::new();
    if route.keep_stamp {
        why.push("BPF cannot keep the receive time stamp: remove `keep_stamp`".to_owned());
    }
    if route.verify.is_some() || route.protect.is_some() {
        let reason =
            "BPF cannot check or write an end-to-end protection: remove `verify` and `protect`";
        why.push(reason.to_owned());
    }
    let all = route::parts::sorts(route);
    if all & sort::XL != 0 {
        if sorts(route) == 0 {
            why.push("BPF does not route XL frames".to_owned());
        } else if let Some(from) = route
            .from
            .iter()
            .filter_map(interface)
            .find(|i| i.carries_xl())
        {
            why.push(format!(
                "BPF does not route XL frames, and {} carries them: write `kinds = [\"classic\", \
                 \"fd\"]`",
                from.name
            ));
        }
    }
    if route.to.len() > DESTINATIONS {
        why.push(format!(
            "has {} destinations, and BPF supports {DESTINATIONS} at most",
            route.to.len()
        ));
    }
    if let Some(when) = &route.matching.when
        && let Err(cannot) = plan(when)
    {
        why.push(cannot);
    }
    match program(&route.actions) {
        Ok(program) => {
            let changes = program.instructions().len();
            if changes > OPS {
                why.push(format!(
                    "has {changes} changes (modifications in a row count as one), and BPF supports \
                     {OPS} at most"
                ));
            }
        }
        Err(cannot) => why.push(cannot),
    }
    for to in route.to.iter().filter_map(interface) {
        if swallows(to) {
            why.push(format!(
                "goes to {}, and a vcan interface shows local programs nothing of what BPF puts into \
                 it: use a vxcan, or another `offload`",
                to.name
            ));
        } else if route.echo && !to.echo {
            why.push(format!(
                "has `echo`, and {} has no echo of its own, without which BPF shows local programs \
                 nothing: remove `echo`, or use another `offload`",
                to.name
            ));
        }
    }
    why
}

/// Returns the first route with which a frame can match more routes than the program's loops can
/// process.
fn one_too_many(routes: &Routes, ports: usize) -> Option<BpfInexpressible> {
    let fits = |count: usize| {
        let some = Routes {
            routes: routes.routes.get(..count).unwrap_or_default().to_vec(),
            ..*routes
        };
        let image = compile(&some, &vec![PortInterface::default(); ports]);
        image
            .reach
            .iter()
            .flatten()
            .find(|reach| !reach.fits())
            .copied()
    };
    let reach = fits(routes.routes.len())?;
    let (mut good, mut bad) = (0, routes.routes.len());
    while bad - good > 1 {
        let middle = good.midpoint(bad);
        if fits(middle).is_some() {
            bad = middle;
        } else {
            good = middle;
        }
    }
    let route = routes.routes.get(good)?;
    Some(BpfInexpressible {
        route: RouteId(good as u32),
        name: route.name.clone(),
        port: None,
        why: if reach.masks > GROUPS {
            format!(
                "with it the routes from one port have more than {GROUPS} different masks, the \
                 maximum of BPF (a range has one mask for each size of its blocks)"
            )
        } else {
            format!(
                "with it one frame could meet {} routes, and BPF tries {} of one filter and {} of \
                 several",
                reach.longest.max(reach.merged),
                CANDIDATES - 1,
                MERGED - 1
            )
        },
    })
}
