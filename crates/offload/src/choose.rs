//! Which data path is best for each route on this machine: BPF, can-gw, or the gateway's own
//! process.
//!
//! # What must stay together
//! Wherever they run, routes mean the same, and frames arrive in the order in which they came. So
//! two routes go to one data path
//!
//! * if both begin at one port, and the first that matches is the only one
//!   ([`Mode::First`](route::Mode)), or one of the port's routes drops: then the one decides
//!   whether the other sees a frame;
//! * if both begin at one port and lead to one port: the faster path would overtake the slower;
//! * if one leads to where the other begins, and what is sent there comes in there, too: a virtual
//!   interface (or one that is not there yet, which might be virtual), or a route with `echo`. Only
//!   within one data path is it known which frames have passed this gateway already (`max_hops`).
//!
//! # What means something else there
//! The kernel sends an error frame as it is, and a controller makes another frame of it. This
//! process sends none. So a route that takes error frames and leads to a controller stays here. BPF
//! cannot send into a vcan: a route to an interface that is not there yet does not run by BPF.
//!
//! Routes from one port that need not stay together can be split: a route that writes a log does
//! not keep the others out of the kernel. BPF then leaves frames that it takes to the others as
//! well ([`bpf::Options::tap`]).

use crate::bpf;
use crate::data_path::DataPath;
use crate::kernel_path::KernelPath;
use crate::kernel_paths::{KERNEL_PATHS, kernel_path};
use crate::machine::Machine;
use route::parts::{sort, sorts};
use route::{Mode, PortId, Route, RouteId, Routes};
use std::collections::{HashMap, HashSet};

/// Where a route runs, and why not in a faster data path.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Choice {
    /// Where.
    pub data_path: DataPath,
    /// For each faster data path, why not there.
    pub because: Vec<(DataPath, String)>,
    /// No interface that it begins at carries XL frames, so that it can go without them.
    pub no_xl: bool,
}

/// For each route, why it cannot run in this data path on this machine.
#[must_use]
pub fn objections(
    routes: &Routes,
    interfaces: &[Option<String>],
    machine: &Machine,
    data_path: DataPath,
) -> Vec<Option<String>> {
    match kernel_path(data_path) {
        Some(path) => path.objections(routes, interfaces, machine),
        None => vec![None; routes.routes.len()],
    }
}

/// Why routes cannot run in one of the kernel's data paths.
struct Candidate {
    path: &'static dyn KernelPath,
    /// By [`RouteId`].
    reasons: Vec<Option<String>>,
}

/// The fastest data path for each route, by [`RouteId`]. `interfaces` are the Linux interfaces of
/// the ports, by [`PortId`]; `None` for a port that is none.
#[must_use]
pub fn choose(routes: &Routes, interfaces: &[Option<String>], machine: &Machine) -> Vec<Choice> {
    let groups = groups(routes, interfaces, machine);
    let no_xl: Vec<bool> = routes
        .routes
        .iter()
        .map(|route| begins_without_xl(route, interfaces, machine))
        .collect();
    let mut candidates = KERNEL_PATHS.map(|path| {
        let each = routes.routes.iter().zip(&no_xl);
        let narrowed = Routes {
            routes: each
                .map(|(route, no_xl)| narrowed(route, *no_xl && path.without_xl()))
                .collect(),
            ..*routes
        };
        let mut reasons = path.objections(&narrowed, interfaces, machine);
        for (reason, route) in reasons.iter_mut().zip(&routes.routes) {
            if reason.is_none() {
                *reason = error_frames_to_a_controller(route, interfaces, machine)
                    .or_else(|| into_the_unknown(path, route, interfaces, machine));
            }
        }
        Candidate { path, reasons }
    });
    loop {
        let choices = fastest(routes, &groups, &candidates, &no_xl);
        // What is too much is found only where all of them are together.
        let mut news = false;
        for Candidate { path, reasons } in &mut candidates {
            let (chosen, ids) = part(routes, &choices, path.data_path());
            let too_much = path.objections(&chosen, interfaces, machine);
            for (id, wrong) in ids.iter().zip(too_much) {
                if let (Some(reason), Some(_)) = (reasons.get_mut(id.0 as usize), &wrong) {
                    news |= reason.is_none();
                    *reason = wrong;
                }
            }
        }
        if !news {
            return choices;
        }
    }
}

/// For each route the first candidate that has nothing against it, nor against those with which it
/// must stay.
fn fastest(
    routes: &Routes,
    groups: &[usize],
    candidates: &[Candidate],
    no_xl: &[bool],
) -> Vec<Choice> {
    let kept_out: Vec<HashMap<usize, usize>> = candidates
        .iter()
        .map(|candidate| kept_out(&candidate.reasons, groups))
        .collect();
    let choice = |(id, (group, no_xl)): (usize, (&usize, &bool))| {
        let mut because = Vec::new();
        let mut data_path = DataPath::Process;
        for (Candidate { path, reasons }, kept_out) in candidates.iter().zip(&kept_out) {
            let own = reasons.get(id).cloned().flatten();
            let why = own.or_else(|| {
                let other = routes.routes.get(*kept_out.get(group)?)?;
                Some(format!("must stay with route `{}`", other.name))
            });
            let Some(why) = why else {
                data_path = path.data_path();
                break;
            };
            because.push((path.data_path(), why));
        }
        Choice {
            data_path,
            because,
            no_xl: *no_xl,
        }
    };
    let each = groups.iter().zip(no_xl).enumerate();
    each.map(choice).collect()
}

/// The routes of one data path, in their order, and which of all routes they are.
#[must_use]
pub fn part(routes: &Routes, choices: &[Choice], data_path: DataPath) -> (Routes, Vec<RouteId>) {
    let without_xl = kernel_path(data_path).is_some_and(KernelPath::without_xl);
    let ids = (0..).map(RouteId).zip(routes.routes.iter().zip(choices));
    let (ids, chosen) = ids
        .filter(|(_, (_, choice))| choice.data_path == data_path)
        .map(|(id, (route, choice))| (id, narrowed(route, choice.no_xl && without_xl)))
        .unzip();
    let part = Routes {
        mode: routes.mode,
        max_hops: routes.max_hops,
        routes: chosen,
    };
    (part, ids)
}

/// Do routes of other data paths begin where routes of this one begin? Then they must see the
/// frames that BPF takes.
#[must_use]
pub fn shares_entrances(routes: &Routes, choices: &[Choice], data_path: DataPath) -> bool {
    let begin = |here: bool| -> HashSet<PortId> {
        let routes = routes.routes.iter().zip(choices);
        routes
            .filter(|(_, choice)| (choice.data_path == data_path) == here)
            .flat_map(|(route, _)| route.from.iter().copied())
            .collect()
    };
    !begin(true).is_disjoint(&begin(false))
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

/// Why a route to an interface that is not there yet must not run in a data path that does not
/// reach every interface.
fn into_the_unknown(
    path: &dyn KernelPath,
    route: &Route,
    interfaces: &[Option<String>],
    machine: &Machine,
) -> Option<String> {
    let name = |to: &PortId| interfaces.get(usize::from(to.0))?.as_deref();
    let mut to = route.to.iter().filter_map(name);
    let absent = to.find(|name| !path.reaches_vcan() && machine.find(name).is_none())?;
    Some(format!(
        "goes to {absent}, which is not there: it may come as a vcan, into which {} sends nothing",
        path.data_path()
    ))
}

/// Why a route that takes error frames must not run in the kernel.
fn error_frames_to_a_controller(
    route: &Route,
    interfaces: &[Option<String>],
    machine: &Machine,
) -> Option<String> {
    if sorts(route) & sort::ANY_ERR == 0 {
        return None;
    }
    let name = |to: &PortId| interfaces.get(usize::from(to.0))?.as_deref();
    let is_controller = |name: &&str| machine.find(name).is_some_and(|there| !there.is_virtual());
    let to = route.to.iter().filter_map(name).find(is_controller)?;
    Some(format!(
        "takes error frames, of which the controller of {to} would make other frames; this process \
         refuses them"
    ))
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

/// For each group that cannot go to a data path, the first route that keeps it out.
fn kept_out(reasons: &[Option<String>], groups: &[usize]) -> HashMap<usize, usize> {
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
        // Buses and logs of this process are known to it alone, and no other data path begins
        // there.
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

#[cfg(all(test, feature = "bpf"))]
mod tests;
