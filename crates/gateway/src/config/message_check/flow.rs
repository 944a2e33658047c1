//! The messages that come in at each port, and the routes that they take.

use super::super::GatewayConfig;
use super::super::carried::{named, single};
use port::PortSpec;
use route::config::NamedDatabase;
use route::{PortId, Route, RouteMode};
use signals::MessageDefinition;
use std::collections::{BTreeMap, BTreeSet};

/// The maximum number of messages, over all routes, that are looked at: a file is read in bounded
/// time.
const MOST_FLOWS: usize = 20_000;

/// A message that comes in at a port and that a route takes.
#[derive(Clone, Copy)]
pub(super) struct MessageFlow<'c> {
    /// The port.
    pub(super) from: PortId,
    /// The database of the port.
    pub(super) database: &'c NamedDatabase,
    pub(super) message: &'c MessageDefinition,
    /// The index of the route.
    pub(super) number: usize,
    pub(super) route: &'c Route,
    /// Whether the route has this ID alone among its IDs, and not only in a range or by a mask.
    pub(super) is_named: bool,
    /// Whether the message certainly comes in at this port: one of its senders is there, or the
    /// port makes it.
    pub(super) is_certain: bool,
    /// Whether the route takes frames of the length that the database states.
    pub(super) has_length: bool,
}

impl MessageFlow<'_> {
    /// Returns the message with its place, as `1A0 EngineData (body.dbc, line 3)`.
    pub(super) fn place(&self) -> String {
        let (file, line) = (&self.database.file, self.message.line);
        format!("{} ({file}, line {line})", named(self.message))
    }

    /// Returns whether the route takes only some of the frames, by their payloads.
    pub(super) fn is_conditional(&self) -> bool {
        let matching = &self.route.matching;
        !matching.payload.is_empty() || matching.when.is_some()
    }

    /// Returns the ports to which the route sends the message.
    pub(super) fn destinations(&self) -> impl Iterator<Item = PortId> {
        let (from, same) = (self.from, self.route.allow_same_port);
        let all = self.route.to.iter().copied();
        all.filter(move |to| *to != from || same)
    }
}

/// All messages of all routes.
pub(super) struct FlowSet<'c> {
    pub(super) config: &'c GatewayConfig,
    /// The flows, in the order of the ports and their messages, then of the routes.
    pub(super) all: Vec<MessageFlow<'c>>,
    /// Whether there are more.
    pub(super) is_cut: bool,
}

impl<'c> FlowSet<'c> {
    pub(super) fn new(config: &'c GatewayConfig) -> Self {
        let mut flows = Self {
            config,
            all: Vec::new(),
            is_cut: false,
        };
        let origins = MessageOrigins::new(config);
        let explicit: Vec<BTreeSet<u32>> = (config.routes.routes.iter())
            .map(|route| {
                let ids = route.matching.ids.iter().filter_map(single);
                ids.map(frame::CanId::raw).collect()
            })
            .collect();
        let mut seen = BTreeSet::new();
        for (from, message, routes) in config.taken(true) {
            // Frames of an ID that two messages have count as the first one.
            if routes.is_empty() || !seen.insert((from, message.id.raw())) {
                continue;
            }
            let Some(is_certain) = origins.comes_in(from, message) else {
                continue;
            };
            let Some(database) = config.database(from) else {
                continue;
            };
            for number in routes {
                let Some(route) = config.routes.routes.get(number) else {
                    continue;
                };
                let lengths = route.matching.len;
                let has_length = lengths.is_none_or(|(least, most)| {
                    (usize::from(least)..=usize::from(most)).contains(&message.len)
                });
                let ids = explicit.get(number);
                let flow = MessageFlow {
                    from,
                    database: database.as_ref(),
                    message,
                    number,
                    route,
                    is_named: ids.is_some_and(|ids| ids.contains(&message.id.raw())),
                    is_certain,
                    has_length,
                };
                // A route that takes all frames of the message ends the search.
                let takes_all = has_length && !flow.is_conditional();
                if flows.all.len() >= MOST_FLOWS {
                    flows.is_cut = true;
                    return flows;
                }
                if !route.drop {
                    flows.all.push(flow);
                }
                if takes_all && (route.drop || config.routes.mode == RouteMode::First) {
                    break;
                }
            }
        }
        flows
    }

    /// Returns the flows whose frames the routes take.
    pub(super) fn taken(&self) -> impl Iterator<Item = &MessageFlow<'c>> {
        self.all.iter().filter(|flow| flow.has_length)
    }

    /// Returns the taken flows of each route.
    pub(super) fn by_route(&self) -> BTreeMap<usize, Vec<&MessageFlow<'c>>> {
        let mut routes: BTreeMap<usize, Vec<&MessageFlow<'c>>> = BTreeMap::new();
        for flow in self.taken() {
            routes.entry(flow.number).or_default().push(flow);
        }
        routes
    }

    /// Returns the taken flows of each route with a limit that leads to receivers: a log can have
    /// fewer frames on purpose.
    pub(super) fn by_limited_route(&self) -> BTreeMap<usize, Vec<&MessageFlow<'c>>> {
        let mut routes = self.by_route();
        routes.retain(|_, flows| {
            flows.iter().any(|flow| {
                let mut to = flow.destinations();
                flow.route.limit.is_some() && to.any(|to| self.has_receivers(to))
            })
        });
        routes
    }

    /// Returns whether a port is attached to receivers of messages: it is neither a log nor a port
    /// that makes messages of what it gets.
    pub(super) fn has_receivers(&self, port: PortId) -> bool {
        let port = self.config.ports.get(usize::from(port.0));
        port.is_some_and(|port| port.settings.kind() != "log" && port.settings.made_ids().is_none())
    }
}

/// The ports at which messages come in.
struct MessageOrigins<'c> {
    /// Each port, with the IDs that it makes.
    ports: Vec<(&'c PortSpec, Option<BTreeSet<u32>>)>,
    /// The ports of each node.
    places: BTreeMap<&'c str, BTreeSet<PortId>>,
}

impl<'c> MessageOrigins<'c> {
    fn new(config: &'c GatewayConfig) -> Self {
        let ports = config.ports.iter().map(|port| {
            let made = port.settings.made_ids();
            let made = made.map(|ids| ids.into_iter().map(frame::CanId::raw).collect());
            (port, made)
        });
        let mut places: BTreeMap<&str, BTreeSet<PortId>> = BTreeMap::new();
        for (id, port) in (0..).map(PortId).zip(&config.ports) {
            for node in &port.messages.nodes {
                places.entry(node).or_default().insert(id);
            }
        }
        Self {
            ports: ports.collect(),
            places,
        }
    }

    /// Returns whether a message certainly comes in at a port; `None` if it does not.
    fn comes_in(&self, port: PortId, message: &MessageDefinition) -> Option<bool> {
        let (spec, made) = self.ports.get(usize::from(port.0))?;
        if let Some(made) = made {
            return made.contains(&message.id.raw()).then_some(true);
        }
        let senders = message.sender.iter().chain(&message.more_senders);
        let mut is_elsewhere = false;
        for places in senders.filter_map(|node| self.places.get(node.as_str())) {
            if places.contains(&port) {
                return Some(true);
            }
            // `places` is not empty.
            is_elsewhere = true;
        }
        // A sender on another bus, or nodes of this bus that do not send it.
        let has_sender = message.sender.is_some();
        let is_absent = is_elsewhere || (has_sender && !spec.messages.nodes.is_empty());
        (!is_absent).then_some(false)
    }
}
