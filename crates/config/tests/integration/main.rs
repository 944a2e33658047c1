//! The reader of configuration files and its settings.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod reader;
mod settings;
