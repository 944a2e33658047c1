//! The messages of a set, followed through a gateway file to other buses.

use super::passing::{
    HopCondition, SourceTimeout, condition, keep_all, made_alone, source_timeouts,
};
use analysis::set::{MessageSet, ReceiverTimeout};
use analysis::{
    BusSpec, FrameShape, GatewayHop, Message, MessagePlace, Network, NodeSpec, SendOrder,
};
use console::Failure;
use frame::{FrameRef, Kind, Nanos, wire};
use gateway::config::{GatewayConfig, MessageNames};
use port::PortSpec;
use port::embedded::BusSettings;
use route::config::NamedDatabase;
use route::{
    DecisionSink, ForwardedCopy, FrameArrival, PayloadPattern, PortId, Route, RouteId, RouteMode,
    Routes, RoutingTable, StopReason,
};
use std::num::NonZeroU8;
use std::sync::Arc;

/// The maximum number of messages: more are a mistake of the routes.
const MOST_MESSAGES: usize = 100_000;

/// A set with all messages that a gateway sends on.
#[derive(Clone, Default)]
pub(super) struct ConnectedSet {
    pub(super) network: Network,
    /// For each hop, the route.
    pub(super) routes: Vec<String>,
    /// Nodes with a queue of a known length.
    pub(super) queues: Vec<PortCapacity>,
    /// Messages that were left out, in sentences.
    pub(super) notes: Vec<String>,
    /// For each hop, the condition on which the route passes on every frame.
    pub(super) conditions: Vec<HopCondition>,
    /// For each bus and message of the set, the longest time between two events, ns.
    pub(super) longest_periods: Vec<Vec<Option<Nanos>>>,
    /// The timeouts of the set.
    pub(super) timeouts: Vec<ReceiverTimeout>,
    /// Buses with the databases of the gateway's ports on them.
    pub(super) databases: Vec<(usize, Arc<NamedDatabase>)>,
    /// The timeouts of sources from which ports of the gateway make messages.
    pub(super) sources: Vec<SourceTimeout>,
    /// Whether the messages were followed through a gateway.
    pub(super) has_gateway: bool,
}

/// The number of frames that a port of the gateway can hold, in buffers and queue.
#[derive(Clone, Copy)]
pub(super) struct PortCapacity {
    pub(super) bus: usize,
    pub(super) node: usize,
    pub(super) frames: u64,
}

impl ConnectedSet {
    /// Leaves the timeouts of the gateway file out: the periods of a log are estimates, and prove
    /// nothing.
    pub(super) fn leave_timeouts_out(&mut self) {
        if !self.databases.is_empty() || !self.sources.is_empty() {
            let note = "timeouts of receivers, because the periods of a log are estimates: save the set that \
                        --from-log prints, read it, and use it";
            self.notes.push(note.to_owned());
        }
        self.databases.clear();
        self.sources.clear();
    }
}

/// A port of the gateway on a bus.
#[derive(Clone, Copy)]
struct AttachedPort {
    bus: usize,
    node: usize,
}

/// Returns a set without a gateway.
pub(super) fn alone(set: MessageSet) -> ConnectedSet {
    ConnectedSet {
        network: Network {
            buses: set.buses,
            hops: Vec::new(),
            tunnels: Vec::new(),
        },
        longest_periods: set.longest_periods,
        timeouts: set.timeouts,
        ..ConnectedSet::default()
    }
}

/// Follows all messages through the gateway, from bus to bus.
pub(super) fn connect(
    set: MessageSet,
    config: &GatewayConfig,
    delay: Nanos,
) -> Result<ConnectedSet, Failure> {
    let mut all = alone(set);
    all.has_gateway = true;
    let mut ports = Vec::with_capacity(config.ports.len());
    for spec in &config.ports {
        ports.push(attach(&mut all, spec)?);
    }
    if ports.iter().flatten().count() < 2 {
        return Err(Failure::input(
            "--gateway: fewer than two of its ports are on buses of the set; a port of kind \"bus\" is on the \
             bus that it names, another one on that of [nodes.PORT], or of its own name",
        ));
    }
    let names: Vec<MessageNames<'_>> = (0_u16..)
        .zip(&config.ports)
        .map(|(port, _)| config.message_names(PortId(port)))
        .collect();
    for (attached, names) in ports.iter().zip(&names) {
        let Some(attached) = attached else { continue };
        for message in &mut all.network.buses[attached.bus].messages {
            name(message, None, names);
        }
    }
    for (attached, database) in ports.iter().zip(&config.databases) {
        let (Some(attached), Some(database)) = (attached, database) else {
            continue;
        };
        let known = |(bus, other): &(usize, Arc<NamedDatabase>)| {
            *bus == attached.bus && Arc::ptr_eq(other, database)
        };
        if !all.databases.iter().any(known) {
            all.databases.push((attached.bus, Arc::clone(database)));
        }
    }
    for spec in &config.ports {
        let left_out = made_alone(spec, &all.network.buses);
        all.notes.extend(left_out);
    }
    let tables = RoutingTables::new(&config.routes, config.ports.len())?;
    let buses = 0..all.network.buses.len();
    let mut waiting: Vec<MessagePlace> = buses
        .flat_map(|bus| {
            let messages = 0..all.network.buses[bus].messages.len();
            messages.map(move |message| MessagePlace { bus, message })
        })
        .collect();
    while let Some(place) = waiting.pop() {
        let message = all.network.buses[place.bus].messages[place.message].clone();
        for (port, attached) in (0_u16..).zip(&ports) {
            // A node does not receive its own frames.
            let Some(attached) = attached.filter(|a| a.bus == place.bus && a.node != message.node)
            else {
                continue;
            };
            debug_assert_eq!(attached.bus, place.bus);
            for sent in tables.follow(&message.shape, PortId(port))? {
                let to = ports.get(usize::from(sent.to.0)).copied().flatten();
                let route = config.routes.routes.get(sent.route.0 as usize);
                let route = route.map_or_else(String::new, |route| route.name.clone());
                let Some(to) = to else {
                    if let Some(spec) = config.ports.get(usize::from(sent.to.0)) {
                        let found =
                            source_timeouts(spec, place, &sent.shape, sent.condition, delay);
                        all.sources.extend(found);
                    }
                    continue;
                };
                let added = add(&mut all, place, &message, to, &sent, route, delay)?;
                if let (Some(added), Some(names)) = (added, names.get(usize::from(sent.to.0))) {
                    let bus = &mut all.network.buses[added.bus];
                    name(&mut bus.messages[added.message], Some(&message), names);
                }
                waiting.extend(added);
            }
        }
    }
    Ok(all)
}

/// Gives a message the name that the database of its bus has for it, if it has no name of its own.
/// `before`: the message from which a gateway made it; with another ID, it is another message.
fn name(message: &mut Message, before: Option<&Message>, names: &MessageNames<'_>) {
    let id = message.shape.header().id();
    let is_other = before.is_some_and(|before| before.shape.header().id() != id);
    if (message.name.is_empty() || is_other)
        && let Some(found) = names.find(id)
    {
        found.clone_into(&mut message.name);
    }
}

/// Puts a port's node on its bus.
fn attach(all: &mut ConnectedSet, spec: &PortSpec) -> Result<Option<AttachedPort>, Failure> {
    let settings = spec.settings.downcast_ref::<BusSettings>();
    let buses = &mut all.network.buses;
    let named = |bus: &BusSpec| bus.nodes.iter().position(|node| node.name == spec.name);
    let described = buses
        .iter()
        .enumerate()
        .find_map(|(i, bus)| Some((i, named(bus)?)));
    let name = settings.map_or(spec.name.as_str(), |settings| settings.bus.as_str());
    let bus = match described {
        Some((bus, _)) => Some(bus),
        None => buses.iter().position(|bus| bus.name == name),
    };
    let Some(bus) = bus else { return Ok(None) };
    if let Some(settings) = settings {
        let rate = buses[bus].rate;
        if (rate.nominal(), rate.data()) != (settings.bitrate, settings.data_bitrate) {
            return Err(Failure::input(format!(
                "bus {} has {rate} in the set, and another bit rate in the gateway file (port {})",
                buses[bus].name, spec.name
            )));
        }
    }
    let node = match (described, settings.map(|s| NonZeroU8::new(s.mailboxes))) {
        (Some((_, node)), _) => node,
        (None, Some(Some(mailboxes))) => {
            buses[bus]
                .nodes
                .push(NodeSpec::new(&spec.name, SendOrder::Mailboxes(mailboxes)));
            buses[bus].nodes.len() - 1
        }
        (None, _) => {
            return Err(Failure::input(format!(
                "port {0} is of kind \"{1}\": how many transmit buffers has its controller? add \
                 [nodes.{0}] with `bus = \"{2}\"` and `mailboxes = N` to the set",
                spec.name,
                spec.settings.kind(),
                buses[bus].name
            )));
        }
    };
    if let (Some(settings), SendOrder::Mailboxes(n)) = (settings, buses[bus].nodes[node].order) {
        all.queues.push(PortCapacity {
            bus,
            node,
            frames: u64::from(settings.queue) + u64::from(n.get()),
        });
    }
    Ok(Some(AttachedPort { bus, node }))
}

/// Adds a message that is sent on, if the next bus can carry it.
fn add(
    all: &mut ConnectedSet,
    from: MessagePlace,
    message: &Message,
    to: AttachedPort,
    sent: &SentCopy,
    route: String,
    delay: Nanos,
) -> Result<Option<MessagePlace>, Failure> {
    let bus = &mut all.network.buses[to.bus];
    if sent.shape.header().kind() == Kind::Fd && bus.rate.data().is_none() {
        all.notes.push(format!(
            "{} (route {route}): an FD frame, which bus {} does not carry",
            message.label(),
            bus.name
        ));
        return Ok(None);
    }
    let key = |shape: &FrameShape| wire::arbitration_key(shape.header()) >> 2;
    let new = Message {
        node: to.node,
        shape: sent.shape,
        // It reaches the next bus when it has ended on this one, whatever the clock of its node.
        offset: None,
        ..message.clone()
    };
    if let Some(same) = bus
        .messages
        .iter()
        .find(|m| key(&m.shape) == key(&new.shape))
    {
        return Err(Failure::input(format!(
            "route {route} sends {} to bus {} as {}, which {} sends there already: arbitration \
             cannot decide between them",
            message.label(),
            bus.name,
            new.id(),
            bus.nodes
                .get(same.node)
                .map_or("another node", |n| n.name.as_str())
        )));
    }
    bus.messages.push(new);
    let place = MessagePlace {
        bus: to.bus,
        message: bus.messages.len() - 1,
    };
    if all.network.hops.len() >= MOST_MESSAGES {
        return Err(Failure::input(format!(
            "the routes send on more than {MOST_MESSAGES} messages"
        )));
    }
    all.network.hops.push(GatewayHop {
        from,
        to: place,
        delay,
        unchanged: sent.unchanged,
    });
    all.routes.push(route);
    all.conditions.push(sent.condition);
    Ok(Some(place))
}

/// A copy that a route sends.
struct SentCopy {
    route: RouteId,
    to: PortId,
    shape: FrameShape,
    /// Whether the route changes nothing.
    unchanged: bool,
    /// The condition on which the route passes on every frame.
    condition: HopCondition,
}

/// The routing table, and one that takes all frames that the first may take.
struct RoutingTables<'r> {
    routes: &'r Routes,
    exact: RoutingTable,
    /// The table without conditions on payloads, and with each route that matches, whatever routes
    /// are before it.
    wide: RoutingTable,
}

impl<'r> RoutingTables<'r> {
    fn new(routes: &'r Routes, ports: usize) -> Result<Self, Failure> {
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
    fn follow(&self, shape: &FrameShape, from: PortId) -> Result<Vec<SentCopy>, Failure> {
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
