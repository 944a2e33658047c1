//! Frames as text and on the wire.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod can_utils;
#[path = "../reference/mod.rs"]
mod reference;
mod text;
mod wire;
