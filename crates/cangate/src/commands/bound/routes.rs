//! The messages of a set, followed through a gateway file to other buses.

use super::connected::{AttachedPort, ConnectedSet, PortCapacity};
use super::copies::{RoutingTables, SentCopy, SentWay};
use super::made;
use super::sources::{made_alone, made_inputs, source_timeouts};
use super::splits::{self, SplitLoad, SplitResult, SplitSource};
use super::tunnels::{EnteredTunnel, TunnelPlan};
use analysis::set::MessageSet;
use analysis::{
    BusSpec, FrameShape, GatewayHop, HopFrames, Message, MessagePlace, Network, NodeSpec, SendOrder,
};
use console::Failure;
use frame::{Kind, Nanos, wire};
use gateway::config::{GatewayConfig, MessageNames};
use port::PortSpec;
use port::embedded::BusSettings;
use port::split::SplitSettings;
use route::PortId;
use route::config::NamedDatabase;
use std::num::NonZeroU8;
use std::sync::Arc;

/// The maximum number of messages: more are a mistake of the routes.
const MOST_MESSAGES: usize = 100_000;

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

/// A gateway, with its ports on buses of the set.
struct FollowedGateway<'c> {
    config: &'c GatewayConfig,
    ports: Vec<Option<AttachedPort>>,
    names: Vec<MessageNames<'c>>,
    tables: RoutingTables<'c>,
}

impl FollowedGateway<'_> {
    fn route(&self, sent: &SentCopy) -> String {
        let route = self.config.routes.routes.get(sent.route.0 as usize);
        route.map_or_else(String::new, |route| route.name.clone())
    }
}

/// Follows all messages through the gateways, from bus to bus.
pub(super) fn connect(
    set: MessageSet,
    configs: &[GatewayConfig],
    delay: Nanos,
) -> Result<ConnectedSet, Failure> {
    let mut plan = TunnelPlan::new(&set.tunnels, configs, delay)?;
    let mut all = alone(set);
    all.has_gateway = true;
    let mut gateways = Vec::with_capacity(configs.len());
    for config in configs {
        let mut ports = Vec::with_capacity(config.ports.len());
        for spec in &config.ports {
            ports.push(attach(&mut all, spec)?);
        }
        let names = (0_u16..).zip(&config.ports);
        gateways.push(FollowedGateway {
            config,
            ports,
            names: names
                .map(|(port, _)| config.message_names(PortId(port)))
                .collect(),
            tables: RoutingTables::new(&config.routes, config.ports.len())?,
        });
    }
    if gateways.iter().flat_map(|g| &g.ports).flatten().count() < 2 {
        return Err(Failure::input(
            "--gateway: fewer than two of its ports are on buses of the set; a port of kind \"bus\" is on the \
             bus that it names, another one on that of [nodes.PORT], or of its own name",
        ));
    }
    for (number, gateway) in gateways.iter().enumerate() {
        made::add(
            &mut all,
            (number, gateway.config),
            &gateway.ports,
            &gateway.tables,
            delay,
        )?;
    }
    for gateway in &gateways {
        name_messages(&mut all, gateway);
    }
    let buses = 0..all.network.buses.len();
    let mut waiting: Vec<MessagePlace> = buses
        .flat_map(|bus| {
            let messages = 0..all.network.buses[bus].messages.len();
            messages.map(move |message| MessagePlace { bus, message })
        })
        .collect();
    while let Some(place) = waiting.pop() {
        let message = all.network.buses[place.bus].messages[place.message].clone();
        for (number, gateway) in gateways.iter().enumerate() {
            for (port, attached) in (0_u16..).zip(&gateway.ports) {
                // A node does not receive its own frames.
                let is_here = |a: &AttachedPort| a.bus == place.bus && a.node != message.node;
                if attached.as_ref().is_none_or(|attached| !is_here(attached)) {
                    continue;
                }
                let whole = all.wholes.get(&(place.bus, place.message)).copied();
                for sent in gateway.tables.follow(&message.shape, PortId(port))? {
                    let way = SentWay {
                        from: place,
                        message: &message,
                        route: gateway.route(&sent),
                        delay,
                        passage: None,
                        frames: HopFrames::Same,
                        whole,
                    };
                    let mut follow = WayFollower {
                        all: &mut all,
                        plan: &mut plan,
                        gateways: &gateways,
                        delay,
                        tunnel: None,
                        reached: &mut waiting,
                    };
                    follow.pass_on(number, &sent, &way)?;
                }
            }
        }
    }
    all.notes.extend(plan.notes(configs));
    (all.network.tunnels, all.tunnel_ports) = plan.finish();
    Ok(all)
}

/// Follows a copy from a port of a gateway through tunnels and ports that split, to the next buses.
struct WayFollower<'f, 'c> {
    all: &'f mut ConnectedSet,
    plan: &'f mut TunnelPlan<'c>,
    gateways: &'f [FollowedGateway<'c>],
    /// The longest time of a gateway.
    delay: Nanos,
    /// The tunnel that the copy has passed.
    tunnel: Option<EnteredTunnel>,
    /// The messages on the next buses.
    reached: &'f mut Vec<MessagePlace>,
}

impl WayFollower<'_, '_> {
    /// Passes on a copy at the port of a gateway to which it goes.
    fn pass_on(
        &mut self,
        number: usize,
        sent: &SentCopy,
        way: &SentWay<'_>,
    ) -> Result<(), Failure> {
        let gateways = self.gateways;
        let Some(gateway) = gateways.get(number) else {
            return Ok(());
        };
        if let Some(spec) = gateway.config.ports.get(usize::from(sent.to.0))
            && let Some(settings) = splits::settings(spec)
        {
            return self.split(number, spec, settings, sent, way);
        }
        if let Some(entered) = &self.tunnel {
            self.plan.refuse_second(entered, sent, &way.route)?;
        } else if let Some(entered) = self.plan.enter(number, sent, way.from, &way.route)? {
            if way.frames != HopFrames::Same {
                return Err(Failure::input(format!(
                    "{} (route {}): a port of kind \"split\" makes the frames, and tunnel {} carries them without a bus \
                     between: bounds do not cover this; a tunnel carries FD frames whole",
                    way.message.label(),
                    way.route,
                    entered.name
                )));
            }
            let Some(far) = gateways.get(entered.gateway) else {
                return Ok(());
            };
            let (name, other, port) = (entered.name.clone(), entered.gateway, entered.port);
            let passage = Some(entered.passage);
            self.tunnel = Some(entered);
            for behind in far.tables.follow(&sent.shape, port)? {
                let there = far.route(&behind);
                let way = SentWay {
                    route: format!("{}, tunnel {name}, route {there}", way.route),
                    passage,
                    ..way.clone()
                };
                self.pass_on(other, &behind.after(sent), &way)?;
            }
            self.tunnel = None;
            return Ok(());
        }
        self.reached.extend(arrive(self.all, gateway, sent, way)?);
        Ok(())
    }

    /// Passes on the frames that a port makes which splits or joins those of a copy.
    fn split(
        &mut self,
        number: usize,
        spec: &PortSpec,
        settings: &SplitSettings,
        sent: &SentCopy,
        way: &SentWay<'_>,
    ) -> Result<(), Failure> {
        let gateways = self.gateways;
        let Some(gateway) = gateways.get(number) else {
            return Ok(());
        };
        let (label, route, port) = (way.message.label(), &way.route, &spec.name);
        let made = match splits::made(settings, &sent.shape, way.whole)? {
            SplitResult::Makes(_) if way.frames != HopFrames::Same => {
                return Err(Failure::input(format!(
                    "{label} (route {route}, port {port}): the frame is split and joined without a bus between; lead \
                     it there by a route alone"
                )));
            }
            SplitResult::Makes(made) => made,
            SplitResult::Nothing => return Ok(()),
            SplitResult::Unknown => {
                self.all.notes.push(format!(
                    "the FD frames that port {port} joins from {label} (route {route}): the set does not have the FD \
                     frame of these parts; add the joined one, as a message of the port that sends it"
                ));
                return Ok(());
            }
        };
        let delay = way.delay.saturating_add(self.delay);
        self.all.splits.push(SplitLoad {
            gateway: number,
            port: port.clone(),
            room: settings.queue,
            frames: made.frames,
            source: SplitSource::Received(way.from, way.passage),
            delay,
        });
        let words = match made.frames {
            HopFrames::Split(parts) => format!("{parts} parts by port {port}"),
            HopFrames::Joined(_) | HopFrames::Same => format!("joined by port {port}"),
        };
        for behind in gateway.tables.follow(&made.shape, sent.to)? {
            let mut behind = behind.after(sent);
            behind.unchanged = false;
            behind.condition.within = made.within;
            let there = gateway.route(&behind);
            let way = SentWay {
                route: format!("{route}, {words}, route {there}"),
                // The gateway takes the frames from the port as it takes them from a bus.
                delay,
                frames: made.frames,
                whole: made.whole,
                ..way.clone()
            };
            self.pass_on(number, &behind, &way)?;
        }
        Ok(())
    }
}

/// Gives the messages of a gateway's buses their names, and notes the messages that its ports make.
fn name_messages(all: &mut ConnectedSet, gateway: &FollowedGateway<'_>) {
    for (attached, names) in gateway.ports.iter().zip(&gateway.names) {
        let Some(attached) = attached else { continue };
        for message in &mut all.network.buses[attached.bus].messages {
            name(message, None, names);
        }
    }
    for (attached, database) in gateway.ports.iter().zip(&gateway.config.databases) {
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
    for spec in &gateway.config.ports {
        let left_out = made_alone(spec, &all.network.buses, |label| {
            all.made.iter().any(|placed| placed.made == label)
        });
        all.notes.extend(left_out);
    }
}

/// Adds a copy at a port of a gateway; returns its place on the next bus.
fn arrive(
    all: &mut ConnectedSet,
    gateway: &FollowedGateway<'_>,
    sent: &SentCopy,
    way: &SentWay<'_>,
) -> Result<Option<MessagePlace>, Failure> {
    let port = usize::from(sent.to.0);
    let Some(to) = gateway.ports.get(port).copied().flatten() else {
        if let Some(spec) = gateway.config.ports.get(port) {
            let found = source_timeouts(spec, way, sent);
            all.sources.extend(found);
            all.inputs.extend(made_inputs(spec, way, sent));
        }
        return Ok(None);
    };
    let message = way.message;
    let added = add(all, way, to, sent)?;
    if let (Some(added), Some(names)) = (added, gateway.names.get(port)) {
        let bus = &mut all.network.buses[added.bus];
        name(&mut bus.messages[added.message], Some(message), names);
    }
    Ok(added)
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
    way: &SentWay<'_>,
    to: AttachedPort,
    sent: &SentCopy,
) -> Result<Option<MessagePlace>, Failure> {
    let (message, route) = (way.message, &way.route);
    let bus = &mut all.network.buses[to.bus];
    if sent.shape.header().kind() == Kind::Fd && bus.rate.data().is_none() {
        all.notes.push(format!(
            "{} (route {route}): an FD frame, which bus {} does not carry",
            message.label(),
            bus.name
        ));
        return Ok(None);
    }
    let is_made = way.frames != HopFrames::Same;
    let key = |shape: &FrameShape| wire::arbitration_key(shape.header()) >> 2;
    let new = Message {
        node: to.node,
        shape: sent.shape,
        arrival: way.frames.of(message.arrival),
        // It reaches the next bus when it has ended on this one, whatever the clock of its node.
        offset: None,
        ..message.clone()
    };
    let mut known = bus.messages.iter().enumerate();
    if let Some((message, same)) = known.find(|(_, m)| key(&m.shape) == key(&new.shape)) {
        let place = MessagePlace {
            bus: to.bus,
            message,
        };
        // The set has the frames that the port makes: their own figures count.
        if is_made && same.node == to.node && all.network.hops.iter().all(|hop| hop.to != place) {
            return Ok(None);
        }
        return Err(Failure::input(format!(
            "route {route} sends {} to bus {} as {}, which {} sends there already: arbitration \
             cannot decide between them",
            way.message.label(),
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
        from: way.from,
        to: place,
        delay: way.delay,
        unchanged: sent.unchanged,
        frames: way.frames,
        passage: way.passage,
    });
    all.routes.push(route.clone());
    all.conditions.push(sent.condition);
    if let Some(whole) = way.whole {
        all.wholes.insert((place.bus, place.message), whole);
    }
    Ok(Some(place))
}
