//! Parts that all ports on IP networks share: addresses, datagrams, streams with many clients.
//!
//! The protocols are those of the crate `net`, which has no I/O. [`datagram`] moves their datagrams
//! over UDP; [`stream`] connects their sessions to TCP connections, as a server of any number of
//! clients or as the client of a server.

pub(crate) mod address;
#[cfg(any(feature = "cannelloni", feature = "ieee1722", feature = "multicast"))]
pub(crate) mod datagram;
#[cfg(any(
    feature = "cannelloni",
    feature = "ieee1722",
    feature = "slcan",
    feature = "socketcand"
))]
pub(crate) mod endpoint;
#[cfg_attr(
    not(any(feature = "cannelloni", feature = "ieee1722")),
    allow(dead_code, reason = "only these kinds have keys with identifiers")
)]
pub(crate) mod ids;
#[cfg(feature = "ieee1722")]
pub(crate) mod mac;
mod remarks;
#[cfg(any(feature = "cannelloni", feature = "slcan", feature = "socketcand"))]
pub(crate) mod stream;

use crate::{OutgoingFrame, StampSource};
use frame::Nanos;

/// Returns the Unix time of a frame that is sent: that of its reception if its route keeps the
/// stamp and the stamp is a Unix time, else the present time. `epoch` is the Unix time at which the
/// gateway's clock was 0.
fn unix_time(outgoing: &OutgoingFrame<'_>, now: Nanos, epoch: Nanos) -> Nanos {
    match outgoing.stamp {
        Some(stamp) if matches!(stamp.source, StampSource::Kernel | StampSource::Log) => stamp.ns,
        _ => epoch.saturating_add(now),
    }
}
