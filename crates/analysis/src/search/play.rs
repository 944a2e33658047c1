//! Releases on several simulated buses with gateways between them.

use crate::model::BusSpec;
use crate::offset::behind;
use crate::simulated::{ReplayError, simulated};
use crate::{Arrival, GatewayHop, MessagePlace, Network};
use alloc::collections::{BTreeMap, BinaryHeap};
use alloc::vec;
use alloc::vec::Vec;
use bus::{Bus, NodeEvent};
use core::cmp::Reverse;
use frame::{Frame, Nanos};

/// Maximum number of frames in one play.
const MOST_FRAMES: usize = 20_000;

/// The times at which the messages of all buses begin.
#[derive(Clone, Debug)]
pub(super) struct ReleaseScenario {
    /// For each source, the release of its first frame, which is as late as its jitter allows; the
    /// others follow as early as they can. For a source with an offset: the frames that are due on
    /// its clock are released from then on, as early as possible. `None`: it sends nothing.
    pub(super) begins: Vec<Option<Nanos>>,
    /// The time at which the clock of each bus and node began, or would have begun; those of
    /// sources with offsets matter.
    pub(super) clocks: Vec<Vec<Nanos>>,
    /// Of frames that are ready at the same time, the one with the lower rank comes first.
    pub(super) ranks: Vec<u64>,
}

/// A frame that becomes ready on a bus.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct ReadyFrame {
    at: Nanos,
    rank: u64,
    source: usize,
    number: u64,
    bus: usize,
    message: usize,
}

/// A frame of the victim on a bus.
#[derive(Clone, Copy, Debug)]
pub(super) struct VictimStep {
    pub(super) number: u64,
    pub(super) bus: usize,
    /// The time at which it was ready there.
    pub(super) ready: Nanos,
    /// Its start of frame.
    pub(super) start: Nanos,
}

/// A release of a source.
#[derive(Clone, Copy, Debug)]
pub(super) struct SourceRelease {
    pub(super) at: Nanos,
    pub(super) source: usize,
}

/// The record of a play.
#[derive(Clone, Debug, Default)]
pub(super) struct PlayTrace {
    /// The longest time from an event of the victim to its end of frame at the end of its route.
    pub(super) response: Nanos,
    /// The same for that frame, from its release on.
    pub(super) latency: Nanos,
    /// The number of that frame.
    pub(super) number: u64,
    /// For each bus and message, the time at which its first frame was ready.
    pub(super) first: Vec<Vec<Option<Nanos>>>,
    /// For each bus, the starts of its frames, in the order of their ends.
    pub(super) starts: Vec<Vec<Nanos>>,
    /// The victim's frames.
    pub(super) steps: Vec<VictimStep>,
    /// The releases of the sources, in this order.
    pub(super) released: Vec<SourceRelease>,
}

/// A network that is ready to be played.
pub(super) struct PlayNetwork<'n> {
    pub(super) network: &'n Network,
    /// Messages that are the target of no hop.
    pub(super) sources: Vec<MessagePlace>,
    /// For each bus and message, its longest frame.
    pub(super) frames: Vec<Vec<Frame>>,
    /// For each bus and message, the hops by which it is passed on.
    pub(super) onward: Vec<Vec<Vec<GatewayHop>>>,
}

impl<'n> PlayNetwork<'n> {
    /// Creates a world with these frames, for each bus and message.
    pub(super) fn new(network: &'n Network, frames: Vec<Vec<Frame>>) -> Self {
        let each = |bus: &BusSpec| vec![Vec::new(); bus.messages.len()];
        let mut onward: Vec<Vec<Vec<GatewayHop>>> = network.buses.iter().map(each).collect();
        let mut sources = Vec::new();
        for (bus, spec) in network.buses.iter().enumerate() {
            let all = (0..spec.messages.len()).map(|message| MessagePlace { bus, message });
            sources.extend(all.filter(|place| network.hops.iter().all(|hop| hop.to != *place)));
        }
        for hop in &network.hops {
            let from = onward.get_mut(hop.from.bus);
            if let Some(list) = from.and_then(|bus| bus.get_mut(hop.from.message)) {
                list.push(*hop);
            }
        }
        Self {
            network,
            sources,
            frames,
            onward,
        }
    }

    /// Plays a scenario until frame number `last` of `victim`, a source, has ended at `goal`.
    pub(super) fn play(
        &self,
        scenario: &ReleaseScenario,
        victim: usize,
        goal: MessagePlace,
        last: u64,
    ) -> Result<PlayTrace, ReplayError> {
        let (mut buses, mut nodes) = (Vec::new(), Vec::new());
        for spec in &self.network.buses {
            let (bus, its_nodes) = simulated(spec)?;
            buses.push(bus);
            nodes.push(its_nodes);
        }
        let each = |bus: &BusSpec| vec![None; bus.messages.len()];
        let mut trace = PlayTrace {
            first: self.network.buses.iter().map(each).collect(),
            starts: vec![Vec::new(); buses.len()],
            ..PlayTrace::default()
        };
        let mut queue = BinaryHeap::new();
        for (source, begin) in scenario.begins.iter().enumerate() {
            if let (Some(_), Some(place)) = (begin, self.sources.get(source)) {
                queue.push(Reverse(ReadyFrame {
                    at: self.releases(scenario, source).0,
                    rank: scenario.ranks.get(source).copied().unwrap_or(0),
                    source,
                    number: 0,
                    bus: place.bus,
                    message: place.message,
                }));
            }
        }
        let mut sent: Vec<ReadyFrame> = Vec::new();
        let mut ended = Vec::new();
        // For each place of a hop's end and each frame of a source, the frames that came.
        let mut came: BTreeMap<(usize, usize, usize, u64), u64> = BTreeMap::new();
        loop {
            let next = buses.iter().filter_map(Bus::next).min();
            let ready = queue.peek().map(|Reverse(ready)| ready.at);
            let Some(now) = [next, ready].into_iter().flatten().min() else {
                return Ok(trace);
            };
            for (bus, simulated) in buses.iter_mut().enumerate() {
                let starts = &mut trace.starts[bus];
                simulated.run_until(now, |event| {
                    if let NodeEvent::Frame {
                        start, end, tag, ..
                    } = *event
                    {
                        starts.push(start);
                        ended.push((start, end, tag));
                    }
                });
            }
            for (start, end, tag) in ended.drain(..) {
                let index = usize::try_from(tag).unwrap_or(usize::MAX);
                let Some(&frame) = sent.get(index) else {
                    continue;
                };
                let place = MessagePlace {
                    bus: frame.bus,
                    message: frame.message,
                };
                for hop in &self.onward[place.bus][place.message] {
                    let MessagePlace { bus, message } = hop.to;
                    let came = came.entry((bus, message, frame.source, frame.number));
                    for _ in 0..hop.frames.after(came.or_default()) {
                        queue.push(Reverse(ReadyFrame {
                            at: end + hop.delay,
                            bus,
                            message,
                            ..frame
                        }));
                    }
                }
                if frame.source != victim {
                    continue;
                }
                trace.steps.push(VictimStep {
                    number: frame.number,
                    bus: frame.bus,
                    ready: frame.at,
                    start,
                });
                if place == goal {
                    let (event, release) = self.origin(scenario, &frame);
                    let response = end.saturating_sub(event);
                    if response > trace.response {
                        (trace.response, trace.number) = (response, frame.number);
                        trace.latency = end.saturating_sub(release);
                    }
                    if frame.number >= last {
                        return Ok(trace);
                    }
                }
            }
            while queue.peek().is_some_and(|Reverse(ready)| ready.at <= now) {
                let Some(Reverse(ready)) = queue.pop() else {
                    break;
                };
                if sent.len() >= MOST_FRAMES {
                    return Ok(trace);
                }
                let none = ReplayError::NoMessage(ready.message);
                let message = &self.network.buses[ready.bus].messages[ready.message];
                let node = nodes[ready.bus].get(message.node).ok_or(none)?;
                let frame = &self.frames[ready.bus][ready.message];
                buses[ready.bus].send(*node, ready.at, frame, sent.len() as u64)?;
                sent.push(ready);
                trace.first[ready.bus][ready.message].get_or_insert(ready.at);
                queue.extend(self.next(scenario, &ready, &mut trace).map(Reverse));
            }
        }
    }

    /// Records a release, and returns the next one of its source.
    fn next(
        &self,
        scenario: &ReleaseScenario,
        ready: &ReadyFrame,
        trace: &mut PlayTrace,
    ) -> Option<ReadyFrame> {
        let place = self.sources[ready.source];
        if (place.bus, place.message) != (ready.bus, ready.message) {
            return None;
        }
        let (at, source) = (ready.at, ready.source);
        trace.released.push(SourceRelease { at, source });
        let (begin, arrival) = self.releases(scenario, ready.source);
        let number = ready.number + 1;
        Some(ReadyFrame {
            at: begin.saturating_add(arrival.earliest(number)),
            number,
            ..*ready
        })
    }

    /// Returns the first release of a source, and the arrival by which the others follow: with the
    /// same jitter as the first one.
    fn releases(&self, scenario: &ReleaseScenario, source: usize) -> (Nanos, Arrival) {
        let place = self.sources[source];
        let message = &self.network.buses[place.bus].messages[place.message];
        let arrival = message.arrival;
        let begin = scenario.begins.get(source).copied().flatten();
        let begin = begin.unwrap_or(0);
        let Some(offset) = message.offset else {
            return (begin, arrival);
        };
        let clock = scenario.clocks[place.bus][message.node];
        let first = begin.saturating_sub(arrival.jitter());
        let due = first + behind(clock.saturating_add(offset), first, arrival.period());
        let late = begin.saturating_sub(due);
        let rest = Arrival::new(arrival.period(), late, arrival.distance());
        (due.max(begin), rest.unwrap_or(arrival))
    }

    /// Returns the times of the event of this frame and of its release on its first bus.
    fn origin(&self, scenario: &ReleaseScenario, frame: &ReadyFrame) -> (Nanos, Nanos) {
        let (begin, arrival) = self.releases(scenario, frame.source);
        let due = begin.saturating_add(arrival.due(frame.number));
        let release = begin.saturating_add(arrival.earliest(frame.number));
        (due.saturating_sub(arrival.jitter()), release)
    }
}
