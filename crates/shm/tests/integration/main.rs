//! Rings in shared memory: two sides, their link, and the driver's side.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod driver;
mod link;
mod rings;
