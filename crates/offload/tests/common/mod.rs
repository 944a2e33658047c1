//! Common parts of the tests of can-gw and of BPF: routes, and processes that crash.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used)]

use route::{IdFilter, IdSet, KernelPort, PortId, Route, Routes};
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

/// One SFF identifier.
pub fn sff(id: u32) -> IdFilter {
    IdFilter {
        set: IdSet::Range {
            eff: false,
            first: id,
            last: id,
        },
        inverted: false,
    }
}

/// A route for classic and FD frames of one SFF identifier.
pub fn route(name: &str, id: u32, from: u16, to: u16) -> Route {
    let mut route = Route::new(name, vec![PortId(from)], vec![PortId(to)]);
    route.allow_same_port = from == to;
    route.matching.kinds.xl = false;
    route.matching.ids = vec![sff(id)];
    route
}

pub fn routes(routes: Vec<Route>) -> Routes {
    Routes {
        routes,
        ..Routes::default()
    }
}

/// Returns ports on these interfaces, in the form for `Offload`.
pub fn names(names: &[impl AsRef<str>]) -> Vec<Option<KernelPort>> {
    let names = names.iter();
    names
        .map(|name| Some(KernelPort::new(name.as_ref())))
        .collect()
}

/// Returns an action that sets another ID.
pub fn set_id(id: u32) -> route::Action {
    route::Action::Modify(route::Modify {
        op: route::ModifyOp::Set,
        id: Some(route::IdOperand::Raw(id)),
        len: None,
        flags: None,
        data: None,
    })
}

/// The variable with the role of a test's child.
pub const ROLE: &str = "CANGATE_TEST_ROLE";

/// Returns a command for this program, as the child of a test, in the same namespaces. It runs one
/// test, the one that plays the roles.
pub fn child(role: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    let test = "processes::the_part_of_the_child";
    command
        .args([test, "--exact", "--nocapture"])
        .env(ROLE, role);
    command
}

/// Starts a gateway in a child and waits until it reports that it runs.
pub fn gateway(role: &str) -> Child {
    let mut child = child(role).stdout(Stdio::piped()).spawn().unwrap();
    let out = BufReader::new(child.stdout.take().unwrap());
    let found = out.lines().any(|line| line.unwrap().contains("it runs"));
    assert!(found, "the child says nothing");
    child
}

/// Ends a process as the kernel would.
pub fn kill(mut child: Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

/// Returns the output of a child that needs not be waited for, after its successful end.
pub fn output_of(child: &mut Command) -> String {
    let output = child.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned()
        + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}");
    assert!(text.contains("1 passed"), "{text}");
    text
}

/// The program that the kernel runs when it needs a module.
pub const HELPER: &str = "/proc/sys/kernel/modprobe";
