//! Virtual controllers against a physical one, and isolated from one another.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;
mod equivalence;
mod isolation;
