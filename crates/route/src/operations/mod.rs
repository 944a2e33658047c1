//! What can be done to a frame: one folder for each operation.
//!
//! A folder says everything about its operation: its type, what makes no sense, how it is done to a
//! frame, its text in `gateway.toml` and in words, and how can-gw and BPF do it, or that they
//! cannot. The list below is the only place that names them all. The types of this crate that hold
//! any operation ([`Action`], and its compiled form) are made from it, with static dispatch.

pub(crate) mod apply;
pub mod bpf;
#[cfg(feature = "config")]
pub(crate) mod cangw;
mod checksum;
#[cfg(feature = "config")]
mod checksum_toml;
pub(crate) mod draft;
pub(crate) mod operation;
mod registry;
#[cfg(feature = "config")]
pub(crate) mod toml;

#[cfg(test)]
mod tests;

// In the order in which can-gw does those that it has: an imported rule becomes actions in this
// order.
registry::operations! {
    modify::Modify,
    offset_id::OffsetId,
    map_id::MapId,
    copy_bytes::CopyBytes,
    crc8::Crc8,
    xor_sum::XorSum,
}
