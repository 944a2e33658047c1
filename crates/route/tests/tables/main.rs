//! Tables against the reference, overlaps, protection, limits, circles and cangw.
//!
//! One program, because each is compiled and linked with all libraries.
#![allow(
    missing_docs,
    clippy::unwrap_used,
    reason = "a test that cannot go on has failed"
)]

mod cangw;
mod circles;
#[path = "../common/mod.rs"]
mod common;
mod compile;
mod interest;
mod limits;
mod matching;
mod overlap;
mod protection;
mod signals;
