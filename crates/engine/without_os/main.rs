//! The scenarios of the engine's tests as a program.
//!
//! For the target `x86_64-unknown-none` it is built without any operating system's library: the
//! engine, the routing table and everything that the scenarios use depend only on `core` and
//! `alloc`. It is still a file that Linux can execute, so that it can be run where it was built;
//! the few lines that depend on Linux are in `freestanding.rs`. `cargo xtask test --only no_std`
//! builds and runs it.
//!
//! On other targets it is an ordinary program, which does the same.
#![cfg_attr(target_os = "none", no_std, no_main)]
#![allow(
    clippy::unwrap_used,
    reason = "a scenario that cannot go on has failed"
)]

extern crate alloc;

#[cfg(target_os = "none")]
mod freestanding;

#[macro_use]
#[path = "../tests/integration/common/mod.rs"]
mod common;

#[path = "../tests/integration/changes.rs"]
mod changes;
#[path = "../tests/integration/fates.rs"]
mod fates;
#[path = "../tests/integration/wrapped.rs"]
mod wrapped;

/// Runs all scenarios; `say` gets the name of each before it runs. Returns their number. A scenario
/// that fails panics.
fn run(say: impl Fn(&str)) -> usize {
    let all = [fates::ALL, changes::ALL, wrapped::ALL];
    for &(name, scenario) in all.iter().copied().flatten() {
        say(name);
        scenario();
    }
    all.iter().map(|list| list.len()).sum()
}

#[cfg(not(target_os = "none"))]
fn main() {
    let scenarios = run(|name| println!("{name}"));
    println!("{scenarios} scenarios passed");
}
