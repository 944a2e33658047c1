//! Rules that `offload` puts into can-gw of a real kernel: what they do to frames, against the
//! routing table; what the kernel lists, against `cangw -L`; and that they come, change and go as
//! promised.
//!
//! Needs a kernel with AF_CAN, vcan and can-gw, the programs `cangw`, `cansend` and `ip`, and
//! leave to use them. Without them each test says why it is skipped. It refuses to run where there
//! are rules already.
//!
//! `CANGATE_CANGW_SEED`, `CANGATE_CANGW_SETS` and `CANGATE_CANGW_FRAMES` change the seed, the
//! number of rule sets and the frames for each; `CANGATE_CANGW_RELOADS` the reloads under flood.
#![allow(clippy::unwrap_used)]

// What draws rules and frames, and knows what can-gw's chains of rules do, is the same as where
// the importer is held against the kernel.
#[path = "../../../gateway/tests/cangw_kernel/compare.rs"]
mod compare;
#[allow(dead_code)]
#[path = "../../../gateway/tests/cangw_kernel/frames.rs"]
mod frames;
#[allow(dead_code)]
#[path = "../../../gateway/tests/cangw_kernel/kernel.rs"]
mod kernel;
#[allow(dead_code)]
#[path = "../../../gateway/tests/cangw_kernel/model.rs"]
mod model;
#[allow(dead_code)]
#[path = "../../../gateway/tests/cangw_kernel/rng.rs"]
mod rng;
#[allow(dead_code)]
#[path = "../../../gateway/tests/cangw_kernel/rules.rs"]
mod rules;

#[path = "../common/mod.rs"]
mod common;

mod changes;
mod differential;
mod flood;
mod processes;

use cangate_offload::cangw::{Kernel as CanGw, Listed};
use common::{routes, set_id};
use kernel::{Kernel, alone, from_env};
use route::Route;
use std::process::Command;

/// Three virtual interfaces, or the end of the test.
macro_rules! interfaces {
    () => {
        match crate::kernel::Kernel::new() {
            Ok(kernel) => kernel,
            Err(why) => {
                eprintln!("SKIPPED because {why}");
                return;
            }
        }
    };
}
use interfaces;

/// Runs a program; what it says.
fn sh(program: &str, arguments: &str) -> String {
    let mut command = Command::new(program);
    let output = command.args(arguments.split_whitespace()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{program} {arguments}: {said}");
    String::from_utf8(output.stdout).unwrap()
}

/// The interfaces as [`cangate_offload::cangw::Offload`] takes them.
fn names(kernel: &Kernel) -> Vec<Option<String>> {
    common::names(&kernel.interfaces)
}

/// A route for classic frames of one ID, from the first interface to the second, with echo: a vcan
/// shows nothing else.
fn route(name: &str, id: u32) -> Route {
    let mut route = common::route(name, id, 0, 1);
    route.matching.kinds.fd = false;
    route.echo = true;
    route
}

/// All rules, whoever made them.
fn listed() -> Vec<Listed> {
    CanGw::open().unwrap().list().unwrap()
}

/// Sends classic frames and says which IDs came out on the second interface.
fn pass(kernel: &mut Kernel, ids: &[u32], expected: usize) -> Vec<u32> {
    use frame::{CanId, FrameRef, Header, Kind};
    for id in ids {
        let header = Header::new(Kind::Classic, CanId::from_raw(*id), 2).unwrap();
        let frame = FrameRef::new(header, &[1, 2]).unwrap();
        kernel.send(&frames::Owned::of(frame));
    }
    let out = kernel.receive(ids.len() + expected, std::time::Duration::from_millis(5));
    let raw = |frame: &frames::Owned| frame.view().header().id().raw();
    out[1].iter().map(raw).collect()
}
