//! socketcand's protocol: a server for its clients, such as python-can, or a client of the daemon.
//!
//! Ports that listen at the same address share one listener; a client chooses one of them by the
//! name of its bus. Clients of one port do not see one another's frames, only those that routes
//! lead to the port.

mod settings;

pub use settings::{SocketcandPorts, SocketcandSettings};
