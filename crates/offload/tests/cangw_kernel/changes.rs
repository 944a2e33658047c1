//! Objects that appear, change and disappear: rules, interfaces, rules of other programs.

use crate::{alone, interfaces, listed, names, pass, route, routes, set_id, sh};
use cangate_offload::cangw::{CanGwKernel as CanGw, CanGwOffload, Error, GatewayInstance};
use route::KernelPort;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// Waits for a change of interfaces and handles it.
fn wait(offload: &mut CanGwOffload) -> cangate_offload::cangw::CanGwOutcome {
    let fds = &mut [PollFd::from_borrowed_fd(offload.as_fd(), PollFlags::IN)];
    let time = Timespec {
        tv_sec: 5,
        tv_nsec: 0,
    };
    assert_eq!(poll(fds, Some(&time)).unwrap(), 1, "no news");
    offload.links_changed().unwrap().unwrap()
}

#[test]
fn rules_that_stay_keep_their_counters() {
    let _alone = alone();
    let mut kernel = interfaces!();
    let names = names(&kernel);
    let mut b = route("b", 0x11);
    b.actions.push(set_id(0x11));
    let first = routes(vec![route("a", 0x10), b, route("c", 0x12)]);
    let (mut offload, outcome) =
        CanGwOffload::start(&GatewayInstance::new("counters"), &first, &names).unwrap();
    assert_eq!((outcome.added, outcome.unchanged), (3, 0));
    assert_eq!(
        pass(&mut kernel, &[0x10, 0x11, 0x11, 0x12, 0x13], 4),
        [0x10, 0x11, 0x11, 0x12]
    );
    let before = listed();

    // b gets another modification, c is removed, d is added, and the order changes.
    let mut b = route("b", 0x11);
    b.actions.push(set_id(0x55));
    let second = routes(vec![route("d", 0x13), b, route("a", 0x10)]);
    let outcome = offload.reload(&second, &names).unwrap();
    let can_update = offload_limits().updates_in_place();
    let (updated, added, removed) = if can_update { (1, 1, 1) } else { (0, 2, 2) };
    assert_eq!(
        (
            outcome.unchanged,
            outcome.updated,
            outcome.added,
            outcome.removed
        ),
        (1, updated, added, removed)
    );
    let after = listed();
    let a = before.iter().find(|l| l.job.filter.0 == 0x10).unwrap();
    assert!(
        after.contains(a),
        "untouched, with its mark and counters: {after:#?}"
    );
    assert_eq!(
        pass(&mut kernel, &[0x10, 0x11, 0x11, 0x12, 0x13], 4),
        [0x10, 0x55, 0x55, 0x13]
    );
    let sent: Vec<u64> = offload.counts().unwrap().iter().map(|c| c.sent).collect();
    assert_eq!(sent, [1, 4, 2], "d is new, b and a go on");

    // c comes back as another rule: its earlier counts have already been reported.
    let outcome = offload.reload(&first, &names).unwrap();
    assert_eq!(outcome.unchanged, 1);
    let sent: Vec<u64> = offload.counts().unwrap().iter().map(|c| c.sent).collect();
    assert_eq!(sent, [2, 4, 0]);
    assert_eq!(offload.remove().unwrap(), 3);
    assert_eq!(kernel.list().trim(), "");
}

fn offload_limits() -> cangate_offload::cangw::KernelLimits {
    CanGw::open().unwrap().limits()
}

#[test]
fn the_order_of_copies_is_that_of_the_routes() {
    let _alone = alone();
    let mut kernel = interfaces!();
    let names = names(&kernel);
    // All of them take every frame, and each writes its own ID.
    let numbered = |ids: &[u32]| {
        routes(
            ids.iter()
                .map(|id| {
                    let mut route = route(&format!("r{id}"), 0);
                    route.matching.ids.clear();
                    route.actions.push(set_id(*id));
                    route
                })
                .collect(),
        )
    };
    let (mut offload, _) = CanGwOffload::start(
        &GatewayInstance::new("order"),
        &numbered(&[1, 2, 3]),
        &names,
    )
    .unwrap();
    assert_eq!(pass(&mut kernel, &[0x700], 3), [1, 2, 3]);
    for order in [
        &[1, 2, 3, 4][..],
        &[4, 1, 2, 3],
        &[2, 1],
        &[5, 2, 6, 1, 7],
        &[7, 6, 5],
    ] {
        offload.reload(&numbered(order), &names).unwrap();
        assert_eq!(pass(&mut kernel, &[0x700], order.len()), order);
    }
}

#[test]
fn rules_come_back_with_their_interface() {
    let _alone = alone();
    let mut kernel = interfaces!();
    let names = names(&kernel);
    let [_, b, c] = kernel.interfaces.clone();
    let mut to_c = route("to c", 0x20);
    to_c.to = vec![route::PortId(2)];
    let wanted = routes(vec![route("to b", 0x20), to_c]);
    let (mut offload, _) =
        CanGwOffload::start(&GatewayInstance::new("links"), &wanted, &names).unwrap();
    assert_eq!(pass(&mut kernel, &[0x20], 2), [0x20]);
    let of_b = |list: &[cangate_offload::cangw::ListedJob]| {
        let index = CanGw::open().unwrap().links().unwrap().can(&b).unwrap();
        list.iter().find(|l| l.job.destination == index).cloned()
    };
    let kept = of_b(&listed()).unwrap();
    // The counts of a rule are lost with it, so they are read before.
    offload.counts().unwrap();

    sh("ip", &format!("link del {c}"));
    let outcome = wait(&mut offload);
    assert_eq!(outcome.missing.iter().collect::<Vec<_>>(), [&c]);
    assert_eq!((outcome.unchanged, listed().len()), (1, 1));

    sh("ip", &format!("link add dev {c} type vcan"));
    let mut added = 0;
    while added == 0 {
        added += wait(&mut offload).added;
    }
    sh("ip", &format!("link set {c} up"));
    assert_eq!(listed().len(), 2);
    assert_eq!(of_b(&listed()), Some(kept), "the other one was not touched");

    // After renaming it is another interface; renamed back, it is the one that is wanted. Before
    // Linux 6.2 an interface must be down for that.
    sh("ip", &format!("link set {c} down"));
    sh("ip", &format!("link set {c} name cgt_other"));
    let mut removed = 0;
    while removed == 0 {
        removed += wait(&mut offload).removed;
    }
    assert_eq!(listed().len(), 1);
    sh("ip", &format!("link set cgt_other name {c}"));
    while listed().len() < 2 {
        wait(&mut offload);
    }
    sh("ip", &format!("link set {c} up"));
    pass(&mut kernel, &[0x20], 1);
    let sent: Vec<u64> = offload.counts().unwrap().iter().map(|c| c.sent).collect();
    assert_eq!(sent, [2, 2], "one before it went, one after it came back");

    // An interface that is down accepts nothing, and that is counted.
    sh("ip", &format!("link set {c} down"));
    pass(&mut kernel, &[0x20], 1);
    let counts = offload.counts().unwrap();
    assert_eq!((counts[1].sent, counts[1].failed), (2, 1));
}

#[test]
fn what_others_took_away_comes_back_and_theirs_stays() {
    let _alone = alone();
    let mut kernel = interfaces!();
    let names = names(&kernel);
    let [a, b, c] = kernel.interfaces.clone();
    let theirs = [
        format!("-s {a} -d {b} -e -f 030:C00007FF"),
        format!("-s {a} -d {c} -u 5 -m SET:I:031.0.0000000000000000"),
        format!("-s {b} -d {c} -X -l 1"),
    ];
    for rule in &theirs {
        kernel.add(rule).unwrap();
    }
    // The counters of the foreign rules must be kept, too.
    pass(&mut kernel, &[0x30], 1);
    let before = listed();
    let instance = GatewayInstance::new("others");
    // The same as one of the foreign rules, except for the mark.
    let wanted = routes(vec![route("same", 0x30), route("x", 0x33)]);
    let (mut offload, outcome) = CanGwOffload::start(&instance, &wanted, &names).unwrap();
    assert_eq!((outcome.added, outcome.unchanged), (2, 0));
    let foreign = offload.foreign().unwrap();
    let mut rules: Vec<_> = foreign
        .iter()
        .map(|f| (f.rule.to_string(), f.mark))
        .collect();
    rules.reverse();
    assert_eq!(
        rules,
        [
            (theirs[0].clone(), None),
            (
                format!("-s {a} -d {c} -m SET:I:031.0.0000000000000000"),
                Some(5)
            ),
            (format!("-s {b} -d {c} -X -l 1"), None),
        ]
    );
    offload
        .reload(&routes(vec![route("x", 0x34)]), &names)
        .unwrap();
    let others = || -> Vec<_> {
        let list = listed().into_iter();
        list.filter(|l| !instance.owns(l.job.mark())).collect()
    };
    assert_eq!(others(), before);

    kernel.flush();
    let outcome = offload.reconcile().unwrap();
    assert_eq!((outcome.added, outcome.unchanged), (1, 0));
    kernel.add(&theirs[0]).unwrap();
    drop(offload);
    assert_eq!(listed().len(), 1, "only theirs is left");
    assert_eq!(listed()[0].job.mark(), 0);
    kernel.flush();
}

#[test]
fn a_refused_reload_changes_nothing() {
    let _alone = alone();
    let kernel = interfaces!();
    let names = names(&kernel);
    let instance = GatewayInstance::new("refused");
    let good = routes(vec![route("good", 0x40)]);
    let (mut offload, _) = CanGwOffload::start(&instance, &good, &names).unwrap();
    let before = listed();
    let mut bad = route("bad", 0x41);
    bad.drop = true;
    let error = offload.reload(&routes(vec![route("good", 0x42), bad]), &names);
    assert_eq!(
        error.unwrap_err().to_string(),
        "can-gw cannot run these routes: route `bad`: it drops frames, and a rule only forwards"
    );
    let mut far = good.clone();
    far.max_hops = kernel.max_hops + 1;
    let error = offload.reload(&far, &names).unwrap_err();
    assert!(matches!(error, Error::MaxHops { .. }), "{error}");
    assert!(error.to_string().contains("modprobe can-gw max_hops="));
    assert_eq!(listed(), before);
    // Loopback exists, but is not a CAN interface: it counts as missing.
    let lo = [names[0].clone(), Some(KernelPort::new("lo"))];
    let outcome = offload.reload(&good, &lo).unwrap();
    assert_eq!(outcome.missing.iter().collect::<Vec<_>>(), ["lo"]);
    assert_eq!(listed(), []);
}

#[test]
fn interfaces_come_and_go_while_tables_are_exchanged() {
    let _alone = alone();
    let kernel = interfaces!();
    let names = names(&kernel);
    let c = kernel.interfaces[2].clone();
    let table = |number: u32| {
        let both = |i: u32| {
            let mut route = route(&format!("r{i}"), (i + number) % 32);
            route.to.push(route::PortId(2));
            route
        };
        routes((0..20).map(both).collect())
    };
    let instance = GatewayInstance::new("come and go");
    let (mut offload, _) = CanGwOffload::start(&instance, &table(0), &names).unwrap();
    let (done, reloads) = (AtomicBool::new(false), AtomicU32::new(0));
    let (mut met, mut number) = ((0, 0), 0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // Each step happens during a reload, and the next one begins after it.
            let wait = || {
                let begun = reloads.load(Ordering::Relaxed);
                while reloads.load(Ordering::Relaxed) < begun + 2 {
                    std::thread::sleep(std::time::Duration::from_millis(1));
                }
            };
            for _ in 0..6 {
                sh("ip", &format!("link del {c}"));
                wait();
                sh("ip", &format!("link add dev {c} type vcan"));
                wait();
            }
            done.store(true, Ordering::Relaxed);
        });
        while !done.load(Ordering::Relaxed) {
            number += 1;
            let outcome = offload.reload(&table(number), &names).unwrap();
            reloads.store(number, Ordering::Relaxed);
            met.0 += u32::from(outcome.missing.is_empty());
            met.1 += u32::from(!outcome.missing.is_empty());
        }
    });
    while offload.links_changed().unwrap().is_some() {}
    assert_eq!(listed().len(), 40, "after {number} reloads");
    assert_eq!(offload.reconcile().unwrap().unchanged, 40);
    assert!(met.0 >= 6 && met.1 >= 6, "there and not there: {met:?}");
}

/// The kernel returns a long list in several parts.
#[test]
fn many_rules_are_listed_and_taken_away() {
    let _alone = alone();
    let mut kernel = interfaces!();
    let names = names(&kernel);
    let many = |count: u32| routes((0..count).map(|i| route(&format!("r{i}"), i)).collect());
    let (mut offload, outcome) =
        CanGwOffload::start(&GatewayInstance::new("many"), &many(1500), &names).unwrap();
    assert_eq!((outcome.added, listed().len()), (1500, 1500));
    assert_eq!(pass(&mut kernel, &[0, 700, 1499, 1500], 3), [0, 700, 1499]);
    let outcome = offload.reload(&many(1400), &names).unwrap();
    assert_eq!((outcome.unchanged, outcome.removed), (1400, 100));
    let sent: u64 = offload.counts().unwrap().iter().map(|c| c.sent).sum();
    assert_eq!(sent, 2, "1499 is gone");
    assert_eq!(offload.remove().unwrap(), 1400);
    assert_eq!(listed(), []);
}
