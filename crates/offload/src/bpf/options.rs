//! How a table in BPF is to work.

/// How the table is to work.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Options {
    /// Local programs on the incoming interface see frames that a route takes, too. Costs a copy
    /// of each.
    pub tap: bool,
    /// Every copy's fate is asked for, so that [`RouteCounts::failed`](crate::RouteCounts::failed)
    /// has also those that a full queue or an interface that is down refused. Costs a copy of each
    /// frame; without it they are among the interface's own counters only (`tc -s qdisc`, `ip -s
    /// link`).
    pub exact: bool,
    /// For tests.
    #[doc(hidden)]
    pub test: TestOptions,
}

/// For tests of this crate.
#[doc(hidden)]
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TestOptions {
    /// Rate limits see the time that [`Offload::set_clock`](super::Offload::set_clock) says.
    pub clock: bool,
    /// clsact also where there is tcx.
    pub clsact: bool,
    /// Interfaces of any kind are taken for virtual ones of CAN: for what comes and goes, where
    /// there is no CAN.
    pub any_interface: bool,
}
