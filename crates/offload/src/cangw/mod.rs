//! Routes as rules of can-gw (`net/can/gw.c`), over netlink.
//!
//! * [`CanGwOffload`] keeps a gateway's routes in place in the kernel: it handles the start,
//!   reloads, interfaces that appear and disappear, counters, and the end.
//! * [`survey`] returns, for each route, whether can-gw of the running kernel can run it.
//! * [`CanGwKernel`] is the connection to can-gw that both use; [`wire`] contains its messages.
//!
//! # Ownership of rules
//! Each rule of cangate carries a mark with its [`GatewayInstance`] and its number: `CGW_MOD_UID`
//! or, because the kernel drops that in a rule that modifies nothing, a modification that the
//! kernel keeps but does not carry out ([`GatewayJob::marked`]). `cangw -L` shows the latter as `-m
//! OR::000.0.` and the mark. Rules without a mark, or with another one, are never touched.
//!
//! # Limits of can-gw
//! can-gw cannot exchange several rules atomically; [`CanGwOffload`] describes the consequences.
//!
//! # Flags that jobs have in addition to their routes
//! * `CGW_FLAGS_CAN_IIF_TX_OK` between two interfaces: without it can-gw drops a frame, without
//!   counting it, if the frame's first interface has the destination's index, even if that
//!   interface is in another network namespace.
//! * `CGW_FLAGS_CAN_ECHO` into a vcan, where frames reach no receiver otherwise. Rules that begin
//!   there see these frames, and count them as stopped by the hop limit.

mod desired;
mod error;
mod job;
mod kernel;
mod mark;
mod netlink;
mod offload;
mod path;
mod plan;
mod show;
mod tally;
#[cfg(test)]
mod tests;
mod version;
pub mod wire;

pub use crate::instance::GatewayInstance;
pub use desired::survey;
pub use error::{Error, RefusalReason};
pub use kernel::{CanGwKernel, JobRequest};
pub use linux::link::{NetLink, NetLinks};
pub use mark::MOST;
pub use offload::{CanGwOffload, CanGwOutcome};
pub use path::CanGw;
pub use route::cangw::{CanGwInexpressible, CanGwRule};
pub use show::{ListedRule, show};
pub use version::{KernelLimits, KernelVersion};
pub use wire::{GatewayJob, JobCounters, ListedJob};
