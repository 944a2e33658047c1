//! Ports over TCP and serial devices: the protocol is a session for each connection.
//!
//! * A server ([`ListenerHub`]) accepts any number of clients up to a limit. Several ports can
//!   share a listener where clients choose a bus by its name.
//! * A client connects to a server, or opens a serial device, again and again
//!   ([`Dialer`](dialer::Dialer)).
//! * Each connection ([`Conversation`](conversation::Conversation)) has a queue of its own. A
//!   client that does not read loses its own frames only: the oldest ones, counted as `missed`.
//!
//! A frame counts as sent when it was handed to the first client; as displaced or lost when no
//! client got it.

mod conversation;
mod dialer;
mod halves;
mod hub;
mod link;
mod queue;
#[cfg(feature = "slcan")]
mod serial;
mod shared;
mod store;
#[cfg(test)]
mod tests;

pub(crate) use hub::{HubSettings, ListenerHub, Listeners};
pub(crate) use link::StreamPeer;
#[cfg(feature = "slcan")]
pub(crate) use serial::SerialDevice;
pub(crate) use shared::StreamRules;

use super::endpoint::PeerAddress;
use crate::{Halves, PortError, PortOpener};
use config::{Diagnostic, Diagnostics, TomlTable};
use net::StreamSession;
use std::net::SocketAddr;
use std::sync::Arc;

/// The function that makes the session of a new connection.
pub(crate) type NewSession = Box<dyn Fn() -> Box<dyn StreamSession> + Send>;

/// Which side of its connections a port is.
pub(crate) enum StreamSide {
    /// It serves clients. `bus` is the name that they open; empty where the protocol has no names.
    Server {
        hub: Arc<ListenerHub>,
        bus: String,
        settings: HubSettings,
    },
    /// It connects to one of these peers.
    Client {
        peers: Vec<StreamPeer>,
        session: NewSession,
    },
}

/// Checks that a port has `listen` or `connect`. `example` is a usual port number.
pub(crate) fn check_sides(table: &TomlTable<'_>, example: &str, found: &mut Diagnostics) {
    let (listens, connects) = (table.has("listen"), table.has("connect"));
    if listens && connects {
        let hint =
            "leave one of them out: with `listen`, clients connect; with `connect`, this port does";
        let message = "a port cannot have both `listen` and `connect`";
        table.wrong("connect", message, hint, found);
    } else if !listens && !connects && !table.is_misnamed("listen") && !table.is_misnamed("connect")
    {
        let hint = format!(
            "add `listen = {example}` for clients on this machine, or `connect = \"HOST:{example}\"`"
        );
        table.missing("listen", &hint, found);
    }
    if connects && !listens {
        for key in ["allow", "clients"] {
            if table.has(key) {
                let message = format!("`{key}` is for a port with `listen`");
                table.wrong(
                    key,
                    message,
                    "leave it out: this port connects itself",
                    found,
                );
            }
        }
    }
}

/// Warns of a port that listens beyond the loopback interface without the key `allow`.
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

/// Returns the addresses of the server to connect to.
///
/// # Errors
/// [`PortError`]: there are none.
pub(crate) fn resolve(
    port: &str,
    connect: Option<&PeerAddress>,
) -> Result<Vec<StreamPeer>, PortError> {
    let found = connect.map_or_else(
        || Err("it needs `connect`".to_owned()),
        PeerAddress::resolve,
    );
    let found = found.map_err(|what| PortError {
        port: port.to_owned(),
        what,
        source: None,
    })?;
    Ok(found.into_iter().map(StreamPeer::Address).collect())
}

/// Returns the halves of a port.
///
/// # Errors
/// [`PortError`] if there are no descriptors left.
pub(crate) fn halves(
    port: &str,
    side: StreamSide,
    rules: StreamRules,
    opener: &mut PortOpener,
) -> Result<Halves, PortError> {
    let fail = |error: linux::Errno| PortError {
        port: port.to_owned(),
        what: "its connections cannot be waited for".to_owned(),
        source: Some(Box::new(std::io::Error::from(error))),
    };
    let (hub, dialer) = match side {
        StreamSide::Server { hub, bus, settings } => (Some((hub, bus, settings)), None),
        StreamSide::Client { peers, session } => (None, Some(dialer::Dialer::new(peers, session))),
    };
    let shared = shared::StreamShared::new(rules, dialer).map_err(fail)?;
    let shared = Arc::new(shared);
    let hub = match hub {
        None => None,
        Some((hub, bus, settings)) => {
            shared.lock().watch_hub(&*hub).map_err(fail)?;
            opener.at_start(hub::RegisterAtStart::new(&hub, &bus, &shared, settings));
            Some(hub)
        }
    };
    Ok(halves::halves(shared, hub))
}
