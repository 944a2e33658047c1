//! Kernels and processes with restricted permissions.

use crate::bpf_common::{Raw, frame, run};
use crate::common::{child, gateway, kill, names, output_of, route, routes};
use crate::processes::{INSTANCE, options, roles, table};
use crate::world::{World, entrance, has_tcx, programs, without_bpf, world};
use cangate_offload::bpf::{BpfOffload, Error, GatewayInstance, MissingFeature};
use frame::Kind;
use rustix::thread::{CapabilitySet, CapabilitySets, set_capabilities};
use std::os::unix::process::CommandExt as _;

/// The actions of a child with fewer permissions.
pub(crate) fn play(role: &str) {
    let (instance, ports) = (GatewayInstance::new(INSTANCE), names(&["p0", "p1"]));
    let start = || BpfOffload::start(&instance, &table(0), &ports, options(role));
    match role.split(' ').next() {
        Some(who @ ("nobody" | "two")) => {
            if who == "two" {
                keep(CapabilitySet::BPF | CapabilitySet::NET_ADMIN);
            }
            let error = start().err().unwrap();
            assert!(
                matches!(error, Error::Kernel(MissingFeature::Permission)),
                "{error:?}"
            );
            println!("\nit says: {error}");
        }
        Some("seccomp") => {
            without_bpf();
            let error = start().err().unwrap();
            assert!(
                matches!(error, Error::Kernel(MissingFeature::Bpf(_))),
                "{error:?}"
            );
            println!("\nit says: {error}");
        }
        Some("capable") => {
            keep(ENOUGH);
            let (mut offload, outcome) = start().unwrap();
            assert_eq!(outcome.entrances, 2);
            for number in 1..4 {
                offload.reload(&table(number), &ports).unwrap();
            }
            if !role.contains("any") {
                let sender = Raw::open("q0", false).unwrap();
                let receiver = Raw::open("q1", false).unwrap();
                let sent = frame(Kind::Classic, 0x10, 0, 0, 0, &[]);
                sender.send(sent.view()).unwrap();
                receiver.receive(true).unwrap();
                assert_eq!(offload.counts().unwrap().routes[0].sent, 1);
            }
            println!("\nit ran");
        }
        Some("heir") => {
            keep(ENOUGH);
            match start() {
                Ok((_, outcome)) => println!("\nit ran, adopted: {}", outcome.adopted),
                Err(error) => println!("\nit says: {error}"),
            }
        }
        other => panic!("{other:?}"),
    }
}

const ENOUGH: CapabilitySet = CapabilitySet::BPF
    .union(CapabilitySet::PERFMON)
    .union(CapabilitySet::NET_ADMIN);

/// Drops all other capabilities.
fn keep(set: CapabilitySet) {
    let sets = CapabilitySets {
        effective: set,
        permitted: set,
        inheritable: CapabilitySet::empty(),
    };
    set_capabilities(None, sets).unwrap();
}

#[test]
fn without_permission_it_gives_the_reason() {
    let _world = world!(World::new(2));
    let mut nobody = child("nobody");
    nobody.uid(65534).gid(65534);
    for mut child in [nobody, child("two")] {
        let output = output_of(&mut child);
        let expected = "it says: no permission for BPF: run cangate as root, or give it CAP_BPF, \
                        CAP_PERFMON and CAP_NET_ADMIN";
        assert!(output.contains(expected), "{output}");
    }
    assert_eq!(entrance("p0"), [""; 0]);
}

#[test]
fn a_kernel_without_bpf_is_reported() {
    let world = world!(World::new(2));
    for role in roles(&world, "seccomp") {
        let output = output_of(&mut child(&role));
        println!("{output}");
        assert!(output.contains("it says: "), "{output}");
        assert_eq!(entrance("p0"), [""; 0]);
    }
}

/// `CAP_SYS_ADMIN` is not among its capabilities.
#[test]
fn three_capabilities_are_enough() {
    let world = world!(World::new(2));
    for role in roles(&world, "capable") {
        let output = output_of(&mut child(&role));
        assert!(output.contains("it ran"), "{output}");
        for interface in ["p0", "p1"] {
            assert_eq!(entrance(interface), [""; 0], "{role}: nothing is left");
        }
    }
}

/// Only `CAP_SYS_ADMIN` may read the programs of former processes.
#[test]
fn what_a_crash_left_goes_also_without_all_capabilities() {
    let world = world!(World::new(2));
    for role in roles(&world, "gateway") {
        kill(gateway(&role));
        let left = !programs("p0").is_empty();
        let output = output_of(&mut child(&role.replace("gateway", "heir")));
        println!("{role}: left {left}: {output}");
        // Root can remove the rest.
        let options = options(&role);
        let instance = GatewayInstance::new(INSTANCE);
        let start = BpfOffload::start(&instance, &table(0), &world.ports(), options);
        drop(start.unwrap());
        for interface in ["p0", "p1"] {
            assert_eq!(programs(interface), [""; 0], "{role}");
        }
        for interface in ["p0", "p1"] {
            let _ = run(&format!("tc qdisc del dev {interface} clsact"));
        }
    }
}

/// The process is killed after clsact is added and before its filter is. The creator of this clsact
/// is unknown, so it stays, empty; the rest is found.
#[test]
fn a_crash_between_clsact_and_its_filter_leaves_nothing_that_harms() {
    let world = world!(World::new(2));
    let role = if has_tcx() {
        "gateway clsact"
    } else {
        "gateway"
    };
    let role = if world.can {
        role.to_owned()
    } else {
        format!("{role} any")
    };
    kill(gateway(&role));
    for interface in ["p0", "p1"] {
        run(&format!("tc filter del dev {interface} ingress")).unwrap();
    }
    assert!(entrance("p0").contains(&"clsact".to_owned()));
    let one = routes(vec![route("a", 0x10, 0, 1)]);
    let instance = GatewayInstance::new(INSTANCE);
    let start = BpfOffload::start(&instance, &one, &world.ports(), options(&role));
    let (mut offload, outcome) = start.unwrap();
    assert_eq!((outcome.entrances, outcome.adopted), (1, false));
    if world.can {
        let sender = Raw::open("q0", false).unwrap();
        let receiver = Raw::open("q1", false).unwrap();
        let sent = frame(Kind::Classic, 0x10, 0, 0, 0, &[]);
        sender.send(sent.view()).unwrap();
        receiver.receive(true).unwrap();
        assert_eq!(receiver.receive(false), None);
        assert_eq!(offload.counts().unwrap().routes[0].sent, 1);
    }
    drop(offload);
    for interface in ["p0", "p1"] {
        assert_eq!(entrance(interface), ["clsact"], "empty");
    }
}
