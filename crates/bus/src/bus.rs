//! The bus: the next step of the simulation, and its time.

use crate::{
    BusConfig, BusStats, ConfigError, DropReason, ErrorState, FaultTime, FrameFault, NodeConfig,
    NodeEvent, NodeId, NodeState, SendError,
    clock::BusClock,
    disturbed::FrameSimulator,
    fault::FaultInjector,
    node::{NO_KEY, Node, SendingNode},
    schedule::{FrameSchedule, LaterFrame},
};
use alloc::vec::Vec;
use frame::{Frame, Kind, Nanos, wire::BitRate};

mod recovery;
mod transmission;

/// The current activity on the bus.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum BusPhase {
    /// Intermission until `Bus::free_from`, then idle.
    Free,
    /// A frame in which no error is possible; its end.
    Frame(Nanos),
    /// A frame in which an error is possible: `Bus::simulator` has the details. The index of its
    /// next step, and the end.
    Disturbed(usize, Nanos),
}

/// A CAN bus and its nodes. [The crate's page](crate) describes the model.
#[derive(Debug)]
pub struct Bus {
    config: BusConfig,
    clock: BusClock,
    nodes: Vec<Node>,
    /// For each node the arbitration field that it has to send, [`NO_KEY`] for none.
    heads: Vec<u64>,
    /// Number of nodes that have something to send.
    pending: usize,
    /// For each node the number of frames it has received. Stored outside the nodes, like `heads`,
    /// because it changes for all nodes with every frame.
    received: Vec<u64>,
    /// True if a node may have a counter above 0.
    uneasy: bool,
    /// Time at which the last node was attached or came back from bus-off.
    joined: Nanos,
    schedule: FrameSchedule,
    injector: FaultInjector,
    now: Nanos,
    phase: BusPhase,
    /// End of the last intermission: no frame starts before.
    free_from: Nanos,
    /// Latest end of suspend transmission of any node.
    suspended_until: Nanos,
    /// Start of the frame on the wire.
    start: Nanos,
    /// Nodes that send it: one, unless several nodes have the same arbitration field.
    senders: Vec<SendingNode>,
    /// Receivers that lost it to an error.
    deaf: Vec<usize>,
    simulator: FrameSimulator,
    /// Number of starts of frame so far.
    starts: u64,
    /// True if any node tries each frame only once.
    one_shots: bool,
    /// Number of nodes on the bus that acknowledge.
    ackers: usize,
    /// Number of nodes on the bus that do not support FD.
    classic: usize,
    /// Number of nodes that are bus-off.
    off: usize,
    stats: BusStats,
}

impl Bus {
    /// Returns a bus without nodes, at time 0.
    ///
    /// # Errors
    /// [`ConfigError`] for bit rates or probabilities out of range.
    pub fn new(config: BusConfig) -> Result<Self, ConfigError> {
        let rate = BitRate::new(config.nominal, config.data).map_err(ConfigError::Rate)?;
        config.faults.check()?;
        Ok(Self {
            clock: BusClock::new(rate),
            injector: FaultInjector::new(config.faults.clone(), config.seed),
            config,
            nodes: Vec::new(),
            heads: Vec::new(),
            pending: 0,
            received: Vec::new(),
            uneasy: false,
            joined: 0,
            schedule: FrameSchedule::default(),
            now: 0,
            phase: BusPhase::Free,
            free_from: 0,
            suspended_until: 0,
            start: 0,
            senders: Vec::new(),
            deaf: Vec::new(),
            simulator: FrameSimulator::default(),
            starts: 0,
            one_shots: false,
            ackers: 0,
            classic: 0,
            off: 0,
            stats: BusStats::default(),
        })
    }

    /// Attaches a node, at any time. It takes part from the next start of frame on.
    ///
    /// # Errors
    /// [`ConfigError`] for a node without mailbox, or the 65536th node.
    pub fn attach(&mut self, node: NodeConfig) -> Result<NodeId, ConfigError> {
        if node.mailboxes == 0 {
            return Err(ConfigError::NoMailbox(node.name));
        }
        let id = match u16::try_from(self.nodes.len()) {
            Ok(id) if id < u16::MAX => NodeId(id),
            _ => return Err(ConfigError::TooManyNodes(node.name)),
        };
        self.one_shots |= node.one_shot;
        self.nodes.push(Node::new(node, self.now));
        self.heads.push(NO_KEY);
        self.received.push(0);
        self.joined = self.now;
        self.count_nodes();
        Ok(id)
    }

    /// Hands in a frame that becomes ready for transmission at `at`, ns. A frame for now takes
    /// its place in the node's queue at once; one for later takes a place when it is due, and is
    /// dropped then ([`DropReason::QueueFull`], [`DropReason::BusOff`]) where it finds none.
    /// `tag` comes back in the events about the frame. An FD frame whose length no DLC encodes is
    /// padded with zeros to the next length that one encodes, on the wire and in the events about
    /// it ([`Frame::padded`]).
    ///
    /// # Errors
    /// [`SendError`] is the reason why the frame was not taken; no event will be about that frame.
    pub fn send(
        &mut self,
        node: NodeId,
        at: Nanos,
        frame: &Frame,
        tag: u64,
    ) -> Result<(), SendError> {
        let index = usize::from(node.0);
        let Some(n) = self.nodes.get_mut(index) else {
            return Err(SendError::NoSuchNode(node));
        };
        if n.config.listen_only {
            return Err(SendError::ListenOnly);
        }
        let fd = frame.kind() == Kind::Fd;
        if frame.id().is_err() || (fd && (self.config.data.is_none() || !n.config.fd)) {
            return Err(SendError::Unsupported);
        }
        let now = self.now;
        if at < now {
            return Err(SendError::Past { at, now });
        }
        let frame = frame.padded();
        if at > now {
            let later = LaterFrame {
                at,
                node: index,
                tag,
                frame,
            };
            if n.scheduled >= n.config.scheduled || !self.schedule.add(later) {
                return Err(SendError::Full);
            }
            n.scheduled += 1;
            return Ok(());
        }
        if n.state == ErrorState::BusOff {
            return Err(SendError::BusOff);
        }
        if n.free() == 0 {
            return Err(SendError::Full);
        }
        n.push(frame, tag, at);
        self.update_head(index);
        Ok(())
    }

    /// Takes back a frame that was handed in for now or before and is not on the wire; no event
    /// reports it. Of several with this tag it is the one handed in last. Returns false if there is
    /// no such frame, or it is on the wire.
    pub fn cancel(&mut self, node: NodeId, tag: u64) -> bool {
        let index = usize::from(node.0);
        let flying = self.sending(node).is_some();
        let Some(n) = self.nodes.get_mut(index) else {
            return false;
        };
        let found = n.cancel(tag, flying);
        if found {
            self.update_head(index);
        }
        found
    }

    /// Returns the tag and the start of frame of this node's frame on the wire, if it has one.
    #[must_use]
    pub fn sending(&self, node: NodeId) -> Option<(u64, Nanos)> {
        let index = usize::from(node.0);
        if self.phase == BusPhase::Free || !self.senders.iter().any(|s| s.node == index) {
            return None;
        }
        let pending = self.nodes.get(index)?.in_flight()?;
        Some((pending.tag, self.start))
    }

    /// Returns the earliest time to which the bus must run for something to happen, if the caller
    /// sends no more frames; always later than [`Bus::now`]. It is not always the time of an event:
    /// the start of a frame counts too.
    /// `while let Some(t) = bus.next() { bus.run_until(t, …) }` runs until nothing is left to do.
    #[must_use]
    pub fn next(&self) -> Option<Nanos> {
        // A frame starts when time passes its start.
        let start = self.next_start().map(|t| t.saturating_add(1));
        [self.next_step(), start].into_iter().flatten().min()
    }

    /// Lets time pass until `t`, and reports the events up to then. A frame that could start
    /// exactly at `t` does not start yet, so that frames that are sent in answer to an event at `t`
    /// still take part in that arbitration. A `t` in the past does nothing.
    ///
    /// A sender repeats a frame that no node acknowledges for ever, as ISO 11898-1 requires: such a
    /// bus never comes to rest.
    pub fn run_until(&mut self, t: Nanos, mut observer: impl FnMut(&NodeEvent<'_>)) {
        loop {
            let start = self.next_start();
            match (self.next_step(), start) {
                (Some(step), start) if step <= t && start.is_none_or(|s| step <= s) => {
                    self.advance(step);
                    self.step(&mut observer);
                }
                (_, Some(start)) if start < t => {
                    self.advance(start);
                    self.arbitrate(&mut observer);
                }
                _ => break,
            }
        }
        if t > self.now {
            self.advance(t);
        }
    }

    /// Returns the bus's time, ns.
    #[must_use]
    pub const fn now(&self) -> Nanos {
        self.now
    }

    /// Returns the configuration that the bus was made from.
    #[must_use]
    pub const fn config(&self) -> &BusConfig {
        &self.config
    }

    /// Returns the nodes, in the order of their [`NodeId`].
    pub fn nodes(&self) -> impl ExactSizeIterator<Item = (NodeId, &NodeConfig)> {
        let all = self.nodes.iter().enumerate();
        all.map(|(i, n)| (NodeId(i as u16), &n.config))
    }

    /// Returns a node's counters and queue; `None` where no such node is attached.
    #[must_use]
    pub fn node_state(&self, node: NodeId) -> Option<NodeState> {
        let index = usize::from(node.0);
        let received = *self.received.get(index)?;
        Some(self.nodes.get(index)?.snapshot(received))
    }

    /// Returns how many frames a node can take now, in mailboxes and queue; 0 for no such node.
    #[must_use]
    pub fn free(&self, node: NodeId) -> usize {
        self.nodes.get(usize::from(node.0)).map_or(0, Node::free)
    }

    /// Returns the counts, and the times spent in each kind of interval from 0 to [`Bus::now`].
    #[must_use]
    pub const fn stats(&self) -> BusStats {
        self.stats
    }

    /// Plans a fault; it happens once.
    pub fn inject(&mut self, when: FaultTime, fault: FrameFault) {
        self.injector.plan(when, fault);
    }

    fn count_nodes(&mut self) {
        let on_bus = |n: &&Node| n.state != ErrorState::BusOff;
        let ackers = self.nodes.iter().filter(on_bus);
        self.ackers = ackers.filter(|n| !n.config.listen_only).count();
        let classic = self.nodes.iter().filter(on_bus);
        self.classic = classic.filter(|n| !n.config.fd).count();
    }

    fn update_head(&mut self, node: usize) {
        let key = self.nodes[node].head_key();
        let had = self.heads[node] != NO_KEY;
        self.heads[node] = key;
        self.pending = self.pending + usize::from(key != NO_KEY) - usize::from(had);
    }

    /// Adds the time from now to `t`, in which nothing begins or ends, to the statistics.
    fn advance(&mut self, t: Nanos) {
        let span = t - self.now;
        match self.phase {
            BusPhase::Frame(_) => self.stats.frame_time += span,
            BusPhase::Disturbed(..) if self.simulator.success => self.stats.frame_time += span,
            BusPhase::Disturbed(..) => self.stats.error_time += span,
            BusPhase::Free => {
                let pause = self.free_from.clamp(self.now, t) - self.now;
                self.stats.intermission_time += pause;
                if self.pending > 0 {
                    self.stats.suspend_time += span - pause;
                } else {
                    self.stats.idle_time += span - pause;
                }
            }
        }
        self.now = t;
    }

    /// Returns the time of the next start of frame, if no more frames come in.
    fn next_start(&self) -> Option<Nanos> {
        if self.pending == 0 || self.phase != BusPhase::Free {
            return None;
        }
        let free = self.free_from.max(self.now);
        if self.suspended_until <= free {
            return Some(free);
        }
        let heads = self.heads.iter().zip(&self.nodes);
        let waiting = heads.filter(|(key, _)| **key != NO_KEY);
        waiting.map(|(_, n)| n.suspended_until.max(free)).min()
    }

    /// Returns the time of the next step other than a start of frame.
    fn next_step(&self) -> Option<Nanos> {
        let end = match self.phase {
            BusPhase::Free => None,
            BusPhase::Frame(end) => Some(end),
            BusPhase::Disturbed(step, end) => {
                Some(self.simulator.steps.get(step).map_or(end, |s| s.at))
            }
        };
        let due = self.schedule.due();
        let timer = if self.off > 0 {
            self.next_timer()
        } else {
            None
        };
        [end, due, timer].into_iter().flatten().min()
    }

    /// Does everything that is due now except for starting a frame: errors and ends of frames,
    /// then recoveries, then frames that are due.
    fn step(&mut self, observer: &mut impl FnMut(&NodeEvent<'_>)) {
        match self.phase {
            BusPhase::Frame(end) if end == self.now => self.complete(observer),
            BusPhase::Disturbed(..) => self.disturbed_steps(observer),
            _ => {}
        }
        if self.off > 0 {
            self.recover(observer);
        }
        while self.schedule.due() == Some(self.now) {
            self.fall_due(observer);
        }
    }

    fn fall_due(&mut self, observer: &mut impl FnMut(&NodeEvent<'_>)) {
        let Some(later) = self.schedule.pop() else {
            return;
        };
        let node = &mut self.nodes[later.node];
        node.scheduled -= 1;
        let why = if node.state == ErrorState::BusOff {
            DropReason::BusOff
        } else if node.free() == 0 {
            DropReason::QueueFull
        } else {
            node.push(later.frame, later.tag, later.at);
            self.update_head(later.node);
            return;
        };
        node.dropped += 1;
        observer(&NodeEvent::Dropped {
            at: self.now,
            node: NodeId(later.node as u16),
            tag: later.tag,
            why,
            frame: &later.frame,
        });
    }
}
