//! The gateway from its configuration to its counters.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;
#[cfg(feature = "dbc")]
mod databases;
mod document;
mod kinds;
mod large_files;
mod lint;
mod misnomers;
mod notices;
mod run;
mod schema;
mod service;
