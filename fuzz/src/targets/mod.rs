//! One file a target.

pub mod log_text;
