//! Log files: formats, dialects, and the output of other programs.
//!
//! A single program, because each program is compiled and linked with all libraries.
#![allow(
    missing_docs,
    clippy::unwrap_used,
    reason = "a test that cannot go on has failed"
)]

mod asc;
mod blf;
mod can_utils;
mod damage;
mod documents;
mod field;
mod formats;
mod mf4;
mod pcap;
mod recognise;
mod variants;
