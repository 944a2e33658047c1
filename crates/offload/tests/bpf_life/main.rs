//! The life of a table in BPF: it comes, changes, meets other people's programs and crashes, and
//! goes.
//!
//! Most of it needs a kernel with AF_CAN, vxcan, the programs `ip` and `tc`, and leave to use
//! them. Without them each test says why it is skipped.
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
