//! Routes as rules of can-gw (`net/can/gw.c`), over netlink.
//!
//! * [`Offload`] keeps a gateway's routes in the kernel as they should be: start, reload,
//!   interfaces that come and go, counters, the end.
//! * [`survey`] says for each route whether can-gw of the running kernel can have it.
//! * [`Kernel`] is the way to can-gw that both use; [`wire`] are its messages.
//!
//! # Whose rules
//! Each rule of ours carries a mark that says of which [`Instance`] it is and which of its rules:
//! `CGW_MOD_UID`, or, as the kernel forgets that in a rule that modifies nothing, a modification
//! that the kernel keeps and does not carry out ([`Job::marked`]). `cangw -L` shows the latter as
//! `-m OR::000.0.` and the mark. Rules without a mark, or with another one, are never touched.
//!
//! # What can-gw cannot do
//! It has no way to exchange rules as one; [`Offload`] says what that means.
//!
//! # What jobs have beside their routes
//! * `CGW_FLAGS_CAN_IIF_TX_OK` between two interfaces: without it can-gw drops, and does not count,
//!   a frame whose first interface has the destination's number, even one of another network
//!   namespace.
//! * `CGW_FLAGS_CAN_ECHO` into a vcan, where frames reach nobody otherwise. Rules that begin there
//!   see these frames, and count them as stopped by the hop limit.

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

pub use crate::instance::Instance;
pub use desired::survey;
pub use error::{Error, Why};
pub use kernel::{Kernel, Request};
pub use linux::link::{Link, Links};
pub use mark::MOST;
pub use offload::{Offload, Outcome};
pub use path::CanGw;
pub use route::cangw::{Inexpressible, Rule};
pub use show::{ListedRule, show};
pub use version::{Limits, Version};
pub use wire::{Counters, Job, Listed};
