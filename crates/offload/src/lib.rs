//! The routing table, put into the kernel.
//!
//! * [`cangw`]: routes as rules of can-gw (`net/can/gw.c`), over netlink.
//! * [`bpf`]: the table as a BPF program at the entrance of every interface (tcx, or clsact on
//!   kernels before 6.6), with its routes in maps.
//!
//! Both say by name which routes they cannot express, before anything is changed in the kernel;
//! both change only what is theirs, count in 64 bits, and go from one table to the next without
//! a moment in which a frame meets half of it.

pub mod bpf;
pub mod cangw;
mod instance;
pub mod place;

pub use instance::Instance;
pub use linux::link::{Link, Links};

/// An error with all that caused it, as one line; what the error says itself is not said again.
#[must_use]
pub fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let more = cause.to_string();
        if !text.contains(&more) {
            text.push_str(": ");
            text.push_str(&more);
        }
        next = cause.source();
    }
    text
}

/// What was counted of one route, since it was put into the kernel.
///
/// As the gateway in user space counts: each frame that the route took was sent, in as many
/// copies as it has destinations, or stopped for one reason.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RouteCounts {
    /// Frames that the route matched; `None` where the kernel does not count them (can-gw: a
    /// frame that `limit_hops` or `-i` stopped before its counters).
    pub taken: Option<u64>,
    /// Copies handed to an outgoing interface.
    pub sent: u64,
    /// Stopped, by reason, in the order of [`route::Stop::ALL`].
    pub stopped: [u64; route::Stop::ALL.len()],
    /// Copies that the outgoing interface did not take (down, gone, no memory).
    pub failed: u64,
}
