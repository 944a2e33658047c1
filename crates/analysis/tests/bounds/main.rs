//! Bounds against simulated buses, published values and each other.
//!
//! One program, because each is compiled and linked with all libraries.
#![allow(
    missing_docs,
    clippy::unwrap_used,
    reason = "a test that cannot go on has failed"
)]

#[path = "../common/mod.rs"]
mod common;
mod errors;
mod gateways;
mod offsets;
mod priority;
mod published;
mod queues;
mod random_errors;
mod refill;
mod search;
