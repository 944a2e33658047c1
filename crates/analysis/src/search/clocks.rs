//! Sources with offsets in a search.

use super::play::ReleaseScenario;
use super::{ORIGIN, WitnessSearch, by};
use crate::MessagePlace;
use crate::offset::behind;
use alloc::vec::Vec;
use frame::Nanos;

impl WitnessSearch<'_> {
    /// Returns the clock of a source with an offset: its bus and node.
    pub(super) fn clock(&self, source: usize) -> Option<(usize, usize)> {
        let place = *self.world.sources.get(source)?;
        let message = &self.world.network.buses[place.bus].messages[place.message];
        message.offset.map(|_| (place.bus, message.node))
    }

    /// Returns the least time before `at` at which a source is released, if it is released before
    /// it, ns.
    pub(super) fn earlier(&self, scenario: &ReleaseScenario, source: usize, at: Nanos) -> Nanos {
        let place = self.world.sources[source];
        let message = &self.world.network.buses[place.bus].messages[place.message];
        let clock = scenario.clocks[place.bus][message.node];
        let Some(offset) = message.offset.filter(|_| clock != 0) else {
            return 1;
        };
        let jitter = message.arrival.jitter();
        let last = clock.saturating_add(offset).saturating_add(jitter);
        match behind(last, at, message.arrival.period()) {
            shift if shift < jitter => 1,
            shift => message.arrival.period() - shift,
        }
    }

    /// Moves a source, with all of its clock, so that the frame that arrived at `from` arrives at
    /// `to`.
    pub(super) fn shift(
        &self,
        scenario: &mut ReleaseScenario,
        source: usize,
        from: Nanos,
        to: Nanos,
    ) {
        let Some((bus, node)) = self.clock(source) else {
            by(scenario, source, from, to);
            return;
        };
        for other in 0..self.world.sources.len() {
            if self.clock(other) == Some((bus, node)) {
                by(scenario, other, from, to);
            }
        }
        let clock = &mut scenario.clocks[bus][node];
        *clock = clock.saturating_add(to).saturating_sub(from);
    }

    /// Turns the clock of a source so that one of its frames is as late as possible when the source
    /// begins.
    pub(super) fn turn(&mut self, scenario: &mut ReleaseScenario, source: usize) {
        let Some((bus, node)) = self.clock(source) else {
            return;
        };
        let place = self.world.sources[source];
        let messages = &self.world.network.buses[place.bus].messages;
        let of_clock = messages
            .iter()
            .filter(|m| m.node == node && m.offset.is_some());
        let of_clock: Vec<(Nanos, Nanos, Nanos)> = of_clock
            .map(|m| {
                (
                    m.offset.unwrap_or(0),
                    m.arrival.jitter(),
                    m.arrival.period(),
                )
            })
            .collect();
        let longest = of_clock.iter().map(|(_, _, period)| *period).max();
        let begin = scenario.begins.get(source).copied().flatten();
        let begin = begin.unwrap_or(ORIGIN);
        if let (Some((offset, jitter, period)), Some(longest)) = (self.one_of(&of_clock), longest) {
            let turns = self.up_to(longest / period.max(1));
            let before = offset.saturating_add(jitter);
            let before = before.saturating_add(turns.saturating_mul(period));
            scenario.clocks[bus][node] = begin.saturating_sub(before);
        }
    }

    /// Sets the clocks of a bus for a frame of the message at `place` that arrives there at `at`,
    /// together with these sources.
    pub(super) fn set_clocks(
        &self,
        scenario: &mut ReleaseScenario,
        place: MessagePlace,
        at: Nanos,
        placed: &[(usize, usize, Nanos)],
    ) {
        let beside = placed.iter().map(|(source, _, _)| *source);
        let all = [self.victim].into_iter().chain(beside);
        let all: Vec<usize> = all.filter(|&source| self.clock(source).is_some()).collect();
        if all.is_empty() {
            return;
        }
        let assessed = self.assessed.get(place.bus);
        let critical = assessed.and_then(|of_bus| {
            let compiled = self.compiled.get(place.bus)?;
            compiled.critical(of_bus, place.message)
        });
        let known = critical.map(|critical| critical.clocks).unwrap_or_default();
        let mut set: Vec<(usize, usize)> = Vec::new();
        for source in all {
            let Some((bus, node)) = self.clock(source) else {
                continue;
            };
            if set.contains(&(bus, node)) || scenario.clocks[bus][node] != 0 {
                continue;
            }
            set.push((bus, node));
            let of_source = self.world.sources[source];
            let message = &self.world.network.buses[bus].messages[of_source.message];
            let last = message
                .offset
                .unwrap_or(0)
                .saturating_add(message.arrival.jitter());
            let of_bus = known.get(node).copied().flatten();
            let begins = of_bus.filter(|_| bus == place.bus).unwrap_or(last);
            scenario.clocks[bus][node] = at.saturating_sub(begins);
        }
    }
}
