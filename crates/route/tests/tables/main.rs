//! Tables against the reference, overlaps, protection, limits, circles and cangw.
//!
//! One program, because each is compiled and linked with all libraries.
#![allow(
    missing_docs,
    clippy::unwrap_used,
    reason = "a test that cannot go on has failed"
)]

// Files that tests of other crates include, too, name the crate as those do.
extern crate cangate_route as route;

mod cangw;
mod circles;
#[path = "../common/mod.rs"]
mod common;
mod compile;
mod exact;
#[path = "../exact/mod.rs"]
mod exact_reference;
mod interest;
mod limits;
mod matching;
mod overlap;
mod protection;
mod signals;
