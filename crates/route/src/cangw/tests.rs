//! The output of cangw is parsed exactly, and routes come back from a script unchanged.

use super::*;
use crate::{
    Action, Crc8Profile, FrameMatch, IdOperand, KernelPort, KindSet, Modify, ModifyOp, PortId,
    Route, Routes, TriState, XorSum,
    config::tests::{crcs, good, modifies, sums},
};
use ::config::{SourceText, TomlDocument, render};
use alloc::{
    borrow::ToOwned,
    format,
    string::{String, ToString},
    vec,
    vec::Vec,
};
use proptest::{collection, option, prelude::*};

fn read(text: &str) -> ImportedRules {
    let source = SourceText::new("cangw.txt", text);
    match import(&source) {
        Ok(imported) => imported,
        Err(errors) => panic!("{}", render(&source, &errors, false)),
    }
}

fn errors(text: &str) -> Vec<String> {
    let source = SourceText::new("cangw.txt", text);
    let errors = import(&source).unwrap_err();
    errors.into_iter().map(|d| d.message).collect()
}

fn notes(text: &str) -> Vec<String> {
    read(text).notes.into_iter().map(|d| d.message).collect()
}

fn actions(line: &str) -> Vec<Action> {
    read(line).routes.routes.remove(0).actions
}

const LISTED: &str = "\
cangw -A -s can0 -d can1 -e -f 123:C00007FF -m SET:IL:444.2.0011223344556677 -l 2 # 5 handled 0 dropped 0 deleted
cangw -A -s can1 -d can0 -X -t -i -f 080~7FF # 0 handled 0 dropped 0 deleted
";

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

#[test]
fn what_can_gw_cannot_do_is_named() {
    let cases = [
        ("drop = true", "it drops frames, and a rule only forwards"),
        ("to = 'can1'\nlimit = '1/s'", "it limits the rate"),
        ("to = 'can1'\nlength = 8", "it looks at the length"),
        (
            "to = 'can1'\npayload = { value = '00' }",
            "it looks at the payload",
        ),
        (
            "to = 'can1'",
            "it takes XL frames too: write `kind = \"classic\"`, `\"fd\"` or both",
        ),
        (
            "to = 'can1'\nkind = 'classic'\nid = ['123', '124']",
            "it has several ID filters, and a rule has one",
        ),
        (
            "to = 'can1'\nkind = 'classic'\nid = '123-125'",
            "its range of IDs is not a block that a mask can describe",
        ),
        (
            "to = 'can1'\nkind = 'classic'\ndo = [{ id_offset = 1 }]",
            "it adds to the ID",
        ),
        (
            "to = 'can1'\nkind = 'classic'\ndo = [{ set = { len = 1 } }, { and = { len = 1 } }]",
            "its changes are not in can-gw's order, each at most once: and, or, xor, set, crc8, \
          xor_sum",
        ),
        (
            "to = 'body \"x\"'\nkind = 'classic'",
            "its port number 3 is not a Linux interface",
        ),
    ];
    let interfaces = [
        Some(KernelPort::new("can0")),
        Some(KernelPort::new("can1")),
        None,
    ];
    for (lines, why) in cases {
        let text = format!("[[routes]]\nname = 'r'\nfrom = 'can0'\n{lines}\n");
        let routes = Routes {
            routes: good(&text),
            ..Routes::default()
        };
        let errors = export(&routes, &interfaces).unwrap_err();
        assert_eq!(errors.len(), 1);
        assert_eq!(
            (errors[0].name.as_str(), errors[0].why.as_str()),
            ("r", why)
        );
    }
}

#[test]
fn one_route_can_become_several_lines() {
    let text = "[[routes]]\nname = 'r'\nfrom = ['can0', 'can1']\nto = ['can0', 'can1']\n\
                kind = ['classic', 'fd']\nid = '100-1FF'\n";
    let routes = Routes {
        routes: good(text),
        ..Routes::default()
    };
    let interfaces = [
        Some(KernelPort::new("can0")),
        Some(KernelPort::new("can1")),
        None,
    ];
    let script = export(&routes, &interfaces).unwrap();
    let lines: Vec<_> = script.lines().filter(|l| !l.starts_with('#')).collect();
    assert_eq!(
        lines,
        [
            "cangw -A -s can1 -d can0 -X -f 100:80000700 # r",
            "cangw -A -s can0 -d can1 -X -f 100:80000700 # r",
            "cangw -A -s can1 -d can0 -f 100:80000700 # r",
            "cangw -A -s can0 -d can1 -f 100:80000700 # r",
        ]
    );
}

#[test]
fn a_port_without_fd_frames_has_rules_for_classic_frames_only() {
    let text = "[[routes]]\nname = 'r'\nfrom = ['can0', 'can1']\nto = ['can0', 'can1', 'body \"x\"']\n\
                kind = ['classic', 'fd']\n";
    let routes = Routes {
        routes: good(text),
        ..Routes::default()
    };
    let fd = [true, true, false];
    let named = ["can0", "can1", "can2"].into_iter().zip(fd);
    let mut ports: Vec<_> = named
        .map(|(name, fd)| {
            Some(KernelPort {
                fd,
                ..KernelPort::new(name)
            })
        })
        .collect();
    let pairs = |ports: &[Option<KernelPort>]| {
        let rules = export::rules(&routes, ports).unwrap();
        let named = rules.iter().map(|(_, rule)| {
            let sort = if rule.fd { "fd" } else { "classic" };
            format!("{sort} {} {}", rule.source, rule.destination)
        });
        named.collect::<Vec<_>>()
    };
    let classic = [
        "classic can0 can1",
        "classic can0 can2",
        "classic can1 can0",
        "classic can1 can2",
    ];
    // Not to the third.
    assert_eq!(
        pairs(&ports),
        [&classic[..], &["fd can0 can1", "fd can1 can0"]].concat()
    );
    // Nor to the first, nor from it.
    if let Some(port) = &mut ports[0] {
        port.fd = false;
    }
    assert_eq!(pairs(&ports), classic);
}

/// can-gw would send FD frames with the RTR flag, which no bus can carry.
#[test]
fn a_rule_that_makes_fd_frames_remote_is_read_and_not_written() {
    for (options, operand, refused) in [
        ("-X -M", "OR:I:40000000", true),
        ("-X -M", "XOR:I:C0000001", true),
        ("-X -M", "SET:I:40000123", true),
        ("-X -M", "SET:I:80000123", false),
        ("-X -M", "AND:I:400007FF", false),
        ("-m", "OR:I:40000000", false),
    ] {
        let rest = if options == "-m" { "" } else { ".0" };
        let data = "00".repeat(if options == "-m" { 8 } else { 64 });
        let text = format!("cangw -A -s can0 -d can1 {options} {operand}{rest}.0.{data}");
        let first = read(&text);
        let interfaces: Vec<_> = first
            .interfaces
            .iter()
            .map(KernelPort::new)
            .map(Some)
            .collect();
        let written = export(&first.routes, &interfaces);
        let why = written.map_err(|all| all.iter().map(ToString::to_string).collect::<String>());
        match why {
            Ok(_) => assert!(!refused, "{text}"),
            Err(why) => assert!(refused && why.contains("FD frames remote"), "{text}: {why}"),
        }
    }
}

/// can-gw's SET of an ID replaces the flags. `set = { id }` keeps them, and becomes a SET only
/// where no frame has any.
#[test]
fn setting_an_id_keeps_a_remote_frame() {
    let rule = |keys: &str| {
        let routes = Routes {
            routes: good(&format!("[[routes]]\nfrom = 'can0'\nto = 'can1'\n{keys}\n")),
            ..Routes::default()
        };
        let interfaces = ["can0", "can1"].map(|name| Some(KernelPort::new(name)));
        let all = export::rules(&routes, &interfaces).unwrap();
        all.into_iter()
            .map(|(_, rule)| bare(&rule))
            .collect::<Vec<_>>()
    };
    let none = "0".repeat(16);
    assert_eq!(
        rule("kind = 'classic'\nrtr = false\ndo = [{ set = { id = '321' } }]"),
        [format!(
            "cangw -A -s can0 -d can1 -f 000:40000000 -m SET:I:321.0.{none}"
        )]
    );
    assert_eq!(
        rule("kind = 'classic'\ndo = [{ set = { id = '00000321' } }]"),
        [format!(
            "cangw -A -s can0 -d can1 -m AND:I:60000000.0.{none} -m XOR:I:80000321.0.{none}"
        )]
    );
    // With what is done to the ID before, and to other parts.
    assert_eq!(
        rule(
            "kind = 'classic'\n\
             do = [{ or = { raw_id = '40000007', len = 1 } }, { set = { id = '321', len = 2 } }]"
        ),
        [format!(
            "cangw -A -s can0 -d can1 -m AND:I:20000000.0.{none} -m OR:L:000.1.{none} \
             -m XOR:I:40000321.0.{none} -m SET:L:000.2.{none}"
        )]
    );
    assert_eq!(
        rule("kind = 'classic'\ndo = [{ set = { raw_id = '321' } }]"),
        [format!("cangw -A -s can0 -d can1 -m SET:I:321.0.{none}")]
    );
}

const INTERFACES: [&str; 3] = ["can0", "can1", "vcan0"];

/// Rules in the form in which can-gw keeps them.
fn rules() -> impl Strategy<Value = CanGwRule> {
    any::<bool>().prop_flat_map(|fd| {
        let size = if fd { 64_u8 } else { 8 };
        let filter = (any::<u32>(), any::<u32>(), any::<bool>()).prop_map(|(id, mask, inv)| {
            let set = crate::IdSet::Masked {
                id: id & !0x2000_0000,
                mask,
            };
            IdFilter {
                set,
                inverted: inv && mask & 0x2000_0000 == 0,
            }
        });
        let modify = modifies(usize::from(size)).prop_map(move |mut modify| {
            if !fd {
                modify.flags = None;
            }
            if let Some(data) = &mut modify.data {
                data.resize(usize::from(size), 0x5A);
            }
            let raw = match modify.id {
                Some(IdOperand::Raw(raw)) => Some(raw),
                Some(IdOperand::Id(id)) => Some(id.raw()),
                None => None,
            };
            // A rule that makes FD frames remote is imported, but not exported.
            let remote = fd && modify.op != ModifyOp::And;
            let kept = if remote { !0x4000_0000 } else { !0 };
            modify.id = raw.map(|raw| IdOperand::Raw(raw & kept));
            if modify.id.is_none() && modify.flags.is_none() && modify.data.is_none() {
                modify.len.get_or_insert(3);
            }
            modify
        });
        (
            0_usize..3,
            0_usize..3,
            any::<[bool; 3]>(),
            option::of(1_u8..=6),
            option::of(filter),
            collection::vec(modify, 0..4),
            option::of(crcs(i16::from(size))),
            option::of(sums(i16::from(size))),
        )
            .prop_map(
                move |(from, to, [echo, stamp, same], hops, filter, mods, crc8, xor)| {
                    let mut rule = CanGwRule {
                        source: INTERFACES[from].to_owned(),
                        destination: INTERFACES[to].to_owned(),
                        fd,
                        echo,
                        stamp,
                        same_port: same || from == to,
                        hops,
                        filter,
                        ..CanGwRule::default()
                    };
                    for op in [ModifyOp::And, ModifyOp::Or, ModifyOp::Xor, ModifyOp::Set] {
                        let last = mods.iter().rev().find(|modify| modify.op == op);
                        rule.changes.extend(last.cloned().map(Action::Modify));
                    }
                    if rule.modifies() {
                        rule.changes.extend(crc8.map(Action::Crc8));
                        rule.changes.extend(xor.map(Action::XorSum));
                    }
                    rule
                },
            )
    })
}

/// The rules as `cangw -L` prints them.
fn listing(rules: &[CanGwRule]) -> String {
    let mut text = String::new();
    for (i, rule) in rules.iter().enumerate() {
        text.push_str(&bare(rule));
        text.push_str(&format!(" # {i} handled 0 dropped 0 deleted\n"));
    }
    text
}

fn bare(rule: &CanGwRule) -> String {
    export::line(rule, "").trim_end_matches(" # ").to_owned()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// A listing is imported, exported as a script, and imported again: the result is the same
    /// routes. The script contains the same rules as the listing.
    #[test]
    fn rules_survive_the_way_there_and_back(rules in collection::vec(rules(), 1..5)) {
        let first = read(&listing(&rules));
        let interfaces: Vec<_> = first.interfaces.iter().map(KernelPort::new).map(Some).collect();
        let script = export(&first.routes, &interfaces).unwrap();
        let second = read(&script);
        prop_assert_eq!(&second.routes.routes.len(), &rules.len());
        prop_assert_eq!(&second.routes, &first.routes, "{}", script);
        prop_assert_eq!(&second.interfaces, &first.interfaces);

        let mut lines: Vec<_> = script
            .lines()
            .filter(|line| line.starts_with("cangw"))
            .map(|line| line.split(" # ").next().unwrap_or_default().to_string())
            .collect();
        lines.reverse();
        let printed: Vec<_> = rules.iter().map(bare).collect();
        prop_assert_eq!(lines, printed, "{}\n{}", listing(&rules), script);
    }

    /// The `gateway.toml` that an import returns is parsed as the same routes.
    #[test]
    fn the_toml_states_the_same(rules in collection::vec(rules(), 1..4)) {
        let imported = read(&listing(&rules));
        let source = SourceText::new("gateway.toml", imported.toml.clone());
        let mut found = ::config::Diagnostics::new();
        let document = TomlDocument::parse(&source, &mut found);
        let mut root = document.root();
        let parsed = crate::config::parse(&mut root, &imported.ports, &|_| Vec::new(), &|_| None, &mut found);
        prop_assert!(!found.has_errors(), "{}", render(&source, found.list(), false));
        prop_assert_eq!(parsed.routes, imported.routes.routes, "{}", imported.toml);
    }

    #[test]
    fn any_text_is_read_without_panic(text in ".{0,200}") {
        let _ = import(&SourceText::new("t", text));
    }

    #[test]
    fn any_line_is_read_without_panic(
        words in collection::vec(
            "(-[ADFLXteiuslfcpxmM?zäö]{1,3}|can[01]|[0-9A-Fa-f~:.]{1,12}|SET:[ILDF]{1,3}:|['\"$#\\\\;>]|1:)",
            0..12,
        ),
    ) {
        let text = format!("cangw {}", words.join(" "));
        let _ = import(&SourceText::new("t", text));
    }
}
