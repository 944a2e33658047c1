//! Buses that share one time, the stations of Python on them, and the gateway between them.
//!
//! Time is nanoseconds since the world was made, and passes only in [`WorldState::run`]. The order
//! at one time is always the same: the buses in the order in which they were made, then periodic
//! frames in the order of their tasks, then the gateway.

mod cyclic;
mod error_frame;
mod gate;
mod gateway;
mod slot;
mod station;

pub(crate) use cyclic::{CyclicTask, FrameAnswer};
pub(crate) use gateway::{GateSpec, WorldGateway, make_gate};
pub(crate) use slot::BusSlot;
pub(crate) use station::{HeardFrame, IdFilter, StationReport, StationSettings, StationState};

use bus::{Bus, BusConfig, ConfigError, NodeId, SendError};
use cyclic::{CyclicTasks, DueFrame};
use frame::{Frame, Nanos};
use station::StationStates;
use std::thread::{self, ThreadId};

/// Time from bus-off to the restart of a node, ns: as `restart-ms 100` of `ip link`.
pub(crate) const RESTART: Nanos = 100_000_000;

/// The time at which buses end, ns: 146 years after their start. Sums of times of the buses with a
/// time of Python, which is at most a hundred years, stay below [`Nanos::MAX`].
pub(crate) const LAST: Nanos = Nanos::MAX / 4;

/// The end of [`WorldState::run`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum RunEnd {
    /// The event that the caller waits for has come.
    Done,
    /// The time is reached.
    Reached,
    /// The number of steps is used up.
    Paused,
    /// A periodic frame waits for its change: [`WorldState::take_question`].
    Asks,
    /// Whatever comes next would be after [`LAST`]; the time stays before it.
    AfterLast,
}

/// A periodic frame that Python changes before it is sent.
#[derive(Clone, Copy, Debug)]
struct AskedFrame {
    task: usize,
    index: usize,
    /// The thread that changes it.
    by: Option<ThreadId>,
}

/// The part of a caller in the change of a periodic frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum FrameQuestion {
    /// The caller changes this frame of this task.
    Mine {
        /// The task.
        task: usize,
        /// The index of the frame in the task.
        index: usize,
    },
    /// Another thread does.
    OfAnother,
    /// The caller does already, and waits meanwhile: without an end.
    Reentered,
}

/// Buses in one time.
#[derive(Default)]
pub(crate) struct WorldState {
    now: Nanos,
    slots: Vec<BusSlot>,
    stations: StationStates,
    next_station: usize,
    cyclic: CyclicTasks,
    gateway: Option<WorldGateway>,
    next_tag: u64,
    asked: Option<AskedFrame>,
    /// Whether something has happened on a bus that the gateway has not seen yet.
    news: bool,
    /// Real time that the buses have left out, ns.
    skipped: Nanos,
}

impl WorldState {
    /// Adds a bus; all of `names` are names of it.
    pub(crate) fn add_bus(
        &mut self,
        names: Vec<String>,
        config: BusConfig,
        acknowledges: bool,
    ) -> Result<usize, ConfigError> {
        let mut bus = Bus::new(config)?;
        // So that a late bus has the time of the others.
        bus.run_until(self.now, |_| {});
        self.slots.push(BusSlot::new(names, bus, acknowledges)?);
        Ok(self.slots.len() - 1)
    }

    /// Puts the gateway between the buses.
    pub(crate) fn set_gateway(&mut self, gateway: WorldGateway) {
        self.gateway = Some(gateway);
    }

    /// Returns the gateway.
    pub(crate) const fn gateway(&self) -> Option<&WorldGateway> {
        self.gateway.as_ref()
    }

    /// Returns all buses.
    pub(crate) fn slots(&self) -> &[BusSlot] {
        &self.slots
    }

    /// Returns the bus of this index.
    pub(crate) fn slot_mut(&mut self, slot: usize) -> Option<&mut BusSlot> {
        self.slots.get_mut(slot)
    }

    /// Returns the bus of this name.
    pub(crate) fn find(&self, name: &str) -> Option<usize> {
        let is = |slot: &BusSlot| slot.names.iter().any(|known| known == name);
        self.slots.iter().position(is)
    }

    /// Adds a station to a bus; `None` if there is no such bus.
    pub(crate) fn attach(
        &mut self,
        slot: usize,
        settings: StationSettings,
    ) -> Option<Result<usize, ConfigError>> {
        let station = self.next_station;
        let node = match self.slots.get_mut(slot)?.join(station, &settings) {
            Ok(node) => node,
            Err(error) => return Some(Err(error)),
        };
        self.next_station += 1;
        let state = StationState::new(slot, node, settings);
        self.stations.insert(station, state);
        Some(Ok(station))
    }

    /// Takes a station off: it is gone, and its tasks stop. Its node still sends the frames that it
    /// has taken.
    pub(crate) fn detach(&mut self, station: usize) {
        self.cyclic.stop_all(station);
        if let Some(found) = self.stations.remove(&station)
            && let Some(slot) = self.slots.get_mut(found.slot)
        {
            slot.leave(found.node);
        }
    }

    /// Returns an open station.
    pub(crate) fn station_mut(&mut self, station: usize) -> Option<&mut StationState> {
        self.stations.get_mut(&station)
    }

    /// Returns the counts and the state of an open station.
    pub(crate) fn report(&self, station: usize) -> Option<StationReport> {
        let found = self.stations.get(&station)?;
        let bus = &self.slots.get(found.slot)?.bus;
        Some(StationReport {
            counts: found.counts(),
            node: bus.node_state(found.node)?,
            bus: bus.stats(),
            skipped: self.skipped,
        })
    }

    /// Returns the numbers of open stations and of periodic tasks.
    pub(crate) fn sizes(&self) -> (usize, usize) {
        (self.stations.len(), self.cyclic.len())
    }

    /// Returns the bus of a station.
    pub(crate) fn bus_of_mut(&mut self, station: usize) -> Option<&mut Bus> {
        let slot = self.stations.get(&station)?.slot;
        Some(&mut self.slots.get_mut(slot)?.bus)
    }

    /// Returns the time, ns.
    pub(crate) const fn now(&self) -> Nanos {
        self.now
    }

    /// Hands a frame to a station's node, for now. A closed station has no node.
    pub(crate) fn send(&mut self, station: usize, frame: &Frame) -> Result<(), SendError> {
        let tag = self.next_tag;
        let now = self.now;
        let closed = SendError::NoSuchNode(NodeId(u16::MAX));
        let found = self.stations.get_mut(&station).ok_or(closed)?;
        let slot = self.slots.get_mut(found.slot).ok_or(closed)?;
        slot.bus.send(found.node, now, frame, tag)?;
        self.next_tag += 1;
        found.taken(tag);
        Ok(())
    }

    /// Takes back all frames of a station that are not on the wire; returns their number.
    pub(crate) fn cancel_all(&mut self, station: usize) -> usize {
        let Some(found) = self.stations.get_mut(&station) else {
            return 0;
        };
        match self.slots.get_mut(found.slot) {
            Some(slot) => found.cancel_all(&mut slot.bus),
            None => 0,
        }
    }

    /// Returns the periodic tasks.
    pub(crate) const fn cyclic_mut(&mut self) -> &mut CyclicTasks {
        &mut self.cyclic
    }

    /// Returns the time of the next event; `None` if nothing will happen on its own.
    pub(crate) fn next(&self) -> Option<Nanos> {
        let buses = self.slots.iter().filter_map(|slot| slot.bus.next());
        let deadline = self.gateway.as_ref().and_then(WorldGateway::deadline);
        let times = buses.chain(self.cyclic.next()).chain(deadline);
        times.min().map(|at| at.max(self.now))
    }

    /// Lets time pass until `until`, or until `done` returns true, for at most `steps` steps.
    /// Without `until`, time stops where nothing more will happen on its own. No step goes beyond
    /// [`LAST`].
    pub(crate) fn run(
        &mut self,
        until: Option<Nanos>,
        mut steps: u32,
        mut done: impl FnMut(&mut Self) -> bool,
    ) -> RunEnd {
        let until = until.map(|until| until.max(self.now));
        loop {
            if done(self) {
                return RunEnd::Done;
            }
            if self.asked.is_some() {
                return RunEnd::Asks;
            }
            if steps == 0 {
                return RunEnd::Paused;
            }
            let next = self.next();
            let Some(at) = next.into_iter().chain(until).min() else {
                return RunEnd::Paused;
            };
            if at > LAST {
                return RunEnd::AfterLast;
            }
            self.step(at);
            if next != Some(at) {
                return RunEnd::Reached;
            }
            steps -= 1;
        }
    }

    /// Returns what the caller has to do about a periodic frame that waits for its change.
    pub(crate) fn take_question(&mut self) -> Option<FrameQuestion> {
        let asked = self.asked.as_mut()?;
        let me = thread::current().id();
        Some(match asked.by {
            Some(by) if by == me => FrameQuestion::Reentered,
            Some(_) => FrameQuestion::OfAnother,
            None => {
                asked.by = Some(me);
                FrameQuestion::Mine {
                    task: asked.task,
                    index: asked.index,
                }
            }
        })
    }

    /// Gives the answer about a periodic frame that waits for its change.
    pub(crate) fn answer(&mut self, task: usize, answer: FrameAnswer) {
        self.asked = None;
        self.cyclic.answer(task, answer);
    }

    /// Leaves real time out, ns: the buses stand still in it.
    pub(crate) fn skip(&mut self, time: Nanos) {
        self.skipped = self.skipped.saturating_add(time);
    }

    /// Returns the real time that the buses have left out, ns.
    pub(crate) const fn skipped(&self) -> Nanos {
        self.skipped
    }

    /// Moves to a time that is not after the next event.
    fn step(&mut self, at: Nanos) {
        let gates = self.gateway.as_ref().map_or(&[][..], WorldGateway::gates);
        for slot in &mut self.slots {
            self.news |= slot.run_until(at, &mut self.stations, gates);
        }
        self.now = at;
        while let Some(due) = self.cyclic.take_due(at) {
            match due {
                DueFrame::Ready {
                    task,
                    station,
                    frame,
                } => {
                    let is_sent = self.send(station, &frame).is_ok();
                    self.cyclic.count(task, is_sent);
                }
                DueFrame::Asks { task, index } => {
                    let by = None;
                    self.asked = Some(AskedFrame { task, index, by });
                    return;
                }
            }
        }
        if let Some(gateway) = &mut self.gateway
            && (self.news || gateway.deadline().is_some_and(|due| due <= at))
        {
            gateway.step(at, &mut self.slots);
        }
        self.news = false;
    }
}
