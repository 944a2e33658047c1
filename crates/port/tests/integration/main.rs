//! Ports through their public types.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod controllers;
mod embedded;
mod log_files;
mod log_origin;
mod log_sink;
mod log_source;
mod named_pipes;
mod open;
#[path = "../port_text/mod.rs"]
mod port_text;
mod settings;
#[path = "../sharing/mod.rs"]
mod sharing;
mod shm;
mod traffic;
mod virtio;
mod wrap;
