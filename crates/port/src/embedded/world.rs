//! Any number of buses that share one time.

use super::index::BusIndex;
use super::traffic::WorldTraffic;
use crate::SourcePace;
use bus::vcontroller::{AttachedController, ControllerEvent, VirtualController};
use bus::{
    Bus, BusConfig, ConfigError, FaultTime, FrameFault, NodeConfig, NodeEvent, NodeId, SendError,
};
use frame::{Frame, Kind, Nanos};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A node that belongs to the tester, not to a gateway.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct TesterNode {
    /// The bus of the node.
    pub bus: BusIndex,
    /// The node's number there, as in [`bus::NodeEvent`].
    pub node: NodeId,
}

/// The reason why a bus or a node could not be added, or was not found.
#[derive(thiserror::Error, Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum WorldError {
    /// There is a bus of this name already.
    #[error("there is a bus named \"{0}\" already: give each bus a name of its own")]
    NameTaken(String),
    /// No bus has this index.
    #[error("no bus has the index {0}")]
    NoSuchBus(usize),
    /// The bus does not accept this configuration.
    #[error("bus \"{bus}\": {source}")]
    Config {
        /// The name of the bus.
        bus: String,
        /// The error in the configuration.
        source: ConfigError,
    },
}

/// Buses in bus time. A clone is a handle to the same world.
///
/// Every call locks the world for its own duration; the halves lock it once per batch.
#[derive(Clone, Default)]
pub struct BusWorld {
    inner: Arc<Mutex<WorldState>>,
}

#[derive(Default)]
pub(super) struct WorldState {
    pub(super) slots: Vec<BusSlot>,
    pub(super) pace: Option<SourcePace>,
    /// Traffic that moves with the world.
    pub(super) traffic: Option<WorldTraffic>,
    pub(super) now: Nanos,
}

pub(super) struct BusSlot {
    pub(super) name: String,
    pub(super) bus: Bus,
    fd: bool,
    pub(super) gates: Vec<NodeGate>,
    /// Shared controllers; each decides before an arbitration which frame its node offers.
    shared: Vec<SharedController>,
    /// Events of a step, with the index of the shared controller that must react to each.
    happened: Vec<(usize, ControllerEvent)>,
}

/// A controller that several users share, as a node of a bus. It moves with its world: lock the
/// world first.
pub type SharedController = Arc<Mutex<AttachedController>>;

fn lock(shared: &SharedController) -> MutexGuard<'_, AttachedController> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The address of a gateway's node: its world, its bus, and its numbers there.
#[derive(Clone)]
pub(super) struct GateAddress {
    pub(super) world: BusWorld,
    pub(super) bus: BusIndex,
    pub(super) gate: usize,
    pub(super) node: NodeId,
}

/// The receive FIFO and the counters of a gateway's node.
pub(super) struct NodeGate {
    pub(super) node: NodeId,
    pub(super) fifo: VecDeque<ArrivedFrame>,
    depth: usize,
    /// Whether it takes FD frames.
    pub(super) fd: bool,
    pub(super) overrun: u64,
    pub(super) error_frames: u64,
    pub(super) sent: u64,
    pub(super) lost: u64,
}

/// A frame in a gateway node's receive FIFO.
pub(super) struct ArrivedFrame {
    pub(super) frame: Frame,
    pub(super) end: Nanos,
    pub(super) tag: u64,
}

impl BusWorld {
    /// Number of frames that a gateway's node keeps until they are taken;
    /// `BusWorld::attach_with_fifo` sets another number. About the capacity of a raw socket's
    /// default receive buffer (212 992 bytes, some 768 for each frame's buffer in the kernel).
    pub const RECEIVE_FIFO: usize = 277;

    /// Returns a world without buses, at time 0.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a bus.
    ///
    /// # Errors
    /// [`WorldError::NameTaken`], or the error of [`Bus::new`].
    pub fn bus(&self, name: &str, config: BusConfig) -> Result<BusIndex, WorldError> {
        let mut inner = self.lock();
        if inner.slots.iter().any(|slot| slot.name == name) {
            return Err(WorldError::NameTaken(name.to_owned()));
        }
        let fd = config.data.is_some();
        let bus = Bus::new(config).map_err(|source| WorldError::Config {
            bus: name.to_owned(),
            source,
        })?;
        inner.slots.push(BusSlot {
            name: name.to_owned(),
            bus,
            fd,
            gates: Vec::new(),
            shared: Vec::new(),
            happened: Vec::new(),
        });
        Ok(BusIndex(inner.slots.len() - 1))
    }

    /// Returns the bus of this name.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<BusIndex> {
        let found = self.lock().slots.iter().position(|slot| slot.name == name);
        found.map(BusIndex)
    }

    /// Adds a gateway's node, with a receive FIFO of `depth` frames. Returns its address, whether
    /// its bus carries FD frames, and the number of frames that it has room for.
    pub(super) fn attach_gate(
        &self,
        bus: BusIndex,
        node: NodeConfig,
        depth: usize,
    ) -> Result<(GateAddress, bool, usize), WorldError> {
        let mut inner = self.lock();
        let slot = inner.slot(bus)?;
        let id = slot.attach(node)?;
        slot.gates.push(NodeGate {
            node: id,
            fifo: VecDeque::with_capacity(depth),
            depth,
            fd: true,
            overrun: 0,
            error_frames: 0,
            sent: 0,
            lost: 0,
        });
        let gate = slot.gates.len() - 1;
        let (fd, room) = (slot.fd, slot.bus.free(id));
        drop(inner);
        let address = GateAddress {
            world: self.clone(),
            bus,
            gate,
            node: id,
        };
        Ok((address, fd, room))
    }

    /// Adds a node that sends only the frames that [`BusWorld::send`] gives it.
    ///
    /// # Errors
    /// As [`BusWorld::attach`].
    pub fn tester(&self, bus: BusIndex, node: NodeConfig) -> Result<TesterNode, WorldError> {
        let node = self.lock().slot(bus)?.attach(node)?;
        Ok(TesterNode { bus, node })
    }

    /// Adds a shared controller, as a node of a bus.
    ///
    /// # Errors
    /// As [`BusWorld::attach`].
    pub fn share(
        &self,
        bus: BusIndex,
        controller: VirtualController,
        node: NodeConfig,
    ) -> Result<SharedController, WorldError> {
        let mut inner = self.lock();
        let slot = inner.slot(bus)?;
        let wrong = |source| WorldError::Config {
            bus: slot.name.clone(),
            source,
        };
        let attached = AttachedController::new(&mut slot.bus, controller, node).map_err(wrong)?;
        let shared = Arc::new(Mutex::new(attached));
        slot.shared.push(Arc::clone(&shared));
        Ok(shared)
    }

    /// Moves the world to the time of the clock, calls `work` with a shared controller of this bus,
    /// and then lets the controller offer its highest-priority frame. `work` gets the bus time, and
    /// must not call the world: it is locked.
    ///
    /// # Errors
    /// [`WorldError::NoSuchBus`].
    pub fn with_shared<R>(
        &self,
        bus: BusIndex,
        shared: &SharedController,
        clock: Nanos,
        work: impl FnOnce(&mut VirtualController, Nanos) -> R,
    ) -> Result<R, WorldError> {
        let mut inner = self.lock();
        if let Some(pace) = inner.pace {
            inner.run_until(pace.to_source(clock), &mut |_, _| {});
        }
        let slot = inner.slot(bus)?;
        let mut shared = lock(shared);
        let done = work(&mut shared.controller, slot.bus.now());
        shared.offer(&mut slot.bus);
        Ok(done)
    }

    /// Returns the time of the next event, in the time of the clock.
    #[must_use]
    pub fn deadline(&self) -> Option<Nanos> {
        self.lock().deadline()
    }

    /// Sends a tester's frame, which becomes ready for transmission at `at`; this must not be past.
    /// The tag comes back with its events, and a gateway that receives the frame passes the tag on
    /// as token.
    ///
    /// # Errors
    /// Those of [`Bus::send`].
    pub fn send(
        &self,
        from: TesterNode,
        at: Nanos,
        frame: &Frame,
        tag: u64,
    ) -> Result<(), SendError> {
        let mut inner = self.lock();
        let slot = inner
            .slots
            .get_mut(from.bus.0)
            .ok_or(SendError::NoSuchNode(from.node))?;
        if slot.gates.iter().any(|gate| gate.node == from.node) {
            return Err(SendError::NoSuchNode(from.node));
        }
        slot.bus.send(from.node, at, frame, tag)
    }

    /// Returns the time of the next event on any bus, if no node sends more frames.
    #[must_use]
    pub fn next(&self) -> Option<Nanos> {
        self.lock().next()
    }

    /// Returns the present time of the world.
    #[must_use]
    pub fn now(&self) -> Nanos {
        self.lock().now
    }

    /// Moves all buses to `t`, in the order of the events on them; at equal times, in the order of
    /// the buses.
    ///
    /// An arbitration that would begin exactly at `t` is left open, so that a node that reacts now
    /// takes part in it. To let a gateway react to each frame at its end, run from one
    /// [`BusWorld::next`] to the next.
    ///
    /// The observer sees every event. It must not call the world: it is locked.
    pub fn run_until(&self, t: Nanos, observer: &mut dyn FnMut(BusIndex, &NodeEvent<'_>)) {
        self.lock().run_until(t, observer);
    }

    /// Makes the gateway's halves treat the times that they are given as the clock's, and move the
    /// world themselves, from now on.
    pub fn pace(&self, pace: SourcePace) {
        self.lock().pace = Some(pace);
    }

    /// Gives `look` access to a bus: its statistics, its nodes' states. `look` must not call the
    /// world: it is locked.
    ///
    /// # Errors
    /// [`WorldError::NoSuchBus`].
    pub fn with_bus<R>(
        &self,
        bus: BusIndex,
        look: impl FnOnce(&Bus) -> R,
    ) -> Result<R, WorldError> {
        Ok(look(&self.lock().slot(bus)?.bus))
    }

    /// Plans a fault on a bus; see [`Bus::inject`].
    ///
    /// # Errors
    /// [`WorldError::NoSuchBus`].
    pub fn inject(
        &self,
        bus: BusIndex,
        when: FaultTime,
        fault: FrameFault,
    ) -> Result<(), WorldError> {
        self.lock().slot(bus)?.bus.inject(when, fault);
        Ok(())
    }

    /// Starts a node's recovery from bus-off; see [`Bus::restart`].
    ///
    /// # Errors
    /// [`WorldError::NoSuchBus`].
    pub fn restart(&self, bus: BusIndex, node: NodeId) -> Result<(), WorldError> {
        self.lock().slot(bus)?.bus.restart(node);
        Ok(())
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, WorldState> {
        // A panic of an observer leaves the buses consistent: they call it between steps.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl WorldState {
    fn slot(&mut self, bus: BusIndex) -> Result<&mut BusSlot, WorldError> {
        self.slots
            .get_mut(bus.0)
            .ok_or(WorldError::NoSuchBus(bus.0))
    }

    pub(super) fn gate(&mut self, address: &GateAddress) -> Option<&mut NodeGate> {
        self.slots
            .get_mut(address.bus.0)?
            .gates
            .get_mut(address.gate)
    }

    pub(super) fn bus_of(&mut self, address: &GateAddress) -> Option<&mut Bus> {
        Some(&mut self.slots.get_mut(address.bus.0)?.bus)
    }

    pub(super) fn next(&self) -> Option<Nanos> {
        let traffic = self.traffic.as_ref();
        let traffic = traffic.and_then(|traffic| traffic.due(self.now));
        let buses = self.slots.iter().filter_map(BusSlot::next);
        buses.chain(traffic).min()
    }

    /// Returns whether the traffic that moves with the world has ended, and all that it caused.
    pub(super) fn has_ended(&self) -> bool {
        let traffic = self.traffic.as_ref();
        traffic.is_some_and(|traffic| traffic.has_ended(self.now))
    }

    /// Returns the time of the next event, in the time that halves are given.
    pub(super) fn deadline(&self) -> Option<Nanos> {
        let clock = |t| self.pace.map_or(t, |pace| pace.to_clock(t));
        self.next().map(clock)
    }
}

impl BusSlot {
    fn attach(&mut self, node: NodeConfig) -> Result<NodeId, WorldError> {
        self.bus.attach(node).map_err(|source| WorldError::Config {
            bus: self.name.clone(),
            source,
        })
    }

    pub(super) fn run_until(
        &mut self,
        t: Nanos,
        index: BusIndex,
        observer: &mut dyn FnMut(BusIndex, &NodeEvent<'_>),
    ) {
        let (gates, happened) = (&mut self.gates, &mut self.happened);
        self.bus.run_until(t, |event| {
            for gate in gates.iter_mut() {
                gate.see(event);
            }
            observer(index, event);
            for (n, shared) in self.shared.iter().enumerate() {
                let what = ControllerEvent::from_event(event, lock(shared).node);
                happened.extend(what.map(|what| (n, what)));
            }
        });
        for (n, shared) in self.shared.iter().enumerate() {
            let mut shared = lock(shared);
            let its = happened.iter().filter(|(of, _)| *of == n);
            its.for_each(|(_, what)| shared.react(what));
            shared.offer(&mut self.bus);
        }
        happened.clear();
    }

    /// Returns whether no frame is on the bus or waits for it, or waits for the gateway.
    pub(super) fn is_quiet(&self) -> bool {
        self.bus.next().is_none() && self.gates.iter().all(|gate| gate.fifo.is_empty())
    }

    /// Returns the time of the next event: on the bus, or because a budget allows a frame.
    pub(super) fn next(&self) -> Option<Nanos> {
        let now = self.bus.now();
        let budgets = self.shared.iter();
        let budgets = budgets.filter_map(|shared| lock(shared).controller.deadline(now));
        budgets.chain(self.bus.next()).min()
    }
}

impl NodeGate {
    fn see(&mut self, event: &NodeEvent<'_>) {
        match event {
            NodeEvent::Frame { node, .. } if *node == self.node => self.sent += 1,
            NodeEvent::Frame {
                end,
                tag,
                frame,
                receivers,
                ..
            } if receivers.receives(self.node) && (self.fd || frame.kind() != Kind::Fd) => {
                self.keep(**frame, *end, *tag);
            }
            NodeEvent::Error { primary: true, .. } => self.error_frames += 1,
            NodeEvent::Dropped { node, .. } if *node == self.node => self.lost += 1,
            _ => {}
        }
    }

    fn keep(&mut self, frame: Frame, end: Nanos, tag: u64) {
        if self.fifo.len() >= self.depth {
            self.overrun += 1;
        } else {
            self.fifo.push_back(ArrivedFrame { frame, end, tag });
        }
    }
}
