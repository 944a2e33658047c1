//! Comparison of bounds with simulated buses, published values and each other.
//!
//! A single program, because each program is compiled and linked with all libraries.
#![allow(
    missing_docs,
    clippy::unwrap_used,
    reason = "a test that cannot go on has failed"
)]

#[path = "../common/mod.rs"]
mod common;
mod conditions;
mod errors;
mod gateways;
mod offsets;
mod parts;
mod priority;
mod published;
mod queues;
mod random_errors;
mod receptions;
mod refill;
mod search;
mod tunnels;
