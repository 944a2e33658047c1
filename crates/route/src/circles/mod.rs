//! Finds routes by which a frame can come back to the port where it came in.

mod frames;

use crate::{PortId, Route, RouteId, RouteMode, Routes};
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use frames::{BLOCKS, FrameSet, both, changed, has_all, taken_by};

/// Maximum number of steps of a search, so that a file with very many routes is read in bounded
/// time.
const STEPS: usize = 20_000;

/// Routes that lead in a circle, in this order; the last one leads to the first one again.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RouteCircle {
    /// The routes, each with the port at which it takes the frame.
    pub routes: Vec<(RouteId, PortId)>,
}

/// The result of a search.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CircleSearch {
    /// The circles. No route is in two of them, unless both circles need it.
    pub circles: Vec<RouteCircle>,
    /// The search ended before it had covered everything.
    pub incomplete: bool,
}

/// Finds circles. In a circle, a frame that one of the routes takes is taken by the same route
/// again after it has passed all the others.
///
/// `hears` returns the ports that receive the frames which a port sends: those on the same bus,
/// without the port itself.
///
/// The search considers IDs, kinds, RTR, and earlier routes that drop frames. It does not consider
/// lengths, payloads, rate limits and `max_hops`: these can end a circle that is found here. After
/// a route that maps IDs or adds to them, the search assumes that the ID can be any.
#[must_use]
pub fn circles(routes: &Routes, hears: &dyn Fn(PortId) -> Vec<PortId>) -> CircleSearch {
    let search = SearchState::new(routes, hears);
    let mut found = CircleSearch::default();
    let mut done = alloc::vec![false; routes.routes.len()];
    let mut steps = STEPS;
    for start in 0..search.taken.len() {
        let Some(&(route, port)) = search.taken.get(start) else {
            continue;
        };
        if done.get(route).copied().unwrap_or(true) {
            continue;
        }
        match search.from(route, port, &mut steps) {
            Some(circle) => {
                for (id, _) in &circle.routes {
                    if let Some(done) = done.get_mut(id.0 as usize) {
                        *done = true;
                    }
                }
                found.circles.push(circle);
            }
            None if steps == 0 => {
                found.incomplete = true;
                return found;
            }
            None => {}
        }
    }
    found
}

/// A route, as the search sees it.
struct RouteTaker<'r> {
    route: &'r Route,
    /// The frames that it takes.
    takes: FrameSet,
    /// The route takes every frame whose ID and kind match.
    whole: bool,
}

struct SearchState<'r> {
    routes: Vec<RouteTaker<'r>>,
    /// For each port, the routes that begin at it, in their order.
    at: Vec<Vec<usize>>,
    /// For each port, the ports that receive the frames which it sends.
    hears: Vec<Vec<PortId>>,
    /// First-match mode: a later route does not see a frame that an earlier one has taken.
    first: bool,
    /// Starting points of searches, as route and port: only ports from which a path leads back.
    taken: Vec<(usize, PortId)>,
}

/// One place of the search.
struct SearchVisit {
    route: usize,
    port: PortId,
    frames: FrameSet,
    before: usize,
}

impl<'r> SearchState<'r> {
    fn new(routes: &'r Routes, hears: &dyn Fn(PortId) -> Vec<PortId>) -> Self {
        let all = || routes.routes.iter();
        let ports = all()
            .flat_map(|route| route.from.iter().chain(&route.to))
            .map(|port| usize::from(port.0) + 1)
            .max()
            .unwrap_or(0);
        let mut search = Self {
            routes: Vec::new(),
            at: alloc::vec![Vec::new(); ports],
            hears: (0..ports).map(|port| hears(PortId(port as u16))).collect(),
            first: routes.mode == RouteMode::First,
            taken: Vec::new(),
        };
        let leads = search.hears.iter().any(|list| !list.is_empty());
        if !leads {
            return search;
        }
        for (number, route) in all().enumerate() {
            let matching = &route.matching;
            search.routes.push(RouteTaker {
                route,
                takes: taken_by(route),
                whole: matching.payload.is_empty() && matching.len.is_none(),
            });
            for port in &route.from {
                if let Some(at) = search.at.get_mut(usize::from(port.0)) {
                    at.push(number);
                }
            }
        }
        let back = search.ports_that_lead_back();
        for (number, route) in all().enumerate() {
            for port in &route.from {
                if back.get(usize::from(port.0)).copied().unwrap_or(false) {
                    search.taken.push((number, *port));
                }
            }
        }
        search
    }

    /// Returns, for each port, whether a frame that came in there could come in there again if
    /// every route took it. In most files there is no such port.
    fn ports_that_lead_back(&self) -> Vec<bool> {
        let count = self.at.len();
        let mut next: Vec<Vec<PortId>> = alloc::vec![Vec::new(); count];
        for (from, next) in next.iter_mut().enumerate() {
            let routes = self.at.get(from).into_iter().flatten();
            for taker in routes.filter_map(|route| self.routes.get(*route)) {
                for to in self.destinations(taker.route, PortId(from as u16)) {
                    for port in self.hears.get(usize::from(to.0)).into_iter().flatten() {
                        if !next.contains(port) {
                            next.push(*port);
                        }
                    }
                }
            }
        }
        let reaches = |start: usize| {
            let mut seen = alloc::vec![false; count];
            let mut open = alloc::vec![PortId(start as u16)];
            while let Some(port) = open.pop() {
                for port in next.get(usize::from(port.0)).into_iter().flatten() {
                    let at = usize::from(port.0);
                    if at == start {
                        return true;
                    }
                    if let Some(seen) = seen.get_mut(at)
                        && !core::mem::replace(seen, true)
                    {
                        open.push(*port);
                    }
                }
            }
            false
        };
        (0..count).map(reaches).collect()
    }

    fn destinations<'a>(
        &self,
        route: &'a Route,
        from: PortId,
    ) -> impl Iterator<Item = PortId> + use<'a> {
        let to = route.to.iter().copied();
        to.filter(move |to| *to != from || route.allow_same_port)
    }

    /// Returns the shortest circle that begins with this route at this port.
    fn from(&self, start: usize, port: PortId, steps: &mut usize) -> Option<RouteCircle> {
        let taker = self.routes.get(start)?;
        let mut visits = alloc::vec![SearchVisit {
            route: start,
            port,
            frames: self.left(start, port, taker.takes.clone()),
            before: usize::MAX,
        }];
        let mut open = VecDeque::from([0]);
        while let Some(at) = open.pop_front() {
            let (route, from, frames) = match visits.get(at) {
                Some(visit) => (visit.route, visit.port, visit.frames.clone()),
                None => continue,
            };
            let Some(taker) = self.routes.get(route) else {
                continue;
            };
            let sent = changed(taker.route, frames);
            for to in self.destinations(taker.route, from) {
                for port in self.hears.get(usize::from(to.0)).into_iter().flatten() {
                    let next = self.at.get(usize::from(port.0)).into_iter().flatten();
                    for number in next {
                        *steps = steps.checked_sub(1)?;
                        let Some(other) = self.routes.get(*number) else {
                            continue;
                        };
                        let frames = self.left(*number, *port, both(&sent, &other.takes));
                        if frames.ids.is_empty() || frames.kinds == 0 {
                            continue;
                        }
                        if (*number, *port) == (start, visits.first()?.port) {
                            return Some(circle(&visits, at));
                        }
                        let known = |visit: &SearchVisit| {
                            (visit.route, visit.port) == (*number, *port)
                                && has_all(&visit.frames, &frames)
                        };
                        if !visits.iter().any(known) {
                            visits.push(SearchVisit {
                                route: *number,
                                port: *port,
                                frames,
                                before: at,
                            });
                            open.push_back(visits.len() - 1);
                        }
                    }
                }
            }
        }
        None
    }

    /// Returns the part of `frames` that the routes before this one leave to it.
    fn left(&self, route: usize, port: PortId, mut frames: FrameSet) -> FrameSet {
        let before = self.at.get(usize::from(port.0)).into_iter().flatten();
        let before = before
            .take_while(|number| **number < route)
            .filter_map(|number| self.routes.get(*number));
        for taker in before {
            let goes = taker.route.drop || self.destinations(taker.route, port).next().is_some();
            if goes
                && taker.whole
                && (taker.route.drop || self.first)
                && frames.kinds & !taker.takes.kinds == 0
            {
                for taken in &taker.takes.ids {
                    let mut rest = Vec::new();
                    for block in &frames.ids {
                        block.without(*taken, &mut rest);
                    }
                    // Too many blocks to distinguish: assume that the earlier route takes none of
                    // them.
                    if rest.len() <= BLOCKS {
                        frames.ids = rest;
                    }
                }
            }
        }
        frames
    }
}

fn circle(visits: &[SearchVisit], last: usize) -> RouteCircle {
    let mut routes = Vec::new();
    let mut at = last;
    while let Some(visit) = visits.get(at) {
        routes.push((RouteId(visit.route as u32), visit.port));
        at = visit.before;
    }
    routes.reverse();
    RouteCircle { routes }
}
