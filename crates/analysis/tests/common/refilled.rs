//! Simulated buses whose nodes need time to put the next frame into a buffer.

use super::{Random, simulated};
use analysis::{BufferRefill, LengthSearch, MessagePlace, Network, NodeSpec, SendOrder};
use bus::{Bus, NodeEvent, NodeId};
use frame::Nanos;
use std::collections::VecDeque;

/// Fills the buffers of a node, as late as allowed or a little earlier.
struct Driver {
    id: NodeId,
    refill: BufferRefill,
    waiting: VecDeque<u64>,
    /// For each free buffer, the time at which it can be filled; never while others must become
    /// empty.
    free: Vec<Nanos>,
    mailboxes: usize,
    /// Whether the bus serves it by priority, with a buffer for each frame.
    by_priority: bool,
    /// Number of frames since all buffers were empty.
    sent: u32,
    draining: bool,
}

impl Driver {
    fn new(node: &NodeSpec, id: NodeId) -> Self {
        let mailboxes = match node.order {
            // Its buffers are not used.
            SendOrder::Priority => 1,
            SendOrder::Mailboxes(n) => usize::from(n.get()),
        };
        Self {
            id,
            refill: node.refill.unwrap_or(BufferRefill { time: 0, every: 1 }),
            waiting: VecDeque::new(),
            free: vec![0; mailboxes],
            mailboxes,
            by_priority: node.order == SendOrder::Priority,
            sent: 0,
            draining: false,
        }
    }

    fn next(&self) -> Option<Nanos> {
        let next = self.free.iter().copied().filter(|at| *at < Nanos::MAX);
        next.min().filter(|_| !self.waiting.is_empty())
    }

    /// Handles the end of one of its frames.
    fn ended(&mut self, end: Nanos, random: &mut Random) {
        if self.by_priority {
            return;
        }
        let gap = match random.percent(60) {
            true => self.refill.time,
            false => random.up_to(self.refill.time),
        };
        if self.refill.every == 1 {
            self.free.push(end + gap);
            return;
        }
        self.sent += 1;
        self.draining |= self.sent >= self.refill.every && random.percent(80);
        self.free.push(if self.draining { Nanos::MAX } else { end });
        if self.draining {
            self.free.fill(Nanos::MAX);
            if self.free.len() == self.mailboxes {
                self.free.fill(end + gap);
                (self.sent, self.draining) = (0, false);
            }
        }
    }

    /// Returns the tag of a frame that is put into a buffer now.
    fn fill(&mut self, now: Nanos) -> Option<u64> {
        let place = self.free.iter().position(|at| *at <= now)?;
        let tag = self.waiting.pop_front()?;
        if !self.by_priority {
            self.free.swap_remove(place);
        }
        Some(tag)
    }
}

/// A frame that was sent.
#[derive(Clone, Copy)]
pub(crate) struct Ended {
    pub(crate) place: MessagePlace,
    /// The time of its event, ns.
    pub(crate) event: Nanos,
    /// Its start of frame on this bus, ns.
    pub(crate) start: Nanos,
    /// Its end of frame.
    pub(crate) end: Nanos,
}

/// Simulated buses whose nodes fill their buffers as their [`BufferRefill`] allows; gateways take a
/// time up to their delay.
pub(crate) fn play(
    network: &Network,
    all: &[(Nanos, MessagePlace, Nanos)],
    seed: u64,
) -> Vec<Ended> {
    let mut random = Random(seed);
    let mut lengths = LengthSearch::new();
    let (mut buses, mut drivers) = (Vec::new(), Vec::new());
    for spec in &network.buses {
        let (bus, nodes) = simulated(spec);
        let nodes = spec.nodes.iter().zip(nodes);
        drivers.push(
            nodes
                .map(|(node, id)| Driver::new(node, id))
                .collect::<Vec<_>>(),
        );
        buses.push(bus);
    }
    let mut tags: Vec<(MessagePlace, Nanos)> = Vec::new();
    let mut passing: Vec<(Nanos, MessagePlace, Nanos)> = Vec::new();
    let mut given = all.iter().peekable();
    let mut seen = Vec::new();
    loop {
        let next = buses.iter().filter_map(Bus::next).min();
        let release = given.peek().map(|(at, ..)| *at);
        let passed = passing.iter().map(|(at, ..)| *at).min();
        let filled = drivers.iter().flatten().filter_map(Driver::next).min();
        let Some(now) = [next, release, passed, filled].into_iter().flatten().min() else {
            return seen;
        };
        let mut ended = Vec::new();
        for bus in &mut buses {
            bus.run_until(now, |event| {
                if let NodeEvent::Frame {
                    start, end, tag, ..
                } = *event
                {
                    ended.push((start, end, tag));
                }
            });
        }
        for (start, end, tag) in ended {
            let (place, event) = tags[tag as usize];
            seen.push(Ended {
                place,
                event,
                start,
                end,
            });
            let node = network.buses[place.bus].messages[place.message].node;
            drivers[place.bus][node].ended(end, &mut random);
            for hop in network.hops.iter().filter(|hop| hop.from == place) {
                let delay = match random.percent(50) {
                    true => hop.delay,
                    false => random.up_to(hop.delay),
                };
                // In the order in which they arrived.
                let last = passing.iter().filter(|(_, to, _)| to.bus == hop.to.bus);
                let last = last.map(|(at, ..)| *at).max().unwrap_or(0);
                passing.push(((end + delay).max(last), hop.to, event));
            }
        }
        let mut ready = Vec::new();
        passing.retain(|&(at, place, event)| {
            if at <= now {
                ready.push((place, event));
            }
            at > now
        });
        while let Some((_, place, event)) = given.next_if(|(at, ..)| *at <= now) {
            ready.push((*place, *event));
        }
        for (place, event) in ready {
            let node = network.buses[place.bus].messages[place.message].node;
            drivers[place.bus][node]
                .waiting
                .push_back(tags.len() as u64);
            tags.push((place, event));
        }
        for (bus, nodes) in buses.iter_mut().zip(&mut drivers) {
            for driver in nodes {
                while let Some(tag) = driver.fill(now) {
                    let place = tags[tag as usize].0;
                    let shape = network.buses[place.bus].messages[place.message].shape;
                    let frame = lengths.longest_frame(&shape).unwrap();
                    bus.send(driver.id, now, &frame, tag).unwrap();
                }
            }
        }
    }
}
