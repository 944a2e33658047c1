//! Routers, vehicles and operators on this machine: all on loopback.

#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod accounts;
mod gateways;
mod load;
mod peer;
mod program;
mod relay;
mod rights;
mod router;
mod stall;
