//! The experiments of the repository: its matrices, and the names of all.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod matrices;
mod names;
