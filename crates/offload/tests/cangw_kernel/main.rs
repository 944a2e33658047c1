//! Rules that `offload` puts into can-gw of a real kernel: their effect on frames is compared with
//! the routing table, the kernel's list with `cangw -L`; and the tests check that rules are added,
//! changed and removed as documented.
//!
//! Needs a kernel with AF_CAN, vcan and can-gw, the programs `cangw`, `cansend` and `ip`, and the
//! permission to use them. Without them each test prints why it is skipped. The tests refuse to run
//! where rules exist already.
//!
//! `CANGATE_CANGW_SEED`, `CANGATE_CANGW_SETS` and `CANGATE_CANGW_FRAMES` change the seed, the
//! number of rule sets and the frames for each; `CANGATE_CANGW_RELOADS` the reloads under flood.
#![allow(clippy::unwrap_used)]

// The generator of rules and frames, and the model of can-gw's chains of rules, are shared with the
// tests that compare the importer with the kernel.
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

use cangate_offload::cangw::{CanGwKernel as CanGw, ListedJob};
use common::{routes, set_id};
use kernel::{Kernel, alone, from_env};
use route::{KernelPort, Route};
use std::process::Command;

/// Returns three virtual interfaces, or ends the test.
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

/// Runs a program and returns its output.
fn sh(program: &str, arguments: &str) -> String {
    let mut command = Command::new(program);
    let output = command.args(arguments.split_whitespace()).output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{program} {arguments}: {text}");
    String::from_utf8(output.stdout).unwrap()
}

/// Returns the interfaces in the form for [`cangate_offload::cangw::Offload`].
fn names(kernel: &Kernel) -> Vec<Option<KernelPort>> {
    common::names(&kernel.interfaces)
}

/// A route for classic frames of one ID, from the first interface to the second, with echo: a vcan
/// shows only echoes.
fn route(name: &str, id: u32) -> Route {
    let mut route = common::route(name, id, 0, 1);
    route.matching.kinds.fd = false;
    route.echo = true;
    route
}

/// Returns all rules, of every origin.
fn listed() -> Vec<ListedJob> {
    CanGw::open().unwrap().list().unwrap()
}

/// Sends classic frames and returns the IDs that came out on the second interface.
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
