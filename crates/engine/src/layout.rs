//! The layout of an engine: its ports and routes by name and number.

use crate::error::EngineError;
use alloc::collections::BTreeSet;
use alloc::string::String;
use alloc::vec::Vec;
use route::{FrameInterest, PortId, Routes, RoutingTable};

/// Returns which frames the port with this index must receive so that every route can work: for
/// [`Receive::set_interest`](crate::Receive::set_interest) when a port is opened.
/// [`Engine::apply`](crate::Engine::apply) sets it again after a reload.
#[must_use]
pub fn interest(table: &RoutingTable, port: usize) -> FrameInterest {
    match u16::try_from(port) {
        Ok(port) => table.interest(PortId(port)),
        Err(_) => FrameInterest::default(),
    }
}

/// The names to which counters belong, by index.
#[derive(PartialEq, Eq, Debug, Default)]
pub struct CounterNames {
    /// Names of the ports, indexed by [`PortId`].
    pub ports: Vec<String>,
    /// Names of the routes, indexed by [`route::RouteId`].
    pub routes: Vec<String>,
}

impl CounterNames {
    /// Returns the names, if table, routes and ports belong together.
    pub(crate) fn new(
        ports: Vec<String>,
        table: &RoutingTable,
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
    let mut seen = BTreeSet::new();
    match names.iter().find(|name| !seen.insert(name.as_str())) {
        Some(twin) => Err(EngineError::NameTwice(twin.clone())),
        None => Ok(()),
    }
}
