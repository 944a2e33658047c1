//! Counters behind a limit, and limits below the rate of a message.

use super::*;

/// The planted limits leave every 15th frame (P01 counts to 14), every 4th, every 16th.
#[test]
fn a_limit_aliases_with_the_counter() {
    let text = protected();
    let own = format!("{}counter = 'own'\n", E2E);
    let repeated = [
        "leaves every 15th frame of 100 EngineData (body.dbc, line 3), which comes every 10 ms",
        "get the same one for ever",
    ];
    is_found(&text, "limit = '20/3s'", "", Severity::Error, &repeated);
    is_found(
        &text,
        "limit = '25/s'",
        "limit = '200/s'",
        Severity::Error,
        &["count each frame as out of sequence"],
    );
    let text = protected().replace("PLANTED\n", "").replace(E2E, "PLANTED");
    let steps = |more: &str| format!("{E2E}{more}");
    let limited = format!("{text}limit = '25/s'\nprotect = 'engine'\n");
    is_found(&limited, E2E, &own, Severity::Error, &["out of sequence"]);
    let limited = format!("{text}limit = '25/s'\n");
    let with_four = found(&limited.replace("PLANTED", &steps("max_delta = 4\n")));
    assert_eq!(with_four.len(), 1, "{with_four:?}");
    assert_eq!(with_four[0].0, Severity::Warning);
    assert!(
        with_four[0].1.contains("count lost frames all the time"),
        "{with_four:?}"
    );
    let perfect = found(
        &text
            .replace("PLANTED", E2E)
            .replace("verify", "limit = '25/4s'\nverify"),
    );
    assert!(
        perfect[0].1.contains("see a perfect sequence"),
        "{perfect:?}"
    );
    assert_eq!(perfect[0].0, Severity::Warning);
}

#[test]
fn a_counter_by_name_behind_a_limit_is_a_warning() {
    let route =
        "[[routes]]\nname = 'gear'\nfrom = 'a'\nto = 'c'\nid = '110'\nkind = 'classic'\nPLANTED\n";
    let words = [
        "GEAR_COUNTER (line 9) is a sequence counter by its name, and would have the same value for ever",
    ];
    is_found(
        route,
        "limit = '25/8s'",
        "limit = '60/s'",
        Severity::Warning,
        &words,
    );
    is_found(
        route,
        "limit = '10/s'",
        "",
        Severity::Warning,
        &["receivers that check it notice the steps"],
    );
}

/// The steps are those of a table with this limit, for frames in the cycle.
#[test]
fn steps_are_those_of_the_token_bucket() {
    use frame::{FrameBuf, Header, Kind};
    use route::{FrameArrival, PortId, RateLimit, Route, Routes, RoutingTable};
    let cycle = 10_000_000;
    for (frames, per_ms, burst) in [
        (20, 3000, 1),
        (20, 3000, 5),
        (25, 1000, 1),
        (30, 1000, 1),
        (30, 1000, 4),
        (100, 1000, 1),
        (66, 1000, 2),
        (1, 37, 1),
        (1, 37, 3),
        (500, 1000, 1),
    ] {
        let limit = RateLimit {
            frames,
            per: per_ms * 1_000_000,
            burst,
            per_id: None,
        };
        let mut route = Route::new("r", vec![PortId(0)], vec![PortId(1)]);
        route.limit = Some(limit);
        let routes = Routes {
            routes: vec![route],
            ..Routes::default()
        };
        let table = RoutingTable::compile(&routes, 2).unwrap();
        let mut memory = table.memory();
        let mut buffer = FrameBuf::new();
        buffer.reset(Header::new(Kind::Classic, frame::CanId::sff(1).unwrap(), 8).unwrap());
        let mut passed = Vec::new();
        for number in 0..4000_u64 {
            let mut sink = Sent(false);
            let arrival = FrameArrival {
                from: PortId(0),
                now: number * cycle,
                hops: 0,
            };
            table.decide(&mut memory, arrival, buffer.view(), &mut sink);
            if sink.0 {
                passed.push(number);
            }
        }
        // The burst at the beginning is over.
        let steps = passed
            .windows(2)
            .skip(100.min(passed.len() / 2))
            .map(|pair| pair[1] - pair[0]);
        let steps: Vec<u64> = steps.collect();
        let real = (*steps.iter().min().unwrap(), *steps.iter().max().unwrap());
        assert_eq!(
            super::super::sequence::limited_steps(&limit, cycle),
            real,
            "{limit:?}"
        );
    }
}

struct Sent(bool);

impl route::DecisionSink for Sent {
    fn taken(&mut self, _: route::RouteId) {}
    fn stopped(&mut self, _: route::RouteId, _: route::StopReason) {}
    fn forward(&mut self, _: route::ForwardedCopy<'_>) {
        self.0 = true;
    }
}

#[test]
fn a_limit_below_the_rate_drops_in_normal_operation() {
    let route =
        "[[routes]]\nname = 'lamps'\nfrom = 'a'\nto = 'c'\nid = '120'\nkind = 'classic'\nPLANTED\n";
    let words = [
        "`limit` of route `lamps` (4/s) is below the rate of 120 Lamps (body.dbc, line 11), which comes every 100 ms (10/s): about 60 % of them are dropped",
    ];
    is_found(
        route,
        "limit = '4/s'",
        "limit = '11/s'",
        Severity::Warning,
        &words,
    );
    is_found(
        route,
        "limit = '10/s'",
        "limit = { rate = '10/s', burst = 2 }",
        Severity::Warning,
        &["a frame that comes a little early"],
    );
    // EngineData and Lamps: 110/s together.
    let both = route.replace("'120'", "['100', '120']");
    let words = [
        "(105/s) is below the rate of its 2 cyclic messages, together 110/s: about 5 % of them are dropped in normal operation; the fastest one is 100 EngineData",
    ];
    is_found(
        &both,
        "limit = '105/s'",
        "limit = '150/s'",
        Severity::Warning,
        &words,
    );
    let each = route.replace("'120'", "['120', '121']");
    is_found(
        &each,
        "limit = { rate = '9/s', per_id = true }",
        "limit = { rate = '11/s', per_id = true }",
        Severity::Warning,
        &["(9/s) is below the rate of 120 Lamps"],
    );
}
