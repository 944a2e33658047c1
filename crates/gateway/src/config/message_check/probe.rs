//! Frames that are sent through one route alone, to see what it makes of them.

use frame::{CanId, FrameBuf, Header, Kind};
use route::{
    DecisionSink, ForwardedCopy, FrameArrival, PortId, Route, RouteId, RouteMode, Routes,
    RoutingTable, StopReason, TableMemory,
};
use signals::{FieldSource, FieldWrite, MessageDefinition, write_fields};

/// A route that stands alone, between a port and the same port.
pub(super) struct RouteProbe {
    table: RoutingTable,
    memory: TableMemory,
}

/// A frame that leaves a route.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct ProbedFrame {
    pub(super) id: CanId,
    pub(super) payload: Vec<u8>,
}

impl RouteProbe {
    /// Compiles the route without its limit and its verification.
    pub(super) fn new(route: &Route) -> Option<Self> {
        let mut route = route.clone();
        route.from = vec![PortId(0)];
        route.to = vec![PortId(0)];
        route.allow_same_port = true;
        route.limit = None;
        route.verify = None;
        route.hop_limit = None;
        let routes = Routes {
            mode: RouteMode::All,
            routes: vec![route],
            ..Routes::default()
        };
        let table = RoutingTable::compile(&routes, 1).ok()?;
        let memory = table.memory();
        Some(Self { table, memory })
    }

    /// Compiles the route without its conditions on the payload, too.
    pub(super) fn without_conditions(route: &Route) -> Option<Self> {
        let mut route = route.clone();
        route.matching.payload.clear();
        route.matching.when = None;
        Self::new(&route)
    }

    /// Returns what leaves the route for a frame of the message with this payload; `None` if the
    /// route does not take or does not send it.
    pub(super) fn pass(
        &mut self,
        message: &MessageDefinition,
        payload: &[u8],
    ) -> Option<ProbedFrame> {
        let kind = match message.fd {
            Some(_) => Kind::Fd,
            None => Kind::Classic,
        };
        let header = Header::new(kind, message.id, payload.len()).ok()?;
        let mut buffer = FrameBuf::new();
        buffer.reset(header);
        buffer
            .buffer_mut()
            .get_mut(..payload.len())?
            .copy_from_slice(payload);
        let arrival = FrameArrival {
            from: PortId(0),
            now: 0,
            hops: 0,
        };
        let mut last = LastFrame(None);
        self.table
            .decide(&mut self.memory, arrival, buffer.view(), &mut last);
        last.0
    }
}

/// Keeps the last frame that is sent.
struct LastFrame(Option<ProbedFrame>);

impl DecisionSink for LastFrame {
    fn taken(&mut self, _: RouteId) {}

    fn stopped(&mut self, _: RouteId, _: StopReason) {}

    fn forward(&mut self, copy: ForwardedCopy<'_>) {
        self.0 = Some(ProbedFrame {
            id: copy.frame.id(),
            payload: copy.frame.data().to_vec(),
        });
    }
}

/// The number of payloads with which a route is probed.
pub(super) const SAMPLES: usize = 64;

/// Returns payloads of a message, the same at each call: pseudo-random ones that agree with the
/// conditions of the route where that is simple.
pub(super) fn samples(message: &MessageDefinition, route: &Route) -> impl Iterator<Item = Vec<u8>> {
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let mut next = move || {
        // Xorshift64 (Marsaglia 2003).
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()[5]
    };
    let len = message.len;
    (0..SAMPLES).map(move |number| {
        let mut payload: Vec<u8> = (0..len).map(|_| next()).collect();
        agree(&mut payload, route, number);
        payload
    })
}

/// Changes a payload so that it agrees with the route's conditions: with its patterns, and with the
/// tests of one alternative of `when`.
fn agree(payload: &mut [u8], route: &Route, number: usize) {
    for pattern in &route.matching.payload {
        let bytes = payload.get_mut(usize::from(pattern.at)..);
        let bytes = bytes.unwrap_or_default().iter_mut();
        for ((byte, value), mask) in bytes.zip(&pattern.value).zip(&pattern.mask) {
            *byte = *byte & !mask | value & mask;
        }
    }
    let Some(condition) = &route.matching.when else {
        return;
    };
    let all = &condition.alternatives;
    let Some(tests) = all.get(number % all.len().max(1)) else {
        return;
    };
    for test in tests {
        if test.matches(payload) {
            continue;
        }
        let (first, last) = test.raw_range();
        let bits = if number & 1 == 0 { first } else { last };
        let write = FieldWrite {
            to: test.field(),
            source: FieldSource::Constant(bits),
        };
        // A payload that does not contain the signal is not taken by the route.
        let _ = write_fields(&[write], payload);
    }
}
