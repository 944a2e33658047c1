//! The common interface of the data paths in the kernel.
//!
//! BPF and can-gw each implement [`KernelPath`]; [`KERNEL_PATHS`](crate::KERNEL_PATHS) lists both.

use crate::RouteCounts;
use crate::bpf::{self, BpfOptions, ListedTable};
use crate::cangw::{self, ListedRule};
use crate::data_path::DataPath;
use crate::instance::GatewayInstance;
use crate::machine::HostMachine;
use route::{KernelPort, Routes};
use std::collections::BTreeSet;
use std::os::fd::AsFd;

/// An operation of a data path in the kernel that failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// BPF failed.
    #[error(transparent)]
    Bpf(#[from] bpf::Error),
    /// can-gw failed.
    #[error(transparent)]
    CanGw(#[from] cangw::Error),
    /// The BPF program of an earlier run cannot be removed.
    #[error("an earlier run left its BPF program, and it cannot be removed")]
    BpfStays(#[source] bpf::Error),
    /// The can-gw rules of an earlier run cannot be removed.
    #[error("an earlier run left rules of can-gw, and they cannot be removed")]
    CanGwStays(#[source] cangw::Error),
}

impl Error {
    /// Returns whether the data path cannot express its routes between the interfaces that exist:
    /// then another one may run them.
    #[must_use]
    pub const fn is_inexpressible(&self) -> bool {
        matches!(
            self,
            Self::Bpf(bpf::Error::Inexpressible(_)) | Self::CanGw(cangw::Error::Inexpressible(_))
        )
    }
}

/// The task of one data path.
#[derive(Clone, Copy, Debug)]
pub struct PathAssignment<'a> {
    /// The routes, at least one.
    pub routes: &'a Routes,
    /// The ports, by [`route::PortId`]; `None` for a port that is not a Linux interface.
    pub ports: &'a [Option<KernelPort>],
    /// The options of BPF; can-gw has none.
    pub options: &'a BpfOptions,
    /// At the end everything stays in place, for the next start.
    pub persist: bool,
}

/// The result of a start or a change.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PathReport {
    /// The result in words, if there is something to report.
    pub words: Option<String>,
    /// Interfaces that do not exist or are not CAN interfaces; the routes with them wait.
    pub missing: BTreeSet<String>,
    /// Number of rules or programs that another program had removed, and that were restored.
    pub restored: usize,
}

/// The contents of a data path, of every origin.
#[derive(Clone, PartialEq, Debug)]
pub enum PathListing {
    /// Tables of BPF.
    Tables(Vec<ListedTable>),
    /// Rules of can-gw.
    Rules(Vec<ListedRule>),
}

/// A data path in the kernel.
pub trait KernelPath: Sync {
    /// Returns which data path this is.
    fn data_path(&self) -> DataPath;

    /// Returns, for each route, the reason why it cannot run here on this machine.
    fn objections(
        &self,
        routes: &Routes,
        ports: &[Option<KernelPort>],
        machine: &HostMachine,
    ) -> Vec<Option<String>>;

    /// Returns whether this path does not support XL frames, so that a route must run without them;
    /// this is possible where none come in.
    fn without_xl(&self) -> bool;

    /// Returns whether frames that are sent into a vcan reach a receiver there. An interface that
    /// does not exist yet can be a vcan.
    fn reaches_vcan(&self) -> bool;

    /// Removes what an earlier process of an instance left, after a crash or on purpose. Returns a
    /// description if there was something to remove.
    ///
    /// # Errors
    /// A process runs the instance; errors of the kernel.
    fn remove_leftovers(&self, instance: &GatewayInstance) -> Result<Option<String>, Error>;

    /// Puts routes into the kernel. What an earlier process of the instance left there is taken
    /// over (adopted) without a gap. A missing interface is not an error: its routes start when it
    /// appears.
    ///
    /// # Errors
    /// Another process runs this instance; routes that cannot be expressed; features that this
    /// kernel lacks; errors of the kernel. In each case nothing was changed.
    fn start(
        &self,
        instance: &GatewayInstance,
        assignment: PathAssignment<'_>,
    ) -> Result<(Box<dyn PathRun>, PathReport), Error>;

    /// Lists everything that is there, of all cangate instances.
    ///
    /// # Errors
    /// No permission to list; errors of the kernel.
    fn list(&self) -> Result<PathListing, Error>;
}

/// The routes of one gateway in a data path of the kernel. They are removed when it is dropped. Its
/// descriptor is readable when interfaces have changed.
pub trait PathRun: AsFd {
    /// Replaces the routes. Counters continue for routes with the same names.
    ///
    /// # Errors
    /// As [`KernelPath::start`]; the previous routes stay in place.
    fn reload(&mut self, assignment: PathAssignment<'_>) -> Result<PathReport, Error>;

    /// Handles changes of interfaces. Call this when the descriptor is readable. Returns `None` if
    /// nothing had changed.
    ///
    /// # Errors
    /// Errors of the kernel.
    fn links_changed(&mut self) -> Result<Option<PathReport>, Error>;

    /// Checks that everything is in place, and restores what another program removed (`cangw -F`,
    /// `tc qdisc del`, an unloaded module): the kernel does not notify when that happens. Returns
    /// `None` if nothing had changed.
    ///
    /// # Errors
    /// Errors of the kernel; what is missing stays missing.
    fn maintain(&mut self) -> Result<Option<PathReport>, Error>;

    /// Returns the counters of each route since the start, by [`route::RouteId`].
    ///
    /// # Errors
    /// Errors of the kernel.
    fn counts(&mut self) -> Result<Vec<RouteCounts>, Error>;

    /// Leaves everything in place, for the next start of the same instance to take over.
    ///
    /// # Errors
    /// Errors of the kernel; then the routes are removed.
    fn persist(self: Box<Self>) -> Result<(), Error>;
}
