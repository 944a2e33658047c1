//! Log files: formats, dialects, and what other programs wrote.
//!
//! One program, because each is compiled and linked with all libraries.
#![allow(
    missing_docs,
    clippy::unwrap_used,
    reason = "a test that cannot go on has failed"
)]

mod can_utils;
mod field;
mod formats;
mod pcap;
