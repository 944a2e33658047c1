//! The routes and interfaces that should be in use, and the part that exists.

use super::about::AboutMap;
use crate::instance::GatewayInstance;
use linux::link::{NetLink, NetLinks};
use route::{KernelPort, PortId, Routes};
use std::collections::BTreeSet;

/// The routes and interfaces that should be in use.
#[derive(Clone, PartialEq, Default)]
pub(super) struct WantedTable {
    pub(super) routes: Routes,
    pub(super) ports: Vec<Option<KernelPort>>,
}

/// The existing interfaces of the routes.
pub(super) struct ResolvedTable {
    /// The ports' interfaces, as far as they exist.
    pub(super) links: Vec<Option<NetLink>>,
    /// The interfaces where frames come in.
    pub(super) entrances: Vec<NetLink>,
    pub(super) missing: BTreeSet<String>,
}

impl WantedTable {
    /// Returns the ports that routes use.
    fn used(&self) -> BTreeSet<PortId> {
        let routes = self.routes.routes.iter();
        routes
            .flat_map(|route| route.from.iter().chain(&route.to).copied())
            .collect()
    }

    pub(super) fn find(&self, links: &NetLinks) -> ResolvedTable {
        let can = |port: &Option<KernelPort>| {
            let link = links.get(&port.as_ref()?.interface)?;
            link.can.then(|| link.clone())
        };
        let found: Vec<Option<NetLink>> = self.ports.iter().map(can).collect();
        let mut missing = BTreeSet::new();
        for port in self.used() {
            let at = usize::from(port.0);
            if let (Some(Some(wanted)), Some(None)) = (self.ports.get(at), found.get(at)) {
                missing.insert(wanted.interface.clone());
            }
        }
        let from: BTreeSet<PortId> = self
            .routes
            .routes
            .iter()
            .flat_map(|route| route.from.iter().copied())
            .collect();
        let entrances = from
            .iter()
            .filter_map(|port| found.get(usize::from(port.0))?.clone());
        ResolvedTable {
            entrances: entrances.collect(),
            links: found,
            missing,
        }
    }

    /// Returns the description for the maps: a process that finds the table there needs it.
    pub(super) fn about(&self, instance: &GatewayInstance) -> AboutMap {
        let routes = self.routes.routes.iter();
        let name = |port: &Option<KernelPort>| {
            let interface = port.as_ref().map(|port| port.interface.clone());
            interface.unwrap_or_default()
        };
        AboutMap {
            instance: instance.name().to_owned(),
            routes: routes.map(|route| route.name.clone()).collect(),
            ports: self.ports.iter().map(name).collect(),
            ..AboutMap::default()
        }
    }
}
