//! Tunnels to cannelloni.
//!
//! * UDP: datagrams come in at `listen` and go to `connect`. Sequence numbers show which datagrams
//!   the network lost, doubled or delayed; cannelloni itself does not look at them.
//! * TCP: the port listens, or it connects again and again.

mod settings;

pub use settings::{CannelloniPorts, CannelloniSettings};
