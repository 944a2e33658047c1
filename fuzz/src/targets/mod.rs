//! One file a target.

pub mod bus_operations;
pub mod cangw;
pub mod configuration;
pub mod control;
pub mod log_text;
pub mod matrix;
pub mod wire;
