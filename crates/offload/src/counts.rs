//! Counters of the data paths.

/// The counters of one route, since it was put into the kernel.
///
/// They have the same meaning as those of the gateway in user space: each frame that the route took
/// was sent, in as many copies as it has destinations, or stopped for one reason.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RouteCounts {
    /// Frames that the route matched; `None` where the kernel does not count them (can-gw: a
    /// frame that `limit_hops` or `-i` stopped before its counters).
    pub taken: Option<u64>,
    /// Copies handed to an outgoing interface.
    pub sent: u64,
    /// Stopped frames, by reason, in the order of [`route::StopReason::ALL`].
    pub stopped: [u64; route::StopReason::ALL.len()],
    /// Copies that the outgoing interface did not accept (down, gone, no memory).
    pub failed: u64,
}
