//! Objects that appear, stay and disappear at the ingress of interfaces.

use crate::bpf_common::run;
use crate::common::{names, route, routes};
use crate::world::{World, command_output, entrance, programs, world};
use aya::programs::tc::{NlOptions, TcAttachOptions, TcHandle};
use aya::programs::{LinkOrder, SchedClassifier, TcAttachType};
use cangate_offload::bpf::{
    BpfOffload, BpfOptions, BpfOutcome, Error, GatewayInstance, can_persist, remove,
};
use route::{KernelPort, Routes};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::os::fd::AsFd;

/// Cangate's own program.
static OBJECT: &[u8] =
    aya::include_bytes_aligned!(concat!(env!("CARGO_MANIFEST_DIR"), "/bpf/gateway.bpf.o"));

fn table() -> Routes {
    routes(vec![route("a", 0x10, 0, 1), route("b", 0x11, 1, 0)])
}

fn start(
    name: &str,
    ports: &[Option<KernelPort>],
    options: &BpfOptions,
) -> (BpfOffload, BpfOutcome) {
    BpfOffload::start(
        &GatewayInstance::new(name),
        &table(),
        ports,
        options.clone(),
    )
    .unwrap()
}

/// Returns whether one of cangate's programs is attached.
fn runs(interface: &str) -> bool {
    let there = entrance(interface);
    let ours = there
        .iter()
        .filter(|what| *what == "tcx cangate" || *what == "filter 3238 0x1");
    assert!(ours.clone().count() <= 1, "{there:?}");
    ours.count() == 1
}

/// Waits for a change of interfaces and handles it.
fn wait(offload: &mut BpfOffload) -> BpfOutcome {
    let fds = &mut [PollFd::from_borrowed_fd(offload.as_fd(), PollFlags::IN)];
    let time = Timespec {
        tv_sec: 20,
        tv_nsec: 0,
    };
    assert_eq!(poll(fds, Some(&time)).unwrap(), 1, "no news");
    offload.links_changed().unwrap().unwrap()
}

/// Handles changes until the table is attached to this number of interfaces.
fn wait_for(offload: &mut BpfOffload, entrances: usize) -> BpfOutcome {
    loop {
        let outcome = wait(offload);
        if outcome.entrances == entrances {
            return outcome;
        }
    }
}

#[test]
fn nothing_is_left_after_a_clean_end() {
    let world = world!(World::new(2));
    for options in world.ways() {
        let (offload, outcome) = start("clean", &world.ports(), &options);
        assert_eq!((outcome.entrances, outcome.missing.len()), (2, 0));
        assert!(runs("p0") && runs("p1"));
        drop(offload);
        for interface in ["p0", "q0", "p1", "q1"] {
            assert_eq!(entrance(interface), [""; 0], "{interface} {options:?}");
        }
    }
}

#[test]
fn an_entrance_that_no_route_needs_any_more_is_given_up() {
    let world = world!(World::new(3));
    for options in world.ways() {
        let (mut offload, _) = start("give up", &world.ports(), &options);
        assert!(!runs("p2"));
        let other = routes(vec![route("a", 0x10, 2, 1)]);
        let outcome = offload.reload(&other, &world.ports()).unwrap();
        assert_eq!(outcome.entrances, 1);
        assert!(!runs("p0") && !runs("p1") && runs("p2"));
        assert_eq!(programs("p0"), [""; 0]);
        // Routes that cannot be expressed change nothing.
        let mut bad = route("bad", 0x10, 0, 1);
        bad.keep_stamp = true;
        let error = offload.reload(&routes(vec![bad]), &world.ports());
        assert!(matches!(error, Err(Error::Inexpressible(_))));
        assert!(!runs("p0") && runs("p2"));
        drop(offload);
        for interface in ["p0", "p1", "p2"] {
            assert_eq!(entrance(interface), [""; 0]);
        }
    }
}

#[test]
fn others_are_left_alone_and_run_on() {
    let world = world!(World::new(2));
    // The same program, attached by another process.
    let mut ebpf = aya::EbpfLoader::new().btf(None).load(OBJECT).unwrap();
    let program: &mut SchedClassifier = ebpf.program_mut("cangate").unwrap().try_into().unwrap();
    program.load().unwrap();
    run("tc qdisc add dev p0 clsact").unwrap();
    let filter = |priority| {
        TcAttachOptions::Netlink(NlOptions {
            priority,
            handle: TcHandle::AUTO_ASSIGN,
            classid: None,
        })
    };
    for priority in [7, 50_000] {
        program
            .attach_with_options("p0", TcAttachType::Ingress, filter(priority))
            .unwrap();
    }
    let tcx = TcAttachOptions::TcxOrder(LinkOrder::first());
    let _ = program.attach_with_options("p1", TcAttachType::Ingress, tcx);
    let before = [entrance("p0"), entrance("p1")];
    assert_eq!(before[0].len(), 3);
    for options in world.ways() {
        let (mut offload, _) = start("others", &world.ports(), &options);
        for (interface, before) in ["p0", "p1"].iter().zip(&before) {
            let now = entrance(interface);
            assert!(now.len() > before.len());
            assert!(before.iter().all(|there| now.contains(there)), "{now:?}");
        }
        offload.reload(&table(), &world.ports()).unwrap();
        drop(offload);
        assert_eq!([entrance("p0"), entrance("p1")], before, "{options:?}");
    }
    // With cangate's own priority and handle.
    let ours = TcAttachOptions::Netlink(NlOptions {
        priority: 3238,
        handle: TcHandle::new(0, 1),
        classid: None,
    });
    run("tc qdisc add dev p1 clsact").unwrap();
    run("tc filter del dev p0 ingress pref 7").unwrap();
    let program: &mut SchedClassifier = ebpf.program_mut("cangate").unwrap().try_into().unwrap();
    // Its different name shows that it is not cangate's.
    if let Ok(id) = program.attach_with_options("p1", TcAttachType::Ingress, ours) {
        drop(program.take_link(id).unwrap());
    }
}

#[test]
fn one_interface_has_one_gateway() {
    let world = world!(World::new(2));
    for options in world.ways() {
        let (offload, _) = start("one", &world.ports(), &options);
        let before = entrance("p0");
        let another = || {
            let ports = names(&["q1", "p0"]);
            BpfOffload::start(
                &GatewayInstance::new("two"),
                &table(),
                &ports,
                options.clone(),
            )
        };
        let error = another().err().unwrap();
        assert!(matches!(error, Error::Taken { .. }), "{error:?}");
        assert_eq!(
            error.to_string(),
            format!(
                "p0: another cangate (process {}) has its BPF program there: stop that one, or \
                 remove the interface from one of the two configurations",
                std::process::id()
            )
        );
        assert_eq!(entrance("p0"), before);
        assert_eq!(entrance("q1"), [""; 0], "the other one was given back");
        drop(offload);
        drop(another().unwrap());
    }
}

#[test]
fn interfaces_come_and_go() {
    let world = world!(World::new(2));
    for options in world.ways() {
        let ports = names(&["p0", "p1"]);
        let (mut offload, _) = start("links", &ports, &options);
        run("ip link del p1").unwrap();
        let outcome = wait_for(&mut offload, 1);
        assert_eq!(outcome.missing.iter().collect::<Vec<_>>(), ["p1"]);
        assert!(runs("p0"));
        world.add(1).unwrap();
        let outcome = wait_for(&mut offload, 2);
        assert!(outcome.missing.is_empty() && runs("p1"));

        // Down and up again.
        run("ip link set p1 down").unwrap();
        assert_eq!(wait(&mut offload).entrances, 2);
        run("ip link set p1 up").unwrap();
        assert!(runs("p1"));

        // After renaming it is a different interface. Before Linux 6.2 it must be down for that.
        run("ip link set p1 down").unwrap();
        run("ip link set p1 name other").unwrap();
        wait_for(&mut offload, 1);
        assert_eq!(programs("other"), [""; 0]);
        run("ip link set other name p1").unwrap();
        run("ip link set p1 up").unwrap();
        wait_for(&mut offload, 2);
        assert!(runs("p1"));

        // Into another namespace and back.
        let _ = run("ip netns del cgt");
        run("ip netns add cgt").unwrap();
        run("ip link set p1 netns cgt").unwrap();
        wait_for(&mut offload, 1);
        let there = command_output("ip netns exec cgt tc filter show dev p1 ingress");
        assert_eq!(there.trim(), "");
        let back = format!(
            "ip -n cgt link set p1 netns {}",
            rustix::thread::gettid().as_raw_nonzero()
        );
        run(&back).unwrap();
        run("ip link set p1 up").unwrap();
        wait_for(&mut offload, 2);
        assert!(runs("p1"));
        // So fast that no process notices it: the interface can have the same index, and a filter
        // is gone.
        run("ip link set p1 netns cgt").unwrap();
        run(&back).unwrap();
        wait(&mut offload);
        assert!(runs("p1"));
        run("ip netns del cgt").unwrap();

        drop(offload);
        assert_eq!([entrance("p0"), entrance("p1")], [[""; 0]; 2]);
        run("ip link del p1").unwrap();
        world.add(1).unwrap();
    }
}

#[test]
fn what_others_took_away_comes_back() {
    let world = world!(World::new(2));
    let options = world.clsact();
    let (mut offload, _) = start("came back", &world.ports(), &options);
    assert_eq!(offload.reconcile().unwrap().entrances, 2);
    run("tc qdisc del dev p0 clsact").unwrap();
    assert!(!runs("p0"));
    offload.reconcile().unwrap();
    assert!(runs("p0"));
    run("tc filter del dev p1 ingress").unwrap();
    offload.reload(&table(), &world.ports()).unwrap();
    assert!(runs("p1"));
    drop(offload);
    assert_eq!(entrance("p1"), [""; 0]);
}

#[test]
fn what_is_left_in_place_is_found_again() {
    let world = world!(World::new(3));
    for options in world.ways() {
        let (offload, _) = start("stays", &world.ports(), &options);
        can_persist().unwrap();
        offload.persist().unwrap();
        assert!(runs("p0") && runs("p1"));

        // No other instance may use it.
        let another = GatewayInstance::new("not stays");
        let error = BpfOffload::start(&another, &table(), &world.ports(), options.clone());
        assert_eq!(
            error.err().unwrap().to_string(),
            "p0: the gateway `stays` has left its BPF program there (--persist): start that one \
             again and end it without, or take the interface out of this configuration"
        );
        assert!(runs("p0") && runs("p1"));

        let (mut offload, outcome) = start("stays", &world.ports(), &options);
        assert!(outcome.adopted);
        assert!(runs("p0") && runs("p1"));
        assert_eq!(offload.counts().unwrap().routes.len(), 2);
        // Again, and then with other routes: what they do not need is removed.
        offload.persist().unwrap();
        let other = routes(vec![route("a", 0x10, 2, 1)]);
        let instance = GatewayInstance::new("stays");
        let (offload, outcome) =
            BpfOffload::start(&instance, &other, &world.ports(), options.clone()).unwrap();
        assert_eq!((outcome.entrances, outcome.adopted), (1, false));
        assert!(runs("p2"));
        assert_eq!([programs("p0"), programs("p1")], [[""; 0]; 2]);
        offload.persist().unwrap();
        if world.can {
            assert_eq!(remove(&instance).unwrap(), 1);
        } else {
            drop(BpfOffload::start(&instance, &other, &world.ports(), options.clone()).unwrap());
        }
        for interface in ["p0", "p1", "p2"] {
            assert_eq!(entrance(interface), [""; 0]);
        }
        assert_eq!(command_output("ls /sys/fs/bpf/cangate"), "");
    }
}
