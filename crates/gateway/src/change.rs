//! From one routing table and set of ports to the next, prepared outside the worker.

use crate::counters::{RouteCount, TxCount};
use crate::engine::{EngineError, Settled, Wish, wishes};
use crate::interest;
use crate::lane::{Lane, NamedPort, Receiver, Sender};
use frame::Nanos;
use port::{Interest, Wait};
use route::{Memory, PortId, Routes, Table};
use std::collections::HashMap;
use std::sync::Arc;

/// The names that counters belong to, by index.
#[derive(PartialEq, Eq, Debug, Default)]
pub struct Layout {
    /// Ports, as [`PortId`] counts them.
    pub ports: Vec<String>,
    /// Routes, as [`route::RouteId`] counts them.
    pub routes: Vec<String>,
}

impl Layout {
    /// The names, if table, routes and ports belong together.
    pub(crate) fn new(
        ports: Vec<String>,
        table: &Table,
        routes: &Routes,
    ) -> Result<Self, EngineError> {
        if table.routes() != routes.routes.len() {
            return Err(EngineError::OtherRoutes {
                table: table.routes(),
                routes: routes.routes.len(),
            });
        }
        for route in &routes.routes {
            let strange = |id: &&PortId| usize::from(id.0) >= ports.len();
            if let Some(id) = route.from.iter().chain(&route.to).find(strange) {
                return Err(EngineError::NoSuchPort {
                    route: route.name.clone(),
                    port: id.0,
                    ports: ports.len(),
                });
            }
        }
        let routes: Vec<String> = routes.routes.iter().map(|r| r.name.clone()).collect();
        no_twins(&ports)?;
        no_twins(&routes)?;
        Ok(Self { ports, routes })
    }
}

fn no_twins(names: &[String]) -> Result<(), EngineError> {
    let mut seen = std::collections::HashSet::with_capacity(names.len());
    match names.iter().find(|name| !seen.insert(name.as_str())) {
        Some(twin) => Err(EngineError::NameTwice(twin.clone())),
        None => Ok(()),
    }
}

/// A port of the new layout.
pub enum Place {
    /// The port of this name goes on as it is, with all that it holds.
    Keep(String),
    /// This port is new. Where an old one has its name, that one goes, and the new one continues
    /// its counters.
    New(NamedPort),
}

/// A place in the new layout while the change is made.
pub(crate) enum Slot {
    Keep {
        old: usize,
        lane: Option<Lane>,
    },
    New {
        lane: Lane,
        continues: Option<usize>,
    },
}

impl Slot {
    /// Is this the place of the old port `i`, or of the one that continues its counters?
    pub(crate) fn concerns(&self, i: usize) -> bool {
        match self {
            Self::Keep { old, .. } => *old == i,
            Self::New { continues, .. } => *continues == Some(i),
        }
    }

    /// Takes the old port that this place concerns, or only its numbers and gives it back.
    pub(crate) fn offer(&mut self, old: Lane) -> Option<Lane> {
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

    pub(crate) fn into_lane(self) -> Option<Lane> {
        match self {
            Self::Keep { lane, .. } => lane,
            Self::New { lane, .. } => Some(lane),
        }
    }
}

/// A new routing table and new ports, ready to be taken over by [`crate::Engine::apply`]. All
/// that needs memory is allocated here, outside the worker.
pub struct Change {
    pub(crate) old: Arc<Layout>,
    pub(crate) table: Arc<Table>,
    pub(crate) memory: Memory,
    pub(crate) layout: Arc<Layout>,
    pub(crate) slots: Vec<Slot>,
    pub(crate) routes: Vec<RouteCount>,
    pub(crate) wishes: Vec<Wish>,
    /// By old route: the new route that continues it.
    pub(crate) route_goes_to: Vec<Option<usize>>,
    pub(crate) gone: Vec<Leaving>,
    pub(crate) rx: Vec<Receiver>,
    pub(crate) tx: Vec<Sender>,
    pub(crate) interests: Vec<Interest>,
}

impl Change {
    /// Prepares the step from the layout `old` to these ports and routes; `table` is compiled
    /// from `routes`.
    ///
    /// # Errors
    /// [`EngineError`] where these do not belong together, or a kept port is not in `old`.
    pub fn new(
        old: &Arc<Layout>,
        ports: Vec<Place>,
        table: Arc<Table>,
        routes: &Routes,
    ) -> Result<Self, EngineError> {
        let old_ports: HashMap<&str, usize> = index(&old.ports);
        let mut slots = Vec::with_capacity(ports.len());
        let mut names = Vec::with_capacity(ports.len());
        for place in ports {
            let slot = match place {
                Place::Keep(name) => {
                    let Some(&at) = old_ports.get(name.as_str()) else {
                        return Err(EngineError::NotThere(name));
                    };
                    names.push(name);
                    Slot::Keep {
                        old: at,
                        lane: None,
                    }
                }
                Place::New(port) => {
                    let continues = old_ports.get(port.name.as_str()).copied();
                    names.push(port.name.clone());
                    Slot::New {
                        lane: Lane::new(port),
                        continues,
                    }
                }
            };
            slots.push(slot);
        }
        let layout = Layout::new(names, &table, routes)?;
        let new_routes = index(&layout.routes);
        let route_goes_to = old
            .routes
            .iter()
            .map(|name| new_routes.get(name.as_str()).copied())
            .collect();
        let interests = interest::all(&table, slots.len());
        Ok(Self {
            old: Arc::clone(old),
            memory: table.memory(),
            table,
            routes: vec![RouteCount::default(); layout.routes.len()],
            wishes: wishes(routes),
            route_goes_to,
            gone: Vec::with_capacity(old.ports.len()),
            rx: Vec::with_capacity(slots.len()),
            tx: Vec::with_capacity(slots.len()),
            layout: Arc::new(layout),
            slots,
            interests,
        })
    }

    /// The layout after the change.
    #[must_use]
    pub fn layout(&self) -> &Arc<Layout> {
        &self.layout
    }
}

fn index(names: &[String]) -> HashMap<&str, usize> {
    let numbered = names.iter().enumerate();
    numbered.map(|(i, name)| (name.as_str(), i)).collect()
}

/// What a change left over: to be closed and freed outside the worker.
pub struct Removed {
    /// Ports that are no longer in the layout.
    pub leaving: Vec<Leaving>,
    pub(crate) _table: Arc<Table>,
    pub(crate) _memory: Memory,
    pub(crate) _layout: Arc<Layout>,
    pub(crate) _routes: Vec<RouteCount>,
    pub(crate) _route_goes_to: Vec<Option<usize>>,
    pub(crate) _wishes: Vec<Wish>,
    pub(crate) _interests: Vec<Interest>,
    pub(crate) _rx: Vec<Receiver>,
    pub(crate) _tx: Vec<Sender>,
    pub(crate) _slots: Vec<Slot>,
}

/// A port that a change took away, with the frames that it still holds.
pub struct Leaving {
    index: usize,
    layout: Arc<Layout>,
    lane: Lane,
    then: TxCount,
}

impl Leaving {
    pub(crate) fn new(index: usize, layout: &Arc<Layout>, lane: Lane, then: TxCount) -> Self {
        Self {
            index,
            layout: Arc::clone(layout),
            lane,
            then,
        }
    }

    /// The port's name.
    #[must_use]
    pub fn name(&self) -> &str {
        self.layout
            .ports
            .get(self.index)
            .map_or("?", String::as_str)
    }

    /// Sends what the port holds, as far as there is room; gives what still waits.
    pub fn flush(&mut self, now: Nanos) -> usize {
        self.lane.flush(now)
    }

    /// What to wait for before the next flush.
    #[must_use]
    pub fn wait(&self) -> Wait {
        self.lane.wait()
    }

    /// Closes the port and says what became of what it held, for
    /// [`crate::Engine::settle`].
    #[must_use]
    pub fn close(self) -> Settled {
        self.lane.settle(&self.then)
    }
}
