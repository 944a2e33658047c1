//! Finds routes that interfere with each other: routes that no frame reaches, frames that are sent
//! twice to the same bus, and drops that come too late.

mod block;
mod condition;
mod index;

#[cfg(test)]
mod tests;

use crate::{FrameMatch, PortId, Route, RouteId, RouteMode, Routes};
use alloc::vec::Vec;
use block::{FrameBlock, taken_by};
use core::ops::Range;
use index::BlockIndex;

/// Maximum number of blocks that a search examines, so that a file with very many routes is read in
/// bounded time: about a second.
const STEPS: usize = 10_000_000;

/// Maximum number of blocks that are distinguished in one route. If more remain, the search assumes
/// that frames reach the route.
const BLOCKS: usize = 1024;

/// The result of a search.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RouteOverlaps {
    /// Routes that no frame reaches, because earlier routes take all of their frames.
    pub unreachable: Vec<UnreachableRoute>,
    /// Frames that two routes send to the same bus; at most one entry for each later route.
    pub doubled: Vec<DoubledRoutes>,
    /// Routes with `drop` that come too late: earlier routes send all of their frames, and there is
    /// no later route from which they keep frames.
    pub late: Vec<UnreachableRoute>,
    /// The search ended before it had covered everything.
    pub incomplete: bool,
}

/// A route that has no effect.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnreachableRoute {
    /// The route.
    pub route: RouteId,
    /// The routes before it that take its frames, in their order.
    pub by: Vec<RouteId>,
}

/// Two routes that send the same frame to the same bus.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DoubledRoutes {
    /// The earlier one.
    pub first: RouteId,
    /// The later one.
    pub second: RouteId,
    /// The port at which the frame comes in.
    pub from: PortId,
    /// The port to which the later one sends it.
    pub to: PortId,
    /// SocketCAN's 32 bits of such a frame's ID, flags included.
    pub example: u32,
}

/// Searches the routes. `bus_of` returns the same port for all ports that are on the same bus; for
/// a port that is alone on its bus, it returns that port.
///
/// Kinds, flags and IDs are compared bit by bit. Conditions on payload and length are compared
/// where that is simple; in doubtful cases nothing is reported. Two routes with the same filters
/// (`id`, `filter`) and different changes are assumed to produce two frames on purpose, and are not
/// reported as a doubling.
#[must_use]
pub fn overlaps(routes: &Routes, bus_of: &dyn Fn(PortId) -> PortId) -> RouteOverlaps {
    let search = OverlapSearch::new(routes);
    let mut steps = STEPS;
    let mut found = RouteOverlaps::default();
    for number in 0..routes.routes.len() {
        if let Some(by) = search.takers(number, &search.ending, &mut steps) {
            found.unreachable.push(UnreachableRoute {
                route: RouteId(number as u32),
                by,
            });
            continue;
        }
        if routes.mode == RouteMode::First {
            continue;
        }
        found.late.extend(search.is_late_drop(number, &mut steps));
        found
            .doubled
            .extend(search.doubled(number, bus_of, &mut steps));
        if steps == 0 {
            break;
        }
    }
    found.incomplete = steps == 0;
    found
}

struct OverlapSearch<'r> {
    routes: &'r [Route],
    /// The blocks that all routes take, one route after the other.
    takes: Vec<FrameBlock>,
    /// The range of each route's blocks in `takes`.
    places: Vec<Range<usize>>,
    /// Routes that end the search for a frame: those that drop; in first-match mode, all.
    ending: BlockIndex,
    /// Routes that send.
    sending: BlockIndex,
}

/// Returns the destinations of a frame that comes in at this port.
fn destinations(route: &Route, from: PortId) -> impl Iterator<Item = PortId> {
    let to = route.to.iter().copied();
    to.filter(move |to| *to != from || route.allow_same_port)
}

impl<'r> OverlapSearch<'r> {
    fn new(routes: &'r Routes) -> Self {
        let first = routes.mode == RouteMode::First;
        let all = &routes.routes;
        let mut takes = Vec::new();
        let mut places = Vec::new();
        for route in all {
            let start = takes.len();
            taken_by(route, &mut takes);
            places.push(start..takes.len());
        }
        let index = |wanted: &dyn Fn(&Route, PortId) -> bool| {
            let each = all.iter().zip(&places).zip(0..);
            BlockIndex::new(each.flat_map(|((route, place), number)| {
                let blocks = takes.get(place.clone()).unwrap_or_default();
                let ports = route.from.iter().copied();
                ports
                    .filter(move |port| wanted(route, *port))
                    .flat_map(move |port| blocks.iter().map(move |block| (port, *block, number)))
            }))
        };
        let sends = |route: &Route, port| !route.drop && destinations(route, port).next().is_some();
        let sending = index(&sends);
        let ending = index(&|route, port| route.drop || (first && sends(route, port)));
        Self {
            routes: all,
            takes,
            places,
            ending,
            sending,
        }
    }

    fn find(&self, number: usize) -> Option<(&'r Route, &[FrameBlock])> {
        let place = self.places.get(number)?.clone();
        Some((self.routes.get(number)?, self.takes.get(place)?))
    }

    fn matching(&self, number: usize) -> Option<&'r FrameMatch> {
        self.routes.get(number).map(|route| &route.matching)
    }

    /// Returns the earlier routes that together take all frames of this route at all its ports;
    /// `None` if a frame is left.
    fn takers(&self, number: usize, index: &BlockIndex, steps: &mut usize) -> Option<Vec<RouteId>> {
        let (route, blocks) = self.find(number)?;
        let mut by = Vec::new();
        for port in &route.from {
            for block in blocks {
                let left = self.left(number, *port, *block, index, &mut by, steps)?;
                left.is_empty().then_some(())?;
            }
        }
        by.sort_unstable();
        by.dedup();
        (!by.is_empty()).then_some(by)
    }

    /// Returns the part of a block that the earlier routes of an index leave over; adds the numbers
    /// of those routes to `by`. `None` if there would be too many blocks to distinguish.
    fn left(
        &self,
        number: usize,
        port: PortId,
        block: FrameBlock,
        index: &BlockIndex,
        by: &mut Vec<RouteId>,
        steps: &mut usize,
    ) -> Option<Vec<FrameBlock>> {
        let mut left = alloc::vec![block];
        let matching = self.matching(number)?;
        index.meeting(port, block, steps, &mut |taken, taker| {
            let wider = |other: &FrameMatch| condition::implies(matching, other);
            if taker >= number || !self.matching(taker).is_some_and(wider) {
                return true;
            }
            let mut rest = Vec::new();
            for block in &left {
                block.without(taken, &mut rest);
            }
            rest.retain(|block| block.can_exist());
            by.push(RouteId(taker as u32));
            left = rest;
            !left.is_empty() && left.len() <= BLOCKS
        });
        (left.len() <= BLOCKS).then_some(left)
    }

    /// Finds out whether the route is a drop that keeps no frame from any route.
    fn is_late_drop(&self, number: usize, steps: &mut usize) -> Option<UnreachableRoute> {
        let (route, blocks) = self.find(number)?;
        if !route.drop {
            return None;
        }
        let by = self.takers(number, &self.sending, steps)?;
        let mut kept = false;
        for port in &route.from {
            for block in blocks {
                self.sending.meeting(*port, *block, steps, &mut |_, other| {
                    kept |= other > number;
                    !kept
                });
            }
        }
        let route = RouteId(number as u32);
        (!kept).then_some(UnreachableRoute { route, by })
    }

    /// Returns a frame that this route and an earlier one send to the same bus.
    fn doubled(
        &self,
        number: usize,
        bus_of: &dyn Fn(PortId) -> PortId,
        steps: &mut usize,
    ) -> Option<DoubledRoutes> {
        let (route, blocks) = self.find(number)?;
        if route.drop {
            return None;
        }
        for from in &route.from {
            for block in blocks {
                let mut common = Vec::new();
                self.sending
                    .meeting(*from, *block, steps, &mut |other_block, other| {
                        if other < number
                            && let Some(earlier) = self.routes.get(other)
                            && let Some(to) = shared(earlier, route, *from, bus_of)
                            && let Some(both) = block.and(other_block).filter(|b| b.can_exist())
                        {
                            common.push((other, to, both));
                        }
                        common.len() < BLOCKS
                    });
                for (other, to, both) in common {
                    let mut by = Vec::new();
                    let left = self.left(number, *from, both, &self.ending, &mut by, steps);
                    if let Some(left) = left.as_ref().and_then(|left| left.first()) {
                        return Some(DoubledRoutes {
                            first: RouteId(other as u32),
                            second: RouteId(number as u32),
                            from: *from,
                            to,
                            example: left.example(),
                        });
                    }
                }
            }
        }
        None
    }
}

/// Returns the port to which the later route sends the frames that the earlier one sends to the
/// same bus, unless payload or length separates the routes or two different frames are intended.
fn shared(
    earlier: &Route,
    later: &Route,
    from: PortId,
    bus_of: &dyn Fn(PortId) -> PortId,
) -> Option<PortId> {
    let (a, b) = (&earlier.matching, &later.matching);
    let meant = !b.ids.is_empty() && a.ids == b.ids && earlier.actions != later.actions;
    if meant || !condition::meet(a, b) {
        return None;
    }
    let reached = |bus| destinations(earlier, from).any(|to| bus_of(to) == bus);
    destinations(later, from).find(|to| reached(bus_of(*to)))
}
