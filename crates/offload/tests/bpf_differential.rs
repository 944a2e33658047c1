//! Random tables and random frames through the program in the kernel and through
//! `route::Table`: the same frames out, the same counters.
#![allow(clippy::unwrap_used)]

mod bpf_common;

use bpf_common::{Pairs, Raw, bytes_of, frame, number, text_of};
use cangate_offload::bpf::{Instance, Offload, Options, TestOptions};
use frame::{FrameBuf, Kind};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use route::{
    Action, Arrival, Crc8, Crc8Profile, Forward, IdFilter, IdSet, KindSet, Match, Mode, Modify,
    ModifyOp, PayloadPattern, PortId, RateLimit, Route, RouteId, Routes, Sink, Stop, Table, Tri,
    XorSum,
};

const PORTS: usize = 3;

fn ids() -> impl Strategy<Value = IdFilter> {
    let range =
        (any::<bool>(), 0_u32..0x20, 0_u32..4).prop_map(|(eff, first, more)| IdSet::Range {
            eff,
            first,
            last: first + more,
        });
    let mask = (
        raw(),
        prop_oneof![
            Just(0x7FF_u32),
            Just(0xC000_07FF),
            Just(0xDFFF_FFFF),
            Just(0),
            Just(0x8000_000F),
            Just(0x4000_0007),
        ],
    )
        .prop_map(|(id, mask)| IdSet::Masked { id, mask });
    (prop_oneof![range, mask], prop::bool::weighted(0.1))
        .prop_map(|(set, inverted)| IdFilter { set, inverted })
}

/// SocketCAN's 32 bits, of few numbers, so that routes and frames meet.
fn raw() -> impl Strategy<Value = u32> {
    let flags = prop_oneof![
        6 => Just(0_u32),
        4 => Just(0x8000_0000),
        1 => Just(0x4000_0000),
        1 => Just(0xC000_0000),
        1 => Just(0x2000_0000),
    ];
    (flags, 0_u32..0x20).prop_map(|(flags, number)| flags | number)
}

fn tri() -> impl Strategy<Value = Tri> {
    prop_oneof![4 => Just(Tri::Either), 1 => Just(Tri::Yes), 2 => Just(Tri::No)]
}

fn matching() -> impl Strategy<Value = Match> {
    let kinds = prop_oneof![
        3 => Just((false, false)),
        1 => Just((true, false)),
        1 => Just((false, true)),
        1 => Just((true, true)),
    ];
    let pattern =
        (0_u16..10, prop::collection::vec(0_u8..4, 1..3)).prop_map(|(at, value)| PayloadPattern {
            at,
            mask: vec![0x03; value.len()],
            value,
        });
    (
        prop::collection::vec(ids(), 0..3),
        kinds,
        tri(),
        tri(),
        prop::collection::vec(pattern, 0..2),
        prop::option::weighted(0.2, (0_u16..4, 4_u16..64)),
    )
        .prop_map(|(ids, (classic, fd), rtr, err, payload, len)| Match {
            ids,
            kinds: KindSet {
                classic,
                fd,
                xl: false,
            },
            rtr,
            err,
            payload,
            len,
        })
}

fn modify() -> impl Strategy<Value = Action> {
    let op = prop_oneof![
        Just(ModifyOp::And),
        Just(ModifyOp::Or),
        Just(ModifyOp::Xor),
        Just(ModifyOp::Set),
    ];
    (
        op,
        prop::option::of(prop_oneof![raw(), any::<u32>()]),
        prop::option::of(prop_oneof![0_u8..16, any::<u8>()]),
        prop::option::of(any::<u8>()),
        prop::option::of(prop::collection::vec(any::<u8>(), 0..20)),
    )
        .prop_map(|(op, id, len, flags, data)| {
            Action::Modify(Modify {
                op,
                id,
                len,
                flags,
                data,
            })
        })
}

fn action() -> impl Strategy<Value = Action> {
    let index = || -8_i16..8;
    let profile = prop_oneof![
        Just(Crc8Profile::None),
        any::<u8>().prop_map(Crc8Profile::OneByte),
        any::<[u8; 16]>().prop_map(Crc8Profile::Sixteen),
        Just(Crc8Profile::SffIdXor),
    ];
    prop_oneof![
        4 => modify(),
        1 => (-0x20_i64..0x800).prop_map(|by| Action::OffsetId { by }),
        1 => (0_u32..0x20, 0_u32..0x7F0, 1_u32..16, prop::option::of(any::<bool>()))
            .prop_map(|(from, to, count, eff)| Action::MapId { from, to, count, eff }),
        1 => (0_u16..40, 0_u16..40, 0_u16..24, any::<bool>())
            .prop_map(|(from, to, count, clear)| Action::CopyBytes { from, to, count, clear }),
        1 => (index(), index(), index(), any::<[u8; 2]>(), any::<u8>(), profile).prop_map(
            |(from, to, result, [init, final_xor], polynomial, profile)| {
                Action::Crc8(Crc8 {
                    from, to, result, init, final_xor,
                    table: Crc8::table_of(polynomial),
                    profile,
                })
            }
        ),
        1 => (index(), index(), index(), any::<u8>()).prop_map(|(from, to, result, init)| {
            Action::XorSum(XorSum { from, to, result, init })
        }),
    ]
}

fn route() -> impl Strategy<Value = Route> {
    let limit = (1_u32..5, 1_u64..5_000, 1_u32..4, prop::option::of(1_u32..4)).prop_map(
        |(frames, per, burst, per_id)| RateLimit {
            frames,
            per,
            burst,
            per_id,
        },
    );
    (
        prop::sample::subsequence(vec![0_u16, 1, 2], 1..=3),
        prop::sample::subsequence(vec![0_u16, 1, 2], 1..=3),
        matching(),
        prop::collection::vec(action(), 0..4),
        prop::bool::weighted(0.1),
        prop::option::weighted(0.2, limit),
        prop::option::weighted(0.2, 1_u8..2),
        any::<bool>(),
    )
        .prop_map(
            |(from, to, matching, actions, drop, limit, hop_limit, same)| {
                let ports = |list: Vec<u16>| list.into_iter().map(PortId).collect();
                let mut route = Route::new("", ports(from), ports(to));
                route.matching = matching;
                route.allow_same_port = same;
                route.hop_limit = hop_limit;
                if drop {
                    route.drop = true;
                    route.to.clear();
                } else {
                    route.actions = actions;
                    route.limit = limit;
                }
                route
            },
        )
}

fn routes() -> impl Strategy<Value = Routes> {
    (prop::collection::vec(route(), 0..8), any::<bool>()).prop_map(|(mut list, first)| {
        for (number, route) in list.iter_mut().enumerate() {
            route.name = format!("r{number}");
        }
        // What has no meaning at all is left out.
        list.retain(|route| {
            let alone = Routes {
                routes: vec![route.clone()],
                ..Routes::default()
            };
            Table::compile(&alone, PORTS).is_ok()
        });
        Routes {
            mode: if first { Mode::First } else { Mode::All },
            routes: list,
            ..Routes::default()
        }
    })
}

/// A frame, the port it comes into, and the time since the one before.
fn arrivals() -> impl Strategy<Value = Vec<(FrameBuf, usize, u64)>> {
    let one = (
        any::<bool>(),
        raw(),
        prop_oneof![0_usize..=8, 0_usize..=64],
        0_u8..4,
        9_u8..16,
        prop::collection::vec(0_u8..4, 64),
        0..PORTS,
        0_u64..1_000,
    )
        .prop_map(|(fd, raw, len, flags, dlc, data, port, after)| {
            let kind = if fd { Kind::Fd } else { Kind::Classic };
            let len = len.min(kind.max_len());
            // An FD frame has no RTR flag; AF_CAN would take it, and nobody sends it.
            let raw = if fd { raw & !0x4000_0000 } else { raw };
            let dlc = if data[0] == 0 { dlc } else { 0 };
            (frame(kind, raw, len, flags, dlc, &data), port, after)
        });
    prop::collection::vec(one, 40)
}

/// AF_CAN shows an error frame to those that ask for one of its classes; one without a class to
/// nobody.
fn is_shown(raw: u32) -> bool {
    raw & 0x2000_0000 == 0 || raw & 0x1FFF_FFFF != 0
}

#[derive(Default)]
struct Seen {
    out: Vec<Vec<String>>,
    taken: Vec<u64>,
    sent: Vec<u64>,
    stopped: Vec<[u64; 5]>,
}

impl Seen {
    fn new(routes: usize) -> Self {
        Self {
            out: vec![Vec::new(); PORTS],
            taken: vec![0; routes],
            sent: vec![0; routes],
            stopped: vec![[0; 5]; routes],
        }
    }
}

impl Sink for Seen {
    fn taken(&mut self, route: RouteId) {
        self.taken[route.0 as usize] += 1;
    }

    fn stopped(&mut self, route: RouteId, why: Stop) {
        let at = Stop::ALL.iter().position(|stop| *stop == why).unwrap();
        self.stopped[route.0 as usize][at] += 1;
    }

    fn forward(&mut self, copy: Forward<'_>) {
        self.sent[copy.route.0 as usize] += 1;
        if is_shown(copy.frame.id().raw()) {
            self.out[usize::from(copy.to.0)].push(text_of(&bytes_of(copy.frame)));
        }
    }
}

/// Everything through both; what differs is the error.
fn compare(
    bench: &Bench,
    routes: &Routes,
    frames: &[(FrameBuf, usize, u64)],
    tap: bool,
) -> Result<(), TestCaseError> {
    let options = Options {
        tap,
        exact: false,
        test: TestOptions {
            clock: true,
            ..TestOptions::default()
        },
    };
    let wrong = |error: cangate_offload::bpf::Error| TestCaseError::fail(error.to_string());
    let instance = Instance::new("differential");
    let made = Offload::start(&instance, routes, &bench.pairs.ports(), options);
    let (mut offload, _) = match made {
        // More different masks, say, than the program looks at.
        Err(error @ cangate_offload::bpf::Error::Inexpressible(_)) => {
            return Err(TestCaseError::reject(error.to_string()));
        }
        made => made.map_err(wrong)?,
    };
    let table = Table::compile(routes, PORTS).unwrap();
    let mut memory = table.memory();
    let mut seen = Seen::new(routes.routes.len());
    let mut now = 1_000_000;
    for (number, (buf, port, after)) in frames.iter().enumerate() {
        now += after;
        offload.set_clock(now).map_err(wrong)?;
        let arrival = Arrival {
            from: PortId(*port as u16),
            now,
            hops: 0,
        };
        table.decide(&mut memory, arrival, buf.view(), &mut seen);
        bench.senders[*port].send(buf.view()).unwrap();
        for (port, expected) in seen.out.iter_mut().enumerate() {
            for expected in expected.drain(..) {
                let got = bench.receivers[port].receive(true);
                prop_assert_eq!(got, Some(expected), "frame {} to port {}", number, port);
            }
        }
        if tap && is_shown(buf.view().id().raw()) {
            let got = bench.taps[*port].receive(true);
            prop_assert_eq!(
                got,
                Some(text_of(&bytes_of(buf.view()))),
                "tap, frame {}",
                number
            );
        }
    }
    // On PREEMPT_RT what is too much may come a little later.
    std::thread::sleep(std::time::Duration::from_millis(2));
    for receiver in &bench.receivers {
        prop_assert_eq!(receiver.receive(false), None, "nothing more may come");
    }
    let counts = offload.counts().map_err(wrong)?;
    for (number, counts) in counts.routes.iter().enumerate() {
        prop_assert_eq!(
            counts.taken,
            Some(seen.taken[number]),
            "taken by {}",
            number
        );
        prop_assert_eq!(counts.sent, seen.sent[number], "sent by {}", number);
        prop_assert_eq!(
            counts.stopped,
            seen.stopped[number],
            "stopped by {}",
            number
        );
        prop_assert_eq!(counts.failed, 0);
    }
    for (port, counts) in counts.ports.iter().enumerate() {
        let came = frames.iter().filter(|frame| frame.1 == port).count() as u64;
        let used = routes
            .routes
            .iter()
            .any(|route| route.from.contains(&PortId(port as u16)));
        prop_assert_eq!(
            counts.seen,
            if used { came } else { 0 },
            "seen by port {}",
            port
        );
    }
    Ok(())
}

struct Bench {
    pairs: Pairs,
    senders: Vec<Raw>,
    receivers: Vec<Raw>,
    taps: Vec<Raw>,
}

impl Bench {
    fn new() -> Result<Self, String> {
        let pairs = Pairs::new(PORTS)?;
        let open = |side: &str, loopback| {
            (0..PORTS)
                .map(|n| Raw::open(&format!("{side}{n}"), loopback).unwrap())
                .collect()
        };
        Ok(Self {
            senders: open("q", false),
            receivers: open("q", false),
            taps: open("p", false),
            pairs,
        })
    }
}

fn differential(cases: u32, tap: bool) {
    let bench = match Bench::new() {
        Ok(bench) => bench,
        Err(why) => {
            eprintln!("SKIPPED because {why}");
            return;
        }
    };
    if let Err(why) = cangate_offload::bpf::features() {
        eprintln!("SKIPPED because {why}");
        return;
    }
    let config = Config {
        cases,
        failure_persistence: None,
        max_shrink_iters: number("SHRINK", 60),
        ..Config::default()
    };
    TestRunner::new(config)
        .run(&(routes(), arrivals()), |(routes, frames)| {
            compare(&bench, &routes, &frames, tap)
        })
        .unwrap();
}

#[test]
fn routes_and_counts_as_the_table_in_user_space() {
    differential(number("CASES", 6), false);
}

#[test]
fn with_a_tap_local_programs_see_every_frame_as_it_came() {
    differential(number("CASES", 6), true);
}
