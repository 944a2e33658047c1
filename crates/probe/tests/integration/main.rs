//! Matching of frames, measurements on the embedded bus, and files of results.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod matching;
mod on_a_bus;
mod results;
