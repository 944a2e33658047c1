use crate::config::{GatewayConfig, load_with};
use config::{Diagnostic, Diagnostics, Severity, SourceText};
use port::PortKinds;
use route::{Action, WriteSignals};
use signals::{ByteOrder, FieldLayout, FieldSource, FieldWrite, SignalField};
use std::path::Path;

/// A database with a protected message, one with checksum and counter by name, cyclic messages, an
/// FD message, and messages of transport protocols.
const BODY: &str = "VERSION \"\"\nBU_: Engine Gear Dash Tester\n\
BO_ 256 EngineData: 8 Engine\n SG_ Crc : 0|8@1+ (1,0) [0|0] \"\" Dash\n \
SG_ Counter : 8|4@1+ (1,0) [0|0] \"\" Dash\n SG_ Speed : 16|16@1+ (1,0) [0|0] \"\" Dash\n\
BO_ 272 GearData: 8 Gear\n SG_ GEAR_CHECKSUM : 56|8@1+ (1,0) [0|0] \"\" Dash\n \
SG_ GEAR_COUNTER : 48|4@1+ (1,0) [0|0] \"\" Dash\n SG_ Gear : 0|8@1+ (1,0) [0|0] \"\" Dash\n\
BO_ 288 Lamps: 8 Dash\n SG_ Lamp : 0|8@1+ (1,0) [0|0] \"\" Gear\n\
BO_ 304 Camera: 24 Dash\n SG_ Line : 0|8@1+ (1,0) [0|0] \"\" Gear\n\
BO_ 2016 DiagRequest: 8 Tester\n SG_ Req : 0|8@1+ (1,0) [0|0] \"\" Engine\n\
BO_ 2024 DiagResponse: 8 Engine\n SG_ Rsp : 0|8@1+ (1,0) [0|0] \"\" Tester\n\
BO_ 2566834688 DM1: 24 Engine\n SG_ Faults : 0|8@1+ (1,0) [0|0] \"\" Dash\n\
BA_DEF_ BO_ \"GenMsgCycleTime\" INT 0 65535;\n\
BA_DEF_ BO_ \"VFrameFormat\" ENUM \"StandardCAN\",\"ExtendedCAN\",\"reserved\",\"J1939PG\";\n\
BA_DEF_DEF_ \"GenMsgCycleTime\" 0;\n\
BA_ \"GenMsgCycleTime\" BO_ 256 10;\nBA_ \"GenMsgCycleTime\" BO_ 272 20;\n\
BA_ \"GenMsgCycleTime\" BO_ 288 100;\nBA_ \"VFrameFormat\" BO_ 2566834688 3;\n";

const E2E: &str = "[e2e.engine]\nprofile = 'P01'\ndata_id = 0x123\nlength = 8\n";

fn load(text: &str) -> Result<(GatewayConfig, Vec<Diagnostic>), Vec<Diagnostic>> {
    load_by(text, BODY)
}

fn load_by(text: &str, body: &str) -> Result<(GatewayConfig, Vec<Diagnostic>), Vec<Diagnostic>> {
    let source = SourceText::new("t", text);
    load_with(&source, &PortKinds::standard(), &|_: &Path| {
        Ok(body.as_bytes().to_vec())
    })
}

/// Returns a file with the ports `a`, `b` and `c`, of which `a` and `b` have the database.
fn file(more: &str) -> String {
    format!(
        "[databases.body]\nfile = 'body.dbc'\n\
         [ports.a]\nkind = 'bus'\ndatabase = 'body'\nnodes = ['Engine', 'Gear', 'Dash']\n\
         [ports.b]\nkind = 'bus'\ndatabase = 'body'\nnodes = ['Tester']\n[ports.c]\nkind = 'bus'\n{more}"
    )
}

/// Returns the severity and the sentence of each diagnostic, except that no route uses a port.
fn found(more: &str) -> Vec<(Severity, String)> {
    found_by(more, BODY)
}

fn found_by(more: &str, body: &str) -> Vec<(Severity, String)> {
    let all = match load_by(&file(more), body) {
        Ok((_, warnings)) => warnings,
        Err(all) => all,
    };
    let each = all.into_iter().map(|one| (one.severity, one.message));
    each.filter(|(_, message)| !message.starts_with("no route uses port"))
        .collect()
}

/// Checks that the file with `planted` has one diagnostic that contains the words, and that the
/// same file with `right` instead has none.
fn is_found(text: &str, planted: &str, right: &str, severity: Severity, words: &[&str]) {
    let wrong = found(&text.replace("PLANTED", planted));
    let [(found_severity, message)] = wrong.as_slice() else {
        panic!("{wrong:?}");
    };
    assert_eq!(*found_severity, severity, "{message}");
    for word in words {
        assert!(message.contains(word), "{word} in: {message}");
    }
    assert_eq!(found(&text.replace("PLANTED", right)), [], "{right}");
}

/// A route of the protected message, with its verification and the lines `PLANTED`.
fn protected() -> String {
    format!(
        "{E2E}[[routes]]\nname = 'engine'\nfrom = 'a'\nto = 'c'\nid = '100'\nkind = 'classic'\nverify = 'engine'\nPLANTED\n"
    )
}

#[test]
fn a_change_of_protected_bytes_needs_a_checksum() {
    let words = [
        "`engine` changes bytes 2, 3 (Speed) of 100 EngineData (body.dbc, line 3)",
        "leaves a wrong checksum: receivers that check it refuse the frames (protection `engine`)",
    ];
    let set = "do = [{ and = { data = 'FFFF0000' } }]";
    is_found(
        &protected(),
        set,
        &format!("{set}\nprotect = 'engine'"),
        Severity::Error,
        &words,
    );
    let set = "do = [{ copy = { from = 4, to = 2, count = 2 } }]";
    is_found(
        &protected(),
        set,
        "do = [{ or = { data = '00' } }]",
        Severity::Error,
        &words,
    );
}

/// The kernel's CRC8 computes P01 if the Data ID is in its start value (BC for 123, both bytes:
/// shared facts of the vectors).
#[test]
fn the_checksum_must_be_that_of_the_protection_and_behind_the_change() {
    let set = "{ and = { data = 'FFFF0000' } }";
    let crc = |init: &str| {
        format!(
            "{{ crc8 = {{ polynomial = '1D', init = '{init}', final_xor = '00', from = 1, to = 7, result = 0 }} }}"
        )
    };
    let right = format!("do = [{set}, {}]", crc("BC"));
    let other = format!("do = [{set}, {}]", crc("BD"));
    is_found(
        &protected(),
        &other,
        &right,
        Severity::Error,
        &["the one that its actions write has another rule"],
    );
    let early = format!("do = [{}, {set}]", crc("BC"));
    is_found(
        &protected(),
        &early,
        &right,
        Severity::Error,
        &["its actions change the frame again behind the checksum"],
    );
}

#[test]
fn a_constant_counter_is_repeated_for_ever() {
    let crc = "{ crc8 = { polynomial = '1D', init = 'BC', final_xor = '00', from = 1, to = 7, result = 0 } }";
    let same = format!("do = [{{ and = {{ data = 'FFF0' }} }}, {crc}]");
    let right = format!("do = [{{ and = {{ data = 'FFFF0F' }} }}, {crc}]");
    is_found(
        &protected(),
        &same,
        &right,
        Severity::Error,
        &["writes the same sequence counter into all frames"],
    );
}

/// Toyota's sum has the ID in it, P01 has not.
#[test]
fn the_id_counts_where_the_checksum_has_it() {
    let route = "[[routes]]\nname = 'engine'\nfrom = 'a'\nto = 'c'\nid = '100'\nkind = 'classic'\nverify = 'engine'\n\
                 do = [{ set = { id = '101' } }]\n";
    let text = format!("[e2e.engine]\nPLANTED\nlength = 8\n{route}");
    let p01 = "profile = 'P01'\ndata_id = 0x123";
    is_found(
        &text,
        "profile = 'toyota'",
        p01,
        Severity::Error,
        &["changes the ID, which is in the checksum,"],
    );
}

#[test]
fn the_length_counts_where_the_checksum_has_all_bytes() {
    let route = "[[routes]]\nname = 'engine'\nfrom = 'a'\nto = 'c'\nid = '100'\nkind = 'classic'\nverify = 'engine'\n\
                 do = [{ set = { len = 6 } }]\n";
    let text =
        |length: &str| format!("[e2e.engine]\nprofile = 'P01'\ndata_id = 0x123\n{length}\n{route}");
    is_found(
        &text("PLANTED"),
        "",
        "length = 6",
        Severity::Error,
        &["changes the length from 8 to 6 bytes"],
    );
}

/// Only frames that take the route count: those whose byte 2 is 0 are not changed.
#[test]
fn a_condition_that_excludes_the_change_is_no_mistake() {
    let text = |value: &str| {
        protected().replace("PLANTED", &format!("payload = [{{ at = 2, value = '{value}' }}]\ndo = [{{ and = {{ data = 'FFFF00' }} }}]"))
    };
    let left_out =
        "`verify` misses the frames that `payload` leaves out: they count as lost in the sequence";
    let gaps = (Severity::Warning, left_out.to_owned());
    assert_eq!(found(&text("00")), std::slice::from_ref(&gaps));
    let wrong = found(&text("01"));
    let wrong: Vec<_> = wrong.into_iter().filter(|one| *one != gaps).collect();
    assert_eq!(wrong.len(), 1, "{wrong:?}");
    assert_eq!(wrong[0].0, Severity::Error);
}

/// The database states the protection, so that no route needs `verify` for an error.
#[test]
fn a_protection_by_attributes_of_the_database_is_certain() {
    let body = format!(
        "{BODY}BA_DEF_ BO_ \"E2EProfile\" STRING ;\nBA_DEF_ BO_ \"E2EDataId\" STRING ;\n\
         BA_ \"E2EProfile\" BO_ 256 \"P01\";\nBA_ \"E2EDataId\" BO_ 256 \"0x123\";\n"
    );
    let route = "[[routes]]\nname = 'engine'\nfrom = 'a'\nto = 'c'\nid = '100'\nkind = 'classic'\n\
                 do = [{ and = { data = 'FFFF00' } }]\n";
    let wrong = found_by(route, &body);
    let [(Severity::Error, message)] = wrong.as_slice() else {
        panic!("{wrong:?}");
    };
    let line = body
        .lines()
        .position(|line| line.starts_with("BA_ \"E2EProfile\""))
        .unwrap()
        + 1;
    let words = format!("the protection that line {line} of the database states");
    assert!(message.contains(&words), "{message}");
    let unchanged = route.replace("FFFF00", "FFFFFF");
    assert_eq!(found_by(&unchanged, &body), []);
}

#[test]
fn a_checksum_by_name_is_a_warning() {
    let route = "[[routes]]\nname = 'gear'\nfrom = 'a'\nto = 'c'\nid = '110'\nkind = 'classic'\ndo = [PLANTED]\n";
    let words = [
        "changes byte 0 (Gear) of 110 GearData (body.dbc, line 7)",
        "and does not renew GEAR_CHECKSUM (line 8), by its name a checksum",
    ];
    let sum = "{ xor_sum = { from = 0, to = 6, result = 7 } }";
    let or = "{ or = { data = '01' } }";
    is_found(
        route,
        or,
        &format!("{or}, {sum}"),
        Severity::Warning,
        &words,
    );
    is_found(
        route,
        &format!("{sum}, {or}"),
        "{ set = { id = '111' } }",
        Severity::Warning,
        &["does so behind GEAR_CHECKSUM"],
    );
    // Lamps has no checksum.
    assert_eq!(
        found(&route.replace("110", "120").replace("PLANTED", or)),
        []
    );
}

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
            super::sequence::limited_steps(&limit, cycle),
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

#[test]
fn two_sources_mix_their_counters() {
    let text = |nodes: &str| {
        file(&format!("{E2E}[[routes]]\nname = 'both'\nfrom = ['a', 'b']\nto = 'c'\nid = '100'\nkind = 'classic'\nverify = 'engine'\nPLANTED\n"))
            .replace("nodes = ['Tester']", nodes)
    };
    let all = |text: &str| {
        let all = load(text).map_or_else(|all| all, |(_, warnings)| warnings);
        all.into_iter()
            .map(|one| (one.severity, one.message))
            .collect::<Vec<_>>()
    };
    // Engine is on both buses.
    let both = text("nodes = ['Engine']");
    let wrong = all(&both.replace("PLANTED", ""));
    assert_eq!(wrong.len(), 1, "{wrong:?}");
    assert_eq!(wrong[0].0, Severity::Error);
    assert!(wrong[0].1.contains("port `c` gets 100 EngineData (body.dbc, line 3) twice: from port `a` by route `both` and from port `b` by route `both`; its receivers see two mixed sequences"), "{wrong:?}");
    // One counter for both.
    let own = both.replace("length = 8\n", "length = 8\ncounter = 'own'\n");
    assert_eq!(all(&own.replace("PLANTED", "protect = 'engine'")), []);
    // The database has the message on bus `a` only.
    assert_eq!(all(&text("nodes = ['Tester']").replace("PLANTED", "")), []);
}

/// A route with two ports can have each of its messages from one of them.
#[test]
fn a_route_of_two_ports_is_no_doubling() {
    let text = file(
        "[[routes]]\nname = 'both'\nfrom = ['a', 'b']\nto = 'c'\nid = ['100', '120']\nkind = 'classic'\n",
    );
    let text = text
        .replace("nodes = ['Engine', 'Gear', 'Dash']\n", "")
        .replace("nodes = ['Tester']\n", "");
    assert_eq!(load(&text).unwrap().1, []);
    // Two routes that name the message expect it from both.
    let from_b = "[[routes]]\nname = 'other'\nfrom = 'b'\nto = 'c'\nid = '120'\nkind = 'classic'\n";
    let two = format!("{}{from_b}", text.replace("['a', 'b']", "'a'"));
    let (_, warnings) = load(&two).unwrap();
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(
        warnings[0].message.contains("of two senders"),
        "{warnings:?}"
    );
}

#[test]
fn two_messages_with_one_id_are_two_senders() {
    let text = "[[routes]]\nname = 'one'\nfrom = 'a'\nto = 'c'\nid = '120'\nkind = 'classic'\n\
                [[routes]]\nname = 'two'\nfrom = 'a'\nto = 'c'\nid = '110'\nkind = 'classic'\ndo = [{ set = { id = 'PLANTED' } }]\n";
    let words = [
        "port `c` gets 110 GearData (body.dbc, line 7) and 120 Lamps (body.dbc, line 11), both with the ID 120",
        "by route `two` and from port `a` by route `one`",
    ];
    is_found(text, "120", "121", Severity::Warning, &words);
}

#[test]
fn a_made_message_and_a_routed_one_are_two_senders() {
    let text = "[ports.m]\nkind = 'messages'\ndatabase = 'body'\n[ports.m.make.Lamps]\nevery = '1s'\nsignals = { Lamp = 1 }\n\
                [[routes]]\nname = 'made'\nfrom = 'm'\nto = 'c'\nkind = 'classic'\n[[routes]]\nname = 'routed'\nfrom = 'a'\nto = 'c'\nkind = 'classic'\nid = 'PLANTED'\n";
    let words = [
        "port `c` gets 120 Lamps (body.dbc, line 11) of two senders",
        "from port `m` by route `made`",
        "from port `a` by route `routed`",
    ];
    is_found(text, "120", "100", Severity::Warning, &words);
}

#[test]
fn an_fd_message_needs_an_fd_port() {
    let text = "[ports.s]\nkind = 'socketcan'\ndatabase = 'body'\n[ports.t]\nkind = 'socketcan'\nPLANTED\n\
                [[routes]]\nname = 'camera'\nfrom = 's'\nto = 't'\nid = '130'\n";
    let words = [
        "130 Camera (body.dbc, line 13) is CAN FD with 24 bytes and never leaves by port `t`: route `camera`",
    ];
    let text = file(text).replace("nodes = ['Engine', 'Gear', 'Dash']", "");
    let all = |planted: &str| {
        let all = load(&text.replace("PLANTED", planted))
            .map_or_else(|all| all, |(_, warnings)| warnings);
        let all = all.into_iter().map(|one| one.message);
        all.filter(|message| !message.starts_with("no route uses"))
            .collect::<Vec<_>>()
    };
    let wrong = all("fd = false");
    assert!(
        wrong.iter().any(|message| message.contains(words[0])),
        "{wrong:?}"
    );
    assert_eq!(all(""), [""; 0]);
}

#[test]
fn a_named_message_must_have_a_length_of_the_route() {
    let route = "[[routes]]\nname = 'lamps'\nfrom = 'a'\nto = 'c'\nid = '120'\nkind = 'classic'\nlength = 'PLANTED'\n";
    let words = [
        "route `lamps` takes lengths from 0 to 4 (`length`), and 120 Lamps (body.dbc, line 11) has 8 bytes",
    ];
    is_found(route, "0-4", "0-8", Severity::Warning, &words);
}

#[test]
fn diagnosis_needs_both_directions_whole() {
    let request =
        "[[routes]]\nname = 'request'\nfrom = 'b'\nto = 'a'\nkind = 'classic'\nid = '7E0'\n";
    let back =
        "[[routes]]\nname = 'response'\nfrom = 'a'\nto = 'b'\nkind = 'classic'\nid = '7E8'\n";
    let text = format!("{request}PLANTED");
    let words = [
        "route `request` carries 7E0 DiagRequest (body.dbc, line 15) from port `b` to port `a`, and no route carries 7E8 back",
    ];
    is_found(&text, "", back, Severity::Warning, &words);
    let text = format!("{request}PLANTED{back}");
    is_found(
        &text,
        "limit = '100/s'\n",
        "",
        Severity::Warning,
        &["limits the rate of 7E0 DiagRequest", "(ISO-TP)"],
    );
    is_found(
        &text,
        "do = [{ or = { data = '01' } }]\n",
        "",
        Severity::Warning,
        &["changes the payload of"],
    );
    is_found(
        &text,
        "payload = [{ at = 0, value = '01' }]\n",
        "",
        Severity::Warning,
        &["only some frames of"],
    );
}

#[test]
fn a_long_message_of_j1939_needs_its_transport_protocol() {
    let route = "[[routes]]\nname = 'faults'\nfrom = 'a'\nto = 'c'\npgn = [PLANTED]\n";
    let words = [
        "DM1 (body.dbc, line 19) from port `a` to port `c`, which has 24 bytes",
        "but no route carries these",
    ];
    is_found(
        route,
        "'FECA'",
        "'FECA', 60416, 60160",
        Severity::Warning,
        &words,
    );
}

/// The file syntax for signals is not part of this test: the actions are made here.
#[test]
fn a_signal_that_is_overwritten_is_a_warning() {
    let write = |start: u16| {
        let layout = FieldLayout {
            start,
            bits: 8,
            order: ByteOrder::Intel,
        };
        let to = SignalField::new(layout, 8).unwrap();
        let write = FieldWrite {
            to,
            source: FieldSource::Constant(1),
        };
        Action::WriteSignals(WriteSignals {
            text: "{ S = 1 }".into(),
            writes: vec![write],
        })
    };
    let text = file("[[routes]]\nname = 'r'\nfrom = 'a'\nto = 'c'\nid = '120'\nkind = 'classic'\n");
    let (config, _) = load(&text).unwrap();
    let found = |actions: Vec<Action>| {
        let mut config = config.clone();
        config.routes.routes[0].actions = actions;
        let mut found = Diagnostics::new();
        super::report(&config, std::slice::from_ref(&(0..1)), &mut found);
        let all = found.into_sorted().into_iter();
        all.map(|one| one.message).collect::<Vec<_>>()
    };
    assert_eq!(
        found(vec![write(8), write(16), write(12)]),
        [
            "route `r`: action 3 of `do` overwrites bits of byte 1 that action 1 writes as part of a signal"
        ]
    );
    assert_eq!(found(vec![write(8), write(16), write(24)]), [""; 0]);
}

/// Returns what the checks report of a file in which each port without a database gets this one,
/// and the number of messages that they looked at; `None` if the file has mistakes of other kinds.
fn reported(text: &str, database: &[u8]) -> Option<(Vec<Diagnostic>, usize)> {
    let source = SourceText::new("t", text);
    let loaded = load_with(&source, &PortKinds::standard(), &|_: &Path| {
        Ok(database.to_vec())
    });
    let (mut config, _) = loaded.ok()?;
    let messages = signals::dbc::read(database).unwrap();
    let named = route::config::NamedDatabase {
        name: "d".into(),
        file: "d.dbc".into(),
        messages,
    };
    let named = std::sync::Arc::new(named);
    for database in &mut config.databases {
        database.get_or_insert_with(|| std::sync::Arc::clone(&named));
    }
    let spans = vec![0..0; config.routes.routes.len()];
    let mut found = Diagnostics::new();
    super::report(&config, &spans, &mut found);
    let count = super::flow::FlowSet::new(&config).all.len();
    Some((found.into_sorted(), count))
}

/// Nothing is reported of the examples and of the files in the documents, which are right.
#[test]
fn nothing_is_reported_of_the_examples() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let database = std::fs::read(root.join("examples/bound/body.dbc")).unwrap();
    let mut texts = Vec::new();
    for folder in ["examples", "docs", "."] {
        for entry in std::fs::read_dir(root.join(folder)).unwrap() {
            let path = entry.unwrap().path();
            let extension = path.extension().and_then(|text| text.to_str());
            match extension {
                Some("toml") if folder == "examples" => {
                    texts.push(std::fs::read_to_string(&path).unwrap());
                }
                Some("md") => {
                    let text = std::fs::read_to_string(&path).unwrap();
                    let blocks = text.split("```toml\n").skip(1);
                    texts.extend(
                        blocks.filter_map(|block| Some(block.split("```").next()?.to_owned())),
                    );
                }
                _ => {}
            }
        }
    }
    let (mut files, mut messages) = (0, 0);
    for text in &texts {
        if let Some((found, count)) = reported(text, &database) {
            assert_eq!(found, [], "{text}");
            files += 1;
            messages += count;
        }
    }
    assert!(
        files >= 10 && messages >= 20,
        "{files} files, {messages} messages of {}",
        texts.len()
    );
}

/// Nothing is reported of a gateway that carries all messages of real databases in both directions.
#[test]
fn nothing_is_reported_of_a_plain_gateway_with_real_databases() {
    let field = Path::new(env!("CARGO_MANIFEST_DIR")).join("../signals/tests/field");
    let ports = "[databases.d]\nfile = 'd.dbc'\n[ports.a]\nkind = 'bus'\ndata_bitrate = '2M'\nbitrate = '500k'\ndatabase = 'd'\n\
                 [ports.b]\nkind = 'bus'\ndatabase = 'd'\ndata_bitrate = '2M'\nbitrate = '500k'\n\
                 [[routes]]\nname = 'ab'\nfrom = 'a'\nto = 'b'\n[[routes]]\nname = 'ba'\nfrom = 'b'\nto = 'a'\n";
    let (mut files, mut messages) = (0, 0);
    for entry in std::fs::read_dir(field).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|end| end != "dbc") {
            continue;
        }
        let database = std::fs::read(&path).unwrap();
        if let Some((found, count)) = reported(ports, &database) {
            assert_eq!(found, [], "{}", path.display());
            files += 1;
            messages += count;
        }
    }
    assert!(
        files >= 5 && messages >= 10,
        "{files} files, {messages} messages"
    );
}
