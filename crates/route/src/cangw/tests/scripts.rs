//! Routes become lines of cangw, or the reason why they cannot.

use super::*;
use crate::config::tests::good;

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
