//! The life of a table in BPF: it is attached, changes, meets programs of other software, crashes,
//! and is removed.
//!
//! Most tests need a kernel with AF_CAN, vxcan, the programs `ip` and `tc`, and the permission to
//! use them. Without them each test prints why it is skipped.
#![allow(clippy::unwrap_used, unreachable_pub)]

#[path = "../bpf_common/mod.rs"]
mod bpf_common;
#[path = "../common/mod.rs"]
mod common;

mod anywhere;
mod life;
mod permission;
mod processes;
mod traffic;
mod world;
