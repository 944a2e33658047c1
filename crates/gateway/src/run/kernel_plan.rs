//! The routes that run in the kernel.

use offload::{DataPath, KERNEL_PATHS, KernelPath, PathAssignment, bpf};
use route::{KernelPort, PortId, RouteMode, Routes};
use std::collections::BTreeMap;

/// The routes that run in the kernel.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct KernelPlan {
    /// The name by which the gateway recognizes its own rules and programs after a crash: that of
    /// its control socket, which is unique.
    pub instance: String,
    /// The names of the gateway's ports, in the same order as `ports`.
    pub names: Vec<String>,
    /// The ports, in the order in which these routes number them; `None` for a port that is not a
    /// Linux interface.
    pub ports: Vec<Option<KernelPort>>,
    /// The routes of each data path; a data path that is not named has none.
    pub routes: BTreeMap<DataPath, Routes>,
    /// The options for BPF.
    pub options: bpf::BpfOptions,
    /// Whether all routes stay in place at the end, for the next start.
    pub persist: bool,
}

static NO_ROUTES: Routes = Routes {
    mode: RouteMode::All,
    max_hops: 1,
    routes: Vec::new(),
};

impl KernelPlan {
    /// Returns each port that routes in the kernel use, with its interface, and whether BPF takes
    /// frames there that this process does not see.
    pub(crate) fn used(&self) -> Vec<(&str, &str, bool)> {
        let mut used: BTreeMap<PortId, bool> = BTreeMap::new();
        for (path, routes) in &self.routes {
            let takes = *path == DataPath::Bpf && !self.options.tap;
            for route in &routes.routes {
                for port in &route.from {
                    *used.entry(*port).or_default() |= takes;
                }
                for port in &route.to {
                    used.entry(*port).or_default();
                }
            }
        }
        let named = |(port, takes): (PortId, bool)| {
            let interface = KernelPort::interface_of(&self.ports, port)?;
            let name = self.names.get(usize::from(port.0))?;
            Some((name.as_str(), interface, takes))
        };
        used.into_iter().filter_map(named).collect()
    }

    /// Returns the routes of a data path.
    #[must_use]
    pub fn routes(&self, data_path: DataPath) -> &Routes {
        self.routes.get(&data_path).unwrap_or(&NO_ROUTES)
    }

    /// Returns the part of the plan for a data path; `None` if that has no routes.
    pub(super) fn assignment(&self, data_path: DataPath) -> Option<PathAssignment<'_>> {
        let routes = self.routes(data_path);
        (!routes.routes.is_empty()).then_some(PathAssignment {
            routes,
            ports: &self.ports,
            options: &self.options,
            persist: self.persist,
        })
    }

    /// Returns the number of data paths in which the plans differ.
    pub(super) fn differs(&self, other: &Self) -> usize {
        let moved = self.ports != other.ports;
        let differs = |path: &&&dyn KernelPath| {
            let path = path.data_path();
            let (a, b) = (self.routes(path), other.routes(path));
            a != b || (moved && !b.routes.is_empty())
        };
        KERNEL_PATHS.iter().filter(differs).count()
    }
}
