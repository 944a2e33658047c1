//! `cangate lab exec` from outside: guests that run the given commands, and guests that fail.
//!
//! These need the lab's packages (`cangate lab setup`). Where they are missing, the tests print a
//! message and do nothing, unless CANGATE_LAB_TESTS=1 requests them: then they are fetched. They
//! are ignored without `--ignored`: guests take minutes. Those that take the longest are in modules
//! named `long`: see `cargo xtask test --list`.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod adapters;
mod apart;
mod bare;
mod bare_differential;
mod bare_signals;
mod bench_chardev;
mod bit_rates;
mod bus_model;
mod bus_time;
mod capture;
mod capture_chardev;
mod chain;
mod chardev;
mod chardev_port;
mod container;
mod data_paths;
mod direct;
#[path = "../documents/mod.rs"]
mod documents;
mod ends;
mod examples;
mod exec;
mod experiments;
mod halves;
mod hops;
mod link_settings;
mod lockstep;
mod lockstep_fd;
mod long;
mod mapped;
mod modes;
mod offload;
mod plans;
#[path = "../program/mod.rs"]
mod program;
mod ptp;
mod queues;
mod says;
mod script;
mod service;
mod shell;
mod shm;
mod stays;
mod steps;
mod tools;
mod tunnels;
mod untrusted;
mod uring;
mod virtio;
mod worst_case;

#[path = "../../../../crates/route/tests/exact/mod.rs"]
mod exact;
// The code that draws rules and frames for kernels also draws them for images.
#[allow(dead_code, reason = "drawn for kernels, too")]
#[path = "../../../../crates/gateway/tests/cangw_kernel/frames.rs"]
mod frames;
#[allow(dead_code, reason = "drawn for kernels, too")]
#[path = "../../../../crates/gateway/tests/cangw_kernel/rng.rs"]
mod rng;
#[allow(dead_code, reason = "drawn for kernels, too")]
#[path = "../../../../crates/gateway/tests/cangw_kernel/rules.rs"]
mod rules;

use assert_cmd::Command;
use program::program;
use std::num::NonZero;
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Instant;

/// Number of processors that guests use at a time: one more than the host has, because a guest that
/// starts, waits or ends leaves its processor idle for a third of the time. More would only slow
/// one another down.
static RUNNING: (Mutex<usize>, Condvar) = (Mutex::new(0), Condvar::new());

/// The right to run a guest, until it is dropped.
struct Right {
    processors: usize,
    since: Instant,
}

impl Right {
    /// Waits until this many processors are free for the guest.
    fn wait(processors: usize) -> Self {
        let all = std::thread::available_parallelism().map_or(1, NonZero::get) + 1;
        let (running, fewer) = &RUNNING;
        let running = running.lock().unwrap_or_else(PoisonError::into_inner);
        let mut running = fewer
            .wait_while(running, |running| *running + processors > all)
            .unwrap_or_else(PoisonError::into_inner);
        *running += processors;
        Self {
            processors,
            since: Instant::now(),
        }
    }
}

impl Drop for Right {
    fn drop(&mut self) {
        let (running, fewer) = &RUNNING;
        *running.lock().unwrap_or_else(PoisonError::into_inner) -= self.processors;
        fewer.notify_all();
        // Shows where the step `heavy` takes its time.
        eprintln!("guests for {:.1} s", self.since.elapsed().as_secs_f32());
    }
}

/// Returns the right to run a guest; `None`, and a message, if there is nothing to run it with.
///
/// Most guests have one processor; the others rarely use more than one at a time.
fn lab() -> Option<Right> {
    is_there().then(|| Right::wait(1))
}

/// Returns the right to run a guest that sleeps for most of its time: it takes no processor from
/// others.
fn waiting_lab() -> Option<Right> {
    is_there().then(|| Right::wait(0))
}

fn is_there() -> bool {
    let kernel = "6.1".parse().unwrap();
    let locations = guest::Locations::default();
    let asked = std::env::var_os("CANGATE_LAB_TESTS").is_some_and(|wish| wish == "1");
    if !asked && !guest::Lab::open(&locations).is_ok_and(|lab| lab.is_set_up(kernel)) {
        eprintln!(
            "SKIPPED because the lab is not set up: `cangate lab setup` does it, or \
             CANGATE_LAB_TESTS=1 lets the tests do it"
        );
        return false;
    }
    true
}

/// Returns `cangate lab exec` with these arguments, separated by blanks, and a shell's command.
///
/// With `--fast`, the guest has one processor unless `arguments` state a number. A script of short
/// programs then takes about two thirds of the host's processor time: QEMU does not have to
/// synchronize processors, and no process moves to another one. Tests of the step `guests` run on
/// two.
fn exec(arguments: &str, command: &str) -> Command {
    let mut all = Command::new(crate::program());
    all.args(["lab", "exec"]).args(arguments.split_whitespace());
    if arguments.contains("--fast") && !arguments.contains("--cpus") {
        all.args(["--cpus", "1"]);
    }
    all.args(["--", "sh", "-c", command]);
    all
}
