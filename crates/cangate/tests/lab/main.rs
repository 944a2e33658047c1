//! `cangate lab exec` from outside: guests that do what they are told, and guests that go wrong.
//!
//! These need the lab's packages (`cangate lab setup`). Where they are missing, the tests say so
//! and do nothing, unless CANGATE_LAB_TESTS=1 asks for them: then they are fetched. They are ignored
//! without `--ignored`: guests take minutes.

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
use std::num::NonZero;
use std::sync::{Condvar, Mutex, PoisonError};

/// As many guests at a time as there are processors: one more would only be in their way.
static RUNNING: (Mutex<usize>, Condvar) = (Mutex::new(0), Condvar::new());

/// The right to run a guest, until it is dropped.
struct Right;

impl Right {
    fn wait() -> Self {
        let processors = std::thread::available_parallelism().map_or(1, NonZero::get);
        let (running, fewer) = &RUNNING;
        let running = running.lock().unwrap_or_else(PoisonError::into_inner);
        let mut running = fewer
            .wait_while(running, |running| *running >= processors)
            .unwrap_or_else(PoisonError::into_inner);
        *running += 1;
        Self
    }
}

impl Drop for Right {
    fn drop(&mut self) {
        let (running, fewer) = &RUNNING;
        *running.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        fewer.notify_one();
    }
}

/// The right to run a guest; `None`, and words about it, if there is nothing to run it with.
fn lab() -> Option<Right> {
    let kernel = "6.1".parse().unwrap();
    let locations = guest::Locations::default();
    let asked = std::env::var_os("CANGATE_LAB_TESTS").is_some_and(|wish| wish == "1");
    if !asked && !guest::Lab::open(&locations).is_ok_and(|lab| lab.is_set_up(kernel)) {
        eprintln!(
            "SKIPPED because the lab is not set up: `cangate lab setup` does it, or \
             CANGATE_LAB_TESTS=1 lets the tests do it"
        );
        return None;
    }
    Some(Right::wait())
}

/// `cangate lab exec` with these arguments, separated by blanks, and a shell's command.
fn exec(arguments: &str, command: &str) -> Command {
    let mut all = Command::new(env!("CARGO_BIN_EXE_cangate"));
    all.args(["lab", "exec"])
        .args(arguments.split_whitespace())
        .args(["--", "sh", "-c", command]);
    all
}
