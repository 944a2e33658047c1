//! `cangate lab exec` from outside: guests that do what they are told, and guests that go wrong.
//!
//! These need the lab's packages (`cangate lab setup`). Where they are missing, the tests say so
//! and do nothing, unless CANGATE_LAB_TESTS=1 asks for them: then they are fetched. With
//! CANGATE_LAB_TESTS=0 they do nothing either: guests take minutes.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod bus_time;
mod capture;
mod direct;
#[path = "../documents/mod.rs"]
mod documents;
mod ends;
mod examples;
mod exec;
mod experiments;
mod halves;
mod hops;
mod mapped;
mod offload;
mod says;
mod shell;
mod stays;
mod steps;
mod uring;

use assert_cmd::Command;
use std::sync::{Mutex, MutexGuard};

/// One guest at a time: a second one would only be in the first one's way.
static ONE: Mutex<()> = Mutex::new(());

/// The right to run a guest; `None`, and words about it, if there is nothing to run it with.
fn lab() -> Option<MutexGuard<'static, ()>> {
    let kernel = "6.1".parse().unwrap();
    let locations = guest::Locations::default();
    let wish = std::env::var("CANGATE_LAB_TESTS").unwrap_or_default();
    if wish == "0" {
        eprintln!("SKIPPED because CANGATE_LAB_TESTS=0: no guests are wanted");
        return None;
    }
    let asked = wish == "1";
    if !asked && !guest::Lab::open(&locations).is_ok_and(|lab| lab.is_set_up(kernel)) {
        eprintln!(
            "SKIPPED because the lab is not set up: `cangate lab setup` does it, or \
             CANGATE_LAB_TESTS=1 lets the tests do it"
        );
        return None;
    }
    Some(
        ONE.lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner),
    )
}

/// `cangate lab exec` with these arguments, separated by blanks, and a shell's command.
fn exec(arguments: &str, command: &str) -> Command {
    let mut all = Command::new(env!("CARGO_BIN_EXE_cangate"));
    all.args(["lab", "exec"])
        .args(arguments.split_whitespace())
        .args(["--", "sh", "-c", command]);
    all
}
