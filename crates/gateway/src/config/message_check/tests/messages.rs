//! Messages with two senders, messages that do not fit, halves of transport protocols, and signals
//! that are written twice.

use super::*;
use crate::config::message_check::report;
use route::config::NamedDatabase;
use signals::{WholePdu, WholePduKind};
use std::sync::Arc;

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
        super::super::report(&config, std::slice::from_ref(&(0..1)), &mut found);
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

/// Returns what is found if the message 120 has a PDU of this kind, as an ARXML file has it.
fn found_with(more: &str, kind: WholePduKind) -> Vec<(Severity, String)> {
    let (mut config, _) = load(&file(more)).unwrap();
    for database in config.databases.iter_mut().flatten() {
        let mut messages = database.messages.clone();
        let lamps = messages.messages.iter_mut();
        for message in lamps.filter(|message| message.name == "Lamps") {
            message.whole = Some(WholePdu { kind, line: 77 });
        }
        *database = Arc::new(NamedDatabase {
            name: database.name.clone(),
            file: database.file.clone(),
            messages,
        });
    }
    let mut all = Diagnostics::new();
    report(&config, &[], &mut all);
    let each = all
        .into_sorted()
        .into_iter()
        .map(|one| (one.severity, one.message));
    each.collect()
}

#[test]
fn a_secured_pdu_and_a_container_are_carried_whole() {
    let route =
        "[[routes]]\nname = 'lamps'\nfrom = 'a'\nto = 'c'\nmessage = 'Lamps'\nkind = 'classic'\n";
    let kinds = [WholePduKind::Secured, WholePduKind::Container];
    let message = "120 Lamps (body.dbc, line 11): it has a";
    for (more, severity, what, words) in [
        (
            "do = [{ or = { data = '01' } }]\n",
            Severity::Error,
            "changes the payload of",
            [
                "whose authenticator no gateway can write",
                "the change hits any of them",
            ],
        ),
        (
            "when = 'Lamp > 3'\n",
            Severity::Warning,
            "takes, by their payloads, only some frames of",
            [
                "more frames than its freshness value can count",
                "any of them can be missing",
            ],
        ),
        (
            "limit = '5/s'\n",
            Severity::Warning,
            "limits the rate of",
            [
                "more frames than its freshness value can count",
                "any of them can be missing",
            ],
        ),
    ] {
        for (kind, words) in kinds.into_iter().zip(words) {
            let all = found_with(&format!("{route}{more}"), kind);
            let of_it = all.iter().filter(|(_, text)| text.contains("PDU"));
            let [(found, text)] = of_it.collect::<Vec<_>>()[..] else {
                panic!("{all:?}");
            };
            assert_eq!(*found, severity, "{text}");
            for word in [what, message, words, "(body.dbc, line 77)"] {
                assert!(text.contains(word), "{word} in: {text}");
            }
        }
    }
    for kind in kinds {
        assert_eq!(found_with(route, kind), []);
    }
}

#[test]
fn a_secured_pdu_has_one_source() {
    let made = "[ports.m]\nkind = 'messages'\ndatabase = 'body'\n[ports.m.make.Lamps]\nevery = '1s'\nsignals = { Lamp = 1 }\n\
                [[routes]]\nname = 'made'\nfrom = 'm'\nto = 'c'\nkind = 'classic'\n[[routes]]\nname = 'routed'\nfrom = 'a'\nto = 'c'\nkind = 'classic'\nid = '120'\n";
    let all = found_with(made, WholePduKind::Secured);
    let [(Severity::Error, twice), (Severity::Error, made)] = &all[..] else {
        panic!("{all:?}");
    };
    for word in [
        "port `c` gets 120 Lamps (body.dbc, line 11) twice: from port `a` by route `routed`",
        "receivers refuse a secured PDU",
    ] {
        assert!(twice.contains(word), "{twice}");
    }
    for word in [
        "route `made` carries 120 Lamps (body.dbc, line 11), which port `m` makes",
        "whose authenticator no gateway can write",
    ] {
        assert!(made.contains(word), "{made}");
    }
}

#[test]
fn signals_behind_the_end_of_a_message_are_found() {
    let long = BODY.replace(
        "Lamps: 8 Dash\n SG_ Lamp : 0|8",
        "Lamps: 1 Dash\n SG_ Lamp : 8|8",
    );
    let route =
        "[[routes]]\nname = 'lamps'\nfrom = 'a'\nto = 'c'\nmessage = 'Lamps'\nkind = 'classic'\n";
    for (more, words) in [
        (
            "when = 'Lamp > 3'\n",
            "`when` of route `lamps` reads 2 bytes, and 120 Lamps (body.dbc, line 11) has 1: it is never true",
        ),
        (
            "do = [{ signal = { Lamp = 1 } }]\n",
            "`do` of route `lamps` needs 2 bytes for its signals, and 120 Lamps (body.dbc, line 11) has 1: it drops",
        ),
    ] {
        let text = format!("{route}{more}");
        let all = found_by(&text, &long);
        let of_route = all.iter().filter(|(_, message)| message.contains(words));
        assert_eq!(of_route.count(), 1, "{all:?}");
        assert_eq!(found(&text), []);
    }
}

#[test]
fn an_fd_message_does_not_come_in_at_a_classic_port() {
    let text = |fd: &str| {
        file(&format!(
            "[ports.s]\nkind = 'socketcan'\ndatabase = 'body'\n{fd}[ports.t]\nkind = 'socketcan'\n\
             [[routes]]\nname = 'camera'\nfrom = 's'\nto = 't'\nid = '130'\n"
        ))
        .replace("nodes = ['Engine', 'Gear', 'Dash']\n", "")
    };
    let words = "130 Camera (body.dbc, line 13) is CAN FD with 24 bytes and never comes in at port `s`: route `camera`";
    for (fd, count) in [("fd = false\n", 1), ("", 0)] {
        let (_, warnings) = load(&text(fd)).unwrap();
        let of_it = warnings.iter().filter(|one| one.message.contains(words));
        assert_eq!(of_it.count(), count, "{warnings:?}");
    }
}

/// By the first match, a route gets nothing if its condition is within that of an earlier one.
#[test]
fn a_condition_within_an_earlier_one_is_never_reached() {
    let route = |name: &str, when: &str| {
        format!(
            "[[routes]]\nname = '{name}'\nfrom = 'a'\nto = 'c'\nmessage = 'Lamps'\nkind = 'classic'\nwhen = '{when}'\n"
        )
    };
    let first = "[gateway]\nmatch = 'first'\n".to_owned() + &route("one", "Lamp > 5 || Lamp == 2");
    is_found(
        &(first + &route("two", "PLANTED")),
        "Lamp in 10..20 || Lamp == 2",
        "Lamp in 3..20",
        Severity::Warning,
        &["no frame reaches route `two`"],
    );
}

/// A switch is written with the signals that it selects, and a signal with a test of its switch.
#[test]
fn switches_and_their_signals_are_written_together() {
    let page = "BO_ 352 Page: 8 Engine\n SG_ Sel M : 0|8@1+ (1,0) [0|0] \"\" Dash\n \
                SG_ A m0 : 8|8@1+ (1,0) [0|0] \"\" Dash\n SG_ B m1 : 8|8@1+ (1,0) [0|0] \"\" Dash\n \
                SG_ C m1 : 16|8@1+ (1,0) [0|0] \"\" Dash\nBA_DEF_ BO_ \"GenMsgCycleTime\"";
    let body = BODY.replacen("BA_DEF_ BO_ \"GenMsgCycleTime\"", page, 1);
    let all = |signals: &str, when: &str| {
        let route =
            "[[routes]]\nname = 'page'\nfrom = 'a'\nto = 'c'\nmessage = 'Page'\nkind = 'classic'\n";
        let text = format!("{route}{when}do = [{{ signal = {{ {signals} }} }}]\n");
        found_by(&text, &body)
    };
    let alone = "`Sel` selects the signals that the frame contains; writing it alone";
    let partly = "`Sel` also selects `C`, which is not written";
    let absent = "`B` is part of a frame only if `Sel` is 1";
    for (signals, when, severity, words) in [
        ("Sel = 1", "", Severity::Warning, alone),
        ("Sel = 3", "", Severity::Warning, alone),
        ("Sel = 1, B = 2", "", Severity::Warning, partly),
        ("B = 2", "", Severity::Error, absent),
        ("Sel = 0, B = 2", "", Severity::Error, absent),
    ] {
        let found = all(signals, when);
        let of_it = found.iter().find(|(_, message)| message.starts_with(words));
        assert_eq!(
            of_it.map(|(found, _)| *found),
            Some(severity),
            "{signals}: {found:?}"
        );
    }
    for (signals, when) in [
        ("Sel = 1, B = 2, C = 3", ""),
        ("B = 2", "when = 'Sel == 1'\n"),
        ("Sel = 1, B = 2", "when = 'Sel == 1'\n"),
        ("Sel = 0, A = 2", ""),
    ] {
        assert_eq!(all(signals, when), [], "{signals}");
    }
}
