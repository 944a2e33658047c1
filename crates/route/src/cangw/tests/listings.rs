//! Listings and scripts of cangw become routes; errors name the place.

use super::*;

#[test]
fn a_listing() {
    let imported = read(LISTED);
    assert_eq!(imported.ports, ["can0", "can1"]);
    assert_eq!(imported.routes.max_hops, 2);
    assert_eq!(
        imported.routes.routes,
        [
            Route {
                name: "route 1".into(),
                from: vec![PortId(0)],
                to: vec![PortId(1)],
                matching: FrameMatch {
                    ids: vec![IdFilter {
                        set: crate::IdSet::Masked {
                            id: 0x123,
                            mask: 0xC000_07FF
                        },
                        inverted: false
                    }],
                    kinds: KindSet {
                        classic: true,
                        fd: false,
                        xl: false
                    },
                    ..FrameMatch::default()
                },
                actions: vec![Action::Modify(Modify {
                    op: ModifyOp::Set,
                    id: Some(IdOperand::Raw(0x444)),
                    len: Some(2),
                    flags: None,
                    data: None,
                })],
                drop: false,
                limit: None,
                hop_limit: Some(2),
                allow_same_port: false,
                echo: true,
                keep_stamp: false,
                verify: None,
                protect: None,
            },
            Route {
                name: "route 2".into(),
                from: vec![PortId(1)],
                to: vec![PortId(0)],
                matching: FrameMatch {
                    ids: vec![IdFilter {
                        set: crate::IdSet::Masked {
                            id: 0x80,
                            mask: 0x7FF
                        },
                        inverted: true
                    }],
                    kinds: KindSet {
                        classic: false,
                        fd: true,
                        xl: false
                    },
                    ..FrameMatch::default()
                },
                actions: vec![],
                drop: false,
                limit: None,
                hop_limit: None,
                allow_same_port: true,
                echo: false,
                keep_stamp: true,
                verify: None,
                protect: None,
            },
        ]
    );
    assert_eq!(imported.notes, []);
}

#[test]
fn a_script() {
    let script = "#!/bin/sh\nset -e\nmodprobe can-gw max_hops=3\nip link set can0 up\n\
                  cangw -F\nsudo -n /usr/bin/cangw -A \\\n  -s can0 -d 'can1' # first one\n\
                  if ! cangw -Ae -scan1 -dcan0 2>/dev/null; then exit 1; fi # second one\n";
    let imported = read(script);
    let names: Vec<_> = imported
        .routes
        .routes
        .iter()
        .map(|r| r.name.as_str())
        .collect();
    assert_eq!(names, ["route 1", "first one"], "the newest rule is first");
    assert_eq!(imported.ports, ["can1", "can0"]);
    assert!(imported.routes.routes[0].echo);
    assert_eq!(imported.routes.max_hops, 3);
    assert_eq!(
        notes(script),
        [
            "`ip` is ignored",
            "-F removes rules that other programs made"
        ]
    );
}

#[test]
fn deleted_rules_are_left_out() {
    let script = "cangw -A -s a -d b\ncangw -A -s a -d c\ncangw -D -s a -d b\n";
    assert_eq!(read(script).interfaces, ["a", "c"]);
    let script = "cangw -A -s a -d b\ncangw -F\ncangw -A -s a -d c\n";
    assert_eq!(read(script).interfaces, ["a", "c"]);
}

#[test]
fn names_come_from_comments_and_are_unique() {
    let long = "x".repeat(70);
    let script = format!(
        "cangw -A -s a -d b # {long}\ncangw -A -s a -d c # {long}\ncangw -A -s a -d d # n\n\
         cangw -A -s a -d e # n\ncangw -A -s a -d f # n (2)\ncangw -A -s a -d g # 3 handled\n"
    );
    let imported = read(&script);
    let mut names: Vec<_> = imported
        .routes
        .routes
        .iter()
        .map(|r| r.name.as_str())
        .collect();
    names.reverse();
    let (whole, cut) = ("x".repeat(64), format!("{} (2)", "x".repeat(60)));
    assert_eq!(names, [&cut, &whole, "n (3)", "n", "n (2)", "3 handled"]);
}

#[test]
fn too_many_interfaces_are_refused() {
    let script: String = (0..1024)
        .map(|i| format!("cangw -A -s a -d i{i}\n"))
        .collect();
    assert_eq!(errors(&script), ["1025 interfaces: the maximum is 1024"]);
}

#[test]
fn modifications_are_put_into_can_gws_order() {
    let line = "cangw -A -s a -d b -m SET:D:0.0.0102030405060708 -m AND:I:7FF.0.0000000000000000 \
                -x 0:-2:-1:A5";
    let modify = |op, id, data| {
        Action::Modify(Modify {
            op,
            id,
            len: None,
            flags: None,
            data,
        })
    };
    assert_eq!(
        actions(line),
        [
            modify(ModifyOp::And, Some(IdOperand::Raw(0x7FF)), None),
            modify(ModifyOp::Set, None, Some(vec![1, 2, 3, 4, 5, 6, 7, 8])),
            Action::XorSum(XorSum {
                from: 0,
                to: -2,
                result: -1,
                init: 0xA5
            }),
        ]
    );
}

#[test]
fn fd_and_checksums() {
    let data = "AB".repeat(64);
    let table = "1D".repeat(256);
    let line = format!(
        "cangw -A -s a -d b -X -M OR:IFLD:80000000.1.2.{data} -c 1:60:-64:FF:3C:{table} -p 3:"
    );
    let Action::Modify(modify) = &actions(&line)[0] else {
        panic!()
    };
    assert_eq!(modify.id, Some(IdOperand::Raw(0x8000_0000)));
    assert_eq!((modify.flags, modify.len), (Some(1), Some(2)));
    assert_eq!(modify.data, Some(vec![0xAB; 64]));
    let Action::Crc8(crc) = &actions(&line)[1] else {
        panic!()
    };
    assert_eq!((crc.from, crc.to, crc.result), (1, 60, -64));
    assert_eq!((crc.init, crc.final_xor), (0xFF, 0x3C));
    assert_eq!(crc.table, [0x1D; 256]);
    assert_eq!(crc.profile, Crc8Profile::SffIdXor);
}

#[test]
fn error_frames() {
    let route = |filter: &str| {
        let line = format!("cangw -A -s a -d b -f {filter}");
        read(&line).routes.routes.remove(0)
    };
    assert_eq!(route("000:20000080").matching.err, TriState::Yes);
    // The inversion bit is in the ID, regardless of the separator before the mask.
    assert!(route("20000123:7FF").matching.ids[0].inverted);
    assert!(!route("20000080:20000080").matching.ids[0].inverted);
    assert_eq!(
        notes("cangw -A -s a -d b -f 80~20000080"),
        ["a filter for error frames cannot be inverted"]
    );
}

#[test]
fn surprises_are_noted() {
    let cases = [
        ("-u 5", "-u is left out: nothing here uses it"),
        (
            "-f 1:7 -f 2:7",
            "-f is given twice; can-gw takes the last one",
        ),
        ("-p 3:", "-p does nothing without -c"),
        (
            "-m OR::000.0.9CD9000163616E67",
            "this changes nothing; it is left out",
        ),
        (
            "-m SET:I:1.0.0000000000000000 -m SET:I:2.0.0000000000000000",
            "a rule has one modification of each sort; can-gw takes the last one",
        ),
    ];
    for (options, note) in cases {
        assert_eq!(notes(&format!("cangw -A -s a -d b {options}")), [note]);
    }
    let listed = "cangw -A -s a -d b -x 0:1:2:00 # 0 handled 0 dropped 0 deleted";
    assert_eq!(
        notes(listed),
        ["can-gw takes checksums only in a rule that modifies something"]
    );
    assert_eq!(actions(listed), []);
}

#[test]
fn rules_that_take_what_others_send_are_noted() {
    let script = "cangw -A -s a -d b -e\ncangw -A -s b -d c -e\n";
    assert!(notes(script).is_empty(), "one hop: there is no second rule");
    let more = format!("modprobe can-gw max_hops=2\n{script}");
    assert_eq!(
        notes(&more),
        ["can-gw's rules for b take the frames that this rule sends; routes would not"]
    );
    for harmless in [
        more.replace("-s a -d b -e", "-s a -d b"),
        more.replace("-s a -d b -e", "-s a -d b -e -l 1"),
        more.replace("-s a -d b -e", "-s a -d b -e -X"),
        more.replace("-s b -d c -e", "-s b -d a -e"),
    ] {
        assert!(notes(&harmless).is_empty(), "{harmless}");
    }
}

#[test]
fn bad_lines_are_named() {
    let cases = [
        ("", "it contains no rule"),
        ("cangw -L", "it contains no rule"),
        ("cangw -A -s can0", "-d is missing"),
        (
            "cangw -s can0 -d can1",
            "this has neither -A, -D, -F nor -L",
        ),
        ("cangw -A -s $IN -d can1", "the shell expands `$IN`"),
        ("cangw -A -s a -d b -z", "cangw has no option -z"),
        ("cangw -A -s a -d b -f", "-f needs an argument"),
        ("cangw -A -s a -d b -f 123", "-f: `123` is not complete"),
        (
            "cangw -A -s a -d b -f 12g:7FF",
            "-f: `12g` is not a valid hex number",
        ),
        (
            "cangw -A -s a -d b extra",
            "cangw takes no argument `extra` here",
        ),
        (
            "cangw -A -s a -d b -l 0",
            "-l: `0` is not a valid number of hops",
        ),
        (
            "cangw -A -s toolonginterface -d b",
            "-s: `toolonginterface` is not a valid interface name",
        ),
        (
            "cangw -A -d b -s -e",
            "-s: `-e` is an option, not an interface",
        ),
        (
            "cangw -A -s a -d b -m ADD:I:1.0.0",
            "-m: there is no modification `ADD`",
        ),
        (
            "cangw -A -s a -d b -m SET:Q:1.0.0000000000000000",
            "-m: a frame has no element `Q`",
        ),
        (
            "cangw -A -s a -d b -m SET:I:1.0.00",
            "-m: 2 hex digits where 16 are needed",
        ),
        (
            "cangw -A -s a -d b -X -m SET:I:1.0.0000000000000000",
            "-m changes classic frames, and -X takes FD frames",
        ),
        (
            "cangw -A -s a -d b -x 0:1:2:00",
            "can-gw takes checksums only in a rule that modifies something",
        ),
        (
            "cangw -A -s a -d b -x 0:8:2:00",
            "-x: index 8 is outside -8 to 7",
        ),
        (
            "cangw -A -s a -d b -p 4",
            "-p: there is no CRC8 profile `4`",
        ),
        ("cangw -A -s 'a -d b", "this quote is never closed"),
        (
            "modprobe can-gw max_hops=9\ncangw -A -s a -d b",
            "this is not a valid number of hops",
        ),
        (
            "cangw -A -s a -d b -l 2\nmodprobe can-gw max_hops=1",
            "-l 2 is more than can-gw's max_hops=1",
        ),
    ];
    for (text, message) in cases {
        let all = errors(text);
        assert!(all.iter().any(|m| m == message), "{text}: {all:?}");
    }
}

#[test]
fn every_bad_line_is_reported_with_its_place() {
    let text = "cangw -A -s can0\n\ncangw -A -s a -d b -f 12g:7FF\ncangw -A -s a -d b -fX:1\n";
    let source = SourceText::new("rules.sh", text);
    let errors = import(&source).unwrap_err();
    let places: Vec<_> = errors
        .iter()
        .map(|d| source.line_column(d.span.start))
        .collect();
    assert_eq!(places, [(1, 1), (3, 23), (4, 22)]);
}
