//! Where each route runs best on this machine: by BPF, by can-gw, or in the gateway's own process.
//!
//! # What must stay together
//! Wherever they run, routes mean the same, and frames arrive in the order in which they came. So
//! two routes go to one place
//!
//! * if both begin at one port, and the first that matches is the only one
//!   ([`Mode::First`](route::Mode)), or one of the port's routes drops: then the one decides
//!   whether the other sees a frame;
//! * if both begin at one port and lead to one port: the faster place would overtake the slower;
//! * if one leads to where the other begins, and what is sent there comes in there, too: a virtual
//!   interface (or one that is not there yet, which might be), or a route with `echo`. Only within
//!   one place is it known which frames have passed this gateway already (`max_hops`).
//!
//! Routes from one port that need not stay together can be split: a route that writes a log does
//! not keep the others out of the kernel. BPF then leaves frames that it takes to the others as
//! well ([`bpf::Options::tap`]).

use crate::{bpf, cangw};
use route::{Mode, PortId, Route, RouteId, Routes};
use std::collections::{HashMap, HashSet};
use std::fmt;

/// A place in which a route can run; the fastest first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Place {
    /// In the kernel, at the entrance of its interfaces.
    Bpf,
    /// In the kernel, as rules of can-gw.
    CanGw,
    /// In the process of the gateway.
    Process,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Bpf => "bpf",
            Self::CanGw => "can-gw",
            Self::Process => "process",
        })
    }
}

/// What there is on a machine.
#[derive(Clone, Debug)]
pub struct Machine {
    /// Its CAN interfaces.
    pub interfaces: Vec<bpf::Interface>,
    /// Can BPF be had? If not, why.
    pub bpf: Result<(), String>,
    /// Can can-gw be had, and what does it do? If not, why.
    pub can_gw: Result<cangw::Limits, String>,
}

impl Machine {
    /// This machine, as far as it shows itself to this process. Loads can-gw where it is missing
    /// and this process may.
    #[must_use]
    pub fn look() -> Self {
        let can_gw = || {
            let mut kernel = cangw::Kernel::open()?;
            kernel.ready()?;
            Ok::<_, cangw::Error>(kernel.limits())
        };
        Self {
            interfaces: bpf::interfaces().unwrap_or_default(),
            bpf: bpf::features().map(drop).map_err(|why| why.to_string()),
            can_gw: can_gw().map_err(|why| why.to_string()),
        }
    }

    fn find(&self, name: &str) -> Option<&bpf::Interface> {
        self.interfaces.iter().find(|there| there.name == name)
    }
}

/// Where a route runs, and why not at a faster place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Placed {
    /// Where.
    pub place: Place,
    /// For each faster place, why not there.
    pub because: Vec<(Place, String)>,
    /// No interface that it begins at carries XL frames, so that it can go without them.
    pub no_xl: bool,
}

/// For each route, why it cannot run at this place on this machine.
#[must_use]
pub fn objections(
    routes: &Routes,
    interfaces: &[Option<String>],
    machine: &Machine,
    place: Place,
) -> Vec<Option<String>> {
    let as_it_is = vec![false; routes.routes.len()];
    match place {
        Place::Bpf => not_by_bpf(routes, interfaces, machine),
        Place::CanGw => not_by_can_gw(routes, &as_it_is, interfaces, machine),
        Place::Process => vec![None; routes.routes.len()],
    }
}

/// The fastest place for each route, by [`RouteId`]. `interfaces` are the Linux interfaces of the
/// ports, by [`PortId`]; `None` for a port that is none.
#[must_use]
pub fn place(routes: &Routes, interfaces: &[Option<String>], machine: &Machine) -> Vec<Placed> {
    let groups = groups(routes, interfaces, machine);
    let mut bpf = not_by_bpf(routes, interfaces, machine);
    let no_xl: Vec<bool> = routes
        .routes
        .iter()
        .map(|route| begins_without_xl(route, interfaces, machine))
        .collect();
    let can_gw = not_by_can_gw(routes, &no_xl, interfaces, machine);
    let no_xl = |id: usize| no_xl.get(id).copied().unwrap_or(false);
    loop {
        let candidates = [
            (Place::Bpf, &bpf, kept_out(&bpf, &groups)),
            (Place::CanGw, &can_gw, kept_out(&can_gw, &groups)),
        ];
        let placed: Vec<Placed> = groups
            .iter()
            .enumerate()
            .map(|(id, group)| {
                let mut because = Vec::new();
                for (place, reasons, kept_out) in &candidates {
                    let own = reasons.get(id).cloned().flatten();
                    let why = own.or_else(|| {
                        let other = routes.routes.get(*kept_out.get(group)?)?;
                        Some(format!("must stay with route `{}`", other.name))
                    });
                    match why {
                        None => {
                            let place = *place;
                            return Placed {
                                place,
                                because,
                                no_xl: no_xl(id),
                            };
                        }
                        Some(why) => because.push((*place, why)),
                    }
                }
                Placed {
                    place: Place::Process,
                    because,
                    no_xl: no_xl(id),
                }
            })
            .collect();
        // What is too much is found only where all of them are together.
        let (chosen, ids) = part(routes, &placed, Place::Bpf);
        let too_much = bpf::inexpressible(&chosen, &found(interfaces, machine));
        let mut news = false;
        for wrong in too_much {
            let id = ids.get(wrong.route.0 as usize).map(|id| id.0 as usize);
            if let Some(why) = id.and_then(|id| bpf.get_mut(id)) {
                news |= why.is_none();
                *why = Some(wrong.why);
            }
        }
        if !news {
            return placed;
        }
    }
}

/// The routes of one place, in their order, and which of all routes they are.
#[must_use]
pub fn part(routes: &Routes, placed: &[Placed], place: Place) -> (Routes, Vec<RouteId>) {
    let ids = (0..).map(RouteId).zip(routes.routes.iter().zip(placed));
    let (ids, chosen) = ids
        .filter(|(_, (_, placed))| placed.place == place)
        .map(|(id, (route, placed))| (id, narrowed(route, placed.no_xl && place == Place::CanGw)))
        .unzip();
    let part = Routes {
        mode: routes.mode,
        max_hops: routes.max_hops,
        routes: chosen,
    };
    (part, ids)
}

/// Do routes elsewhere begin where routes of this place begin? Then they must see the frames that
/// BPF takes.
#[must_use]
pub fn shares_entrances(routes: &Routes, placed: &[Placed], place: Place) -> bool {
    let begin = |here: bool| -> HashSet<PortId> {
        let routes = routes.routes.iter().zip(placed);
        routes
            .filter(|(_, placed)| (placed.place == place) == here)
            .flat_map(|(route, _)| route.from.iter().copied())
            .collect()
    };
    !begin(true).is_disjoint(&begin(false))
}

fn found(interfaces: &[Option<String>], machine: &Machine) -> Vec<Option<bpf::Interface>> {
    interfaces
        .iter()
        .map(|name| machine.find(name.as_deref()?).cloned())
        .collect()
}

type Reasons = Vec<Option<String>>;

fn not_by_bpf(routes: &Routes, interfaces: &[Option<String>], machine: &Machine) -> Reasons {
    let mut reasons: Reasons = routes
        .routes
        .iter()
        .map(|route| {
            if let Err(why) = &machine.bpf {
                return Some(why.clone());
            }
            let none =
                |port: &PortId| !matches!(interfaces.get(usize::from(port.0)), Some(Some(_)));
            route
                .from
                .iter()
                .chain(&route.to)
                .any(none)
                .then(|| "one of its ports is no CAN interface".to_owned())
        })
        .collect();
    if machine.bpf.is_ok() {
        for wrong in bpf::inexpressible(routes, &found(interfaces, machine)) {
            if let Some(reason) = reasons.get_mut(wrong.route.0 as usize) {
                reason.get_or_insert(wrong.why);
            }
        }
    }
    reasons
}

fn not_by_can_gw(
    routes: &Routes,
    no_xl: &[bool],
    interfaces: &[Option<String>],
    machine: &Machine,
) -> Reasons {
    let limits = match &machine.can_gw {
        Err(why) => return vec![Some(why.clone()); routes.routes.len()],
        Ok(limits) => limits,
    };
    let each = routes.routes.iter().zip(no_xl);
    let narrowed = Routes {
        routes: each.map(|(route, no_xl)| narrowed(route, *no_xl)).collect(),
        ..*routes
    };
    cangw::survey(&narrowed, interfaces, limits)
        .into_iter()
        .map(|reason| reason.map(|wrong| wrong.why))
        .collect()
}

/// can-gw knows no XL frames, and has no rule for a route that takes them.
fn narrowed(route: &Route, no_xl: bool) -> Route {
    let mut route = route.clone();
    let kinds = &mut route.matching.kinds;
    if no_xl && (kinds.classic || kinds.fd) {
        kinds.xl = false;
    }
    route
}

fn begins_without_xl(route: &Route, interfaces: &[Option<String>], machine: &Machine) -> bool {
    route.from.iter().all(|port| {
        let name = interfaces
            .get(usize::from(port.0))
            .and_then(Option::as_deref);
        name.and_then(|name| machine.find(name))
            .is_some_and(|there| !there.carries_xl())
    })
}

/// For each group that cannot go to a place, the first route that keeps it out.
fn kept_out(reasons: &Reasons, groups: &[usize]) -> HashMap<usize, usize> {
    let mut found = HashMap::new();
    for (id, (reason, group)) in reasons.iter().zip(groups).enumerate() {
        if reason.is_some() {
            found.entry(*group).or_insert(id);
        }
    }
    found
}

/// For each route a number that it has in common with those with which it must stay.
fn groups(routes: &Routes, interfaces: &[Option<String>], machine: &Machine) -> Vec<usize> {
    let mut sets = Sets::new(routes.routes.len());
    let all = || routes.routes.iter().enumerate();
    let drops: HashSet<PortId> = all()
        .filter(|(_, route)| route.drop)
        .flat_map(|(_, route)| route.from.iter().copied())
        .collect();
    let mut first: HashMap<(PortId, Option<PortId>), usize> = HashMap::new();
    for (id, route) in all() {
        for from in &route.from {
            if routes.mode == Mode::First || drops.contains(from) {
                sets.join(*first.entry((*from, None)).or_insert(id), id);
                continue;
            }
            for to in &route.to {
                sets.join(*first.entry((*from, Some(*to))).or_insert(id), id);
            }
        }
    }
    let mut begin: HashMap<PortId, Vec<usize>> = HashMap::new();
    for (id, route) in all() {
        for from in &route.from {
            begin.entry(*from).or_default().push(id);
        }
    }
    let comes_in = |to: PortId| match interfaces.get(usize::from(to.0)) {
        Some(Some(name)) => machine.find(name).is_none_or(bpf::Interface::is_virtual),
        // Buses and logs of this process are known to it alone, and no other place begins there.
        _ => false,
    };
    for (id, route) in all() {
        for to in &route.to {
            if !route.echo && !comes_in(*to) {
                continue;
            }
            // All of them once, however many lead there.
            for other in begin.remove(to).unwrap_or_default() {
                sets.join(id, other);
                begin.insert(*to, vec![other]);
            }
        }
    }
    (0..routes.routes.len()).map(|id| sets.find(id)).collect()
}

/// Disjoint sets of routes.
struct Sets(Vec<usize>);

impl Sets {
    fn new(len: usize) -> Self {
        Self((0..len).collect())
    }

    fn find(&mut self, mut of: usize) -> usize {
        while let Some(&up) = self.0.get(of)
            && up != of
        {
            // Half the way for those who come after.
            let above = self.0.get(up).copied().unwrap_or(up);
            if let Some(here) = self.0.get_mut(of) {
                *here = above;
            }
            of = up;
        }
        of
    }

    fn join(&mut self, a: usize, b: usize) {
        let (a, b) = (self.find(a), self.find(b));
        if let Some(top) = self.0.get_mut(a.max(b)) {
            *top = a.min(b);
        }
    }
}

#[cfg(test)]
mod tests;
