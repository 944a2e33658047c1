//! The replacement for BPF in a build without the feature `bpf`: the same names as far as other
//! modules use them, and a data path that has the same objection to every route.
//!
//! Tables that a gateway of another build left in the kernel (`--persist`, or a crash with clsact
//! in use) stay there: the owner is stored in their maps, and only the BPF code reads those.

use super::{Error, Interface, MissingFeature};
use crate::RouteCounts;
use crate::data_path::DataPath;
use crate::instance::GatewayInstance;
use crate::kernel_path::{self, KernelPath, PathAssignment, PathListing, PathReport, PathRun};
use crate::machine::HostMachine;
use route::{KernelPort, PortId, RouteId, Routes};
use std::convert::Infallible;
use std::fmt;

/// Returns the reason why this build has no BPF; `None` in builds that have it.
#[must_use]
pub fn left_out() -> Option<String> {
    Some(MissingFeature::NotBuilt.to_string())
}

/// Returns the features of this kernel: this build knows none.
///
/// # Errors
/// [`MissingFeature::NotBuilt`], always.
pub const fn features() -> Result<Infallible, MissingFeature> {
    Err(MissingFeature::NotBuilt)
}

/// A route that BPF cannot express.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BpfInexpressible {
    /// The route.
    pub route: RouteId,
    /// Its name.
    pub name: String,
    /// Always `None`: no port is concerned.
    pub port: Option<PortId>,
    /// The reason.
    pub why: String,
}

impl fmt::Display for BpfInexpressible {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "route {:?}: {}", self.name, self.why)
    }
}

/// Returns every route, with the reason that this build has no BPF.
#[must_use]
pub fn survey(routes: &Routes, _: &[Option<KernelPort>], _: &[Interface]) -> Vec<BpfInexpressible> {
    let each = (0..).map(RouteId).zip(&routes.routes);
    each.map(|(route, about)| BpfInexpressible {
        route,
        name: about.name.clone(),
        port: None,
        why: MissingFeature::NotBuilt.to_string(),
    })
    .collect()
}

/// A table in the kernel. This build finds none.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ListedTable {
    /// The number of its program.
    pub program: u32,
    /// The interfaces at whose ingress it is attached.
    pub interfaces: Vec<String>,
    /// The readable part of the table.
    pub table: Option<TableInfo>,
}

/// The description that a table carries.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TableInfo {
    /// The gateway's name: its control socket.
    pub instance: String,
    /// The table was left there on purpose.
    pub persisted: bool,
    /// A process manages it.
    pub runs: bool,
    /// The number of that process.
    pub process: Option<u32>,
    /// Its routes by name, with their counts.
    pub routes: Vec<(String, RouteCounts)>,
}

/// The data path through BPF, in which nothing can run.
#[derive(Clone, Copy, Debug)]
pub struct BpfPath;

impl KernelPath for BpfPath {
    fn data_path(&self) -> DataPath {
        DataPath::Bpf
    }

    fn objections(
        &self,
        routes: &Routes,
        _: &[Option<KernelPort>],
        _: &HostMachine,
    ) -> Vec<Option<String>> {
        vec![left_out(); routes.routes.len()]
    }

    fn without_xl(&self) -> bool {
        false
    }

    fn reaches_vcan(&self) -> bool {
        false
    }

    fn remove_leftovers(&self, _: &GatewayInstance) -> Result<Option<String>, kernel_path::Error> {
        Ok(None)
    }

    fn start(
        &self,
        _: &GatewayInstance,
        _: PathAssignment<'_>,
    ) -> Result<(Box<dyn PathRun>, PathReport), kernel_path::Error> {
        Err(Error::Kernel(MissingFeature::NotBuilt).into())
    }

    fn list(&self) -> Result<PathListing, kernel_path::Error> {
        Err(Error::Kernel(MissingFeature::NotBuilt).into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::choose::choose;
    use route::{Route, RouteMode};

    #[test]
    fn routes_go_elsewhere_and_give_the_reason() {
        let routes = Routes {
            mode: RouteMode::All,
            max_hops: 1,
            routes: vec![Route::new("one", vec![PortId(0)], vec![PortId(1)])],
        };
        let interfaces = ["can0", "can1"].map(|name| Some(KernelPort::new(name)));
        let choices = choose(&routes, &interfaces, &HostMachine::inspect());
        let why = MissingFeature::NotBuilt.to_string();
        let [choice] = choices.as_slice() else {
            panic!("{choices:?}");
        };
        assert_ne!(choice.data_path, DataPath::Bpf);
        assert!(choice.because.contains(&(DataPath::Bpf, why)), "{choice:?}");
        let wrong = survey(&routes, &interfaces, &[]);
        assert_eq!(wrong.len(), 1);
        let listed = BpfPath.list().map_err(|error| error.to_string());
        assert_eq!(listed, Err(MissingFeature::NotBuilt.to_string()));
    }
}
