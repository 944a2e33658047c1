//! What ports on IP networks have in common: addresses, datagrams, streams with many clients.
//!
//! The protocols are those of the crate `net`, which has no I/O. [`datagram`] moves their datagrams
//! over UDP; [`stream`] connects their sessions to TCP connections, as a server of any number of
//! clients or as the client of a server.

pub(crate) mod address;
#[cfg(any(feature = "cannelloni", feature = "ieee1722", feature = "multicast"))]
pub(crate) mod datagram;
mod remarks;
#[cfg(any(feature = "cannelloni", feature = "slcan", feature = "socketcand"))]
pub(crate) mod stream;

use crate::{OutgoingFrame, StampSource};
use config::{Diagnostic, Diagnostics, TomlTable};
use frame::Nanos;
use std::net::SocketAddr;

/// Returns the Unix time of a frame that is sent: that of its reception if its route keeps the
/// stamp and the stamp is a Unix time, else the present time. `epoch` is the Unix time at which the
/// gateway's clock was 0.
fn unix_time(outgoing: &OutgoingFrame<'_>, now: Nanos, epoch: Nanos) -> Nanos {
    match outgoing.stamp {
        Some(stamp) if matches!(stamp.source, StampSource::Kernel | StampSource::Log) => stamp.ns,
        _ => epoch.saturating_add(now),
    }
}

/// Warns of a port that listens beyond the loopback interface without the key `allow`.
#[cfg(any(feature = "cannelloni", feature = "slcan", feature = "socketcand"))]
pub(crate) fn warn_of_strangers(
    table: &TomlTable<'_>,
    listen: Option<SocketAddr>,
    found: &mut Diagnostics,
) {
    if listen.is_some_and(|address| !address.ip().is_loopback()) {
        let message = "every machine that can connect here can send to the buses behind this port";
        let hint = "list the clients in `allow`, or listen on the loopback interface: the protocol has no passwords";
        found.push(Diagnostic::warning(table.value_span("listen"), message).hint(hint));
    }
}
