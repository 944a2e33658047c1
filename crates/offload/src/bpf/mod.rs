//! The table as a BPF program at the entrance of every interface that frames come from.

mod about;
mod attach;
mod check;
mod compile;
mod error;
mod generation;
mod index;
mod interfaces;
mod kernel;
mod layout;
mod ledger;
mod left;
mod maps;
mod offload;
mod ops;
mod pin;
mod tc;

pub use crate::instance::Instance;
pub use crate::links::Link as Interface;
pub use check::{Inexpressible, inexpressible, survey};
pub use error::{Error, Missing};
pub use interfaces::interfaces;
pub use kernel::{Features, features};
pub use offload::{Offload, Outcome, remove};

use crate::RouteCounts;

/// How the table is to work.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Options {
    /// Local programs on the incoming interface see frames that a route takes, too. Costs a copy
    /// of each.
    pub tap: bool,
    /// Every copy's fate is asked for, so that [`RouteCounts::failed`] has also those that a full
    /// queue or an interface that is down refused. Costs a copy of each frame; without it they
    /// are among the interface's own counters only (`tc -s qdisc`, `ip -s link`).
    pub exact: bool,
    /// For tests.
    #[doc(hidden)]
    pub test: TestOptions,
}

/// For tests of this crate.
#[doc(hidden)]
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TestOptions {
    /// Rate limits see the time that [`Offload::set_clock`] says.
    pub clock: bool,
    /// clsact also where there is tcx.
    pub clsact: bool,
    /// Interfaces of any kind are taken for virtual ones of CAN: for what comes and goes, where
    /// there is no CAN.
    pub any_interface: bool,
}

/// What was counted of one port.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PortCounts {
    /// Classic and FD frames that came in.
    pub seen: u64,
    /// Of these, those that no route took; they went on to local programs.
    pub unrouted: u64,
    /// Frames that a local program sent through this interface and that were left alone, because
    /// they have no room before them that BPF needs (kernels before 7.0, and only on interfaces of
    /// hardware).
    pub local: u64,
    /// What is no classic or FD frame: XL, or malformed.
    pub odd: u64,
}

/// All that was counted since the table was put into the kernel.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// By the route's number.
    pub routes: Vec<RouteCounts>,
    /// By the port's number.
    pub ports: Vec<PortCounts>,
}
