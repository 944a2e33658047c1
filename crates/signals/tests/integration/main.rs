//! Databases against cantools, and exact arithmetic against slow references.
#![allow(
    missing_docs,
    clippy::unwrap_used,
    reason = "a test that cannot go on has failed"
)]

mod cantools;
#[cfg(feature = "dbc")]
mod exact;
#[cfg(feature = "dbc")]
mod limits;
