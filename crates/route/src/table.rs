//! The compiled routing table and its decisions.

use crate::condition::CompiledCondition;
use crate::protection::{self, CompiledProtection, ProtectionState};
use crate::{
    Action, CompileError, DecisionSink, ForwardedCopy, FrameArrival, FrameInterest, PayloadPattern,
    PortId, Route, RouteId, RouteMode, Routes, StopReason, TableMemory, check, filter,
    index::{IdIndex, OnlyMatch},
    interest,
    limit::{CompiledLimit, RouteBuckets},
    match_key::{KeyClass, MatchKey, sort, sorts},
    memory::RouteWork,
    operations::{self, Compiled as Operation, apply::ApplyOperation},
};
use alloc::vec::Vec;
use frame::FrameRef;

/// Returns a part of one of the table's lists.
fn part<T>(list: &[T], start: u32, count: u16) -> &[T] {
    let start = start as usize;
    list.get(start..start + usize::from(count)).unwrap_or(&[])
}

/// A test of a frame's payload.
#[derive(Clone, Debug)]
enum PayloadTest {
    Pattern(PayloadPattern),
    Condition(CompiledCondition),
}

/// A compiled route: the fields that a decision needs first. Half a cache line, never across two:
/// the routes of a large table are not in the near caches.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
struct CompiledRoute {
    /// Bits of [`sort`] of the frames that it takes.
    sorts: u8,
    /// Bits of [`CompiledRoute::DROP`] and the constants after it.
    flags: u8,
    /// can-gw's `limit_hops`; 0 for none.
    hop_limit: u8,
    payload_tests: u16,
    ops: u16,
    destinations: u16,
    /// The only destination if `destinations` is 1, else 0.
    to: PortId,
    len: (u16, u16),
    /// Index into [`RoutingTable::limits`] and [`TableMemory`]'s buckets; `u32::MAX` for none.
    limit: u32,
    first_test: u32,
    first_op: u32,
    first_to: u32,
}

const _: () = assert!(size_of::<CompiledRoute>() == 32);

impl CompiledRoute {
    /// The route takes frames and sends them nowhere.
    const DROP: u8 = 1;
    /// The route may send a frame back to the port where it came in.
    const SAME_PORT: u8 = 2;
    /// No action touches the payload, so it need not be copied.
    const HEADER_ONLY: u8 = 4;
    /// The route checks or writes an end-to-end protection.
    const PROTECTED: u8 = 16;
    /// The route sends each frame of its sorts unchanged to one other port: no pattern, no limit of
    /// length, rate or hops, no action.
    const PLAIN: u8 = 8;

    const fn is(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    /// Returns whether the route is [`CompiledRoute::PLAIN`].
    fn is_plain(&self) -> bool {
        !self.is(Self::DROP | Self::SAME_PORT | Self::PROTECTED)
            && (self.payload_tests, self.ops, self.destinations) == (0, 0, 1)
            && self.len == (0, u16::MAX)
            && (self.hop_limit, self.limit) == (0, u32::MAX)
    }
}

/// A frame that a route has taken.
#[derive(Clone, Copy)]
struct TakenFrame<'a> {
    route: &'a CompiledRoute,
    id: RouteId,
    arrival: FrameArrival,
    frame: FrameRef<'a>,
}

/// A routing table: compiled, immutable, shared between threads.
///
/// Matching costs one look-up for each *different* mask among the ID filters of the port where the
/// frame came in. (All single SFF IDs together are one mask, and so are all single EFF IDs; a range
/// adds at most one mask for each different size of the aligned blocks that it needs.) Further work
/// is needed only for the routes that match this ID, regardless of the total number of routes.
/// These are tried one after the other, so that N routes which differ only in payload or length
/// cost N tests.
///
/// Memory is proportional to the sum over all routes of ID filters times source ports. A single ID
/// or a mask mostly takes 20 to 40 bytes, and at most 100, for each format that it applies to; a
/// range or an inverted filter takes up to 64 times that. The number of IDs that a filter covers
/// does not matter.
#[derive(Debug)]
pub struct RoutingTable {
    first: bool,
    max_hops: u8,
    routes: Vec<CompiledRoute>,
    ports: Vec<PortTable>,
    to: Vec<PortId>,
    ops: Vec<Operation>,
    payload_tests: Vec<PayloadTest>,
    limits: Vec<CompiledLimit>,
    /// In the order of the routes, of those that have one.
    protections: Vec<CompiledProtection>,
    /// The states of the protections before the first frame.
    protection_states: Vec<ProtectionState>,
}

#[derive(Debug)]
struct PortTable {
    /// One index for each [`KeyClass`].
    indexes: [IdIndex; 3],
    interest: FrameInterest,
}

impl RoutingTable {
    /// Checks and compiles routes for a gateway with `ports` ports.
    ///
    /// # Errors
    /// All parts of the routes that have no meaning, at once, in the order of the routes.
    pub fn compile(routes: &Routes, ports: usize) -> Result<Self, Vec<CompileError>> {
        let errors = check::check(routes, ports);
        if !errors.is_empty() {
            return Err(errors);
        }
        let (protections, protection_states) = protection::compile(&routes.routes);
        let mut table = Self {
            first: routes.mode == RouteMode::First,
            max_hops: routes.max_hops,
            routes: Vec::with_capacity(routes.routes.len()),
            ports: Vec::with_capacity(ports),
            to: Vec::new(),
            ops: Vec::new(),
            payload_tests: Vec::new(),
            limits: Vec::new(),
            protections,
            protection_states,
        };
        for route in &routes.routes {
            table.add(route);
        }
        let mut by_port = alloc::vec![Vec::new(); ports];
        for (at, route) in routes.routes.iter().enumerate() {
            for from in &route.from {
                if let Some(list) = by_port.get_mut(usize::from(from.0)) {
                    list.push(at as u32);
                }
            }
        }
        for of_port in by_port {
            let list = || {
                of_port.iter().filter_map(|at| {
                    let index = *at as usize;
                    Some((
                        *at,
                        routes.routes.get(index)?,
                        table.routes.get(index)?.sorts,
                    ))
                })
            };
            let port = PortTable {
                indexes: KeyClass::ALL.map(|class| build_index(list(), class)),
                interest: interest::of(list().map(|(_, route, sorts)| (&route.matching, sorts))),
            };
            table.ports.push(port);
        }
        Ok(table)
    }

    fn add(&mut self, route: &Route) {
        let matching = &route.matching;
        let limit = match &route.limit {
            None => u32::MAX,
            Some(limit) => {
                self.limits.push(CompiledLimit::new(limit));
                self.limits.len() as u32 - 1
            }
        };
        let ops: Vec<_> = route.actions.iter().map(Action::compile).collect();
        // The check has made sure that the counts fit.
        let mut compiled = CompiledRoute {
            sorts: sorts(route),
            flags: [
                (route.drop, CompiledRoute::DROP),
                (route.allow_same_port, CompiledRoute::SAME_PORT),
                (
                    route.verify.is_some() || route.protect.is_some(),
                    CompiledRoute::PROTECTED,
                ),
                (
                    ops.iter().all(ApplyOperation::is_header_only),
                    CompiledRoute::HEADER_ONLY,
                ),
            ]
            .iter()
            .fold(0, |flags, (set, flag)| flags | if *set { *flag } else { 0 }),
            hop_limit: route.hop_limit.unwrap_or(0),
            payload_tests: (matching.payload.len() + usize::from(matching.when.is_some())) as u16,
            ops: ops.len() as u16,
            destinations: route.to.len() as u16,
            to: match route.to[..] {
                [only] => only,
                _ => PortId(0),
            },
            len: matching.len.unwrap_or((0, u16::MAX)),
            limit,
            first_test: self.payload_tests.len() as u32,
            first_op: self.ops.len() as u32,
            first_to: self.to.len() as u32,
        };
        if compiled.is_plain() {
            compiled.flags |= CompiledRoute::PLAIN;
        }
        self.routes.push(compiled);
        let patterns = matching.payload.iter().cloned();
        self.payload_tests
            .extend(patterns.map(PayloadTest::Pattern));
        let condition = matching.when.as_ref().map(CompiledCondition::new);
        self.payload_tests
            .extend(condition.map(PayloadTest::Condition));
        self.ops.extend(ops);
        if route.to.len() > 1 {
            self.to.extend_from_slice(&route.to);
        }
    }

    /// Returns a new memory for this table: all rate limits are unused. Everything is allocated
    /// here; there is no allocation later.
    #[must_use]
    pub fn memory(&self) -> TableMemory {
        let lists = self.ports.iter().flat_map(|port| &port.indexes);
        TableMemory::new(
            self.limits.iter().map(RouteBuckets::new).collect(),
            lists.map(IdIndex::lists).max().unwrap_or(0),
            self.protection_states.clone(),
        )
    }

    /// Takes over what routes have to continue from the memory of a former table: the counters of
    /// end-to-end protections. `goes_to` returns the new index of each route of the former table
    /// that is still there. Rate limits begin anew.
    pub fn adopt(
        &self,
        memory: &mut TableMemory,
        (former, former_memory): (&Self, &TableMemory),
        goes_to: impl Fn(usize) -> Option<usize>,
    ) {
        protection::adopt(
            (&self.protections, &mut memory.protections),
            (&former.protections, &former_memory.protections),
            goes_to,
        );
    }

    /// Returns the number of routes.
    #[must_use]
    pub fn routes(&self) -> usize {
        self.routes.len()
    }

    /// Returns the frames that a port must receive so that every route can work, for kernel
    /// filters. It never leaves out a frame that a route could take. It includes other frames only
    /// where a filter cannot distinguish them (payload, length, kinds).
    #[must_use]
    pub fn interest(&self, port: PortId) -> FrameInterest {
        self.ports
            .get(usize::from(port.0))
            .map_or_else(FrameInterest::nothing, |port| port.interest.clone())
    }

    /// Decides where a frame goes and reports it to `sink`. Allocates nothing. `memory` must be
    /// this table's; with the memory of another table, the rate limits are those of other routes.
    #[inline]
    pub fn decide(
        &self,
        memory: &mut TableMemory,
        arrival: FrameArrival,
        frame: FrameRef<'_>,
        sink: &mut impl DecisionSink,
    ) {
        let Some(port) = self.ports.get(usize::from(arrival.from.0)) else {
            return;
        };
        let key = MatchKey::new(frame);
        let [sff, eff, err] = &port.indexes;
        let index = match key.class {
            KeyClass::Sff => sff,
            KeyClass::Eff => eff,
            KeyClass::Err => err,
        };
        match index.find_only(key.raw) {
            OnlyMatch::NoRoute => {}
            OnlyMatch::Route(at) => self.decide_one(at, &key, memory, arrival, frame, sink),
            OnlyMatch::Unknown => self.decide_each(index, &key, memory, arrival, frame, sink),
        }
    }

    /// Runs each of the routes that match a frame's ID. A function of its own, for the reason given
    /// at [`RoutingTable::take`].
    #[inline(never)]
    fn decide_each(
        &self,
        index: &IdIndex,
        key: &MatchKey<'_>,
        memory: &mut TableMemory,
        arrival: FrameArrival,
        frame: FrameRef<'_>,
        sink: &mut impl DecisionSink,
    ) {
        let (cursors, mut work) = memory.parts();
        index.routes(key.raw, cursors, |at| {
            self.take(at, key, &mut work, arrival, frame, sink)
        });
    }

    /// Runs the only route that matches a frame's ID.
    #[inline]
    fn decide_one(
        &self,
        at: u32,
        key: &MatchKey<'_>,
        memory: &mut TableMemory,
        arrival: FrameArrival,
        frame: FrameRef<'_>,
        sink: &mut impl DecisionSink,
    ) {
        let Some(route) = self.routes.get(at as usize) else {
            return;
        };
        if !route.is(CompiledRoute::PLAIN) || arrival.hops >= self.max_hops {
            self.take(at, key, &mut memory.parts().1, arrival, frame, sink);
        } else if route.sorts & key.sort != 0 && route.to != arrival.from {
            let id = RouteId(at);
            sink.taken(id);
            sink.forward(ForwardedCopy {
                route: id,
                to: route.to,
                frame,
                hops: arrival.hops + 1,
            });
        }
    }

    /// Runs a route that matches the frame's ID. Returns false if no other route must be tried
    /// after it. Not inlined, so that the path of plain routes, which need none of it, stays short.
    #[inline(never)]
    fn take(
        &self,
        at: u32,
        key: &MatchKey<'_>,
        work: &mut RouteWork<'_>,
        arrival: FrameArrival,
        frame: FrameRef<'_>,
        sink: &mut impl DecisionSink,
    ) -> bool {
        let Some(route) = self.routes.get(at as usize) else {
            return true;
        };
        if !self.agrees(route, key, arrival.from) {
            return true;
        }
        let id = RouteId(at);
        sink.taken(id);
        let taken = TakenFrame {
            route,
            id,
            arrival,
            frame,
        };
        let sent = match route.is(CompiledRoute::PROTECTED) {
            false => self.send::<false>(taken, work, sink),
            true => self.send_protected(taken, work, sink),
        };
        if let Err(why) = sent {
            sink.stopped(id, why);
        }
        !(self.first || route.is(CompiledRoute::DROP))
    }

    #[inline]
    fn destinations<'a>(&'a self, route: &'a CompiledRoute) -> &'a [PortId] {
        if route.destinations == 1 {
            core::slice::from_ref(&route.to)
        } else {
            part(&self.to, route.first_to, route.destinations)
        }
    }

    /// Returns whether all conditions but the ID match; the index has checked the ID.
    #[inline]
    fn agrees(&self, route: &CompiledRoute, key: &MatchKey<'_>, from: PortId) -> bool {
        route.sorts & key.sort != 0
            && (route.len.0..=route.len.1).contains(&key.len)
            && part(&self.payload_tests, route.first_test, route.payload_tests)
                .iter()
                .all(|test| match test {
                    PayloadTest::Pattern(pattern) => pattern.matches(key.data),
                    PayloadTest::Condition(condition) => condition.holds(key.data),
                })
            && (route.is(CompiledRoute::DROP | CompiledRoute::SAME_PORT)
                || self.destinations(route).iter().any(|to| *to != from))
    }

    /// Returns the protections of a route, and their index.
    fn protection(&self, id: RouteId) -> Option<(usize, &CompiledProtection)> {
        let at = self
            .protections
            .binary_search_by_key(&id.0, |one| one.route);
        let at = at.ok()?;
        Some((at, self.protections.get(at)?))
    }

    /// Sends a frame as [`Self::send`] does, by a route with an end-to-end protection. It is not
    /// inlined: few routes have one, and its code would take registers from all others.
    #[inline(never)]
    fn send_protected(
        &self,
        taken: TakenFrame<'_>,
        work: &mut RouteWork<'_>,
        sink: &mut impl DecisionSink,
    ) -> Result<(), StopReason> {
        self.send::<true>(taken, work, sink)
    }

    /// Sends a frame that the route took, or returns the reason why it was stopped. `PROTECTED`:
    /// the route has an end-to-end protection.
    #[inline]
    fn send<const PROTECTED: bool>(
        &self,
        taken: TakenFrame<'_>,
        work: &mut RouteWork<'_>,
        sink: &mut impl DecisionSink,
    ) -> Result<(), StopReason> {
        let TakenFrame {
            route,
            id,
            arrival,
            frame,
        } = taken;
        if route.is(CompiledRoute::DROP) {
            return Err(StopReason::DropRule);
        }
        if arrival.hops >= self.max_hops {
            return Err(StopReason::HopLimit);
        }
        // Only the first gateway on a frame's path can reduce its number of hops
        // (`can_can_gw_rcv`).
        let hops = if arrival.hops == 0 && route.hop_limit != 0 {
            self.max_hops
                .saturating_sub(route.hop_limit)
                .saturating_add(1)
        } else {
            arrival.hops + 1
        };
        let protection = if PROTECTED { self.protection(id) } else { None };
        if let Some((at, protection)) = protection
            && let Some(state) = work.protections.get_mut(at)
        {
            protection.verify(state, frame, |kind| sink.verified(id, kind))?;
        }
        if let Some(limit) = self.limits.get(route.limit as usize) {
            let now = work.advance(arrival.now);
            let allowed = work
                .buckets
                .get_mut(route.limit as usize)
                .is_none_or(|buckets| buckets.take(limit, frame.id(), now));
            if !allowed {
                return Err(StopReason::RateLimit);
            }
        }
        let frame = match part(&self.ops, route.first_op, route.ops) {
            [] => frame,
            ops if route.is(CompiledRoute::HEADER_ONLY) => {
                operations::apply_to_header(ops, frame, work.frame)?
            }
            ops => operations::apply(ops, frame, work.frame)?,
        };
        let frame = match protection {
            Some((at, protection)) => match work.protections.get_mut(at) {
                Some(state) => protection.protect(state, frame, work.protected)?,
                None => frame,
            },
            None => frame,
        };
        for to in self.destinations(route) {
            if *to != arrival.from || route.is(CompiledRoute::SAME_PORT) {
                sink.forward(ForwardedCopy {
                    route: id,
                    to: *to,
                    frame,
                    hops,
                });
            }
        }
        Ok(())
    }
}

/// Builds the index of one port for one class from (number, route, sorts).
fn build_index<'a>(routes: impl Iterator<Item = (u32, &'a Route, u8)>, class: KeyClass) -> IdIndex {
    let of_class = match class {
        KeyClass::Err => sort::ANY_ERR,
        KeyClass::Sff => !sort::ANY_ERR,
        // An XL frame cannot have an EFF ID.
        KeyClass::Eff => !(sort::ANY_ERR | sort::XL),
    };
    let mut entries = Vec::new();
    for (at, route, sorts) in routes {
        if sorts & of_class == 0 {
            continue;
        }
        if route.matching.ids.is_empty() {
            entries.push((0, 0, at));
        }
        for id in &route.matching.ids {
            filter::blocks(id, class, &mut |mask, value| {
                entries.push((mask, value, at));
            });
        }
    }
    IdIndex::build(entries)
}
