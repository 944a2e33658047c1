//! Options of a table in BPF.

/// Options of a table.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct BpfOptions {
    /// Local programs on the incoming interface also see the frames that a route takes. Costs a
    /// copy of each.
    pub tap: bool,
    /// The result of sending every copy is checked, so that
    /// [`RouteCounts::failed`](crate::RouteCounts::failed) includes copies that were refused by a
    /// full queue or an interface that is down. Costs a copy of each frame. Without it they appear
    /// only in the interface's own counters (`tc -s qdisc`, `ip -s link`).
    pub exact: bool,
    /// For tests.
    #[doc(hidden)]
    pub test: TestOptions,
}

/// For tests of this crate.
#[doc(hidden)]
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TestOptions {
    /// Rate limits use the time set by [`Offload::set_clock`](super::Offload::set_clock).
    pub clock: bool,
    /// clsact is used even where there is tcx.
    pub clsact: bool,
    /// Interfaces of any kind are treated as virtual CAN interfaces: for tests of interfaces that
    /// appear and disappear, on kernels without CAN.
    pub any_interface: bool,
}
