//! The control socket: a Unix stream socket on which the command line queries a running gateway.
//!
//! One request per line, one reply per line, both JSON:
//!
//! ```text
//! → {"cangate":1,"do":"ping"}
//! ← {"cangate":1,"ok":{"pid":4711}}
//! → {"cangate":1,"do":"dance"}
//! ← {"cangate":1,"error":"there is no command \"dance\": …"}
//! ```
//!
//! `cangate` is the version of the protocol. A user who may open the socket may do everything, so
//! the socket is in a folder of mode 0700 and has mode 0600.

mod client;
mod inbox;
mod protocol;
mod server;
mod socket;

pub use client::{CallError, request};
pub use inbox::LineInbox;
pub use protocol::{ControlRequest, MAX_REQUEST, RequestError, VERSION, parse};
pub use socket::{SocketError, default_path, folder, service_path, services};

pub(crate) use protocol::{failure, success};
pub(crate) use server::ControlServer;
pub(crate) use socket::ClaimedSocket;
