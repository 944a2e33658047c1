//! What needs BPF and no CAN.

use crate::{names, route, routes};
use cangate_offload::bpf::{Error, Instance, Offload, Options, features};

macro_rules! bpf {
    () => {
        if let Err(why) = features() {
            eprintln!("SKIPPED because {why}");
            return;
        }
    };
}

#[test]
fn interfaces_that_are_not_there_are_waited_for() {
    bpf!();
    let instance = Instance::new("waits");
    let wanted = routes(vec![route("a", 1, 0, 1), route("b", 2, 1, 2)]);
    // There are more ports than routes use, and loopback is none of CAN.
    let ports = names(&["cgt_none0", "lo", "cgt_none2", "cgt_none3"]);
    let (mut offload, outcome) =
        Offload::start(&instance, &wanted, &ports, Options::default()).unwrap();
    assert_eq!((outcome.entrances, outcome.adopted), (0, false));
    let missing: Vec<_> = outcome.missing.iter().map(String::as_str).collect();
    assert_eq!(missing, ["cgt_none0", "cgt_none2", "lo"]);
    let outcome = offload.reconcile().unwrap();
    assert_eq!((outcome.entrances, outcome.missing.len()), (0, 3));
    let outcome = offload.reload(&routes(vec![]), &ports).unwrap();
    assert!(outcome.missing.is_empty());
    let counts = offload.counts().unwrap();
    assert_eq!((counts.routes.len(), counts.ports.len()), (0, 4));
}

#[test]
fn a_port_that_is_no_can_interface_is_named() {
    bpf!();
    let ports = [Some("cgt_none0".to_owned()), None];
    let wanted = routes(vec![route("good", 1, 0, 0), route("bad", 2, 0, 1)]);
    let start = Offload::start(&Instance::new("ports"), &wanted, &ports, Options::default());
    let error = start.err().unwrap();
    assert!(matches!(error, Error::Inexpressible(_)), "{error:?}");
    assert_eq!(
        error.to_string(),
        "route \"bad\": goes to a port that is no CAN interface of Linux, and BPF routes among \
         these only: let it run in user space"
    );
}

#[test]
fn one_instance_is_one_process() {
    bpf!();
    let instance = Instance::new("once");
    let start = || {
        let wanted = routes(vec![route("a", 1, 0, 1)]);
        let ports = names(&["cgt_none0", "cgt_none1"]);
        Offload::start(&instance, &wanted, &ports, Options::default())
    };
    let (offload, _) = start().unwrap();
    let error = start().err().unwrap().to_string();
    let expected = format!(
        "process {} runs the gateway `once` by BPF",
        std::process::id()
    );
    assert!(error.starts_with(&expected), "{error}");
    drop(offload);
    start().unwrap();
}
