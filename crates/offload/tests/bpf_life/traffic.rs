//! Frames pass while tables are exchanged, and on several processors.

use crate::bpf_common::{Raw, frame, number};
use crate::common::{names, route, routes, set_id};
use crate::world::{World, world};
use cangate_offload::bpf::{BpfOffload, BpfOptions, GatewayInstance, TestOptions};
use frame::{FrameBuf, Kind};
use route::{RateLimit, Routes};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// A frame that carries a number.
fn numbered(number: u64) -> FrameBuf {
    frame(Kind::Classic, 0x123, 8, 0, 0, &number.to_le_bytes())
}

/// A table by its number: two routes take each frame, and give it this table's ID. With `more`,
/// frames come in at another interface, too, in every other table.
fn table(number: u32, more: bool) -> Routes {
    let id = 0x200 + number % 2;
    let mut list: Vec<_> = ["one", "two"]
        .into_iter()
        .zip([1, 2])
        .map(|(name, to)| {
            let mut route = route(name, 0x123, 0, to);
            route.actions.push(set_id(id));
            route
        })
        .collect();
    if number % 2 == 1 {
        list.reverse();
        if more {
            list.push(route("odd", 0x700, 2, 0));
        }
    }
    routes(list)
}

/// Each frame arrives exactly once at both destinations, and both copies are of the same table.
#[test]
fn no_frame_meets_two_tables_or_none() {
    let world = world!(World::can(3));
    for options in world.ways() {
        let mut flood = Flood::new(&world, options);
        let met = flood.reload(number("RELOADS", 3), false);
        assert_eq!(met.lost, [0; 0], "no frame is lost in between");
        assert!(met.tables.iter().all(|frames| *frames > 0));
        // The counts of retired tables and of the current one.
        let counts = flood.offload.counts().unwrap();
        assert_eq!(counts.ports[0].seen, met.sent);
        for counts in &counts.routes[..2] {
            assert_eq!((counts.taken, counts.sent), (Some(met.sent), met.sent));
        }
    }
}

/// When clsact is added, the kernel stops the interface's transmissions for a moment.
#[test]
fn no_frame_meets_two_tables_where_entrances_change() {
    let world = world!(World::can(3));
    for options in world.ways() {
        let mut flood = Flood::new(&world, options);
        let met = flood.reload(number("RELOADS", 3), true);
        // Once for the other table, until clsact is there.
        assert!(met.lost.len() <= 64, "{:?}", met.lost);
    }
}

/// A gateway at `p0`, and sockets around it.
struct Flood<'a> {
    world: &'a World,
    offload: BpfOffload,
    sender: Raw,
    receivers: [Raw; 2],
}

/// The fate of the frames.
#[derive(Default)]
struct Met {
    sent: u64,
    lost: Vec<u64>,
    /// Frames that either table routed.
    tables: [u64; 2],
}

impl Met {
    /// Checks all frames before this one, and discards them.
    fn judge(&mut self, seen: &mut [BTreeMap<u64, Vec<u32>>; 2], before: u64) {
        for number in self.sent..before {
            let copies = [0, 1].map(|at: usize| seen[at].remove(&number).unwrap_or_default());
            match (&copies[0][..], &copies[1][..]) {
                (&[a @ (0x200 | 0x201)], &[b]) if a == b => {
                    self.tables[(a - 0x200) as usize] += 1;
                }
                (&[a], &[]) | (&[], &[a]) if a == 0x200 || a == 0x201 => self.lost.push(number),
                ([], []) => self.lost.push(number),
                _ => panic!("frame {number} as {copies:X?}"),
            }
        }
        self.sent = self.sent.max(before);
    }
}

impl<'a> Flood<'a> {
    fn new(world: &'a World, options: BpfOptions) -> Self {
        let instance = GatewayInstance::new("flood");
        let start = BpfOffload::start(&instance, &table(0, false), &world.ports(), options);
        Self {
            world,
            offload: start.unwrap().0,
            sender: Raw::open("q0", false).unwrap(),
            receivers: ["q1", "q2"].map(|name| Raw::open(name, false).unwrap()),
        }
    }

    /// Applies one table after the other while frames pass. Fails if a frame came twice, or from
    /// both tables.
    fn reload(&mut self, reloads: u32, more: bool) -> Met {
        let (stop, sent) = (AtomicBool::new(false), AtomicU64::new(0));
        let mut seen: [BTreeMap<u64, Vec<u32>>; 2] = Default::default();
        let mut met = Met::default();
        let (world, sender, receivers) = (self.world, &self.sender, &self.receivers);
        std::thread::scope(|scope| {
            let (stop, sent, offload) = (&stop, &sent, &mut self.offload);
            let reloading = scope.spawn(move || {
                let (start, mut longest) = (Instant::now(), Duration::ZERO);
                for number in 1..=reloads {
                    let start = Instant::now();
                    let outcome = offload
                        .reload(&table(number, more), &world.ports())
                        .unwrap();
                    longest = longest.max(start.elapsed());
                    let both = more && number % 2 == 1;
                    assert_eq!(outcome.entrances, 1 + usize::from(both));
                    // Frames meet each table, too.
                    let met = sent.load(Ordering::Relaxed) + 30;
                    while sent.load(Ordering::Relaxed) < met {
                        std::thread::yield_now();
                    }
                }
                stop.store(true, Ordering::Relaxed);
                (start.elapsed(), longest)
            });
            let mut number = 0;
            while !stop.load(Ordering::Relaxed) && !reloading.is_finished() {
                sender.send(numbered(number).view()).unwrap();
                number += 1;
                sent.store(number, Ordering::Relaxed);
                // The kernel's receive queues are limited.
                if number.is_multiple_of(16) {
                    wait(receivers, &mut seen, number);
                    // A guest's memory is limited, too, and millions of frames pass. A frame that
                    // comes this late appears as one that came twice.
                    met.judge(&mut seen, number.saturating_sub(4096));
                }
            }
            wait(receivers, &mut seen, number);
            met.judge(&mut seen, number);
            let (all, longest) = reloading.join().unwrap();
            println!("{reloads} reloads in {all:?}, the longest {longest:?}; {number} frames");
        });
        assert_eq!(met.sent, sent.load(Ordering::Relaxed));
        assert!(seen.iter().all(BTreeMap::is_empty), "{seen:X?}");
        println!("lost {:?}; by either table {:?}", met.lost, met.tables);
        if !met.lost.is_empty() {
            println!("{:?}", self.offload.counts().unwrap());
            println!("{}", crate::world::command_output("ip -s link"));
            println!(
                "{}",
                crate::world::command_output("cat /proc/net/softnet_stat")
            );
        }
        met
    }
}

/// Receives frames until all that were sent have arrived, or seem to be lost.
fn wait(receivers: &[Raw; 2], seen: &mut [BTreeMap<u64, Vec<u32>>; 2], sent: u64) {
    let start = Instant::now();
    while start.elapsed() < Duration::from_millis(200) {
        take(receivers, seen);
        if seen.iter().all(|seen| seen.contains_key(&(sent - 1))) {
            return;
        }
    }
}

fn take(receivers: &[Raw; 2], seen: &mut [BTreeMap<u64, Vec<u32>>; 2]) {
    for (receiver, seen) in receivers.iter().zip(seen) {
        while let Some((id, data)) = receiver.take() {
            let number = u64::from_le_bytes(data.try_into().unwrap());
            seen.entry(number).or_default().push(id);
        }
    }
}

/// A raw socket recognizes a frame that it has already received by the address of its buffer and by
/// a number in the headroom (`raw_rcv` of net/can/raw.c). If an XDP program makes room, the kernel
/// gives the frame another headroom without initializing it.
#[test]
fn local_programs_miss_no_frame() {
    const FRAMES: u64 = 3_000;
    let world = world!(World::can(2));
    for (tap, id) in [(false, 0x124), (true, 0x123)] {
        for options in world.ways() {
            let options = BpfOptions { tap, ..options };
            let table = routes(vec![route("a", 0x123, 0, 1)]);
            let instance = GatewayInstance::new("local");
            let start = BpfOffload::start(&instance, &table, &world.ports(), options);
            let (mut offload, _) = start.unwrap();
            let sender = Raw::open("q0", false).unwrap();
            let locals = [0, 1].map(|_| Raw::open("p0", false).unwrap());
            let mut seen = [Vec::new(), Vec::new()];
            let take = |seen: &mut [Vec<u64>; 2]| {
                for (local, seen) in locals.iter().zip(seen) {
                    while let Some((_, data)) = local.take() {
                        seen.push(u64::from_le_bytes(data.try_into().unwrap()));
                    }
                }
            };
            for number in 0..FRAMES {
                let data = number.to_le_bytes();
                let sent = frame(Kind::Classic, id, 8, 0, 0, &data);
                sender.send(sent.view()).unwrap();
                if number % 8 == 0 {
                    take(&mut seen);
                }
            }
            std::thread::sleep(Duration::from_millis(20));
            take(&mut seen);
            let all: Vec<u64> = (0..FRAMES).collect();
            for seen in &seen {
                let missing = all.iter().filter(|number| !seen.contains(number));
                let missing: Vec<_> = missing.take(20).collect();
                assert!(
                    *seen == all,
                    "tap {tap}: {} seen, missing {missing:?}",
                    seen.len()
                );
            }
            assert_eq!(offload.counts().unwrap().ports[0].seen, FRAMES);
        }
    }
}

#[test]
fn counters_of_routes_go_on_also_when_they_come_back() {
    let world = world!(World::can(2));
    for options in world.ways() {
        let instance = GatewayInstance::new("back");
        let both = routes(vec![route("a", 1, 0, 1), route("b", 2, 0, 1)]);
        let one = routes(vec![route("b", 2, 0, 1)]);
        let (mut offload, _) =
            BpfOffload::start(&instance, &both, &world.ports(), options.clone()).unwrap();
        let sender = Raw::open("q0", false).unwrap();
        let receiver = Raw::open("q1", false).unwrap();
        let pass = |ids: &[u32]| {
            for id in ids {
                let sent = frame(Kind::Classic, *id, 0, 0, 0, &[]);
                sender.send(sent.view()).unwrap();
            }
            while receiver.take().is_some() {}
            std::thread::sleep(Duration::from_millis(2));
        };
        let sent = |offload: &mut BpfOffload| -> Vec<u64> {
            let counts = offload.counts().unwrap();
            counts.routes.iter().map(|counts| counts.sent).collect()
        };
        pass(&[1, 2, 2]);
        assert_eq!(sent(&mut offload), [1, 2]);
        // Four times: the counts of former tables are added up.
        for round in 1..5 {
            offload.reload(&one, &world.ports()).unwrap();
            pass(&[1, 2]);
            assert_eq!(sent(&mut offload), [2 * round + 1]);
            offload.reload(&both, &world.ports()).unwrap();
            pass(&[1, 2]);
            assert_eq!(sent(&mut offload), [1 + round, 2 * round + 2]);
        }
        let seen = offload.counts().unwrap().ports[0];
        assert_eq!((seen.seen, seen.unrouted), (19, 4));
        // And across processes, with the table left in place; frames are routed in between.
        offload.persist().unwrap();
        pass(&[1]);
        let (mut offload, outcome) =
            BpfOffload::start(&instance, &both, &world.ports(), options.clone()).unwrap();
        assert!(outcome.adopted);
        pass(&[1]);
        assert_eq!(sent(&mut offload), [7, 10]);
        assert_eq!(offload.counts().unwrap().ports[0].seen, 21);
        offload.persist().unwrap();
        let (mut offload, _) =
            BpfOffload::start(&instance, &both, &world.ports(), options.clone()).unwrap();
        assert_eq!(sent(&mut offload), [7, 10]);
    }
}

#[test]
fn a_rate_limit_goes_on_over_a_reload() {
    let world = world!(World::can(2));
    let options = BpfOptions {
        test: TestOptions {
            clock: true,
            ..TestOptions::default()
        },
        ..BpfOptions::default()
    };
    let limited = |per_id, other: u32| {
        let mut list = vec![route("other", other, 0, 1), route("limited", 0x20, 0, 1)];
        for route in &mut list {
            route.limit = Some(RateLimit {
                frames: 1,
                per: 1_000_000_000,
                burst: 4,
                per_id,
            });
        }
        list[1].matching.ids.clear();
        if other % 2 == 1 {
            list.reverse();
        }
        routes(list)
    };
    let sender = Raw::open("q0", false).unwrap();
    for per_id in [None, Some(4)] {
        let start = BpfOffload::start(
            &GatewayInstance::new("limit"),
            &limited(per_id, 0x600),
            &world.ports(),
            options.clone(),
        );
        let (mut offload, _) = start.unwrap();
        offload.set_clock(1).unwrap();
        let mut passed = Vec::new();
        for number in 0..6 {
            sender
                .send(frame(Kind::Classic, 0x20, 0, 0, 0, &[]).view())
                .unwrap();
            std::thread::sleep(Duration::from_millis(2));
            let table = limited(per_id, 0x601 + number);
            offload.reload(&table, &world.ports()).unwrap();
            offload.set_clock(1).unwrap();
            let counts = offload.counts().unwrap();
            let at = table
                .routes
                .iter()
                .position(|r| r.name == "limited")
                .unwrap();
            passed.push(counts.routes[at].sent);
        }
        assert_eq!(passed, [1, 2, 3, 4, 4, 4], "{per_id:?}");
        // Another limit is another bucket.
        let mut table = limited(per_id, 0x600);
        table.routes[1].limit.as_mut().unwrap().burst = 1;
        offload.reload(&table, &world.ports()).unwrap();
        offload.set_clock(1).unwrap();
        sender
            .send(frame(Kind::Classic, 0x20, 0, 0, 0, &[]).view())
            .unwrap();
        std::thread::sleep(Duration::from_millis(2));
        assert_eq!(offload.counts().unwrap().routes[1].sent, 5);
    }
}

/// Two processors in the same route, its counters and its limit.
#[test]
fn processors_count_and_limit_together() {
    const EACH: u64 = 2_000;
    const BURST: u32 = 1_500;
    let world = world!(World::can(3));
    let mut list = vec![route("counts", 0x10, 0, 2), route("limits", 0x11, 0, 2)];
    for route in &mut list {
        route.from = vec![route::PortId(0), route::PortId(1)];
    }
    list[1].limit = Some(RateLimit {
        frames: 1,
        per: 1_000_000_000_000,
        burst: BURST,
        per_id: None,
    });
    let ports = names(&["p0", "p1", "p2"]);
    let (mut offload, _) = BpfOffload::start(
        &GatewayInstance::new("processors"),
        &routes(list),
        &ports,
        world.ways()[0].clone(),
    )
    .unwrap();
    let senders = ["q0", "q1"].map(|name| Raw::open(name, false).unwrap());
    let processors = std::thread::available_parallelism().unwrap().get();
    std::thread::scope(|scope| {
        for (at, sender) in senders.iter().enumerate() {
            scope.spawn(move || {
                let mut set = rustix::thread::CpuSet::new();
                set.set(at % processors);
                rustix::thread::sched_setaffinity(None, &set).unwrap();
                for number in 0..EACH {
                    for id in [0x10, 0x11] {
                        let sent = frame(Kind::Classic, id, 0, 0, 0, &[]);
                        sender.send(sent.view()).unwrap();
                    }
                    if number.is_multiple_of(32) {
                        std::thread::yield_now();
                    }
                }
            });
        }
    });
    std::thread::sleep(Duration::from_millis(100));
    let counts = offload.counts().unwrap();
    println!("{processors} processors: {counts:?}");
    // Frames for which a receive queue of the kernel had no room never came in.
    let (a, b) = (counts.ports[0].seen, counts.ports[1].seen);
    assert!(a + b <= 4 * EACH && a + b > EACH);
    let taken: u64 = counts.routes.iter().map(|route| route.taken.unwrap()).sum();
    assert_eq!(taken, a + b, "each frame is counted once");
    let [one, two] = &counts.routes[..] else {
        panic!("two routes")
    };
    assert_eq!(one.taken, Some(one.sent + one.failed));
    assert_eq!(two.sent, u64::from(BURST), "no frame more than the limit");
    assert_eq!(two.taken, Some(two.sent + two.stopped[1]));
}

/// The MTU of an interface is checked at every frame, or the table is made again.
#[test]
fn a_classic_interface_becomes_one_of_fd_and_back() {
    use crate::bpf_common::run;
    let world = world!(World::can(2));
    let (mut offload, _) = BpfOffload::start(
        &GatewayInstance::new("mtu"),
        &routes(vec![route("a", 0x10, 0, 1)]),
        &world.ports(),
        BpfOptions::default(),
    )
    .unwrap();
    let sender = Raw::open("q0", false).unwrap();
    for (mtu, passes) in [(72, true), (16, false), (72, true)] {
        for interface in ["p1", "q1"] {
            run(&format!("ip link set {interface} down")).unwrap();
            run(&format!("ip link set {interface} mtu {mtu}")).unwrap();
            run(&format!("ip link set {interface} up")).unwrap();
        }
        offload.links_changed().unwrap();
        let receiver = Raw::open("q1", false).unwrap();
        let before = offload.counts().unwrap().routes[0];
        for kind in [Kind::Fd, Kind::Classic] {
            sender
                .send(frame(kind, 0x10, 8, 0, 0, &[1; 8]).view())
                .unwrap();
        }
        if passes {
            assert!(receiver.receive(true).unwrap().contains("fd=true"));
        }
        assert!(receiver.receive(true).unwrap().contains("fd=false"));
        let after = offload.counts().unwrap().routes[0];
        let failed = u64::from(!passes);
        assert_eq!(after.failed - before.failed, failed, "mtu {mtu}");
        assert_eq!(after.sent - before.sent, 2 - failed);
    }
}

/// A vcan would not show the frames that BPF sends into it to any receiver.
#[test]
fn a_plain_vcan_is_refused_as_a_destination_and_taken_as_a_source() {
    use crate::bpf_common::run;
    let world = world!(World::can(1));
    run("ip link add dev cgt_vcan type vcan").unwrap();
    run("ip link set cgt_vcan mtu 72 up").unwrap();
    let ports = names(&["p0", "cgt_vcan"]);
    let instance = GatewayInstance::new("vcan");
    let start = |from, to| {
        let table = routes(vec![route("a", 0x10, from, to)]);
        BpfOffload::start(&instance, &table, &ports, world.ways()[0].clone())
    };
    let error = start(0, 1).err().unwrap();
    assert_eq!(
        error.to_string(),
        "route \"a\": goes to cgt_vcan, and a vcan interface shows local programs nothing of what \
         BPF puts into it: use a vxcan, or another `offload`"
    );
    let (mut offload, outcome) = start(1, 0).unwrap();
    assert_eq!(outcome.entrances, 1);
    let sender = Raw::open("cgt_vcan", true).unwrap();
    let receiver = Raw::open("q0", false).unwrap();
    sender
        .send(frame(Kind::Classic, 0x10, 0, 0, 0, &[]).view())
        .unwrap();
    assert!(receiver.receive(true).is_some());
    assert_eq!(offload.counts().unwrap().routes[0].sent, 1);
}
