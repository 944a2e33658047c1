//! Routes without meaning are refused, all of them at once and by name; and a table's size depends
//! on its input, not on the number of IDs that the filters cover.

use crate::common;

use cangate_route::*;
use common::{masked, plain, range};

fn errors(route: Route) -> Vec<String> {
    let routes = Routes {
        routes: vec![route],
        ..Routes::default()
    };
    match RoutingTable::compile(&routes, 2) {
        Ok(_) => Vec::new(),
        Err(errors) => errors.iter().map(ToString::to_string).collect(),
    }
}

/// Makes a route wrong; one error that contains these words is expected.
fn refused(words: &str, change: impl FnOnce(&mut Route)) {
    let mut route = plain("engine");
    change(&mut route);
    let got = errors(route);
    assert_eq!(got.len(), 1, "{words}: {got:?}");
    assert!(
        got[0].starts_with("route \"engine\": ") && got[0].contains(words),
        "{words}: {got:?}"
    );
}

fn action(action: Action) -> impl FnOnce(&mut Route) {
    move |route| {
        route.matching.kinds.fd = false;
        route.matching.kinds.xl = false;
        route.actions = vec![action];
    }
}

fn limit(change: fn(&mut RateLimit)) -> impl FnOnce(&mut Route) {
    move |route| {
        let mut limit = RateLimit {
            frames: 1,
            per: 1,
            burst: 1,
            per_id: None,
        };
        change(&mut limit);
        route.limit = Some(limit);
    }
}

#[test]
fn a_plain_route_compiles() {
    assert_eq!(errors(plain("engine")), Vec::<String>::new());
}

#[test]
fn ways_without_meaning() {
    refused("comes from no port", |r| r.from.clear());
    refused("goes to no port", |r| r.to.clear());
    refused("no port number 7", |r| r.to = vec![PortId(7)]);
    refused("no port number 2", |r| r.from = vec![PortId(2)]);
    refused("same port twice", |r| r.to = vec![PortId(1), PortId(1)]);
    refused("port that it comes from", |r| r.to = vec![PortId(0)]);
    refused("drops frames and sends", |r| r.drop = true);
    refused("so a limit has no effect", |r| {
        limit(|_| ())(r);
        r.drop = true;
        r.to.clear();
    });
    refused("remove the changes", |r| {
        r.actions = vec![Action::OffsetId(OffsetId { by: 1 })];
        r.drop = true;
        r.to.clear();
    });
}

#[test]
fn filters_without_meaning() {
    refused("200-100 is reversed", |r| {
        r.matching.ids = vec![range(false, 0x200, 0x100)];
    });
    refused("beyond 7FF, the highest SFF", |r| {
        r.matching.ids = vec![range(false, 0, 0x800)];
    });
    refused("beyond 1FFFFFFF", |r| {
        r.matching.ids = vec![range(true, 0, 0x2000_0000)];
    });
    refused("inverted", |r| {
        r.matching.ids = vec![masked(0, 0x2000_0001)];
        r.matching.ids[0].inverted = true;
    });
    let pattern = |at, value: &[u8], mask: &[u8]| PayloadPattern {
        at,
        value: value.to_vec(),
        mask: mask.to_vec(),
    };
    refused("names no bytes", |r| {
        r.matching.payload = vec![pattern(0, &[], &[])];
    });
    refused("2 bytes of value and 1 of mask", |r| {
        r.matching.payload = vec![pattern(0, &[1, 2], &[1])];
    });
    refused("behind the longest payload", |r| {
        r.matching.payload = vec![pattern(2048, &[1], &[1])];
    });
    refused("lengths 5-4 is reversed", |r| r.matching.len = Some((5, 4)));
}

#[test]
fn limits_without_meaning() {
    refused("must be above 0", limit(|l| l.frames = 0));
    refused("must be above 0", limit(|l| l.per = 0));
    refused("burst is 0", limit(|l| l.burst = 0));
    refused("keeps 1 to 65536 IDs, not 0", limit(|l| l.per_id = Some(0)));
    refused("IDs, not 65537", limit(|l| l.per_id = Some(65537)));
    refused("hop limit is 0", |r| r.hop_limit = Some(0));
    refused("hop limit is 2", |r| r.hop_limit = Some(2));
}

#[test]
fn actions_without_meaning() {
    let set = |data: &[u8]| {
        Action::Modify(Modify {
            op: ModifyOp::Set,
            id: None,
            len: None,
            flags: None,
            data: Some(data.to_vec()),
        })
    };
    refused("9 payload bytes, but 8", action(set(&[0; 9])));
    refused("65 payload bytes, but 64", |r| {
        r.actions = vec![set(&[0; 65])];
    });
    refused(
        "the highest ID is 1FFFFFFF",
        action(Action::OffsetId(OffsetId { by: i64::MIN })),
    );
    let map = |from, to, count, eff| {
        action(Action::MapId(MapId {
            from,
            to,
            count,
            eff,
        }))
    };
    refused("block of no IDs", map(0, 0, 0, None));
    refused("beyond the highest ID", map(0x1FFF_FFFF, 0, 2, None));
    refused("beyond the highest ID", map(0, u32::MAX, u32::MAX, None));
    refused("beyond the highest ID", map(0, 0x7FF, 2, Some(false)));
    let copy = Action::CopyBytes(CopyBytes {
        from: 0,
        to: 7,
        count: 2,
        clear: false,
    });
    refused("longest payload has 8 bytes", action(copy));
    for (index, fine) in [(7, true), (8, false), (-8, true), (-9, false)] {
        let sum = XorSum {
            from: index,
            to: 0,
            result: 0,
            init: 0,
        };
        if fine {
            let mut route = plain("engine");
            action(Action::XorSum(sum))(&mut route);
            assert_eq!(errors(route), Vec::<String>::new());
        } else {
            refused("outside the longest payload", action(Action::XorSum(sum)));
        }
    }
    let crc8 = Crc8 {
        from: 0,
        to: i16::MIN,
        result: 0,
        init: 0,
        final_xor: 0,
        table: Crc8::table_of(0x1D),
        profile: Crc8Profile::None,
    };
    refused("CRC8: index -32768", action(Action::Crc8(crc8)));
}

#[test]
fn what_is_wrong_with_the_whole_table() {
    for (max_hops, fine) in [(0, false), (1, true), (6, true), (7, false)] {
        let routes = Routes {
            max_hops,
            ..Routes::default()
        };
        assert_eq!(RoutingTable::compile(&routes, 0).is_ok(), fine);
    }
    let mut route = plain("many buckets");
    limit(|l| l.per_id = Some(65536))(&mut route);
    let routes = Routes {
        routes: vec![route; 65],
        ..Routes::default()
    };
    let errors = RoutingTable::compile(&routes, 2).unwrap_err();
    assert_eq!(errors.len(), 1);
    assert!(errors[0].route.is_none() && errors[0].what.contains("4259840 buckets"));
}

#[test]
fn every_mistake_is_named_at_once_in_the_order_of_the_routes() {
    let mut second = plain("second");
    second.from.clear();
    second.matching.len = Some((1, 0));
    let mut third = plain("third");
    third.to.clear();
    let routes = Routes {
        routes: vec![plain("first"), second, third],
        ..Routes::default()
    };
    let errors = RoutingTable::compile(&routes, 2).unwrap_err();
    let names: Vec<_> = errors.iter().map(|e| e.name.as_str()).collect();
    assert_eq!(names, ["second", "second", "third"]);
    assert_eq!(errors[2].route, Some(RouteId(2)));
}

#[test]
fn a_table_is_shared_among_threads_and_its_words_are_plain() {
    fn shared<T: Send + Sync>(_: &T) {}
    let table = common::table(vec![plain("engine")]);
    shared(&table);
    shared(&table.memory());
    assert_eq!(table.routes(), 1);
    // Counters print these words; no two may be the same.
    let mut words: Vec<_> = StopReason::ALL.iter().map(ToString::to_string).collect();
    assert_eq!(words[0], "dropped by rule");
    words.sort();
    words.dedup();
    assert_eq!(words.len(), StopReason::ALL.len());
    assert_eq!(RouteMode::First.to_string(), "the first route that matches");
}
