//! `cangate bound --gateway`.

use crate::{cangate, stdout};
use serde_json::Value;

const BUSES: &str = "[buses.fast]\nbitrate = '500k'\n[buses.slow]\nbitrate = '250k'\n";
const MESSAGE: &str =
    "[[messages]]\nbus = 'fast'\nid = '100'\nperiod = '10ms'\ndata = 'AAAAAAAAAAAAAAAA'\n";
const PORTS: &str = "[ports.f]\nkind = 'bus'\nbus = 'fast'\nbitrate = '500k'\n\
    [ports.s]\nkind = 'bus'\nbus = 'slow'\nbitrate = '250k'\n";
const ROUTE: &str = "[[routes]]\nname = 'all'\nfrom = 'f'\nto = 's'\n";

/// Runs `cangate bound`; returns status, standard output and standard error.
fn bound(set: &str, gateway: &str, options: &[&str]) -> (i32, String, String) {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    let mut command = cangate();
    command.arg("bound").arg(write("set.toml", set));
    command
        .arg("--gateway")
        .arg(write("gateway.toml", gateway))
        .args(options);
    let output = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (
        output.status.code().unwrap(),
        text(output.stdout),
        text(output.stderr),
    )
}

fn json(set: &str, gateway: &str, options: &[&str]) -> Value {
    let (status, out, err) = bound(set, gateway, &[&["--json"], options].concat());
    assert_eq!(status, 0, "{out}\n{err}");
    serde_json::from_str(&out).unwrap()
}

fn ids(bus: &Value) -> Vec<&str> {
    let messages = bus["messages"].as_array().unwrap();
    messages.iter().map(|m| m["id"].as_str().unwrap()).collect()
}

/// A message alone on both buses takes its two lengths, without their intermissions, and the
/// gateway's time.
#[test]
fn a_route_takes_both_frames_and_the_gateway() {
    let timing = stdout(
        cangate().args(["timing", "--json", "100#AAAAAAAAAAAAAAAA"]),
        0,
    );
    let timing: Value = serde_json::from_str(&timing).unwrap();
    let bits = timing["bits"].as_u64().unwrap() - 3;
    let set = format!("{BUSES}{MESSAGE}");
    let json = json(
        &set,
        &format!("{PORTS}{ROUTE}"),
        &["--gateway-delay", "100us"],
    );
    let passed = &json["buses"][1]["messages"][0];
    assert_eq!(
        passed["bound"]["response_ns"],
        bits * 2_000 + 100_000 + bits * 4_000
    );
    assert_eq!(passed["bound"]["before_ns"], bits * 2_000);
    assert_eq!(passed["bound"]["jitter_ns"], 100_000);
    assert_eq!(passed["via"], "100 of bus fast, route all");
    assert_eq!(passed["node"], "s");
    let node = &json["buses"][1]["nodes"][0];
    assert_eq!(
        (&node["mailboxes"], &node["service"]),
        (&3.into(), &"covered".into())
    );
    assert_eq!((&node["backlog"], &node["room"]), (&1.into(), &13.into()));
}

#[test]
fn routes_decide_what_goes_where() {
    let set = format!("{BUSES}{MESSAGE}");
    let other = |route: &str| json(&set, &format!("{PORTS}{route}"), &[]);
    let changed = "[[routes]]\nfrom = 'f'\nto = 's'\ndo = [{ set = { id = '123', len = 2 } }]\n";
    let changed = other(changed);
    assert_eq!(ids(&changed["buses"][1]), ["123"]);
    let bits = changed["buses"][1]["messages"][0]["bits"].as_u64().unwrap();
    assert!((60..75).contains(&bits), "two bytes: {bits}");
    let filtered = "[[routes]]\nfrom = 'f'\nto = 's'\nid = '101'\n";
    assert!(ids(&other(filtered)["buses"][1]).is_empty());
    // A known payload does not match the condition; an unknown one may.
    let by_payload = "[[routes]]\nfrom = 'f'\nto = 's'\npayload = { at = 0, value = '55' }\n";
    assert!(ids(&other(by_payload)["buses"][1]).is_empty());
    let free = set.replace("data = 'AAAAAAAAAAAAAAAA'", "len = 8");
    let free = json(&free, &format!("{PORTS}{by_payload}"), &[]);
    assert_eq!(ids(&free["buses"][1]), ["100"]);
    // A limit may let pass all frames that came before it.
    let limited = format!("{ROUTE}limit = '1/h'\n");
    assert_eq!(ids(&other(&limited)["buses"][1]), ["100"]);
}

#[test]
fn messages_that_meet_are_refused() {
    let more = "[[messages]]\nbus = 'slow'\nid = '100'\nperiod = '10ms'\nlen = 1\nnode = 'door'\n";
    let set = format!("{BUSES}{MESSAGE}{more}");
    let (status, _, err) = bound(&set, &format!("{PORTS}{ROUTE}"), &[]);
    let words = "route all sends 100 to bus slow as 100, which door sends there already";
    assert!(status == 2 && err.contains(words), "{err}");
}

#[test]
fn a_queue_that_can_overflow_has_a_status() {
    let mut set = BUSES.to_owned();
    for n in 0..8 {
        set += &MESSAGE.replace("'100'", &format!("'10{n}'"));
    }
    let small = PORTS.replace("bitrate = '250k'", "bitrate = '250k'\nqueue = 1");
    let (status, out, err) = bound(&set, &format!("{small}{ROUTE}"), &[]);
    assert!(
        status == 3 && err.contains("the queue of a port can overflow: s"),
        "{err}"
    );
    assert!(out.contains("ROOM FOR 4"), "{out}");
}

#[test]
fn a_port_on_an_interface_needs_its_buffers() {
    let ports = PORTS.replace(
        "[ports.s]\nkind = 'bus'\nbus = 'slow'\nbitrate = '250k'\n",
        "[ports.slow]\nkind = 'socketcan'\n",
    );
    let route = ROUTE.replace("'s'", "'slow'");
    let set = format!("{BUSES}{MESSAGE}");
    let (status, _, err) = bound(&set, &format!("{ports}{route}"), &[]);
    assert!(
        status == 2 && err.contains("how many transmit buffers"),
        "{err}"
    );
    let set = format!("{BUSES}[nodes.slow]\nbus = 'slow'\nmailboxes = 3\n{MESSAGE}");
    let found = json(&set, &format!("{ports}{route}"), &[]);
    assert_eq!(ids(&found["buses"][1]), ["100"]);
    // A file without ports on the set's buses is a mistake.
    let elsewhere = PORTS.replace("'fast'", "'x'").replace("'slow'", "'y'");
    let (status, _, err) = bound(&set, &format!("{elsewhere}{ROUTE}"), &[]);
    assert!(status == 2 && err.contains("fewer than two"), "{err}");
    let wrong = PORTS.replace("bitrate = '250k'", "bitrate = '125k'");
    let (status, _, err) = bound(&set, &format!("{wrong}{ROUTE}"), &[]);
    assert!(status == 2 && err.contains("another bit rate"), "{err}");
}

/// The witness of each route's message, replayed by the demo with the same gateway: the measured
/// latency is within the bound of the second bus.
#[test]
fn the_demo_measures_no_more_than_the_bound() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let mut set = BUSES.to_owned();
    for n in 0..5 {
        set += &MESSAGE.replace("'100'", &format!("'1{n}0'"));
    }
    std::fs::write(at("set.toml"), &set).unwrap();
    std::fs::write(at("gateway.toml"), format!("{PORTS}{ROUTE}")).unwrap();
    let run = |command: &mut assert_cmd::Command| -> Value {
        serde_json::from_str(&stdout(command, 0)).unwrap()
    };
    let mut bound = cangate();
    bound.arg("bound").arg(at("set.toml")).arg("--json");
    let found = run(bound.arg("--gateway").arg(at("gateway.toml")));
    // Latency of the demo: queueing and arbitration, so the bound less the frame itself.
    let worst = found["buses"][1]["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|m| m["bound"]["latency_ns"].as_u64().unwrap() - m["frame_ns"].as_u64().unwrap());
    let worst = worst.max().unwrap();
    let mut witness = cangate();
    witness
        .arg("bound")
        .arg(at("set.toml"))
        .args(["--witness", "140", "--out"]);
    stdout(witness.arg(at("w.log")), 0);
    let mut demo = cangate();
    demo.args(["demo", "--json", "--log"])
        .arg(at("w.log"))
        .arg("--config");
    let measured = run(demo.arg(at("gateway.toml")));
    let latency = &measured["routes"][0]["latency_ns"]["max"];
    let latency = latency.as_u64().unwrap_or_else(|| panic!("{measured}"));
    assert!(0 < latency && latency <= worst, "{latency} of {worst}");
}

/// A search finds when the messages of both buses must come, so that a forwarded message takes
/// long; the demo, which has the same gateway, measures the same time. The second bus comes first
/// in the log.
#[test]
fn the_witness_of_a_route_is_found_and_shown_by_the_demo() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let mut set = BUSES.to_owned();
    for n in 0..4 {
        set += &MESSAGE.replace("'100'", &format!("'1{n}0'"));
    }
    for id in ["'050'", "'700'"] {
        set += &MESSAGE.replace("'100'", id).replace("fast", "slow");
    }
    std::fs::write(at("set.toml"), &set).unwrap();
    std::fs::write(at("gateway.toml"), format!("{PORTS}{ROUTE}")).unwrap();
    let witness = |plays: &str| {
        let mut bound = cangate();
        bound.arg("bound").arg(at("set.toml"));
        bound.arg("--gateway").arg(at("gateway.toml"));
        bound.args(["--witness", "slow:130", "--plays", plays, "--out"]);
        stdout(bound.arg(at("w.log")), 0)
    };
    let out = witness("500");
    assert!(out.contains("replayed on simulated buses"), "{out}");
    let (_, rest) = out
        .split_once("From its event to its end of frame: ")
        .unwrap();
    let number = |text: &str| -> f64 { text.split(' ').next().unwrap().parse().unwrap() };
    let seen = number(rest);
    let bound = number(rest.split_once("the bound is ").unwrap().1);
    assert!(seen <= bound && seen > 0.6 * bound, "{out}");
    let log = std::fs::read_to_string(at("w.log")).unwrap();
    assert!(
        log.contains(" slow 050#") && log.contains(" fast 1"),
        "{log}"
    );
    replay(folder.path());
    let shown = std::fs::read_to_string(at("out/outgoing.log")).unwrap();
    let stamp = |text: &str, what: &str| -> f64 {
        let line = text.lines().find(|line| line.contains(what)).unwrap();
        line[1..line.find(')').unwrap()].parse().unwrap()
    };
    let took = (stamp(&shown, " s 130#") - (stamp(&log, " fast 130#") - 1.0)) * 1e6;
    // The log that the demo writes has microseconds.
    assert!((took - seen).abs() < 2.0, "{took} µs, {out}{shown}");
    assert!(witness("1").contains("scenarios of at most 1."), "{log}");
}

/// Results of the demo are within the bounds of the set that it was given, and above those of a set
/// with less traffic than was sent.
#[test]
fn the_gateways_own_time_comes_from_results() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    std::fs::write(at("set.toml"), format!("{BUSES}{MESSAGE}")).unwrap();
    std::fs::write(at("gateway.toml"), format!("{PORTS}{ROUTE}")).unwrap();
    let mut demo = cangate();
    demo.args(["demo", "--seconds", "1", "--out"]);
    stdout(demo.arg(at("out")), 0);
    let results = at("out/results.parquet");
    let longest = probe::results::read(&results).unwrap();
    let longest = longest.latencies(None).max().unwrap();
    assert!(longest > 0);
    let bound = || {
        let mut command = cangate();
        command.arg("bound").arg(at("set.toml"));
        command.arg("--gateway").arg(at("gateway.toml"));
        command.arg("--gateway-delay-from").arg(&results);
        command
    };
    let reported = stdout(bound().arg("--json"), 0);
    let json: serde_json::Value = serde_json::from_str(&reported).unwrap();
    assert_eq!(json["gateway_delay_ns"], longest, "{json}");
    let from = json["gateway_delay_from"].as_str().unwrap();
    assert!(from.starts_with("the longest of "), "{from}");
    let text = stdout(&mut bound(), 0);
    assert!(text.contains("A measured time is not a bound."), "{text}");

    let itself = bound().arg("--check").arg(&results).output().unwrap();
    assert_eq!(itself.status.code(), Some(2));
    let reported = String::from_utf8(itself.stderr).unwrap();
    assert!(reported.contains("in another run"), "{reported}");
}

/// Replays `w.log` through the demo's gateway, and writes its results into `out`.
fn replay(folder: &std::path::Path) {
    let at = |name: &str| folder.join(name);
    let mut demo = cangate();
    demo.args(["demo", "--log"])
        .arg(at("w.log"))
        .arg("--config");
    stdout(demo.arg(at("gateway.toml")).arg("--out").arg(at("out")), 0);
}

/// Replays the worst case of message 150 of `set.toml` through `gateway.toml` in the demo; its
/// results are in `out`.
pub(crate) fn play_witness(folder: &std::path::Path) {
    let at = |name: &str| folder.join(name);
    let mut witness = cangate();
    witness
        .arg("bound")
        .arg(at("set.toml"))
        .args(["--witness", "150", "--out"]);
    stdout(witness.arg(at("w.log")), 0);
    replay(folder);
}

#[test]
fn results_are_held_against_bounds() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let set = |messages: std::ops::Range<u32>| {
        let each = messages.map(|n| MESSAGE.replace("'100'", &format!("'1{n}0'")));
        each.fold(BUSES.to_owned(), |all, message| all + &message)
    };
    std::fs::write(at("set.toml"), set(0..6)).unwrap();
    std::fs::write(at("less.toml"), set(5..6)).unwrap();
    std::fs::write(at("gateway.toml"), format!("{PORTS}{ROUTE}")).unwrap();
    play_witness(folder.path());
    let check = |set: &str| {
        let mut command = cangate();
        command
            .arg("bound")
            .arg(at(set))
            .arg("--gateway")
            .arg(at("gateway.toml"));
        command.arg("--check").arg(at("out/results.parquet"));
        command.output().unwrap()
    };
    let good = check("set.toml");
    let out = String::from_utf8(good.stdout).unwrap();
    assert!(out.contains("6 frames within their bounds"), "{out}");
    assert_eq!(good.status.code(), Some(0));
    let bad = check("less.toml");
    let (out, err) = (
        String::from_utf8(bad.stdout).unwrap(),
        String::from_utf8(bad.stderr).unwrap(),
    );
    assert!(
        out.contains("1 above; 5 that the set does not have"),
        "{out}"
    );
    assert!(
        err.contains("error: 1 frames took longer") && err.contains("(150 to port s"),
        "{err}"
    );
    assert_eq!(bad.status.code(), Some(3));
}

/// Messages of another node on the outgoing bus that a set spreads over time, and that come at
/// once: a frame that they delay is above its bound.
#[test]
fn results_are_held_against_offsets() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let set = |more: &dyn Fn(u32) -> String| {
        let passed = MESSAGE.replace("'100'", "'150'");
        let beside = |n: u32| {
            let message = MESSAGE.replace("'100'", &format!("'10{n}'"));
            message.replace("'fast'", "'slow'") + "node = 'n'\n" + &more(n)
        };
        (0..5)
            .map(beside)
            .fold(BUSES.to_owned() + &passed, |all, one| all + &one)
    };
    let spread = set(&|n| format!("offset = '{}ms'\n", 2 * n));
    std::fs::write(at("gateway.toml"), format!("{PORTS}{ROUTE}")).unwrap();
    let check = || {
        let mut command = cangate();
        command.arg("bound").arg(at("spread.toml"));
        command.arg("--gateway").arg(at("gateway.toml"));
        command.arg("--check").arg(at("out/results.parquet"));
        command.output().unwrap()
    };
    let play = || {
        let mut witness = cangate();
        witness.arg("bound").arg(at("set.toml"));
        witness.arg("--gateway").arg(at("gateway.toml"));
        witness.args(["--witness", "slow:150", "--out"]);
        stdout(witness.arg(at("w.log")), 0);
        replay(folder.path());
    };
    std::fs::write(at("spread.toml"), &spread).unwrap();
    std::fs::write(at("set.toml"), &spread).unwrap();
    play();
    let kept = check();
    assert_eq!(kept.status.code(), Some(0), "{kept:?}");
    std::fs::write(at("set.toml"), set(&|_| String::new())).unwrap();
    play();
    let broken = check();
    assert_eq!(broken.status.code(), Some(3), "{broken:?}");
    let err = String::from_utf8(broken.stderr).unwrap();
    assert!(err.contains("took longer than their bounds"), "{err}");
}

/// Predicts from a log how a gateway will behave before it is built, in one step.
#[test]
fn a_log_is_followed_through_a_gateway() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let line = |n: u64, what: &str| {
        let (seconds, micros) = (n / 100, n % 100 * 10_000);
        format!("({seconds}.{micros:06}) {what}#0011223344556677\n")
    };
    let lines = |n: u64| line(n, "fast 123") + &line(n, "slow 124");
    std::fs::write(at("both.log"), (0..50).map(lines).collect::<String>()).unwrap();
    let ports = PORTS.replace("250k", "500k");
    std::fs::write(at("gateway.toml"), format!("{ports}{ROUTE}")).unwrap();
    let from_log = |options: &[&str]| {
        let mut command = cangate();
        command.args(["bound", "--from-log"]).arg(at("both.log"));
        command.args(options).output().unwrap()
    };
    let gateway = at("gateway.toml");
    let gateway = gateway.to_str().unwrap();
    let reported = from_log(&["--gateway", gateway, "--json", "--bitrate", "500k"]);
    let text = String::from_utf8(reported.stdout).unwrap();
    let json: Value = serde_json::from_str(&text).unwrap_or_else(|error| {
        panic!(
            "{error}: {text}{}",
            String::from_utf8_lossy(&reported.stderr)
        )
    });
    let buses = json["buses"].as_array().unwrap();
    let slow = buses.iter().find(|bus| bus["name"] == "slow").unwrap();
    let messages = slow["messages"].as_array().unwrap();
    let passed = messages.iter().find(|m| m["id"] == "123").unwrap();
    assert!(
        passed["via"].as_str().unwrap().contains("of bus fast"),
        "{passed}"
    );
    assert!(
        passed["bound"]["response_ns"].as_u64().unwrap() > 0,
        "{passed}"
    );

    let alone = from_log(&["--json"]);
    assert_eq!(alone.status.code(), Some(2));
    let err = String::from_utf8(alone.stderr).unwrap();
    assert!(
        err.contains("--json with --from-log needs --gateway"),
        "{err}"
    );
    let wrong = from_log(&["--gateway", gateway, "--mailboxes", "s:none=3"]);
    let err = String::from_utf8(wrong.stderr).unwrap();
    assert!(err.contains("the log has no interface none"), "{err}");
}

/// A port of the results has another name than in the gateway file.
#[test]
fn ports_of_results_can_be_renamed() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    std::fs::write(at("set.toml"), format!("{BUSES}{MESSAGE}")).unwrap();
    std::fs::write(at("gateway.toml"), format!("{PORTS}{ROUTE}")).unwrap();
    std::fs::write(at("one.log"), "(1.0) fast 100#AAAAAAAAAAAAAAAA\n").unwrap();
    let mut demo = cangate();
    demo.args(["demo", "--log"])
        .arg(at("one.log"))
        .arg("--config");
    stdout(demo.arg(at("gateway.toml")).arg("--out").arg(at("out")), 0);
    let mut results = probe::results::read(&at("out/results.parquet")).unwrap();
    for (n, port) in results.ports.iter_mut().enumerate() {
        *port = format!("bus {n}");
    }
    let which = results
        .records
        .iter()
        .find_map(|r| r.outgoing)
        .unwrap()
        .port;
    probe::results::write(&at("other.parquet"), &results).unwrap();
    let check = |options: &[&str]| {
        let mut command = cangate();
        command.arg("bound").arg(at("set.toml"));
        command.arg("--gateway").arg(at("gateway.toml"));
        command.arg("--check").arg(at("other.parquet"));
        command.args(options).output().unwrap()
    };
    let err = |output: &std::process::Output| String::from_utf8_lossy(&output.stderr).into_owned();
    let unknown = check(&[]);
    assert_eq!(unknown.status.code(), Some(3));
    assert!(
        err(&unknown).contains("--port NAME=PORT"),
        "{}",
        err(&unknown)
    );
    let port = format!("bus {which}=s");
    assert_eq!(check(&["--port", &port]).status.code(), Some(0), "{port}");
    // By the name of its bus.
    let bus = format!("bus {which}=slow");
    assert_eq!(check(&["--port", &bus]).status.code(), Some(0), "{bus}");
    let wrong = check(&["--port", "bus 9=s"]);
    assert_eq!(wrong.status.code(), Some(2));
    assert!(
        err(&wrong).contains("it has no port bus 9"),
        "{}",
        err(&wrong)
    );
}
