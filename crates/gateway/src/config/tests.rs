use super::*;
use config::{Diagnostic, Severity, SourceText, render};
use port::PortKinds;
use port::embedded::BusSettings;
use proptest::prelude::*;
use std::path::{Path, PathBuf};

/// Loads a file; each database that it names is that of the examples.
fn load(source: &SourceText) -> Result<(GatewayConfig, Vec<Diagnostic>), Vec<Diagnostic>> {
    let database = include_bytes!("../../../../examples/bound/body.dbc");
    super::load_with(source, &PortKinds::standard(), &|_| Ok(database.to_vec()))
}

const SIMPLE: &str = r#"
[gateway]
match = "first"
realtime = false

[ports.powertrain]
kind = "bus"
[ports.body]
kind = "bus"

[[routes]]
from = "powertrain"
to = "body"
id = ["123", "200-2FF"]
"#;

#[test]
fn a_simple_file() {
    let (config, warnings) = load(&SourceText::new("t", SIMPLE)).unwrap();
    assert_eq!(warnings, []);
    assert_eq!(config.port_names(), ["powertrain", "body"]);
    let settings = &config.ports[1].settings;
    assert_eq!(settings.downcast_ref::<BusSettings>().unwrap().bus, "body");
    assert_eq!(config.options.realtime, None);
    assert!(config.options.lock_memory);
    assert_eq!(config.routes.mode, route::RouteMode::First);
    assert_eq!(config.routes.routes[0].name, "route 1");
    assert_eq!(config.routes.routes[0].matching.ids.len(), 2);
}

fn root(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(path)
}

/// Loads a text that must have neither mistakes nor warnings.
fn clean(name: &str, text: &str) -> GatewayConfig {
    let source = SourceText::new(name, text);
    match load(&source) {
        Ok((config, warnings)) => {
            assert_eq!(warnings, [], "{}", render(&source, &warnings, false));
            config
        }
        Err(errors) => panic!("{}", render(&source, &errors, false)),
    }
}

#[test]
fn all_examples_load() {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(root("examples")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|e| e == "toml") {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            clean(&name, &std::fs::read_to_string(&path).unwrap());
            names.push(name);
        }
    }
    for name in [
        "everything.toml",
        "log-to-stdout.toml",
        "two-can-interfaces.toml",
    ] {
        assert!(names.iter().any(|n| n == name), "{name} of {names:?}");
    }
}

#[test]
fn all_examples_of_the_reference_load() {
    let text = std::fs::read_to_string(root("docs/gateway-toml.md")).unwrap();
    let mut count = 0;
    for (i, block) in text.split("```toml\n").skip(1).enumerate() {
        let block = block.split("```").next().unwrap();
        let source = SourceText::new(format!("block {}", i + 1), block);
        // A block on ports alone has ports that no route uses, or no ports at all.
        let found = match load(&source) {
            Ok((_, warnings)) => warnings,
            Err(errors) => errors,
        };
        let serious: Vec<_> = found
            .into_iter()
            .filter(|d| d.severity == Severity::Error && d.message != "the file needs `ports`")
            .collect();
        assert_eq!(serious, [], "{}", render(&source, &serious, false));
        count += 1;
    }
    assert!(count >= 10, "{count} blocks");
}

/// The reference explains every key of the example that has all keys.
#[test]
fn the_reference_names_every_key() {
    let reference = std::fs::read_to_string(root("docs/gateway-toml.md")).unwrap();
    let everything = std::fs::read_to_string(root("examples/everything.toml")).unwrap();
    let mut count = 0;
    for line in everything.lines().filter(|line| !line.starts_with('#')) {
        let key: String = line
            .trim_start_matches([' ', '{'])
            .chars()
            .take_while(|c| c.is_ascii_lowercase() || *c == '_')
            .collect();
        if !key.is_empty() && line.contains('=') {
            assert!(reference.contains(&key), "{key}");
            count += 1;
        }
    }
    assert!(count > 40, "{count} keys");
}

#[test]
fn a_dozen_mistakes_at_once() {
    let source = SourceText::new("broken.toml", include_str!("broken.toml"));
    let errors = load(&source).unwrap_err();
    insta::assert_snapshot!("broken", render(&source, &errors, false));
}

#[test]
fn broken_syntax_is_reported_line_by_line() {
    let source = SourceText::new("syntax.toml", include_str!("syntax.toml"));
    let errors = load(&source).unwrap_err();
    insta::assert_snapshot!("syntax", render(&source, &errors, false));
}

fn messages(text: &str) -> Vec<String> {
    let found = match load(&SourceText::new("t", text)) {
        Ok((_, warnings)) => warnings,
        Err(errors) => errors,
    };
    found.into_iter().map(|d| d.message).collect()
}

#[test]
fn ports_agree_on_what_they_share() {
    let two = |a: &str, b: &str| {
        messages(&format!(
            "[ports.a]\n{a}\n[ports.b]\n{b}\n[[routes]]\nfrom = 'a'\nto = 'b'\n"
        ))
    };
    let bus = "kind = 'bus'\nbus = 'x'";
    // The ports agree, and `a` receives the frames that `b` sends.
    assert_eq!(
        two(bus, bus),
        [
            "a frame can go round in a circle, again and again: route `route 1` (line 7) from port \
             `a` on bus `x`"
        ]
    );
    assert_eq!(
        two(bus, &format!("{bus}\nbitrate = '250k'")),
        ["ports `a` and `b` share bus `x` and have different bit rates"]
    );
    assert_eq!(
        two(bus, &format!("{bus}\ndata_bitrate = '2M'")),
        ["ports `a` and `b` share bus `x` and have different bit rates"]
    );
    let can = "kind = 'socketcan'\ninterface = 'can0'";
    assert_eq!(two(can, can), ["ports `a` and `b` both use interface can0"]);
    let tunnel = |kind: &str, more: &str| {
        let addresses = "listen = '127.0.0.1:4000'\nconnect = '192.0.2.1:5000'";
        format!("kind = '{kind}'\n{addresses}\n{more}")
    };
    let stream = |id: &str| tunnel("ieee1722", &format!("stream = 'AABBCCDDEEFF{id}'"));
    assert_eq!(two(&stream("0001"), &stream("0002")), [""; 0]);
    assert_eq!(
        two(&stream("0001"), &stream("0001")),
        [
            "ports `a` and `b` both use bus 0 of stream AABBCCDDEEFF0001 at UDP address 127.0.0.1:4000"
        ]
    );
    // The other one's reports, whatever the buses are.
    for bus in ["", "\nbus = 1"] {
        assert_eq!(
            two(&stream("0001"), &format!("{}{bus}", stream("8001"))),
            [
                "ports `a` and `b` both use stream AABBCCDDEEFF0001 and its reports at UDP address 127.0.0.1:4000"
            ]
        );
    }
    // Two buses of a stream.
    assert_eq!(
        two(&stream("0001"), &tunnel("ieee1722", "bus = 1")),
        [""; 0]
    );
    for (a, b) in [("ieee1722", "cannelloni"), ("cannelloni", "ieee1722")] {
        assert_eq!(
            two(&tunnel(a, ""), &tunnel(b, "")),
            ["ports `a` and `b` both use UDP address 127.0.0.1:4000"]
        );
    }
    let log = "kind = 'log'\nwrite = 'x'";
    assert_eq!(two(log, log), ["ports `a` and `b` write one log"]);
    let log = "kind = 'log'\nread = '-'";
    assert_eq!(two(log, log), ["ports `a` and `b` both read stdin"]);
    let (reads, writes) = ("kind = 'log'\nread = 'x'", "kind = 'log'\nwrite = 'x'");
    let empties = |writer, reader| {
        [format!(
            "port `{writer}` writes the log that port `{reader}` reads"
        )]
    };
    assert_eq!(two(reads, writes), empties("b", "a"));
    assert_eq!(two(writes, reads), empties("a", "b"));
}

#[test]
fn what_the_table_refuses_has_a_place() {
    let text = format!("{SIMPLE}hop_limit = 2\n");
    let source = SourceText::new("t", text.as_str());
    let errors = load(&source).unwrap_err();
    assert_eq!(errors.len(), 1);
    assert_eq!(&text[errors[0].span.clone()], "[[routes]]");
    assert!(errors[0].message.contains("max_hops"), "{errors:?}");
}

#[test]
fn unused_ports_are_a_warning() {
    let text = format!("{SIMPLE}[ports.spare]\nkind = 'bus'\n");
    assert_eq!(messages(&text), ["no route uses port `spare`"]);
}

#[cfg(feature = "bpf")]
#[test]
fn what_the_kernel_cannot_run_has_a_place() {
    let output = |offload: &str, more: &str| {
        let text = format!(
            "[gateway]\noffload = '{offload}'\n\
             [ports.a]\nkind = 'socketcan'\n[ports.b]\nkind = 'socketcan'\n\
             [ports.log]\nkind = 'log'\nwrite = 'x'\n\
             [[routes]]\nname = 'good'\nfrom = 'a'\nto = 'b'\nkind = 'classic'\nid = '123'\n\
             [[routes]]\nname = 'r'\nfrom = 'a'\nkind = 'classic'\nid = '456'\n{more}\n"
        );
        messages(&text)
    };
    let elsewhere = "to = ['b', 'log']";
    assert_eq!(
        output("bpf", elsewhere),
        [
            "BPF cannot run this: route \"r\": goes to a port that is not a CAN interface of Linux, and \
             BPF routes among these only (port log)"
        ]
    );
    let can_gw = output("can-gw", elsewhere);
    assert!(
        can_gw[0].starts_with("can-gw cannot run this: "),
        "{can_gw:?}"
    );
    assert_eq!(output("auto", elsewhere), [""; 0]);
    let stamps = output("bpf", "to = 'b'\nkeep_stamp = true");
    assert!(stamps[1].contains("keep_stamp"), "{stamps:?}");
    let errors = "to = 'b'\nerror = 'either'";
    let warned = output("bpf", errors);
    assert!(
        warned[1].starts_with("route `r` takes error frames"),
        "{warned:?}"
    );
    assert_eq!(output("none", errors), ["no route uses port `log`"]);
}

#[test]
fn too_large_a_file_is_refused() {
    let text = "#".repeat(LARGEST_FILE + 1);
    assert_eq!(
        messages(&text),
        ["the file has 67108865 bytes; the maximum is 67108864"]
    );
}

#[test]
fn too_many_ports_are_refused() {
    let mut text = String::new();
    for i in 0..=MOST_PORTS {
        text.push_str(&format!("[ports.p{i}]\nkind = 'bus'\n"));
    }
    assert_eq!(
        messages(&text),
        ["the file has 1025 ports; the maximum is 1024"]
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn any_text_is_loaded_without_panic(text in ".{0,300}") {
        let source = SourceText::new("t", text);
        if let Err(errors) = load(&source) {
            prop_assert!(!render(&source, &errors, false).is_empty());
        }
    }

    /// The everything file with some bytes replaced: mistakes in every place.
    #[test]
    fn a_mangled_file_is_loaded_without_panic(
        changes in prop::collection::vec((any::<prop::sample::Index>(), "[\\[\\]{}=\"'0-9a-f,.#\n é-]{0,3}"), 1..6),
    ) {
        let mut text = include_str!("../../../../examples/everything.toml").to_owned();
        for (index, with) in changes {
            let mut at = index.index(text.len());
            while !text.is_char_boundary(at) {
                at -= 1;
            }
            let end = (at + 1..=text.len()).find(|&i| text.is_char_boundary(i)).unwrap_or(at);
            text.replace_range(at..end, &with);
        }
        let source = SourceText::new("t", text);
        if let Err(errors) = load(&source) {
            prop_assert!(!errors.is_empty());
            for d in &errors {
                prop_assert!(d.span.start <= d.span.end && d.span.end <= source.text.len());
            }
            prop_assert!(!render(&source, &errors, true).is_empty());
        }
    }
}

/// The kernel cannot inject faults: such a route is refused there with its port's name, and `auto`
/// keeps it in the process.
#[cfg(feature = "bpf")]
#[test]
fn a_port_with_faults_stays_in_this_process() {
    let text = |offload: &str| {
        format!(
            "[gateway]\noffload = \"{offload}\"\n\
             [ports.a]\nkind = \"socketcan\"\nfaults = {{ receive = {{ drop = 0.1 }} }}\n\
             [ports.b]\nkind = \"socketcan\"\n\
             [[routes]]\nname = \"r\"\nfrom = \"a\"\nto = \"b\"\nkind = \"classic\"\n"
        )
    };
    let reason =
        "route `r`: port `a` injects faults ([ports.a.faults]), and only this process does";
    for (offload, by) in [("can-gw", "can-gw"), ("bpf", "BPF")] {
        let found = load(&SourceText::new("t", text(offload))).unwrap_err();
        let errors: Vec<_> = found
            .iter()
            .filter(|d| d.severity == Severity::Error)
            .map(|d| d.message.as_str())
            .collect();
        assert_eq!(errors, [format!("{by} cannot run this: {reason}")]);
    }
    for offload in ["none", "auto"] {
        let (config, warnings) = load(&SourceText::new("t", text(offload))).unwrap();
        let messages: Vec<_> = warnings.iter().map(|d| d.message.as_str()).collect();
        assert_eq!(messages, ["port `a` injects faults"]);
        assert_eq!(config.kernel_ports(), [None, Some(KernelPort::new("b"))]);
        assert!(config.describe().contains("10 % dropped"));
    }
}

/// The kernel passes FD frames through a port under the same conditions as this process.
#[test]
fn the_kernel_is_given_the_ports_without_fd_frames() {
    for (keys, fd) in [
        ("", true),
        ("fd = false", false),
        ("bitrate = 500_000", false),
        ("bitrate = 500_000\ndata_bitrate = 2_000_000", true),
        (
            "bitrate = 500_000\ndata_bitrate = 2_000_000\nfd = false",
            false,
        ),
    ] {
        let text = format!(
            "[ports.a]\nkind = \"socketcan\"\n{keys}\n[ports.b]\nkind = \"bus\"\n\
             [[routes]]\nfrom = \"a\"\nto = \"b\"\n"
        );
        let (config, _) = load(&SourceText::new("t", text)).unwrap();
        let port = KernelPort {
            fd,
            ..KernelPort::new("a")
        };
        assert_eq!(config.kernel_ports(), [Some(port), None], "{keys}");
    }
}

/// The kernel does not have such a queue, either.
#[cfg(feature = "bpf")]
#[test]
fn a_port_with_rules_for_its_queue_stays_in_this_process() {
    let text = |offload: &str| {
        format!(
            "[gateway]\noffload = \"{offload}\"\n\
             [ports.a]\nkind = \"socketcan\"\norder = \"fifo\"\nwhen_full = \"refuse\"\n\
             [ports.b]\nkind = \"socketcan\"\norder = \"priority\"\nmax_age = \"1.5ms\"\n\
             [[routes]]\nname = \"r\"\nfrom = \"a\"\nto = \"b\"\nkind = \"classic\"\n"
        )
    };
    let reason = "route `r`: port `b` has `order = \"priority\"`, `max_age = \"1.5ms\"` for its \
                  transmit queue, and only this process does";
    for (offload, by) in [("can-gw", "can-gw"), ("bpf", "BPF")] {
        let found = load(&SourceText::new("t", text(offload))).unwrap_err();
        let errors: Vec<_> = found.iter().map(|d| d.message.as_str()).collect();
        assert_eq!(errors, [format!("{by} cannot run this: {reason}")]);
    }
    let (config, _) = load(&SourceText::new("t", text("auto"))).unwrap();
    // The defaults, spelt out, change nothing.
    assert_eq!(config.ports[0].queueing, None);
    assert_eq!(config.kernel_ports(), [Some(KernelPort::new("a")), None]);
}

/// Two gateways between the same two buses, in one file: each receives the frames that the other
/// sends.
#[test]
fn circles_of_routes_are_named_with_their_lines() {
    let text = "\
[ports]
a1 = { kind = 'bus', bus = 'a' }
a2 = { kind = 'bus', bus = 'a' }
b1 = { kind = 'bus', bus = 'b' }
b2 = { kind = 'bus', bus = 'b' }

[[routes]]
name = 'there'
from = 'a1'
to = 'b1'
id = '100-1FF'

[[routes]]
name = 'back'
from = 'b2'
to = 'a2'
id = '180-27F'
";
    let warnings = |text: &str| {
        let source = SourceText::new("gateway.toml", text);
        let (_, found) = load(&source).unwrap();
        let all = found.into_iter().map(|warning| warning.message);
        all.collect::<Vec<String>>()
    };
    assert_eq!(
        warnings(text),
        [
            "a frame can go round in a circle, again and again: route `there` (line 7) from port \
          `a1` on bus `a`, then route `back` (line 13) from port `b2` on bus `b`"
        ]
    );
    // Other IDs there than back; and a gateway in both directions.
    assert_eq!(
        warnings(&text.replace("180-27F", "200-27F")),
        Vec::<String>::new()
    );
    let both = text
        .replace("from = 'b2'", "from = 'b1'")
        .replace("to = 'a2'", "to = 'a1'");
    let unused = |words: &String| words.starts_with("no route uses");
    assert!(warnings(&both).iter().all(unused));
}

/// CAN FD has no remote frames, and an XL frame has no EFF ID: a route that could only make such
/// frames is refused; a route that also sends other frames gets a warning.
#[test]
fn routes_to_frames_that_cannot_exist() {
    let with = |keys: &str| {
        let text = format!("{SIMPLE}{keys}\n").replace("id = [\"123\", \"200-2FF\"]\n", "");
        // Ports of any kind of frame.
        let text = text.replace("kind = \"bus\"", "kind = \"socketcan\"\nxl = true");
        match load(&SourceText::new("t", text.as_str())) {
            Ok((_, warnings)) => (true, warnings),
            Err(errors) => (false, errors),
        }
    };
    let remote = "do = [{ or = { raw_id = '40000000' } }]";
    let eff = "do = [{ set = { id = '18FF0001' } }]";
    for (kind, action, runs, words) in [
        ("kind = 'fd'", remote, false, "CAN FD has no remote frames"),
        (
            "kind = ['fd', 'classic']",
            remote,
            true,
            "stops every FD frame",
        ),
        ("", remote, true, "stops every FD frame"),
        ("kind = 'classic'", remote, true, ""),
        ("rtr = true", remote, true, ""),
        ("kind = 'xl'", eff, false, "gives XL frames an EFF ID"),
        ("kind = ['xl', 'fd']", eff, true, "stops every XL frame"),
        ("", eff, true, ""),
        (
            "kind = 'fd'",
            "do = [{ or = { raw_id = '40000000' } }, { and = { raw_id = 'BFFFFFFF' } }]",
            true,
            "",
        ),
    ] {
        let (ran, found) = with(&format!("{kind}\n{action}"));
        assert_eq!(ran, runs, "{kind} {action} {found:?}");
        match &found[..] {
            [] => assert_eq!(words, "", "{kind} {action}"),
            [one] => assert!(!words.is_empty() && one.message.contains(words), "{one:?}"),
            more => panic!("{more:?}"),
        }
    }
}

#[cfg(not(feature = "bpf"))]
#[test]
fn bpf_that_is_not_built_in_is_refused_at_its_key() {
    let text = |offload: &str| {
        format!(
            "[gateway]\noffload = \"{offload}\"\n\
             [ports.a]\nkind = \"socketcan\"\n[ports.b]\nkind = \"socketcan\"\n\
             [[routes]]\nname = \"r\"\nfrom = \"a\"\nto = \"b\"\nkind = \"classic\"\n"
        )
    };
    let bpf = text("bpf");
    let errors = load(&SourceText::new("t", bpf.as_str())).unwrap_err();
    let [error] = errors.as_slice() else {
        panic!("{errors:?}");
    };
    assert_eq!(error.message, "`offload = \"bpf\"` is not in this build");
    assert_eq!(&bpf[error.span.clone()], "\"bpf\"");
    let hint = &error.hint;
    assert!(hint.contains("feature `bpf`"), "{hint}");

    let auto = load(&SourceText::new("t", text("auto"))).unwrap().0;
    let choices = crate::run::data_paths(&auto);
    let (path, why) = &choices[0].because[0];
    assert_eq!(path.to_string(), "bpf");
    assert!(why.contains("feature `bpf`"), "{why}");
}

/// Two tunnels between two ends in one file, over UDP and over TCP: a frame that leaves by one of
/// them comes back by the other one.
#[test]
fn circles_over_networks_are_found() {
    let ends = |kind: &str, more: [&str; 4]| {
        let mut text = "[ports]\n".to_owned();
        for (name, more) in ["a1", "b1", "a2", "b2"].iter().zip(more) {
            text.push_str(&format!("{name} = {{ kind = '{kind}', {more} }}\n"));
        }
        text
    };
    let udp = |far: &str| {
        let far = format!("listen = 4, connect = '{far}'");
        let more = [
            "listen = 1, connect = '127.0.0.1:2'",
            "listen = 2, connect = '127.0.0.1:1'",
            "listen = 3, connect = '127.0.0.1:4'",
            &far,
        ];
        ends("ieee1722", more)
    };
    let tcp = "transport = 'tcp'";
    let sides = [
        format!("{tcp}, listen = 1"),
        format!("{tcp}, connect = '127.0.0.1:1'"),
        format!("{tcp}, connect = '127.0.0.1:2'"),
        format!("{tcp}, listen = 2"),
    ];
    let tcp = ends("cannelloni", [&sides[0], &sides[1], &sides[2], &sides[3]]);
    let routes = "[[routes]]\nname = 'there'\nfrom = 'b1'\nto = 'b2'\n\
                  [[routes]]\nname = 'back'\nfrom = 'a2'\nto = 'a1'\n";
    let circles = |ports: &str| {
        let source = SourceText::new("gateway.toml", format!("{ports}{routes}"));
        let (_, found) = load(&source).unwrap();
        let all = found.into_iter().map(|warning| warning.message);
        all.filter(|text| text.contains("circle"))
            .collect::<Vec<_>>()
    };
    for ports in [udp("127.0.0.1:3"), tcp] {
        let found = circles(&ports);
        assert_eq!(found.len(), 1, "{ports}");
        for part in ["`there`", "`back`", "port `b1`", "port `a2`"] {
            assert!(found[0].contains(part), "{found:?}");
        }
    }
    // It sends to another machine, and the frames of `b2` come in nowhere.
    let open = udp("192.0.2.1:3").replace(
        "listen = 3, connect = '127.0.0.1:4'",
        "listen = 5, connect = '192.0.2.1:4'",
    );
    assert_eq!(circles(&open), Vec::<String>::new());
}
