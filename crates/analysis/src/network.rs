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
//! The bounds of one bus need those of others, in circles where routes go both ways. The search
//! begins without any jitter and repeats until nothing grows; [`crate::CompiledBus::assess`]
//! explains why the result is safe. Where jitter feeds jitter around a circle it can grow without
//! end: then there is no bound, and [`NetworkFound::circle`] lists the buses.

use crate::train::{self, FrameSource};
use crate::{Assessment, BusSpec, CompiledBus, LengthSearch, ModelError, NoBound, SendOrder};
use alloc::vec;
use alloc::vec::Vec;
use frame::Nanos;

/// A message of a bus.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MessagePlace {
    /// An index into [`Network::buses`].
    pub bus: usize,
    /// An index into [`BusSpec::messages`].
    pub message: usize,
}

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
}

/// Buses and the gateways between them.
#[derive(Clone, Debug, Default)]
pub struct Network {
    /// The buses.
    pub buses: Vec<BusSpec>,
    /// The messages that gateways pass on. A message is the target of at most one hop.
    pub hops: Vec<GatewayHop>,
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
}

/// Maximum number of rounds of the search.
const MAX_ROUNDS: usize = 300;

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
        let mut base: Vec<Vec<Nanos>> = compiled
            .iter()
            .map(|bus| vec![0; bus.messages.len()])
            .collect();
        for hop in &order {
            let shortest = compiled[hop.from.bus].messages[hop.from.message].shortest;
            base[hop.to.bus][hop.to.message] = base[hop.from.bus][hop.from.message] + shortest;
            pass(&mut compiled, hop, 0);
            compiled[hop.to.bus].messages[hop.to.message].offset = None;
        }
        self.trace(&mut compiled);
        let mut found = NetworkFound {
            buses: compiled.iter().map(own).collect(),
            compiled,
            base,
            circle: Vec::new(),
        };
        for round in 0.. {
            let grown = found.round(&order);
            let changed = |bus: &usize| grown.get(*bus) == Some(&true);
            if !grown.contains(&true) {
                break;
            }
            let again = (0..found.compiled.len()).filter(changed);
            for bus in again.collect::<Vec<_>>() {
                found.buses[bus] = own(&found.compiled[bus]);
                if round >= MAX_ROUNDS {
                    found.circle.push(bus);
                }
            }
            if round >= MAX_ROUNDS {
                break;
            }
        }
        found.give_up(&order);
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
            match hop.unchanged {
                true if rates[0] == rates[1] => train::ONE,
                // The same number of bits at another rate. Each of the two durations is rounded
                // twice, to a nanosecond.
                true if rates.iter().all(|rate| rate.data().is_none()) => {
                    let same = here.shortest + (here.occupied - here.frame);
                    train::ratio(same + 2, shortest.saturating_sub(2))
                }
                _ => train::ratio(here.occupied, shortest),
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
                shortest: compiled[hop.from.bus]
                    .least_occupied(hop.from.message)
                    .unwrap_or(1),
                delay: 0,
            };
            for (copy, ratio) in copies {
                let sent = &compiled[copy.to.bus].messages[copy.to.message];
                source.ratio = source.ratio.saturating_add(*ratio);
                source.longest = source.longest.saturating_add(sent.occupied);
                source.copies += 1;
                source.delay = source.delay.max(copy.delay);
            }
            compiled[hop.to.bus].messages[hop.to.message].source = Some(source);
        }
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

/// Sets the arrival of a message that is passed on.
fn pass(compiled: &mut [CompiledBus], hop: &GatewayHop, jitter: Nanos) {
    let from = compiled[hop.from.bus].messages[hop.from.message];
    let distance = from.shortest.saturating_sub(hop.delay);
    let arrival = from.arrival.with_jitter(jitter, distance);
    compiled[hop.to.bus].messages[hop.to.message].arrival = arrival;
}

impl NetworkFound {
    /// Propagates jitter; returns for each bus whether one of its messages has more than before.
    fn round(&mut self, order: &[GatewayHop]) -> Vec<bool> {
        let mut grown = vec![false; self.compiled.len()];
        for hop in order {
            // A message without a bound has no jitter to propagate: `give_up` handles it.
            let Ok(response) = self.response(hop.from) else {
                continue;
            };
            let base = self.base[hop.to.bus][hop.to.message];
            let jitter = response.saturating_add(hop.delay).saturating_sub(base);
            let known = self.compiled[hop.to.bus].messages[hop.to.message].arrival;
            if jitter > known.jitter() {
                pass(&mut self.compiled, hop, jitter);
                grown[hop.to.bus] = true;
            }
        }
        grown
    }

    /// Withdraws bounds that depend on messages without one.
    fn give_up(&mut self, order: &[GatewayHop]) {
        for &bus in &self.circle {
            for message in &mut self.buses[bus].messages {
                message.bound = Err(NoBound::Circle);
            }
        }
        loop {
            let mut lost = false;
            for hop in order {
                if self.response(hop.from).is_ok() {
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
                return;
            }
        }
    }
}
