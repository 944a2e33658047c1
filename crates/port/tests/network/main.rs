//! Ports on IP networks, over the loopback interface.
//!
//! The test is one side and passes the time in, so that nothing depends on the machine's speed;
//! what crosses the loopback interface is awaited.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod arrival;
mod common;
mod datagrams;
#[cfg(feature = "ieee1722")]
mod ethernet;
#[path = "../port_text/mod.rs"]
mod port_text;
#[cfg(feature = "ieee1722")]
mod presentation;
mod relayed;
mod serial;
mod streams;
mod words;
