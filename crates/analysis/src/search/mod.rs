//! A search for the worst case of one message, where no construction reaches its bound.
//!
//! # Method
//! A *source* is a message that no gateway passes on. Each source has one number: the release of
//! its first frame, which is as late as its jitter allows; the others follow as early as they can.
//! So a search has as many numbers to find as there are sources, and each scenario conforms to the
//! model.
//!
//! 1. *Guided alignment.* The victim is released. On each bus of its route, in order, a simulation
//!    shows the time at which it arrives there. All frames that can precede it on this bus are
//!    made to arrive at that time, too, and the longest frame that can block it a nanosecond
//!    earlier. Frames that come over other buses are moved by the time by which they arrive too
//!    early or too late in the simulation.
//! 2. *Moves.* A source, or all sources of a bus, is moved so that a frame of it arrives at the
//!    beginning of an arbitration on the victim's route; or it is left out; or its place among
//!    frames of one instant changes. Each result with a victim's response at least as long is kept.
//!
//! Messages with offsets keep to the clock of their node. In a search the clocks are moved: all
//! sources of one together, or the clock under them. It begins with the phases in which the bound
//! is greatest ([`crate::critical_instant`]). A source can release nothing before a certain time,
//! and from then on all frames that are due on its clock: earlier frames have ended by then.
//!
//! Random moves come from a seed, so that a search with the same seed has the same result.

mod clocks;
mod play;

use crate::model::{BusSpec, SendOrder};
use crate::simulated::ReplayError;
use crate::{Assessment, LengthSearch, MessageOrigins, MessagePlace, Network, NetworkFound};
use alloc::vec::Vec;
use frame::{Frame, LengthError, Nanos};
use play::{PlayNetwork, PlayTrace, ReleaseScenario};

/// The time at which the victim is released in the search, ns: late enough for everything else to
/// come before.
const ORIGIN: Nanos = 1 << 50;

/// The reason why a search has no result.
#[derive(thiserror::Error, Clone, PartialEq, Debug)]
pub enum SearchError {
    /// The simulated buses do not accept their input.
    #[error(transparent)]
    Replay(#[from] ReplayError),
    /// Never occurs in practice: frames were checked when their shapes were made.
    #[error(transparent)]
    Length(#[from] LengthError),
}

/// A release on one of several buses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PlacedRelease {
    /// The time, ns.
    pub at: Nanos,
    /// The message.
    pub place: MessagePlace,
    /// The frame.
    pub frame: Frame,
}

/// The worst case that a search has found.
#[derive(Clone, PartialEq, Debug)]
pub struct WorstFound {
    /// Time from the event to the end of frame at the end of the route, ns: at most
    /// [`NetworkFound::response`].
    pub response: Nanos,
    /// Time from the release on the first bus to the same end of frame, ns.
    pub latency: Nanos,
    /// The releases of the buses' own messages, in order of time; the first one at 0.
    pub releases: Vec<PlacedRelease>,
    /// Number of scenarios that were simulated.
    pub plays: u32,
}

/// Searches for releases that make a frame of the message at `goal` take as long as possible, from
/// its event to its end of frame there. Gateways take the full [`crate::GatewayHop::delay`]. At
/// most `plays` scenarios are simulated; fewer if one reaches the bound within 1 ns.
///
/// `found` is the result of [`Network::assess`] for the same network. Frames that gateways pass on
/// are the longest ones of their shapes; where a gateway changes frames whose payload is not known,
/// it can in fact send shorter ones.
///
/// # Errors
/// [`SearchError`], also for a message that does not exist.
pub fn search(
    network: &Network,
    found: &NetworkFound,
    lengths: &mut LengthSearch,
    goal: MessagePlace,
    plays: u32,
    seed: u64,
) -> Result<WorstFound, SearchError> {
    let origins = MessageOrigins::new(network);
    let way = origins.way(goal);
    let mut frames = Vec::with_capacity(network.buses.len());
    for bus in &network.buses {
        let each = bus.messages.iter().map(|m| lengths.longest_frame(&m.shape));
        frames.push(each.collect::<Result<Vec<Frame>, LengthError>>()?);
    }
    let world = PlayNetwork::new(network, frames);
    let victim = world
        .sources
        .iter()
        .position(|place| way.first() == Some(place));
    let victim = victim.ok_or(ReplayError::NoMessage(goal.message))?;
    let assessed = found.buses.get(goal.bus);
    let bound = assessed.and_then(|bus| bus.messages.get(goal.message));
    let bound = bound.and_then(|message| message.bound.ok());
    let keys = world.sources.iter().map(|place| {
        let bus = &network.buses[place.bus];
        // At the same instant, the lowest comes first: it takes the buffer.
        !crate::compiled::field(bus.messages[place.message].shape.header())
    });
    let clocks = |bus: &BusSpec| alloc::vec![0; bus.nodes.len()];
    let mut scenario = ReleaseScenario {
        begins: world.sources.iter().map(|_| None).collect(),
        clocks: network.buses.iter().map(clocks).collect(),
        ranks: keys.collect(),
    };
    scenario.begins[victim] = Some(ORIGIN);
    scenario.ranks[victim] = u64::MAX;
    let mut search = WitnessSearch {
        compiled: &found.compiled,
        assessed: &found.buses,
        world,
        origins,
        way,
        victim,
        goal,
        last: bound.map_or(0, |bound| bound.instance),
        random: seed,
        plays: 0,
    };
    let enough = found
        .response(goal)
        .map_or(Nanos::MAX, |b| b.saturating_sub(1));
    let mut best = search.align(&mut scenario)?;
    while search.plays < plays && best.response < enough {
        let Some(moved) = search.moved(&scenario, &best) else {
            continue;
        };
        let trace = search.play(&moved)?;
        if trace.response >= best.response {
            (scenario, best) = (moved, trace);
        }
    }
    Ok(search.done(&best))
}

struct WitnessSearch<'n> {
    compiled: &'n [crate::CompiledBus],
    assessed: &'n [Assessment],
    world: PlayNetwork<'n>,
    origins: MessageOrigins<'n>,
    /// The places of the victim's frames, from bus to bus.
    way: Vec<MessagePlace>,
    /// The victim's source.
    victim: usize,
    goal: MessagePlace,
    /// The number of its frame with the greatest bound.
    last: u64,
    random: u64,
    plays: u32,
}

impl WitnessSearch<'_> {
    fn play(&mut self, scenario: &ReleaseScenario) -> Result<PlayTrace, ReplayError> {
        self.plays += 1;
        self.world.play(scenario, self.victim, self.goal, self.last)
    }

    /// Performs the guided alignment.
    fn align(&mut self, scenario: &mut ReleaseScenario) -> Result<PlayTrace, ReplayError> {
        for place in self.way.clone() {
            let trace = self.play(scenario)?;
            let first = trace.first[place.bus][place.message];
            // On its own bus, its clock has not been set yet.
            let own = self.world.sources[self.victim] == place;
            let arrives = first.filter(|_| !own).unwrap_or(ORIGIN);
            let on_it = self.on_bus(place.bus);
            let mut placed: Vec<(usize, usize, Nanos)> = Vec::new();
            for (source, message) in on_it.iter().copied() {
                if scenario.begins[source].is_none() && self.before(place, message) {
                    placed.push((source, message, arrives));
                }
            }
            self.set_clocks(scenario, place, arrives, &placed);
            let blocks = on_it.iter().filter(|(source, message)| {
                scenario.begins[*source].is_none() && !self.before(place, *message)
            });
            let blocks = blocks.map(|&(source, message)| {
                let earlier = self.earlier(scenario, source, arrives);
                let occupied = self.compiled[place.bus].messages[message].occupied;
                let left = occupied.saturating_sub(earlier - 1);
                (left, source, message, arrives.saturating_sub(earlier))
            });
            if let Some((_, source, message, at)) = blocks.max_by_key(|&(left, ..)| left) {
                placed.push((source, message, at));
            }
            for &(source, message, at) in &placed {
                let earliest = self.earliest(place.bus, message);
                scenario.begins[source] = Some(at.saturating_sub(earliest));
            }
            // Frames that come over other buses arrive at their own times.
            placed.retain(|&(source, ..)| self.world.sources[source].bus != place.bus);
            if !placed.is_empty() {
                let seen = self.play(scenario)?;
                for (source, message, at) in placed {
                    if let Some(first) = seen.first[place.bus][message] {
                        self.shift(scenario, source, first, at);
                    }
                }
            }
        }
        self.play(scenario)
    }

    /// Returns the sources whose frames reach a bus, each with its message there.
    fn on_bus(&self, bus: usize) -> Vec<(usize, usize)> {
        let mut all = Vec::new();
        for (source, &place) in self.world.sources.iter().enumerate() {
            let mut open: Vec<MessagePlace> = [place].into();
            while let Some(place) = open.pop() {
                if place.bus == bus && source != self.victim {
                    all.push((source, place.message));
                }
                let onward = &self.world.onward[place.bus][place.message];
                open.extend(onward.iter().map(|hop| hop.to));
            }
        }
        all
    }

    /// Returns whether this message can precede the victim, on the bus of `place`.
    fn before(&self, place: MessagePlace, message: usize) -> bool {
        let bus = &self.compiled[place.bus];
        let spec: &BusSpec = &self.world.network.buses[place.bus];
        let (own, other) = (bus.messages[place.message], bus.messages[message]);
        let queued = |node: usize| matches!(spec.nodes[node].order, SendOrder::Mailboxes(_));
        if queued(own.node) {
            let mates = bus.messages.iter().filter(|m| m.node == own.node);
            let lowest = mates.map(|m| m.key).max().unwrap_or(own.key);
            return other.node == own.node || other.key < lowest;
        }
        if queued(other.node) {
            let mut mates = bus.messages.iter().filter(|m| m.node == other.node);
            return mates.any(|m| m.key < own.key);
        }
        other.key < own.key
    }

    /// Returns the approximate earliest time after its release at which a source's message can be
    /// on this bus.
    fn earliest(&self, bus: usize, message: usize) -> Nanos {
        let way = self.origins.way(MessagePlace { bus, message });
        let before = way.iter().take(way.len() - 1);
        before
            .map(|place| self.compiled[place.bus].messages[place.message].shortest)
            .sum()
    }

    /// Returns a random number up to `most`: SplitMix64 (Steele, Lea, Flood, *Fast splittable
    /// pseudorandom number generators*, 2014).
    fn up_to(&mut self, most: u64) -> u64 {
        self.random = self.random.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.random;
        z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^= z >> 31;
        ((u128::from(z) * (u128::from(most) + 1)) >> 64) as u64
    }

    fn one_of<T: Copy>(&mut self, all: &[T]) -> Option<T> {
        let last = all.len().checked_sub(1)?;
        all.get(self.up_to(last as u64) as usize).copied()
    }

    /// Returns another scenario that may be worse; `None` if this draw gives none.
    fn moved(&mut self, scenario: &ReleaseScenario, best: &PlayTrace) -> Option<ReleaseScenario> {
        let mut next = scenario.clone();
        let buses: Vec<usize> = self.way.iter().map(|place| place.bus).collect();
        let bus = match self.up_to(9) {
            0 => self.up_to(self.world.network.buses.len() as u64 - 1) as usize,
            _ => self.one_of(&buses)?,
        };
        let on_it = self.on_bus(bus);
        let (source, message) = self.one_of(&on_it)?;
        match self.up_to(19) {
            0 => next.begins[source] = None,
            1 => next.ranks[source] = self.up_to(u64::MAX),
            2 => {
                let from = next.begins[source]?;
                let longest = self.compiled[bus]
                    .messages
                    .iter()
                    .map(|m| m.occupied)
                    .max()?;
                next.begins[source] = Some(from - longest + self.up_to(2 * longest));
            }
            3..=8 if self.clock(source).is_some() => self.turn(&mut next, source),
            what => {
                let at = self.instant(best, bus)?;
                let first = best.first[bus][message];
                let begin = next.begins[source];
                let (Some(first), Some(_)) = (first, begin) else {
                    let earliest = self.earliest(bus, message);
                    next.begins[source] = Some(at.saturating_sub(earliest));
                    return Some(next);
                };
                let origin = self.world.sources[source].bus;
                let together = what < 14 && origin != self.world.sources[self.victim].bus;
                if !together {
                    self.shift(&mut next, source, first, at);
                    return Some(next);
                }
                for other in 0..self.world.sources.len() {
                    if self.world.sources[other].bus == origin {
                        by(&mut next, other, first, at);
                    }
                }
                for clock in &mut next.clocks[origin] {
                    *clock = clock.saturating_add(at).saturating_sub(first);
                }
            }
        }
        Some(next)
    }

    /// Returns an instant that matters to the victim's worst frame on this bus, or to the frames
    /// before it.
    fn instant(&mut self, best: &PlayTrace, bus: usize) -> Option<Nanos> {
        let worst = best.steps.iter().filter(|s| s.number == best.number);
        let here = worst.clone().find(|step| step.bus == bus);
        let step = here.or_else(|| worst.clone().next())?;
        let starts = &best.starts[bus];
        let until = starts.partition_point(|start| *start <= step.start);
        // The beginning of the busy period is among the last starts before; how far back is not
        // known.
        let some = self.up_to(5);
        let back = 1 + self.up_to(1 << some) as usize;
        let around = &starts[until.saturating_sub(back.max(1))..until];
        let start = self.one_of(around);
        let at = match self.up_to(3) {
            0 => step.ready,
            _ => start.unwrap_or(step.ready),
        };
        Some(match self.up_to(3) {
            0 => at - 1,
            1 => at + 1,
            _ => at,
        })
    }

    fn done(&self, best: &PlayTrace) -> WorstFound {
        let zero = best.released.first().map_or(0, |release| release.at);
        let releases = best.released.iter().map(|release| {
            let place = self.world.sources[release.source];
            PlacedRelease {
                at: release.at - zero,
                place,
                frame: self.world.frames[place.bus][place.message],
            }
        });
        WorstFound {
            response: best.response,
            latency: best.latency,
            releases: releases.collect(),
            plays: self.plays,
        }
    }
}

/// Moves a source so that the frame that arrived at `from` arrives at `to`.
fn by(scenario: &mut ReleaseScenario, source: usize, from: Nanos, to: Nanos) {
    if let Some(begin) = &mut scenario.begins[source] {
        *begin = begin.saturating_add(to).saturating_sub(from);
    }
}
