//! Selects the best data path for each route on this machine: BPF, can-gw, or the gateway's own
//! process.
//!
//! # Routes that must stay together
//! Routes have the same meaning in every data path, and frames keep their order. Therefore two
//! routes must use one data path
//!
//! * if both begin at one port, and only the first match counts
//!   ([`RouteMode::First`](route::RouteMode)) or one of the port's routes drops: then one route
//!   decides whether the other sees a frame;
//! * if both begin at one port and lead to one port: the faster path would overtake the slower one;
//! * if one leads to the port where the other begins, and frames that are sent there also come in
//!   there: this is so at a virtual interface (or one that does not exist yet, which might be
//!   virtual), and for a route with `echo`. Only within one data path is it known which frames have
//!   passed this gateway already (`max_hops`).
//!
//! # Differences between the data paths
//! The kernel sends an error frame unchanged, and a controller turns it into a different frame.
//! This process does not send error frames. So a route that takes error frames and leads to a
//! controller stays in this process. BPF cannot send into a vcan: a route to an interface that does
//! not exist yet does not run in BPF.
//!
//! Routes from one port that need not stay together can be split: a route that writes a log does
//! not keep the other routes out of the kernel. BPF then also leaves the frames that it takes to
//! the other data paths ([`bpf::BpfOptions::tap`]).

use crate::bpf;
use crate::data_path::DataPath;
use crate::kernel_path::KernelPath;
use crate::kernel_paths::{KERNEL_PATHS, kernel_path};
use crate::machine::HostMachine;
use route::parts::{sort, sorts};
use route::{KernelPort, PortId, Route, RouteId, RouteMode, Routes};
use std::collections::{HashMap, HashSet};

/// The data path of a route, and the reasons against faster ones.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PathChoice {
    /// The data path.
    pub data_path: DataPath,
    /// For each faster data path, the reason against it.
    pub because: Vec<(DataPath, String)>,
    /// None of the source interfaces carries XL frames, so the route can run without them.
    pub no_xl: bool,
}

/// Returns, for each route, the reason why it cannot run in this data path on this machine.
#[must_use]
pub fn objections(
    routes: &Routes,
    ports: &[Option<KernelPort>],
    machine: &HostMachine,
    data_path: DataPath,
) -> Vec<Option<String>> {
    match kernel_path(data_path) {
        Some(path) => path.objections(routes, ports, machine),
        None => vec![None; routes.routes.len()],
    }
}

/// The objections of one of the kernel's data paths to routes.
struct PathCandidate {
    path: &'static dyn KernelPath,
    /// The reasons, by [`RouteId`].
    reasons: Vec<Option<String>>,
}

impl PathCandidate {
    /// Asks the data path. `no_xl`: for each route, whether it can run without XL frames.
    fn new(
        path: &'static dyn KernelPath,
        routes: &Routes,
        ports: &[Option<KernelPort>],
        machine: &HostMachine,
        no_xl: &[bool],
    ) -> Self {
        let each = routes.routes.iter().zip(no_xl);
        let narrowed = Routes {
            routes: each
                .map(|(route, no_xl)| narrowed(route, *no_xl && path.without_xl()))
                .collect(),
            ..*routes
        };
        let reasons = path.objections(&narrowed, ports, machine);
        Self { path, reasons }
    }
}

/// Returns the fastest data path for each route, by [`RouteId`]. `ports` are by
/// [`PortId`]; `None` for a port that is not a Linux interface.
#[must_use]
pub fn choose(
    routes: &Routes,
    ports: &[Option<KernelPort>],
    machine: &HostMachine,
) -> Vec<PathChoice> {
    let no_xl = all_without_xl(routes, ports, machine);
    let candidates = KERNEL_PATHS.map(|path| {
        let mut candidate = PathCandidate::new(path, routes, ports, machine, &no_xl);
        for (reason, route) in candidate.reasons.iter_mut().zip(&routes.routes) {
            if reason.is_none() {
                *reason = error_frames_to_a_controller(route, ports, machine)
                    .or_else(|| into_the_unknown(path, route, ports, machine));
            }
        }
        candidate
    });
    settle(routes, ports, machine, candidates.into(), &no_xl)
}

/// Returns this data path for each route that it can run on this machine, and this process for the
/// others and for those that must stay with them; by [`RouteId`].
#[must_use]
pub fn choose_only(
    data_path: DataPath,
    routes: &Routes,
    ports: &[Option<KernelPort>],
    machine: &HostMachine,
) -> Vec<PathChoice> {
    let no_xl = all_without_xl(routes, ports, machine);
    let candidate = |path| PathCandidate::new(path, routes, ports, machine, &no_xl);
    let candidates = kernel_path(data_path).map(candidate);
    settle(
        routes,
        ports,
        machine,
        candidates.into_iter().collect(),
        &no_xl,
    )
}

/// Returns the first candidate for each route that neither this route nor the choice as a whole
/// rules out.
fn settle(
    routes: &Routes,
    ports: &[Option<KernelPort>],
    machine: &HostMachine,
    mut candidates: Vec<PathCandidate>,
    no_xl: &[bool],
) -> Vec<PathChoice> {
    let groups = groups(routes, ports, machine);
    loop {
        let choices = fastest(routes, &groups, &candidates, no_xl);
        // Limits on the routes as a whole can be checked only once all routes of a path are known.
        let mut news = false;
        for PathCandidate { path, reasons } in &mut candidates {
            let (chosen, ids) = part(routes, &choices, path.data_path());
            let too_much = path.objections(&chosen, ports, machine);
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

/// Returns, for each route, the first candidate without an objection to it or to the routes with
/// which it must stay.
fn fastest(
    routes: &Routes,
    groups: &[usize],
    candidates: &[PathCandidate],
    no_xl: &[bool],
) -> Vec<PathChoice> {
    let kept_out: Vec<HashMap<usize, usize>> = candidates
        .iter()
        .map(|candidate| kept_out(&candidate.reasons, groups))
        .collect();
    let choice = |(id, (group, no_xl)): (usize, (&usize, &bool))| {
        let mut because = Vec::new();
        let mut data_path = DataPath::Process;
        for (PathCandidate { path, reasons }, kept_out) in candidates.iter().zip(&kept_out) {
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
        PathChoice {
            data_path,
            because,
            no_xl: *no_xl,
        }
    };
    let each = groups.iter().zip(no_xl).enumerate();
    each.map(choice).collect()
}

/// Returns the routes of one data path, in their order, with their numbers among all routes.
#[must_use]
pub fn part(
    routes: &Routes,
    choices: &[PathChoice],
    data_path: DataPath,
) -> (Routes, Vec<RouteId>) {
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

/// Returns whether routes of other data paths begin at a port where routes of this one begin. Then
/// they must see the frames that BPF takes.
#[must_use]
pub fn shares_entrances(routes: &Routes, choices: &[PathChoice], data_path: DataPath) -> bool {
    let begin = |here: bool| -> HashSet<PortId> {
        let routes = routes.routes.iter().zip(choices);
        routes
            .filter(|(_, choice)| (choice.data_path == data_path) == here)
            .flat_map(|(route, _)| route.from.iter().copied())
            .collect()
    };
    !begin(true).is_disjoint(&begin(false))
}

/// Returns the route without XL frames if it can run without them: can-gw does not support XL
/// frames, and has no rule for a route that takes them.
fn narrowed(route: &Route, no_xl: bool) -> Route {
    let mut route = route.clone();
    let kinds = &mut route.matching.kinds;
    if no_xl && (kinds.classic || kinds.fd) {
        kinds.xl = false;
    }
    route
}

/// Returns the reason why a route to an interface that does not exist yet must not run in a data
/// path that cannot reach every interface.
fn into_the_unknown(
    path: &dyn KernelPath,
    route: &Route,
    ports: &[Option<KernelPort>],
    machine: &HostMachine,
) -> Option<String> {
    let name = |to: &PortId| KernelPort::interface_of(ports, *to);
    let mut to = route.to.iter().filter_map(name);
    let absent = to.find(|name| !path.reaches_vcan() && machine.find(name).is_none())?;
    Some(format!(
        "goes to {absent}, which is missing: it may appear as a vcan, to which {} sends nothing",
        path.data_path()
    ))
}

/// Returns the reason why a route that takes error frames must not run in the kernel.
fn error_frames_to_a_controller(
    route: &Route,
    ports: &[Option<KernelPort>],
    machine: &HostMachine,
) -> Option<String> {
    if sorts(route) & sort::ANY_ERR == 0 {
        return None;
    }
    let name = |to: &PortId| KernelPort::interface_of(ports, *to);
    let is_controller = |name: &&str| machine.find(name).is_some_and(|there| !there.is_virtual());
    let to = route.to.iter().filter_map(name).find(is_controller)?;
    Some(format!(
        "takes error frames, of which the controller of {to} would make other frames; this process \
         refuses them"
    ))
}

/// Returns, for each route, whether it can run without XL frames.
fn all_without_xl(
    routes: &Routes,
    ports: &[Option<KernelPort>],
    machine: &HostMachine,
) -> Vec<bool> {
    let routes = routes.routes.iter();
    routes
        .map(|route| begins_without_xl(route, ports, machine))
        .collect()
}

fn begins_without_xl(route: &Route, ports: &[Option<KernelPort>], machine: &HostMachine) -> bool {
    route.from.iter().all(|port| {
        KernelPort::interface_of(ports, *port)
            .and_then(|name| machine.find(name))
            .is_some_and(|there| !there.carries_xl())
    })
}

/// Returns, for each group that cannot use a data path, the first route that prevents it.
fn kept_out(reasons: &[Option<String>], groups: &[usize]) -> HashMap<usize, usize> {
    let mut found = HashMap::new();
    for (id, (reason, group)) in reasons.iter().zip(groups).enumerate() {
        if reason.is_some() {
            found.entry(*group).or_insert(id);
        }
    }
    found
}

/// Returns a number for each route; routes that must stay together have the same number.
fn groups(routes: &Routes, ports: &[Option<KernelPort>], machine: &HostMachine) -> Vec<usize> {
    let mut sets = RouteSets::new(routes.routes.len());
    let all = || routes.routes.iter().enumerate();
    let drops: HashSet<PortId> = all()
        .filter(|(_, route)| route.drop)
        .flat_map(|(_, route)| route.from.iter().copied())
        .collect();
    let mut first: HashMap<(PortId, Option<PortId>), usize> = HashMap::new();
    for (id, route) in all() {
        for from in &route.from {
            if routes.mode == RouteMode::First || drops.contains(from) {
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
    let comes_in = |to: PortId| match KernelPort::interface_of(ports, to) {
        Some(name) => machine.find(name).is_none_or(bpf::Interface::is_virtual),
        // Only this process knows its buses and logs; routes of other data paths never begin there.
        _ => false,
    };
    for (id, route) in all() {
        for to in &route.to {
            if !route.echo && !comes_in(*to) {
                continue;
            }
            // Join each of them once, regardless of how many routes lead there.
            for other in begin.remove(to).unwrap_or_default() {
                sets.join(id, other);
                begin.insert(*to, vec![other]);
            }
        }
    }
    (0..routes.routes.len()).map(|id| sets.find(id)).collect()
}

/// Disjoint sets of routes.
struct RouteSets(Vec<usize>);

impl RouteSets {
    fn new(len: usize) -> Self {
        Self((0..len).collect())
    }

    fn find(&mut self, mut of: usize) -> usize {
        while let Some(&up) = self.0.get(of)
            && up != of
        {
            // Halve the path for later searches.
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
