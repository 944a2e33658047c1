//! Finds routes by which a frame can come back to where it came from.

use crate::filter::blocks;
use crate::match_key::{Class, sort};
use crate::table::sorts;
use crate::{Mode, PortId, Route, RouteId, Routes};
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use frame::CanId;

/// Steps that a search makes at most, so that a file with very many routes is read in a bounded time.
const STEPS: usize = 20_000;

/// Blocks of IDs that are told apart at one place of the search. Of more it is taken that the route
/// sees all its IDs.
const BLOCKS: usize = 256;

/// Routes that lead in a circle, in this order; the last one leads to the first one again.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Circle {
    /// The routes. Each of them stands there with the port at which it takes the frame.
    pub routes: Vec<(RouteId, PortId)>,
}

/// What a search found.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Circles {
    /// No route stands in two of them, unless both are needed to go round.
    pub circles: Vec<Circle>,
    /// The search ended before everything was looked at.
    pub incomplete: bool,
}

/// Finds circles: a frame that one of their routes takes is taken by it again, after all the others.
///
/// `hears` says which ports receive what a port sends: those on the same bus, without the port itself.
///
/// IDs, kinds, RTR, and routes before that drop are taken into account. Lengths, payloads, rate limits
/// and `max_hops` are not: they can end a circle that is found here. IDs that a route maps or adds to
/// are taken to be any afterwards.
#[must_use]
pub fn circles(routes: &Routes, hears: &dyn Fn(PortId) -> Vec<PortId>) -> Circles {
    let search = Search::new(routes, hears);
    let mut found = Circles::default();
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

/// IDs with their flags: those whose bits under the mask are the value's.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Block {
    mask: u32,
    value: u32,
}

impl Block {
    fn and(self, other: Self) -> Option<Self> {
        let differs = (self.value ^ other.value) & self.mask & other.mask;
        (differs == 0).then_some(Self {
            mask: self.mask | other.mask,
            value: self.value | other.value,
        })
    }

    /// Adds its IDs without those of the other.
    fn without(self, other: Self, rest: &mut Vec<Self>) {
        if self.and(other).is_none() {
            rest.push(self);
            return;
        }
        let mut common = self;
        let mut open = other.mask & !self.mask;
        while open != 0 {
            let bit = open & open.wrapping_neg();
            open &= !bit;
            rest.push(Self {
                mask: common.mask | bit,
                value: common.value | (!other.value & bit),
            });
            common.mask |= bit;
            common.value |= other.value & bit;
        }
    }

    /// Has it all IDs of the other?
    fn covers(self, other: Self) -> bool {
        self.mask & !other.mask == 0 && (self.value ^ other.value) & self.mask == 0
    }
}

/// Frames, as far as the search tells them apart.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Frames {
    /// Their kinds: bits of [`sort`]. RTR stands in the blocks.
    kinds: u8,
    ids: Vec<Block>,
}

/// A route's part of the search.
struct Taker<'r> {
    route: &'r Route,
    /// What it takes.
    takes: Frames,
    /// It takes each frame whose ID and kind are its own.
    whole: bool,
}

struct Search<'r> {
    routes: Vec<Taker<'r>>,
    /// For each port, the routes that begin there, in their order.
    at: Vec<Vec<usize>>,
    /// For each port, the ports that receive what it sends.
    hears: Vec<Vec<PortId>>,
    /// A later route does not see what an earlier one takes.
    first: bool,
    /// Where frames can come from a route: route and port, only those from which ports lead back.
    taken: Vec<(usize, PortId)>,
}

/// One place of the search.
struct Visit {
    route: usize,
    port: PortId,
    frames: Frames,
    before: usize,
}

impl<'r> Search<'r> {
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
            first: routes.mode == Mode::First,
            taken: Vec::new(),
        };
        let leads = search.hears.iter().any(|list| !list.is_empty());
        if !leads {
            return search;
        }
        for (number, route) in all().enumerate() {
            search.routes.push(taker(route));
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

    /// The ports at which something can come in again of what has come in there, whatever the routes
    /// take. In most files there is none.
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

    /// The shortest circle that begins with this route at this port.
    fn from(&self, start: usize, port: PortId, steps: &mut usize) -> Option<Circle> {
        let taker = self.routes.get(start)?;
        let mut visits = alloc::vec![Visit {
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
                        let known = |visit: &Visit| {
                            (visit.route, visit.port) == (*number, *port)
                                && has_all(&visit.frames, &frames)
                        };
                        if !visits.iter().any(known) {
                            visits.push(Visit {
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

    /// What routes before it leave to a route.
    fn left(&self, route: usize, port: PortId, mut frames: Frames) -> Frames {
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
                    // Too many to tell apart: as if they were left.
                    if rest.len() <= BLOCKS {
                        frames.ids = rest;
                    }
                }
            }
        }
        frames
    }
}

fn circle(visits: &[Visit], last: usize) -> Circle {
    let mut routes = Vec::new();
    let mut at = last;
    while let Some(visit) = visits.get(at) {
        routes.push((RouteId(visit.route as u32), visit.port));
        at = visit.before;
    }
    routes.reverse();
    Circle { routes }
}

/// Kinds of frame without RTR and errors: nobody sends error frames.
const KINDS: [(u8, u8); 3] = [
    (sort::CLASSIC | sort::CLASSIC_RTR, sort::CLASSIC),
    (sort::FD, sort::FD),
    (sort::XL, sort::XL),
];

fn taker(route: &Route) -> Taker<'_> {
    let sorts = sorts(route);
    let kinds = KINDS
        .iter()
        .filter(|(any, _)| sorts & any != 0)
        .fold(0, |kinds, (_, kind)| kinds | kind);
    // Remote frames are classic ones; the flag is one of the ID's.
    let remote = match sorts & (sort::CLASSIC | sort::CLASSIC_RTR) {
        sort::CLASSIC => Some(0),
        sort::CLASSIC_RTR => Some(CanId::RTR_FLAG),
        _ => None,
    };
    let mut ids = Vec::new();
    for (class, flags) in [(Class::Sff, 0), (Class::Eff, CanId::EFF_FLAG)] {
        let mut add = |mask: u32, value: u32| {
            let mut block = Block {
                mask: mask | CanId::EFF_FLAG | CanId::ERR_FLAG,
                value: value | flags,
            };
            if let Some(flag) = remote {
                let one = Block {
                    mask: CanId::RTR_FLAG,
                    value: flag,
                };
                match block.and(one) {
                    Some(both) => block = both,
                    None => return,
                }
            }
            ids.push(block);
        };
        if route.matching.ids.is_empty() {
            add(0, 0);
        }
        for id in &route.matching.ids {
            blocks(id, class, &mut add);
        }
    }
    let matching = &route.matching;
    Taker {
        route,
        takes: Frames { kinds, ids },
        whole: matching.payload.is_empty() && matching.len.is_none(),
    }
}

/// What a route makes of frames.
fn changed(route: &Route, mut frames: Frames) -> Frames {
    for action in &route.actions {
        match action.id_bits() {
            Some((and, xor)) => {
                for block in &mut frames.ids {
                    *block = Block {
                        mask: !and | (block.mask & and),
                        value: (block.value & and) ^ (xor & (!and | block.mask)),
                    };
                }
            }
            None => {
                frames.ids = alloc::vec![Block {
                    mask: CanId::ERR_FLAG,
                    value: 0,
                }];
            }
        }
    }
    let mut kept: Vec<Block> = Vec::new();
    for block in frames.ids {
        // An error frame is not sent.
        let error = block.mask & block.value & CanId::ERR_FLAG != 0;
        if !error && !kept.contains(&block) {
            kept.push(block);
        }
    }
    frames.ids = kept;
    frames
}

/// The frames of both.
fn both(a: &Frames, b: &Frames) -> Frames {
    let mut ids: Vec<Block> = Vec::new();
    for one in &a.ids {
        for block in b.ids.iter().filter_map(|other| one.and(*other)) {
            if !ids.iter().any(|all| all.covers(block)) {
                ids.push(block);
            }
        }
        if ids.len() > BLOCKS {
            return Frames {
                kinds: a.kinds & b.kinds,
                ids: b.ids.clone(),
            };
        }
    }
    Frames {
        kinds: a.kinds & b.kinds,
        ids,
    }
}

/// Has one all frames of the other?
fn has_all(all: &Frames, some: &Frames) -> bool {
    some.kinds & !all.kinds == 0
        && some
            .ids
            .iter()
            .all(|block| all.ids.iter().any(|all| all.covers(*block)))
}
