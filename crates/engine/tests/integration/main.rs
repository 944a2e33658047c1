//! The engine with ports in memory: fates, changes, queues, counters.
#![allow(
    clippy::unwrap_used,
    missing_docs,
    reason = "a test that cannot go on has failed"
)]

extern crate alloc;

#[macro_use]
mod common;

mod changes;
mod fates;
mod json;
mod properties;
mod queued;
mod room;
mod verifications;
mod wrapped;
