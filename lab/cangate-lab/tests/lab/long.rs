//! Tests whose guests have virtual machines of their own: an emulated processor emulates another
//! one for them. Only `cargo xtask test --all --long` runs them; other modules named `long` hold
//! tests that take minutes each.

#[path = "machines.rs"]
mod machines;

#[path = "idle.rs"]
mod idle;
