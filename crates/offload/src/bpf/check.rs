//! What BPF cannot do, by the name of the route.

use super::compile::{Place, compile, sorts};
use super::layout::{CANDIDATES, DESTINATIONS, GROUPS, MERGED, OPS};
use super::ops::ops;
use super::{Error, Interface, interfaces};
use route::parts::sort;
use route::{PortId, Route, RouteId, Routes};
use std::fmt;

/// A route that BPF cannot express.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Inexpressible {
    /// The route.
    pub route: RouteId,
    /// Its name.
    pub name: String,
    /// Why, and what to do about it.
    pub why: String,
}

impl fmt::Display for Inexpressible {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "route {:?}: {}", self.name, self.why)
    }
}

/// Every route that BPF cannot express, with the reason. `ports` are the ports' interfaces, as far
/// as they exist. The routes must have a meaning ([`route::Table::compile`]).
#[must_use]
pub fn inexpressible(routes: &Routes, ports: &[Option<Interface>]) -> Vec<Inexpressible> {
    let mut found = Vec::new();
    for (number, route) in routes.routes.iter().enumerate() {
        for why in reasons(route, ports) {
            found.push(Inexpressible {
                route: RouteId(number as u32),
                name: route.name.clone(),
                why,
            });
        }
    }
    if found.is_empty() {
        found.extend(one_too_many(routes, ports.len()));
    }
    found
}

/// What [`inexpressible`] finds with the interfaces that are there now, and routes of ports that
/// are no CAN interfaces (`None`).
///
/// # Errors
/// What the kernel says.
pub fn survey(
    routes: &Routes,
    interfaces_of_ports: &[Option<String>],
) -> Result<Vec<Inexpressible>, Error> {
    let all = interfaces()?;
    let find = |name: &Option<String>| {
        let name = name.as_ref()?;
        all.iter().find(|there| there.name == *name).cloned()
    };
    let found: Vec<Option<Interface>> = interfaces_of_ports.iter().map(find).collect();
    let mut wrong = not_can(routes, interfaces_of_ports);
    wrong.extend(inexpressible(routes, &found));
    Ok(wrong)
}

/// Routes of ports that are no CAN interfaces.
pub(super) fn not_can(routes: &Routes, interfaces: &[Option<String>]) -> Vec<Inexpressible> {
    let is_can = |port: &PortId| {
        let known = interfaces.get(usize::from(port.0));
        known.is_some_and(Option::is_some)
    };
    let mut found = Vec::new();
    for (number, route) in routes.routes.iter().enumerate() {
        let (from, to) = (route.from.iter().all(is_can), route.to.iter().all(is_can));
        let which = match (from, to) {
            (true, true) => continue,
            (false, true) => "comes from",
            (true, false) => "goes to",
            (false, false) => "comes from and goes to",
        };
        found.push(Inexpressible {
            route: RouteId(number as u32),
            name: route.name.clone(),
            why: format!(
                "{which} a port that is no CAN interface of Linux, and BPF routes among these \
                 only: let it run in user space"
            ),
        });
    }
    found
}

/// Why this route, whatever the others are.
fn reasons(route: &Route, ports: &[Option<Interface>]) -> Vec<String> {
    let interface = |port: &PortId| ports.get(usize::from(port.0)).and_then(Option::as_ref);
    let mut why = Vec::new();
    if route.keep_stamp {
        why.push("BPF cannot keep the receive time stamp: take `keep_stamp` away".to_owned());
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
                "BPF does not route XL frames, and {} carries them: say `kinds = [\"classic\", \
                 \"fd\"]`",
                from.name
            ));
        }
    }
    if route.to.len() > DESTINATIONS {
        why.push(format!(
            "has {} destinations, and BPF does {DESTINATIONS} at most",
            route.to.len()
        ));
    }
    let changes = ops(&route.actions, &mut Vec::new()).len();
    if changes > OPS {
        why.push(format!(
            "has {changes} changes (modifications in a row count as one), and BPF does {OPS} at \
             most"
        ));
    }
    for to in route
        .to
        .iter()
        .filter_map(interface)
        .filter(|to| to.swallows())
    {
        why.push(format!(
            "goes to {}, and a vcan interface shows local programs nothing of what BPF puts into \
             it: use vxcan, or load vcan with `modprobe vcan echo=1`",
            to.name
        ));
    }
    why
}

/// The first route with which a frame can meet more than the program's loops reach.
fn one_too_many(routes: &Routes, ports: usize) -> Option<Inexpressible> {
    let fits = |count: usize| {
        let some = Routes {
            routes: routes.routes.get(..count).unwrap_or_default().to_vec(),
            ..*routes
        };
        let image = compile(&some, &vec![Place::default(); ports]);
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
    Some(Inexpressible {
        route: RouteId(good as u32),
        name: route.name.clone(),
        why: if reach.masks > GROUPS {
            format!(
                "with it the routes from one port have more than {GROUPS} different masks, and BPF \
                 looks at no more (a range has a mask for each size of the blocks that it is made \
                 of)"
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
