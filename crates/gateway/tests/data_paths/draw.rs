//! Random tables and frames, from few numbers, so that they match each other.

use crate::case::{Arrival, Case, PORTS};
use crate::signals;
use crate::wire::frame;
use frame::Kind;
use proptest::prelude::*;
use route::{
    Action, CopyBytes, Crc8, Crc8Profile, FrameMatch, IdFilter, IdOperand, IdSet, KindSet, MapId,
    Modify, ModifyOp, OffsetId, PayloadPattern, PortId, RateLimit, Route, RouteId, RouteMode,
    Routes, RoutingTable, TriState, XorSum,
};

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

/// SocketCAN's 32 bits, from few numbers, so that routes match frames.
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

fn tri() -> impl Strategy<Value = TriState> {
    prop_oneof![4 => Just(TriState::Either), 1 => Just(TriState::Yes), 2 => Just(TriState::No)]
}

fn matching() -> impl Strategy<Value = FrameMatch> {
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
        prop::option::weighted(0.25, signals::condition()),
    )
        .prop_map(
            |(ids, (classic, fd), rtr, err, payload, len, when)| FrameMatch {
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
                message: None,
                when,
            },
        )
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
        prop::option::of(id_operand()),
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

/// An operand for all bits with their flags, or for the ID alone.
fn id_operand() -> impl Strategy<Value = IdOperand> {
    prop_oneof![
        raw().prop_map(IdOperand::Raw),
        any::<u32>().prop_map(IdOperand::Raw),
        raw().prop_map(|raw| IdOperand::Id(frame::CanId::from_raw(raw & !0x6000_0000))),
    ]
}

fn index() -> impl Strategy<Value = i16> {
    -8_i16..8
}

fn crc8() -> impl Strategy<Value = Action> {
    let profile = prop_oneof![
        Just(Crc8Profile::None),
        any::<u8>().prop_map(Crc8Profile::OneByte),
        any::<[u8; 16]>().prop_map(Crc8Profile::Sixteen),
        Just(Crc8Profile::SffIdXor),
    ];
    (
        index(),
        index(),
        index(),
        any::<[u8; 2]>(),
        any::<u8>(),
        profile,
    )
        .prop_map(
            |(from, to, result, [init, final_xor], polynomial, profile)| {
                Action::Crc8(Crc8 {
                    from,
                    to,
                    result,
                    init,
                    final_xor,
                    table: Crc8::table_of(polynomial),
                    profile,
                })
            },
        )
}

fn xor_sum() -> impl Strategy<Value = Action> {
    (index(), index(), index(), any::<u8>()).prop_map(|(from, to, result, init)| {
        Action::XorSum(XorSum {
            from,
            to,
            result,
            init,
        })
    })
}

fn action() -> impl Strategy<Value = Action> {
    prop_oneof![
        4 => modify(),
        1 => (-0x20_i64..0x800).prop_map(|by| Action::OffsetId(OffsetId { by })),
        1 => (0_u32..0x20, 0_u32..0x7F0, 1_u32..16, prop::option::of(any::<bool>()))
            .prop_map(|(from, to, count, eff)| Action::MapId(MapId { from, to, count, eff })),
        1 => (0_u16..40, 0_u16..40, 0_u16..24, any::<bool>())
            .prop_map(|(from, to, count, clear)| Action::CopyBytes(CopyBytes { from, to, count, clear })),
        1 => crc8(),
        1 => xor_sum(),
        2 => signals::writes(),
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

/// A route like the rules of can-gw: one filter, changes in their order.
fn rule() -> impl Strategy<Value = Route> {
    let kinds =
        prop_oneof![3 => Just((true, false)), 1 => Just((false, true)), 1 => Just((true, true))];
    (
        route(),
        prop::option::of(filter()),
        kinds,
        prop::collection::vec(modify(), 0..4),
        prop::option::weighted(0.3, sums()),
    )
        .prop_map(|(mut route, filter, (classic, fd), mut actions, sums)| {
            route.drop = false;
            route.limit = None;
            if route.to.is_empty() {
                route.to = vec![PortId(1)];
            }
            let errors = matches!(
                filter,
                Some(IdFilter { set: IdSet::Masked { mask, .. }, .. }) if mask & 0x2000_0000 != 0
            );
            route.matching = FrameMatch {
                ids: filter.into_iter().collect(),
                kinds: KindSet {
                    classic,
                    fd,
                    xl: false,
                },
                err: if errors { TriState::Yes } else { TriState::No },
                ..FrameMatch::default()
            };
            let size = if fd { 64 } else { 8 };
            for action in &mut actions {
                if let Action::Modify(modify) = action
                    && let Some(data) = &mut modify.data
                    && modify.op == ModifyOp::Set
                {
                    data.resize(size, 0x5A);
                }
            }
            let place = |action: &Action| match action {
                Action::Modify(modify) => modify.op as usize,
                _ => 4,
            };
            actions.sort_by_key(place);
            actions.dedup_by_key(|action| place(action));
            // can-gw computes checksums only if a rule modifies frames.
            if !actions.is_empty() {
                actions.extend(sums.into_iter().flatten());
            }
            route.actions = actions;
            route
        })
}

/// CRC8, XOR, or both.
fn sums() -> impl Strategy<Value = Vec<Action>> {
    (prop::option::of(crc8()), prop::option::of(xor_sum()))
        .prop_map(|(crc8, xor)| crc8.into_iter().chain(xor).collect())
}

/// Filters of can-gw: also those for error frames.
fn filter() -> impl Strategy<Value = IdFilter> {
    let errors = (0x2000_0000_u32..0x2000_0020, 0x2000_0001_u32..0x2000_0100)
        .prop_map(|(id, mask)| IdSet::Masked { id, mask });
    prop_oneof![
        9 => ids(),
        1 => errors.prop_map(|set| IdFilter { set, inverted: false }),
    ]
}

/// A table; one for can-gw has only features that can-gw of some kernel can express.
fn routes(for_can_gw: bool) -> impl Strategy<Value = Routes> {
    let one = if for_can_gw {
        rule().boxed()
    } else {
        route().boxed()
    };
    (prop::collection::vec(one, 1..8), any::<bool>()).prop_map(move |(mut list, first)| {
        for (number, route) in list.iter_mut().enumerate() {
            route.name = format!("r{number}");
        }
        let mode = if first && !for_can_gw {
            RouteMode::First
        } else {
            RouteMode::All
        };
        // Routes that are not valid are left out.
        list.retain(|route| {
            let alone = Routes {
                routes: vec![route.clone()],
                ..Routes::default()
            };
            RoutingTable::compile(&alone, PORTS).is_ok()
                && (!for_can_gw
                    || route::cangw::rules_of(&alone, RouteId(0), &crate::case::ports()).is_ok())
        });
        Routes {
            mode,
            routes: list,
            ..Routes::default()
        }
    })
}

/// A frame, the port at which it arrives, and the time since the previous one.
fn arrival() -> impl Strategy<Value = Arrival> {
    (
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
            // An FD frame has no RTR flag; AF_CAN would accept it, but no program sends it. An
            // error frame has a class, or sockets and can-gw would not see it.
            let raw = if fd { raw & !0x4000_0000 } else { raw };
            let raw = raw | u32::from(raw & 0x3FFF_FFFF == 0x2000_0000);
            let dlc = if data[0] == 0 { dlc } else { 0 };
            Arrival {
                frame: frame(kind, raw, len, flags, dlc, &data),
                port,
                after,
            }
        })
}

/// A table in which most frames match one route that sends them to one port, for which BPF has a
/// path of its own.
fn plain() -> impl Strategy<Value = Routes> {
    routes(true).prop_map(|mut routes| {
        routes.routes.truncate(3);
        for route in &mut routes.routes {
            route.from.truncate(1);
            let from = route.from.first().map_or(0, |port| port.0);
            route.to = vec![PortId((from + 1) % PORTS as u16)];
        }
        routes
    })
}

/// A table and this many frames. Two of three tables are valid for can-gw, too.
pub(crate) fn case(frames: usize) -> impl Strategy<Value = Case> {
    let routes = prop_oneof![routes(false), routes(true), plain()];
    let arrivals = prop::collection::vec(arrival(), frames);
    let options = (any::<bool>(), prop::bool::weighted(0.3));
    (routes, arrivals, options).prop_map(|(routes, arrivals, (tap, exact))| Case {
        routes,
        arrivals,
        tap,
        exact,
    })
}
