//! Several buses, and gateways between them.
//!
//! # The argument
//! A frame that a gateway passes on is released on the next bus when it has ended on the one
//! before, later by the gateway's own time. With the event of the message at 0, that is
//!
//! * not before `base`: the sum of the shortest lengths of its frames on the buses before;
//! * not after the bound on the bus before, and the gateway's time.
//!
//! So on the next bus it is a message with an event at `base`, with the difference of the two as
//! its jitter, and with its period, or its list of distances. Two frames of it end on one bus at
//! least the shortest length after each other; the gateway's time can bring them nearer by as much
//! as it varies.
//!
//! Over a tunnel ([`mod@crate::tunnel`]), the least time of the tunnel is part of `base`, and its
//! longest time part of the jitter. It depends on the jitter of all messages in the tunnel, which
//! grows with the others.
//!
//! # Parts
//! A gateway can split a frame into parts, which are frames of one message on the next bus
//! ([`HopFrames`]). Each event then releases all of them there, from `base` on, within the jitter:
//! [`Arrival::in_parts`]. The bound of such a message is that of the last part. A gateway that
//! joins parts releases the whole frame when the last of them has ended: not before all their
//! shortest lengths, because two of them cannot be on a bus at one time.
//!
//! # The search
//! The bounds of one bus need those of others, in circles where routes go both ways. The search
//! begins without any jitter and repeats until nothing grows; [`crate::CompiledBus::assess`]
//! explains why the result is safe. Where jitter feeds jitter around a circle it can grow without
//! end: then there is no bound, and [`NetworkFound::circle`] lists the buses.

use crate::train::{self, FrameSource};
use crate::tunnel::{self, TunnelArrival, TunnelFound, TunnelPassage, TunnelSpec};
use crate::{
    Arrival, Assessment, BusSpec, CompiledBus, LengthSearch, MessagePlace, ModelError, NoBound,
    SendOrder,
};
use alloc::vec;
use alloc::vec::Vec;
use core::num::NonZeroU8;
use frame::Nanos;

/// A message that a gateway passes on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GatewayHop {
    /// The message on the previous bus.
    pub from: MessagePlace,
    /// The message on the next bus: of a node that represents the gateway. Its arrival is ignored.
    pub to: MessagePlace,
    /// The longest time that the gateway takes, from the end of frame until its node on the next
    /// bus has the frame, ns.
    pub delay: Nanos,
    /// Whether the frame is passed on unchanged, with its ID and payload.
    pub unchanged: bool,
    /// The number of frames on the next bus.
    pub frames: HopFrames,
    /// The tunnel between the two buses, if there is one. Then `delay` is the time of the gateway
    /// behind it, and [`tunnel::TunnelFlow::before`] that of the one in front.
    pub passage: Option<TunnelPassage>,
}

/// The number of frames that a gateway makes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum HopFrames {
    /// One for each frame.
    #[default]
    Same,
    /// This number for each frame, all at once: [`GatewayHop::to`] has the shape of all.
    Split(NonZeroU8),
    /// One for this number of frames, of one event, when the last of them has come.
    Joined(NonZeroU8),
}

impl HopFrames {
    /// Returns the arrival of the frames that are made of those that come by this one.
    #[must_use]
    pub fn of(self, arrival: Arrival) -> Arrival {
        match self {
            Self::Same => arrival,
            Self::Split(parts) => arrival.in_parts(parts),
            Self::Joined(parts) => arrival.joined(parts),
        }
    }

    /// Returns the number of frames that one frame becomes.
    const fn made(self) -> u64 {
        match self {
            Self::Split(parts) => parts.get() as u64,
            Self::Same | Self::Joined(_) => 1,
        }
    }

    /// Returns the number of frames that are made when one has come; `came` counts those of its
    /// event.
    pub(crate) const fn after(self, came: &mut u64) -> u64 {
        *came += 1;
        if (*came).is_multiple_of(self.needed()) {
            self.made()
        } else {
            0
        }
    }

    /// Returns the number of frames from which one is made.
    const fn needed(self) -> u64 {
        match self {
            Self::Joined(parts) => parts.get() as u64,
            Self::Same | Self::Split(_) => 1,
        }
    }
}

/// Buses and the gateways between them.
#[derive(Clone, Debug, Default)]
pub struct Network {
    /// The buses.
    pub buses: Vec<BusSpec>,
    /// The messages that gateways pass on. A message is the target of at most one hop.
    pub hops: Vec<GatewayHop>,
    /// The tunnels between gateways, each in one direction.
    pub tunnels: Vec<TunnelSpec>,
}

/// The results for a network.
#[derive(Clone, Debug)]
pub struct NetworkFound {
    /// The buses, with the arrivals of the messages that were passed on.
    pub compiled: Vec<CompiledBus>,
    /// The results for each bus. The response of a message that was passed on starts at
    /// [`NetworkFound::base`].
    pub buses: Vec<Assessment>,
    /// For each bus and message, the earliest time after its event at which it can arrive there,
    /// ns; 0 for a message that was not passed on.
    pub base: Vec<Vec<Nanos>>,
    /// The results for each tunnel.
    pub tunnels: Vec<Result<TunnelFound, NoBound>>,
    /// Buses whose jitters grow without end, in a circle; empty if there is none.
    pub circle: Vec<usize>,
}

/// The reason why a network cannot be bounded.
#[derive(thiserror::Error, Clone, Copy, PartialEq, Eq, Debug)]
pub enum NetworkError {
    /// A bus cannot be bounded.
    #[error("bus {bus}: {error}")]
    Bus {
        /// Its index.
        bus: usize,
        /// The reason.
        error: ModelError,
    },
    /// A hop names a bus or a message that does not exist.
    #[error("hop {0} names a bus or a message that does not exist")]
    NoPlace(usize),
    /// A message is the target of two hops, or of its own hops in a circle.
    #[error(
        "hop {0} leads to a message that another hop leads to already, or back to an earlier \
             one"
    )]
    TwoWays(usize),
    /// A tunnel has a flow of a message or of a port that does not exist, or a hop leads through a
    /// flow that does not exist, or that is another message's.
    #[error("tunnel {0} has a flow that does not fit its ports, its messages or its hops")]
    Flow(usize),
}

/// Maximum number of rounds of the search. What still grows after them is taken as growing without
/// end.
const MAX_ROUNDS: usize = 300;

/// The growth of a message's jitter since the first round, ns, above which it is taken as growing
/// without end: a minute is thousands of frames, and rounds take longer the more frames a busy
/// period has.
const MAX_GROWTH: Nanos = 60_000_000_000;

impl NetworkFound {
    /// Returns the bound of a message from its event to its end of frame on this bus, over all
    /// previous buses, ns.
    ///
    /// # Errors
    /// [`NoBound`] if there is none, or no such message.
    pub fn response(&self, place: MessagePlace) -> Result<Nanos, NoBound> {
        let bus = self.buses.get(place.bus);
        let found = bus.and_then(|bus| bus.messages.get(place.message));
        let bound = found.map_or(Err(NoBound::TooLong), |found| found.bound)?;
        let base = self
            .base
            .get(place.bus)
            .and_then(|all| all.get(place.message));
        Ok(bound.response.saturating_add(base.copied().unwrap_or(0)))
    }
}

impl Network {
    /// Returns bounds for all messages on all buses.
    ///
    /// # Errors
    /// [`NetworkError`]
    pub fn assess(&self, lengths: &mut LengthSearch) -> Result<NetworkFound, NetworkError> {
        let mut compiled = Vec::with_capacity(self.buses.len());
        for (bus, spec) in self.buses.iter().enumerate() {
            let one = CompiledBus::new(spec, lengths);
            compiled.push(one.map_err(|error| NetworkError::Bus { bus, error })?);
        }
        let order = self.in_order(&compiled)?;
        self.check_flows(&compiled)?;
        let mut base: Vec<Vec<Nanos>> = compiled
            .iter()
            .map(|bus| vec![0; bus.messages.len()])
            .collect();
        for hop in &order {
            let from = compiled[hop.from.bus].messages[hop.from.message];
            // Frames of several events can complete one, if an event has not the parts of one.
            let needed = match from
                .arrival
                .parts()
                .get()
                .is_multiple_of(hop.frames.needed())
            {
                true => hop.frames.needed(),
                false => 1,
            };
            let least = self.least(hop);
            base[hop.to.bus][hop.to.message] =
                base[hop.from.bus][hop.from.message] + needed * from.shortest + least;
            pass(&mut compiled, hop, 0, hop.delay);
            compiled[hop.to.bus].messages[hop.to.message].offset = None;
        }
        self.trace(&mut compiled);
        let mut found = NetworkFound {
            buses: compiled.iter().map(own).collect(),
            compiled,
            base,
            tunnels: Vec::new(),
            circle: Vec::new(),
        };
        let mut first = Vec::new();
        for round in 0.. {
            found.assess_tunnels(self);
            let grown = found.round(self, &order);
            if !grown.contains(&true) {
                break;
            }
            let jitters = found.jitters(&order);
            if round == 0 {
                first.clone_from(&jitters);
            }
            let growth = jitters.iter().zip(&first).map(|(now, then)| now - then);
            let is_endless = round >= MAX_ROUNDS || growth.max() > Some(MAX_GROWTH);
            let changed = (0..found.compiled.len()).filter(|&bus| grown[bus]);
            if is_endless {
                found.circle = changed.collect();
                break;
            }
            for bus in changed {
                found.buses[bus] = own(&found.compiled[bus]);
            }
        }
        found.give_up(self, &order);
        Ok(found)
    }

    /// Sets the sources of the messages that are passed on, which limit how closely their frames
    /// can follow one another.
    fn trace(&self, compiled: &mut [CompiledBus]) {
        let ratio = |hop: &GatewayHop| {
            let there = &compiled[hop.from.bus].messages[hop.from.message];
            let here = &compiled[hop.to.bus].messages[hop.to.message];
            let shortest = there.shortest + (there.occupied - there.frame);
            let rates = [hop.from.bus, hop.to.bus].map(|bus| self.buses[bus].rate);
            match hop.unchanged && hop.frames == HopFrames::Same {
                true if rates[0] == rates[1] => train::ONE,
                // The same number of bits at another rate. Each of the two durations is rounded
                // twice, to a nanosecond.
                true if rates.iter().all(|rate| rate.data().is_none()) => {
                    let same = here.shortest + (here.occupied - here.frame);
                    train::ratio(same + 2, shortest.saturating_sub(2))
                }
                _ => train::ratio(hop.frames.made().saturating_mul(here.occupied), shortest),
            }
        };
        let ratios: Vec<u64> = self.hops.iter().map(ratio).collect();
        for hop in &self.hops {
            let copies = self.hops.iter().zip(&ratios);
            let copies =
                copies.filter(|(other, _)| other.from == hop.from && other.to.bus == hop.to.bus);
            let mut source = FrameSource {
                bus: hop.from.bus,
                ratio: 0,
                longest: 0,
                copies: 0,
                least: Nanos::MAX,
                shortest: compiled[hop.from.bus]
                    .least_occupied(hop.from.message)
                    .unwrap_or(1),
                delay: 0,
            };
            for (copy, ratio) in copies {
                let sent = &compiled[copy.to.bus].messages[copy.to.message];
                source.ratio = source.ratio.saturating_add(*ratio);
                let made = copy.frames.made();
                let longest = made.saturating_mul(sent.occupied);
                source.longest = source.longest.saturating_add(longest);
                source.copies += made;
                let least = self.least(copy);
                source.least = source.least.min(least);
                source.delay = source.delay.max(least.saturating_add(copy.delay));
            }
            compiled[hop.to.bus].messages[hop.to.message].source = Some(source);
        }
    }

    /// Returns the least time of a hop, ns.
    fn least(&self, hop: &GatewayHop) -> Nanos {
        let tunnel = hop
            .passage
            .map(|passage| (self.tunnels.get(passage.tunnel), passage.flow));
        tunnel.map_or(0, |(tunnel, flow)| {
            tunnel.map_or(0, |tunnel| tunnel.least(flow))
        })
    }

    fn check_flows(&self, compiled: &[CompiledBus]) -> Result<(), NetworkError> {
        for (number, tunnel) in self.tunnels.iter().enumerate() {
            let fits = |flow: &tunnel::TunnelFlow| {
                let bus = compiled.get(flow.from.bus);
                bus.is_some_and(|bus| flow.from.message < bus.messages.len())
                    && flow.port < tunnel.ports.len()
            };
            if !tunnel.flows.iter().all(fits) {
                return Err(NetworkError::Flow(number));
            }
        }
        for (hop, passage) in self.hops.iter().filter_map(|hop| Some((hop, hop.passage?))) {
            let tunnel = self.tunnels.get(passage.tunnel);
            let flow = tunnel.and_then(|tunnel| tunnel.flows.get(passage.flow));
            if flow.is_none_or(|flow| flow.from != hop.from) {
                return Err(NetworkError::Flow(passage.tunnel));
            }
        }
        Ok(())
    }

    /// Returns the hops, each after the one that leads to its beginning.
    fn in_order(&self, compiled: &[CompiledBus]) -> Result<Vec<GatewayHop>, NetworkError> {
        let there = |place: MessagePlace| {
            let bus = compiled.get(place.bus);
            bus.is_some_and(|bus| place.message < bus.messages.len())
        };
        for (i, hop) in self.hops.iter().enumerate() {
            if !there(hop.from) || !there(hop.to) {
                return Err(NetworkError::NoPlace(i));
            }
            if self.hops[..i].iter().any(|other| other.to == hop.to) {
                return Err(NetworkError::TwoWays(i));
            }
        }
        let mut order: Vec<GatewayHop> = Vec::with_capacity(self.hops.len());
        let mut left: Vec<usize> = (0..self.hops.len()).collect();
        while !left.is_empty() {
            let waits = |i: &usize| {
                let from = self.hops[*i].from;
                left.iter().any(|&other| self.hops[other].to == from)
            };
            let ready: Vec<usize> = left.iter().copied().filter(|i| !waits(i)).collect();
            if ready.is_empty() {
                return Err(NetworkError::TwoWays(left[0]));
            }
            order.extend(ready.iter().map(|&i| self.hops[i]));
            left.retain(|i| !ready.contains(i));
        }
        Ok(order)
    }
}

fn own(bus: &CompiledBus) -> Assessment {
    bus.assess(&bus.arrivals())
}

/// Sets the arrival of a message that is passed on. `varies`: the difference between the longest
/// and the least time of the hop.
fn pass(compiled: &mut [CompiledBus], hop: &GatewayHop, jitter: Nanos, varies: Nanos) {
    let from = compiled[hop.from.bus].messages[hop.from.message];
    let distance = from.shortest.saturating_sub(varies);
    let arrival = from.arrival.with_jitter(jitter, distance);
    compiled[hop.to.bus].messages[hop.to.message].arrival = hop.frames.of(arrival);
}

impl NetworkFound {
    /// Computes the times of all tunnels from the bounds of this round.
    fn assess_tunnels(&mut self, network: &Network) {
        let each = network.tunnels.iter().map(|tunnel| {
            let arrivals = tunnel.flows.iter().map(|flow| self.arrival_at(flow));
            let arrivals: Result<Vec<TunnelArrival>, NoBound> = arrivals.collect();
            tunnel::assess(tunnel, &arrivals?)
        });
        self.tunnels = each.collect();
    }

    /// Returns how the frames of a flow come to the port of a tunnel.
    fn arrival_at(&self, flow: &tunnel::TunnelFlow) -> Result<TunnelArrival, NoBound> {
        let ends = self.ends(flow.from).map_err(|_| NoBound::Upstream)?;
        let bus = &self.compiled[flow.from.bus];
        let distance = ends.distance().saturating_sub(flow.before);
        Ok(TunnelArrival {
            arrival: ends.delayed(flow.before, distance),
            bus: flow.from.bus,
            shortest: bus.least_occupied(flow.from.message).unwrap_or(1),
            spread: flow.before,
        })
    }

    /// Returns the times at which the frames of a message end on this bus, as releases.
    ///
    /// # Errors
    /// The message has no bound, or does not exist.
    pub fn ends(&self, place: MessagePlace) -> Result<Arrival, NoBound> {
        let response = self.response(place)?;
        let bus = self.compiled.get(place.bus);
        let sent = bus.and_then(|bus| bus.messages.get(place.message));
        let (sent, earliest) = sent.zip(self.earliest_end(place)).ok_or(NoBound::TooLong)?;
        let jitter = response.saturating_sub(earliest);
        Ok(sent.arrival.with_jitter(jitter, sent.shortest))
    }

    /// Returns the least and the longest time of a hop, from the end of frame on the bus before to
    /// the release on the next one, ns.
    ///
    /// # Errors
    /// The tunnel on its way has no bound.
    pub fn hop_times(&self, hop: &GatewayHop) -> Result<(Nanos, Nanos), NoBound> {
        self.passage_times(hop.passage, hop.delay)
    }

    /// Returns the least and the longest time through a tunnel, if there is one, and a gateway that
    /// takes up to `delay`, ns.
    ///
    /// # Errors
    /// The tunnel has no bound.
    pub fn passage_times(
        &self,
        passage: Option<TunnelPassage>,
        delay: Nanos,
    ) -> Result<(Nanos, Nanos), NoBound> {
        let Some(passage) = passage else {
            return Ok((0, delay));
        };
        let tunnel = self.tunnels.get(passage.tunnel).ok_or(NoBound::TooLong)?;
        let found = tunnel.as_ref().map_err(|why| *why)?;
        let flow = found.flows.get(passage.flow).ok_or(NoBound::TooLong)?;
        Ok((flow.least, flow.most().saturating_add(delay)))
    }

    /// Returns the jitter of each hop's message on the next bus, ns.
    fn jitters(&self, order: &[GatewayHop]) -> Vec<Nanos> {
        let messages = order
            .iter()
            .map(|hop| &self.compiled[hop.to.bus].messages[hop.to.message]);
        messages.map(|message| message.arrival.jitter()).collect()
    }

    /// Propagates jitter; returns for each bus whether one of its messages has more than before.
    fn round(&mut self, network: &Network, order: &[GatewayHop]) -> Vec<bool> {
        let mut grown = vec![false; self.compiled.len()];
        for hop in order {
            // A message without a bound has no jitter to propagate: `give_up` handles it.
            let (Ok(response), Ok((least, most))) = (self.response(hop.from), self.hop_times(hop))
            else {
                continue;
            };
            let base = self.base[hop.to.bus][hop.to.message];
            let jitter = response.saturating_add(most).saturating_sub(base);
            let known = self.compiled[hop.to.bus].messages[hop.to.message].arrival;
            if jitter > known.jitter() {
                pass(&mut self.compiled, hop, jitter, most.saturating_sub(least));
                grown[hop.to.bus] = true;
            }
            if hop.passage.is_some() {
                self.retime(network, hop, most);
            }
        }
        grown
    }

    /// Sets the longest time of a message's source, and of those that share it.
    fn retime(&mut self, network: &Network, hop: &GatewayHop, most: Nanos) {
        let copies = network.hops.iter();
        let copies = copies.filter(|copy| copy.from == hop.from && copy.to.bus == hop.to.bus);
        for copy in copies {
            let sent = &mut self.compiled[copy.to.bus].messages[copy.to.message];
            if let Some(source) = &mut sent.source {
                source.delay = source.delay.max(most);
            }
        }
    }

    /// Withdraws bounds that depend on messages without one.
    fn give_up(&mut self, network: &Network, order: &[GatewayHop]) {
        for &bus in &self.circle {
            for message in &mut self.buses[bus].messages {
                message.bound = Err(NoBound::Circle);
            }
        }
        loop {
            let mut lost = self.give_up_tunnels(network);
            for hop in order {
                if self.response(hop.from).is_ok() && self.hop_times(hop).is_ok() {
                    continue;
                }
                // The time at which it arrives is not known. If all nodes send in order of
                // priority, it can block only what is above it; if not, it can be in front of
                // anything.
                let bus = &self.compiled[hop.to.bus];
                let plain = bus.orders.iter().all(|order| *order == SendOrder::Priority);
                let lowest = match plain {
                    true => bus.messages[hop.to.message].key,
                    false => 0,
                };
                let found = self.buses[hop.to.bus].messages.iter_mut();
                for (message, sent) in found.zip(&bus.messages) {
                    if sent.key >= lowest && message.bound.is_ok() {
                        message.bound = Err(NoBound::Upstream);
                        lost = true;
                    }
                }
            }
            if !lost {
                break;
            }
        }
        // Frames of a message without a bound wait in its node for a time that is not known.
        for (found, bus) in self.buses.iter_mut().zip(&self.compiled) {
            for (message, sent) in found.messages.iter().zip(&bus.messages) {
                if message.bound.is_err() {
                    found.nodes[sent.node].backlog = None;
                }
            }
        }
    }

    /// Withdraws the times of tunnels that a message without a bound is sent into: the others in
    /// it wait for its frames, whose times are not known. Returns whether there is one.
    fn give_up_tunnels(&mut self, network: &Network) -> bool {
        let mut lost = false;
        for (number, tunnel) in network.tunnels.iter().enumerate() {
            let is_known = tunnel
                .flows
                .iter()
                .all(|flow| self.response(flow.from).is_ok());
            if let Some(found) = self.tunnels.get_mut(number)
                && found.is_ok()
                && !is_known
            {
                *found = Err(NoBound::Upstream);
                lost = true;
            }
        }
        lost
    }
}
