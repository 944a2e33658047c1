//! The copies of a frame that the routes of a gateway file can send.

use super::passing::{HopCondition, condition, keep_all};
use super::splits::SplitWhole;
use analysis::tunnel::TunnelPassage;
use analysis::{FrameShape, HopFrames, Message, MessagePlace};
use console::Failure;
use frame::{FrameRef, Nanos};
use route::{
    DecisionSink, ForwardedCopy, FrameArrival, PayloadPattern, PortId, Route, RouteId, RouteMode,
    Routes, RoutingTable, StopReason,
};

/// The way of a message to a gateway's port.
#[derive(Clone)]
pub(super) struct SentWay<'w> {
    pub(super) from: MessagePlace,
    pub(super) message: &'w Message,
    /// The routes, and the tunnel between them.
    pub(super) route: String,
    /// The longest time of the gateway that has the port.
    pub(super) delay: Nanos,
    pub(super) passage: Option<TunnelPassage>,
    /// The number of frames that a port of the gateway makes of those of the message.
    pub(super) frames: HopFrames,
    /// The FD frame of which these are the parts.
    pub(super) whole: Option<SplitWhole>,
}

/// A copy that a route sends.
#[derive(Clone)]
pub(super) struct SentCopy {
    pub(super) route: RouteId,
    pub(super) to: PortId,
    pub(super) shape: FrameShape,
    /// Whether the route changes nothing.
    pub(super) unchanged: bool,
    /// The condition on which the route passes on every frame.
    pub(super) condition: HopCondition,
}

/// The routing table, and one that takes all frames that the first may take.
pub(super) struct RoutingTables<'r> {
    routes: &'r Routes,
    exact: RoutingTable,
    /// The table without conditions on payloads, and with each route that matches, whatever routes
    /// are before it.
    wide: RoutingTable,
}

impl<'r> RoutingTables<'r> {
    pub(super) fn new(routes: &'r Routes, ports: usize) -> Result<Self, Failure> {
        let compile = |routes: &Routes| {
            RoutingTable::compile(routes, ports).map_err(|all| {
                Failure::input(all.first().map_or_else(String::new, ToString::to_string))
            })
        };
        let mut wide = routes.clone();
        for route in &mut wide.routes {
            // A frame that a limit drops now may pass later.
            route.limit = None;
            route.matching.payload.clear();
            route.matching.when = None;
            route.verify = None;
            keep_all(&mut route.actions);
        }
        let mut exact = routes.clone();
        for route in &mut exact.routes {
            route.limit = None;
            route.verify = None;
        }
        let on_payload = |r: &Route| !r.matching.payload.is_empty() || r.matching.when.is_some();
        if routes.routes.iter().any(on_payload) {
            wide.mode = RouteMode::All;
        }
        Ok(Self {
            routes,
            exact: compile(&exact)?,
            wide: compile(&wide)?,
        })
    }

    /// Returns all copies that frames of this shape can cause.
    pub(super) fn follow(
        &self,
        shape: &FrameShape,
        from: PortId,
    ) -> Result<Vec<SentCopy>, Failure> {
        let mut all = self.follow_longest(shape, from)?;
        let Some(shortest) = shape.shortest() else {
            return Ok(all);
        };
        let mut of_short = self.follow_longest(&shortest, from)?;
        for copy in &mut all {
            let same = of_short.iter().position(|short| short.is_like(copy));
            match same.map(|place| of_short.swap_remove(place).shape) {
                Some(short) => copy.shape = with_lengths(copy.shape, short),
                None => copy.takes_some_lengths(),
            }
        }
        for mut copy in of_short {
            copy.takes_some_lengths();
            all.push(copy);
        }
        Ok(all)
    }

    /// Returns the copies that the longest frames of this shape can cause.
    fn follow_longest(&self, shape: &FrameShape, from: PortId) -> Result<Vec<SentCopy>, Failure> {
        let frame = shape.example().map_err(Failure::run)?;
        let table = if shape.is_exact() {
            &self.exact
        } else {
            &self.wide
        };
        let mut memory = table.memory();
        let mut copies = CopySink {
            shape,
            tables: self,
            taken: Vec::new(),
            all: Vec::new(),
        };
        let arrival = FrameArrival {
            from,
            now: 0,
            hops: 0,
        };
        table.decide(&mut memory, arrival, frame.view(), &mut copies);
        Ok(copies.all)
    }
}

impl SentCopy {
    /// Returns whether these are frames of the same route and kind, with one ID.
    fn is_like(&self, other: &Self) -> bool {
        let key = |copy: &Self| {
            let header = copy.shape.header();
            (copy.route, copy.to, header.id(), header.kind())
        };
        key(self) == key(other)
    }

    /// Returns this copy of the frames of `before`, a copy at another port.
    pub(super) fn after(self, before: &Self) -> Self {
        Self {
            unchanged: before.unchanged && self.unchanged,
            condition: before.condition.and(self.condition),
            ..self
        }
    }

    /// Notes that the route passes on frames of some lengths only.
    fn takes_some_lengths(&mut self) {
        let drops = &mut self.condition.drops;
        *drops = drops.or(Some("takes only frames of some lengths"));
    }
}

/// Returns the shape of the frames of both.
fn with_lengths(one: FrameShape, other: FrameShape) -> FrameShape {
    let (longer, shorter) = match one.header().len() < other.header().len() {
        true => (other, one),
        false => (one, other),
    };
    longer.or_shorter(shorter.least_len())
}

struct CopySink<'t> {
    shape: &'t FrameShape,
    tables: &'t RoutingTables<'t>,
    /// The routes that take the frame, in their order.
    taken: Vec<RouteId>,
    all: Vec<SentCopy>,
}

impl DecisionSink for CopySink<'_> {
    fn taken(&mut self, route: RouteId) {
        self.taken.push(route);
    }

    fn stopped(&mut self, _: RouteId, _: StopReason) {}

    fn forward(&mut self, copy: ForwardedCopy<'_>) {
        let route = self.tables.routes.routes.get(copy.route.0 as usize);
        let Some(route) = route else { return };
        let may = |pattern: &PayloadPattern| {
            let bytes = pattern.value.iter().zip(&pattern.mask).enumerate();
            let mut bytes =
                bytes.map(|(i, (value, mask))| (usize::from(pattern.at) + i, value, mask));
            bytes.all(|(at, value, mask)| self.shape.may_have(at, *value, *mask))
        };
        if !route.matching.payload.iter().all(may) {
            return;
        }
        let exact = self.shape.is_exact();
        let unchanged = route.actions.is_empty() && route.protect.is_none();
        let shape = match unchanged {
            true => Some(*self.shape),
            // A protection changes from frame to frame.
            false => changed(copy.frame, exact && route.protect.is_none()),
        };
        let routes = self.tables.routes;
        let is_first = routes.mode == RouteMode::All
            || exact
            || self.taken.iter().all(|taken| taken.0 >= copy.route.0);
        if let Some(shape) = shape {
            self.all.push(SentCopy {
                route: copy.route,
                to: copy.to,
                shape,
                unchanged,
                condition: condition(route, exact, is_first),
            });
        }
    }
}

/// Returns the shape of a frame that a route has changed: exact, if it was exact before.
fn changed(frame: FrameRef<'_>, exact: bool) -> Option<FrameShape> {
    if exact {
        return FrameShape::exact(&frame::Frame::from_view(frame)?).ok();
    }
    FrameShape::any(*frame.header()).ok()
}
