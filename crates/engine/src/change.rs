//! The change from one routing table and set of ports to the next, prepared outside the worker.

use crate::error::{EngineError, PortError};
use crate::half::{Receive, Transmit};
use crate::lane::{NamedPort, PortHalves, SettledFrames};
use crate::layout::{CounterNames, interest};
use crate::report::TxCounters;
use crate::setup::EngineSetup;
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use frame::Nanos;
use route::{FrameInterest, Routes, RoutingTable};

/// The treatment of one port of the new layout by a change.
pub enum PortChange<R = Box<dyn Receive>, T = Box<dyn Transmit>> {
    /// The port of this name goes on as it is, with all frames that it holds.
    Keep(String),
    /// This port is new. If an old one has its name, the old one is removed, and the new one
    /// continues its counters.
    New(NamedPort<R, T>),
}

/// A port of the new layout while the change is made.
pub(crate) enum PortSlot<R, T> {
    /// The old port with this index, once it has been moved here.
    Keep {
        old: usize,
        lane: Option<PortHalves<R, T>>,
    },
    /// A new port, and the old one whose counters it continues.
    New {
        lane: PortHalves<R, T>,
        continues: Option<usize>,
    },
}

impl<R: Receive, T: Transmit> PortSlot<R, T> {
    /// Returns whether this is the old port `i`, or the port that continues its counters.
    pub(crate) fn concerns(&self, i: usize) -> bool {
        match self {
            Self::Keep { old, .. } => *old == i,
            Self::New { continues, .. } => *continues == Some(i),
        }
    }

    /// Takes the old port that this slot concerns; or takes only its counters and gives it back.
    pub(crate) fn offer(&mut self, old: PortHalves<R, T>) -> Option<PortHalves<R, T>> {
        match self {
            Self::Keep { lane, .. } => {
                *lane = Some(old);
                None
            }
            Self::New { lane, .. } => {
                lane.continue_from(&old.count());
                Some(old)
            }
        }
    }

    pub(crate) fn into_lane(self) -> Option<PortHalves<R, T>> {
        match self {
            Self::Keep { lane, .. } => lane,
            Self::New { lane, .. } => Some(lane),
        }
    }
}

/// A new routing table and new ports, to be taken over by [`crate::Engine::apply`]. All memory that
/// it needs is allocated here, outside the worker.
pub struct LayoutChange<R = Box<dyn Receive>, T = Box<dyn Transmit>> {
    pub(crate) old: Arc<CounterNames>,
    /// The new ports and routes, without the halves of ports; the old ones after the change.
    pub(crate) setup: EngineSetup<R, T>,
    pub(crate) slots: Vec<PortSlot<R, T>>,
    /// For each old route: the new route that continues it.
    pub(crate) route_goes_to: Vec<Option<usize>>,
    pub(crate) gone: Vec<LeavingPort<R, T>>,
    pub(crate) interests: Vec<FrameInterest>,
}

impl<R: Receive, T: Transmit> LayoutChange<R, T> {
    /// Prepares the change from the layout `old` to these ports and routes; `table` is compiled
    /// from `routes`.
    ///
    /// # Errors
    /// [`EngineError`] if these do not belong together, or a kept port is not in `old`.
    pub fn new(
        old: &Arc<CounterNames>,
        ports: Vec<PortChange<R, T>>,
        table: Arc<RoutingTable>,
        routes: &Routes,
    ) -> Result<Self, EngineError> {
        let old_ports: BTreeMap<&str, usize> = index(&old.ports);
        let mut slots = Vec::with_capacity(ports.len());
        let mut names = Vec::with_capacity(ports.len());
        for port in ports {
            let slot = match port {
                PortChange::Keep(name) => {
                    let Some(&at) = old_ports.get(name.as_str()) else {
                        return Err(EngineError::NotThere(name));
                    };
                    names.push(name);
                    PortSlot::Keep {
                        old: at,
                        lane: None,
                    }
                }
                PortChange::New(port) => {
                    let continues = old_ports.get(port.name.as_str()).copied();
                    names.push(port.name.clone());
                    PortSlot::New {
                        lane: PortHalves::new(port),
                        continues,
                    }
                }
            };
            slots.push(slot);
        }
        let setup = EngineSetup::new(names, table, routes)?;
        let new_routes = index(&setup.layout.routes);
        let route_goes_to = old
            .routes
            .iter()
            .map(|name| new_routes.get(name.as_str()).copied())
            .collect();
        let interests = (0..slots.len())
            .map(|port| interest(&setup.table, port))
            .collect();
        Ok(Self {
            old: Arc::clone(old),
            route_goes_to,
            gone: Vec::with_capacity(old.ports.len()),
            setup,
            slots,
            interests,
        })
    }

    /// Returns the layout after the change.
    #[must_use]
    pub fn layout(&self) -> &Arc<CounterNames> {
        &self.setup.layout
    }
}

fn index(names: &[String]) -> BTreeMap<&str, usize> {
    let numbered = names.iter().enumerate();
    numbered.map(|(i, name)| (name.as_str(), i)).collect()
}

/// The remains of a change, for closing and freeing outside the worker.
pub struct ChangeLeftover<R = Box<dyn Receive>, T = Box<dyn Transmit>> {
    /// Ports that are no longer in the layout.
    pub leaving: Vec<LeavingPort<R, T>>,
    /// The old setup, and what the change needed.
    pub(crate) _rest: LayoutChange<R, T>,
}

/// A port that a change removed, with the frames that it still holds.
pub struct LeavingPort<R = Box<dyn Receive>, T = Box<dyn Transmit>> {
    index: usize,
    layout: Arc<CounterNames>,
    lane: PortHalves<R, T>,
    then: TxCounters,
}

impl<R: Receive, T: Transmit> LeavingPort<R, T> {
    pub(crate) fn new(
        index: usize,
        layout: &Arc<CounterNames>,
        lane: PortHalves<R, T>,
        then: TxCounters,
    ) -> Self {
        Self {
            index,
            layout: Arc::clone(layout),
            lane,
            then,
        }
    }

    /// Returns the port's name.
    #[must_use]
    pub fn name(&self) -> &str {
        self.layout
            .ports
            .get(self.index)
            .map_or("?", String::as_str)
    }

    /// Sends the held frames, as far as there is room; returns the number of those that still wait.
    ///
    /// # Errors
    /// [`PortError`] if the port cannot go on; the frames that it held are lost.
    pub fn flush(&mut self, now: Nanos) -> Result<usize, PortError> {
        self.lane.flush(now)
    }

    /// Returns the half that holds frames: the caller may wait for it before the next flush.
    #[must_use]
    pub const fn transmitter(&self) -> &T {
        self.lane.transmitter()
    }

    /// Closes the port and returns the fates of the frames that it held, for
    /// [`crate::Engine::settle`].
    #[must_use]
    pub fn close(self) -> SettledFrames {
        self.lane.settle(&self.then)
    }
}
