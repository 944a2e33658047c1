//! Both sides on this machine: without sockets, on loopback, with other programs and gateways.

#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod connections;
mod gateways;
mod handshakes;
mod hostile;
mod network;
mod openssl;
mod pipes;
mod program;
mod simulated;
