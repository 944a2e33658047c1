//! Buses against models, other programs and properties.
//!
//! One program, because each is compiled and linked with all libraries.
#![allow(
    missing_docs,
    clippy::unwrap_used,
    reason = "a test that cannot go on has failed"
)]

mod basics;
mod bitcan_core;
mod bitwise;
#[path = "../common/mod.rs"]
mod common;
mod faults;
#[path = "../common/host_program.rs"]
mod host_program;
mod properties;
mod response_time;
