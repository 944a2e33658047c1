//! What the data paths in the kernel have in common.
//!
//! BPF and can-gw implement [`KernelPath`] each in its own way;
//! [`KERNEL_PATHS`](crate::KERNEL_PATHS) lists both.

use crate::RouteCounts;
use crate::bpf::{self, ListedTable, Options};
use crate::cangw::{self, ListedRule};
use crate::data_path::DataPath;
use crate::instance::Instance;
use crate::machine::Machine;
use route::Routes;
use std::collections::BTreeSet;
use std::os::fd::AsFd;

/// What a data path in the kernel could not do.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// BPF failed.
    #[error(transparent)]
    Bpf(#[from] bpf::Error),
    /// can-gw failed.
    #[error(transparent)]
    CanGw(#[from] cangw::Error),
    /// What BPF has of an earlier run stays.
    #[error("an earlier run left its BPF program, and it cannot be taken away")]
    BpfStays(#[source] bpf::Error),
    /// What can-gw has of an earlier run stays.
    #[error("an earlier run left rules of can-gw, and they cannot be taken away")]
    CanGwStays(#[source] cangw::Error),
}

/// What is to run in one data path.
#[derive(Clone, Copy, Debug)]
pub struct Assignment<'a> {
    /// The routes, at least one.
    pub routes: &'a Routes,
    /// The Linux interfaces of the ports, by [`route::PortId`]; `None` for a port that is none.
    pub interfaces: &'a [Option<String>],
    /// How BPF is to work; can-gw has no options.
    pub options: &'a Options,
    /// At the end all is to stay in place, for the next start.
    pub persist: bool,
}

/// What was done.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Report {
    /// In words, if there is something to say.
    pub words: Option<String>,
    /// Interfaces that are not there or are none of CAN; the routes with them wait.
    pub missing: BTreeSet<String>,
    /// Rules or programs that somebody else had taken away, and that are back.
    pub restored: usize,
}

/// What there is in a data path, whoever put it there.
#[derive(Clone, PartialEq, Debug)]
pub enum Listing {
    /// Tables of BPF.
    Tables(Vec<ListedTable>),
    /// Rules of can-gw.
    Rules(Vec<ListedRule>),
}

/// A data path in the kernel.
pub trait KernelPath: Sync {
    /// Which one it is.
    fn data_path(&self) -> DataPath;

    /// For each route, why it cannot run here on this machine.
    fn objections(
        &self,
        routes: &Routes,
        interfaces: &[Option<String>],
        machine: &Machine,
    ) -> Vec<Option<String>>;

    /// XL frames are unknown here, so that a route must do without them, which it can where none
    /// come.
    fn without_xl(&self) -> bool;

    /// Frames reach somebody at the other side of a vcan, too. An interface that is not there yet
    /// can be one.
    fn reaches_vcan(&self) -> bool;

    /// Takes away what an earlier process of an instance left, by a crash or on purpose; says what
    /// was done, if there was something to do.
    ///
    /// # Errors
    /// A process runs it; what the kernel says.
    fn remove_leftovers(&self, instance: &Instance) -> Result<Option<String>, Error>;

    /// Puts routes there. What an earlier process of the instance left there is taken over
    /// (adopted) without a gap. An interface that is not there is no error: its routes come with
    /// it.
    ///
    /// # Errors
    /// Another process runs this instance; routes that cannot be expressed; what this kernel lacks;
    /// what it says. Then nothing was changed.
    fn start(
        &self,
        instance: &Instance,
        assignment: Assignment<'_>,
    ) -> Result<(Box<dyn Running>, Report), Error>;

    /// All that is there, of whichever cangate.
    ///
    /// # Errors
    /// No permission to look; what the kernel says.
    fn list(&self) -> Result<Listing, Error>;
}

/// The routes of one gateway in a data path of the kernel. They go when it is dropped. Its
/// descriptor is readable when interfaces have changed.
pub trait Running: AsFd {
    /// Exchanges the routes; counters go on by their names.
    ///
    /// # Errors
    /// As [`KernelPath::start`]; the routes before go on.
    fn reload(&mut self, assignment: Assignment<'_>) -> Result<Report, Error>;

    /// Call this when the descriptor is readable. Nothing if there was no news.
    ///
    /// # Errors
    /// What the kernel says.
    fn links_changed(&mut self) -> Result<Option<Report>, Error>;

    /// Looks whether all is there that should be, and puts back what somebody else took away
    /// (`cangw -F`, `tc qdisc del`, an unloaded module): the kernel does not say when that happens.
    /// Nothing if nothing had changed.
    ///
    /// # Errors
    /// What the kernel says; what is missing stays so.
    fn look_after(&mut self) -> Result<Option<Report>, Error>;

    /// What each route counted since the start, by [`route::RouteId`].
    ///
    /// # Errors
    /// What the kernel says.
    fn counts(&mut self) -> Result<Vec<RouteCounts>, Error>;

    /// Leaves all in place, to be taken over by the next start of the same instance.
    ///
    /// # Errors
    /// What the kernel says; then the routes are taken away.
    fn persist(self: Box<Self>) -> Result<(), Error>;
}
