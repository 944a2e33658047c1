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
//! Two requests have more fields. `send` gives frames to a port, and the reply has the answer of
//! the port to each. `watch` shows the frames of ports: after the reply, lines with frames follow
//! until the client closes the connection; it sends nothing more.
//!
//! ```text
//! → {"cangate":1,"do":"send","port":"body","frames":["123#1122"]}
//! ← {"cangate":1,"ok":{"answers":["taken"]}}
//! → {"cangate":1,"do":"watch","ports":["body"]}
//! ← {"cangate":1,"ok":{"ports":["body"]}}
//! ← {"cangate":1,"ok":{"frames":[[1700000000123456789,"body",false,"123#1122"]],"lost":0}}
//! ```
//!
//! `cangate` is the version of the protocol. A user who may open the socket may do everything, so
//! the socket is in a folder of mode 0700 and has mode 0600.

mod client;
mod feed;
mod inbox;
mod protocol;
mod server;
mod socket;

pub use client::{CallError, ControlConnection, request};
pub use inbox::LineInbox;
pub use protocol::{ControlRequest, MAX_REQUEST, MAX_SENT, RequestError, VERSION, parse};
pub use protocol::{SendRequest, SentAnswer, SentAnswers};
pub use protocol::{WatchRequest, WatchedFrames, WatchedPorts};
pub use socket::{SocketError, default_path, folder, service_path, services};

pub(crate) use feed::WatchFeed;
pub(crate) use protocol::{failure, success};
pub(crate) use server::{ControlReply, ControlServer};
pub(crate) use socket::ClaimedSocket;
