//! python-can's `udp_multicast`: programs on this machine, or on the local network, that share a
//! group.
//!
//! The port sends from a UDP port of its own, so that it recognises its own datagrams, which come
//! back to it.

mod settings;

pub use settings::{MulticastPorts, MulticastSettings};
