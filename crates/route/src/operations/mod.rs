//! The operations on a frame: one folder for each.
//!
//! A folder contains everything about its operation: its type, the check for settings without
//! meaning, its application to a frame, its text in `gateway.toml` and in words, and its form for
//! can-gw and BPF or the fact that they cannot do it. The list below is the only place that names
//! all operations. It generates the types of this crate that hold any operation ([`Action`], and
//! its compiled form), with static dispatch.

pub(crate) mod apply;
pub mod bpf;
#[cfg(feature = "config")]
pub(crate) mod cangw;
mod checksum;
#[cfg(feature = "config")]
mod checksum_toml;
pub(crate) mod draft;
mod field_word;
pub(crate) mod operation;
mod registry;
#[cfg(feature = "config")]
pub(crate) mod toml;

#[cfg(test)]
mod tests;

// The operations that can-gw has are in can-gw's order: an imported rule becomes actions in this
// order.
registry::operations! {
    modify::Modify,
    offset_id::OffsetId,
    map_id::MapId,
    map_table::MapTable,
    copy_bytes::CopyBytes,
    write_signals::WriteSignals,
    crc8::Crc8,
    xor_sum::XorSum,
}
