//! One file a target.

pub mod bus_operations;
pub mod log_text;
pub mod wire;
