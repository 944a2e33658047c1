//! Settings read from TOML with every mistake collected: place, caret and hint.
//!
//! `gateway.toml` is read by several rooms, each of which knows its own part: routes by `route`,
//! ports by `port`, the rest by `gateway`. This crate is what they share: a [`Diagnostic`], and
//! a reader that walks a TOML table with typed getters, remembers which keys were asked for, and
//! reports all that is wrong instead of the first thing.

mod diagnostic;

pub use diagnostic::{Diagnostic, Severity};
