//! Tests that need BPF and no CAN.

use crate::common::{names, route, routes};
use cangate_offload::bpf::{BpfOffload, BpfOptions, Error, GatewayInstance};
use route::{IdSet, KernelPort};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

macro_rules! bpf {
    () => {
        if let Err(why) = crate::world::bpf() {
            eprintln!("SKIPPED because {why}");
            return;
        }
        let _alone = crate::world::alone();
    };
}

#[test]
fn interfaces_that_are_not_there_are_waited_for() {
    bpf!();
    let instance = GatewayInstance::new("waits");
    let wanted = routes(vec![route("a", 1, 0, 1), route("b", 2, 1, 2)]);
    // There are more ports than routes use, and loopback is not a CAN interface.
    let ports = names(&["cgt_none0", "lo", "cgt_none2", "cgt_none3"]);
    let (mut offload, outcome) =
        BpfOffload::start(&instance, &wanted, &ports, BpfOptions::default()).unwrap();
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
    let ports = [Some(KernelPort::new("cgt_none0")), None];
    let wanted = routes(vec![route("good", 1, 0, 0), route("bad", 2, 0, 1)]);
    let start = BpfOffload::start(
        &GatewayInstance::new("ports"),
        &wanted,
        &ports,
        BpfOptions::default(),
    );
    let error = start.err().unwrap();
    assert!(matches!(error, Error::Inexpressible(_)), "{error:?}");
    assert_eq!(
        error.to_string(),
        "route \"bad\": goes to a port that is not a CAN interface of Linux, and BPF routes among \
         these only"
    );
}

#[test]
fn one_instance_is_one_process() {
    bpf!();
    let instance = GatewayInstance::new("once");
    let start = || {
        let wanted = routes(vec![route("a", 1, 0, 1)]);
        let ports = names(&["cgt_none0", "cgt_none1"]);
        BpfOffload::start(&instance, &wanted, &ports, BpfOptions::default())
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

/// The verifier stops if a signal is pending for its thread. Four signals stop at most four of the
/// five attempts.
#[test]
#[allow(unsafe_code)]
fn a_signal_while_the_program_is_looked_through_harms_nothing() {
    bpf!();
    let heard = Arc::new(AtomicBool::new(false));
    signal_hook::flag::register(libc::SIGUSR2, Arc::clone(&heard)).unwrap();
    let (instance, ports) = (
        GatewayInstance::new("signals"),
        names(&["cgt_none0", "cgt_none1"]),
    );
    let wanted = routes(vec![route("a", 1, 0, 1)]);
    let begin = Instant::now();
    drop(BpfOffload::start(&instance, &wanted, &ports, BpfOptions::default()).unwrap());
    let pause = begin.elapsed() / 6;
    for _ in 0..5 {
        // SAFETY: no pointers.
        let loading = unsafe { libc::pthread_self() };
        let signals = std::thread::spawn(move || {
            for _ in 0..4 {
                std::thread::sleep(pause);
                // SAFETY: that thread joins this one before it ends.
                assert_eq!(unsafe { libc::pthread_kill(loading, libc::SIGUSR2) }, 0);
            }
        });
        let start = BpfOffload::start(&instance, &wanted, &ports, BpfOptions::default());
        signals.join().unwrap();
        assert!(heard.swap(false, Ordering::Relaxed));
        start.unwrap();
    }
}

mod long {
    use super::*;

    /// The duration of a reload, with tables that need more and more of the program. It is printed,
    /// not checked.
    #[test]
    #[ignore = "a measurement"]
    fn how_long_a_reload_takes() {
        bpf!();
        let ports = names(&["cgt_none0", "cgt_none1"]);
        let mut plain = route("r", 1, 0, 1);
        let mut tables = vec![("one route", vec![plain.clone()])];
        plain.actions.push(crate::common::set_id(2));
        tables.push(("a modification", vec![plain.clone()]));
        plain.limit = Some(route::RateLimit {
            frames: 1,
            per: 1_000_000,
            burst: 1,
            per_id: None,
        });
        tables.push(("and a limit", vec![plain.clone()]));
        plain.matching.payload.push(route::PayloadPattern {
            at: 0,
            mask: vec![0xFF],
            value: vec![1],
        });
        tables.push(("and a pattern", vec![plain]));
        let many = (0..10_000).map(|n| {
            let mut route = route(&format!("r{n}"), 0, 0, 1);
            route.matching.ids[0].set = IdSet::Range {
                eff: true,
                first: n,
                last: n,
            };
            route
        });
        tables.push(("10000 routes", many.collect()));
        let instance = GatewayInstance::new("how long");
        let start = BpfOffload::start(&instance, &routes(vec![]), &ports, BpfOptions::default());
        let (mut offload, _) = start.unwrap();
        for (what, list) in tables {
            let table = routes(list);
            let mut times: Vec<_> = (0..5)
                .map(|_| {
                    let start = Instant::now();
                    offload.reload(&table, &ports).unwrap();
                    start.elapsed()
                })
                .collect();
            times.sort();
            println!("{what}: {:?} to {:?}", times[0], times[4]);
        }
    }
}
