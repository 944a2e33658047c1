//! The profiles against vectors of the standard, a reference and random protections.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod oracle;
mod protection;
mod random;
mod reception;
#[path = "../reference/mod.rs"]
mod reference;
mod settings;
