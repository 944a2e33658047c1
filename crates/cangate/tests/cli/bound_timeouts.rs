//! `cangate bound`: the timeouts of receivers.

use crate::{cangate, root, stderr, stdout};
use serde_json::Value;
use std::path::Path;

const SET: &str = "examples/bound/timeouts.toml";
const GATEWAY: &str = "examples/bound/timeouts-gateway.toml";

/// Runs `cangate bound` with the files of the example, changed; returns status, output and errors.
fn bound(changed: &[(&str, &str, &str)], options: &[&str]) -> (i32, String, String) {
    let folder = tempfile::tempdir().unwrap();
    let names = [
        "timeouts.toml",
        "timeouts-gateway.toml",
        "timeouts-drive.dbc",
        "timeouts-body.dbc",
    ];
    for name in names {
        let path = root().join("examples/bound").join(name);
        let mut text = std::fs::read_to_string(path).unwrap();
        for (_, from, to) in changed.iter().filter(|(file, ..)| *file == name) {
            assert!(text.contains(from), "{name} has no {from}");
            text = text.replace(from, to);
        }
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    let mut command = cangate();
    command.current_dir(folder.path());
    command.args(["bound", "timeouts.toml"]).args(options);
    let output = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    let status = output.status.code().unwrap();
    (status, text(output.stdout), text(output.stderr))
}

const THROUGH: [&str; 4] = [
    "--gateway",
    "timeouts-gateway.toml",
    "--gateway-delay",
    "100us",
];

/// The example: each figure is the sum of the parts that JSON has, and the parts are those of the
/// bounds. One timeout of the database of the second bus cannot hold.
#[test]
fn timeouts_are_compared_over_two_buses() {
    let (status, out, err) = bound(&[], &THROUGH);
    assert_eq!(status, 3, "{out}\n{err}");
    let sentence =
        "1 of 5 timeouts can expire in normal operation, or have no bound: 1A0 EngineData at Wiper";
    assert!(err.contains(sentence), "{err}");
    assert!(
        out.contains("(timeouts-body.dbc, line 6, signal Speed)"),
        "{out}"
    );
    let (status, out, _) = bound(&[], &[&THROUGH[..], &["--json"]].concat());
    assert_eq!(status, 3);
    let json: Value = serde_json::from_str(&out).unwrap();
    let all = json["timeouts"].as_array().unwrap();
    assert_eq!(all.len(), 5);
    let number = |value: &Value| value.as_u64().unwrap();
    for timeout in all {
        let longest = number(&timeout["longest_ns"]);
        let parts = ["events_ns", "response_ns"].map(|part| number(&timeout[part]));
        assert_eq!(
            longest,
            parts[0] + parts[1] - number(&timeout["shortest_ns"])
        );
        let expires = longest >= number(&timeout["timeout_ns"]);
        assert_eq!(timeout["can_expire"], expires, "{timeout}");
    }
    let wiper = all
        .iter()
        .find(|timeout| timeout["node"] == "Wiper")
        .unwrap();
    let body = json["buses"][1]["messages"].as_array().unwrap();
    let engine = body.iter().find(|message| message["id"] == "1A0").unwrap();
    assert_eq!(wiper["response_ns"], engine["bound"]["response_ns"]);
    // The shortest frames: what the frame has before this bus, and at least 108 bits here.
    let shortest = number(&wiper["shortest_ns"]) - number(&engine["bound"]["before_ns"]);
    assert_eq!(shortest, 108 * 8_000);
    assert_eq!(wiper["hops"][0], "1A0 of bus drive, route dash");
    // One tolerated loss is one period more.
    let brake = all
        .iter()
        .find(|timeout| timeout["node"] == "Brake")
        .unwrap();
    assert_eq!(
        (&brake["losses"], &brake["events_ns"]),
        (&1.into(), &40_000_000.into())
    );
    assert!(
        brake["source"]
            .as_str()
            .unwrap()
            .starts_with("timeouts.toml, line ")
    );
}

#[test]
fn a_longer_timeout_holds() {
    let longer = ("timeouts-body.dbc", "Speed 22;", "Speed 23;");
    let (status, out, err) = bound(&[longer], &THROUGH);
    assert_eq!(status, 0, "{out}\n{err}");
    assert!(!out.contains("EXPIRES"), "{out}");
    // Exactly the longest distance is too short: frame and timeout come at one time.
    let (_, out, _) = bound(&[longer], &[&THROUGH[..], &["--json"]].concat());
    let json: Value = serde_json::from_str(&out).unwrap();
    let brake = &json["timeouts"][0];
    assert_eq!(brake["node"], "Brake");
    let longest = brake["longest_ns"].as_u64().unwrap();
    for (time, status) in [(longest, 3), (longest + 1, 0)] {
        let time = format!("time = \"{time}ns\"");
        let exact = ("timeouts.toml", "time = \"50ms\"", time.as_str());
        assert_eq!(bound(&[longer, exact], &THROUGH).0, status, "{time}");
    }
}

/// Each reason for which no bound of the distance exists is named, and has the status.
#[test]
fn a_distance_without_a_bound_is_named() {
    let longer = ("timeouts-body.dbc", "Speed 22;", "Speed 23;");
    let limited = (
        "timeouts-gateway.toml",
        "to = \"to_body\"",
        "to = \"to_body\"\nlimit = \"1/s\"",
    );
    let by_payload = (
        "timeouts-gateway.toml",
        "to = \"to_body\"",
        "to = \"to_body\"\npayload = { at = 0, value = \"55\" }",
    );
    let by_signal = (
        "timeouts-gateway.toml",
        "to = \"to_body\"",
        "to = \"to_body\"\nmessage = \"EngineData\"\nwhen = \"Speed > 5\"",
    );
    let sporadic = (
        "timeouts.toml",
        "jitter = \"1ms\"",
        "longest_period = \"none\"",
    );
    let overloaded = (
        "timeouts.toml",
        "period = \"20ms\"\njitter = \"1ms\"",
        "period = \"200us\"",
    );
    for (change, words) in [
        (limited, "route dash has a rate limit"),
        (by_payload, "route dash takes frames by their payload"),
        (by_signal, "route dash takes frames by their payload"),
        (sporadic, "no bound: it is not periodic"),
        (
            overloaded,
            "the message has no bound: with all higher-priority frames the bus load is",
        ),
    ] {
        let (status, out, err) = bound(&[longer, change], &THROUGH);
        let joined = out.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            status == 3 && joined.contains(words),
            "{words}: {out}\n{err}"
        );
    }
    let longest = (
        "timeouts.toml",
        "jitter = \"1ms\"",
        "longest_period = \"40ms\"",
    );
    let (status, out, _) = bound(&[longer, longest], &THROUGH);
    assert!(
        status == 3 && out.contains("80000 from event to event"),
        "{out}"
    );
    let elsewhere = ("timeouts.toml", "losses = 1", "bus = \"body\"");
    let (status, out, _) = bound(&[elsewhere], &[]);
    assert!(status == 3 && out.contains("--gateway FILE"), "{out}");
}

/// Two messages of one definition are two: the one that the set has not is named.
#[test]
fn a_timeout_of_another_id_of_a_range_is_not_compared() {
    let path = root().join("examples/bound/timeouts-drive.dbc");
    let dbc = std::fs::read_to_string(path).unwrap();
    let sym = "FormatVersion=6.0\n[BrakeState]\nID=2B0h-2B1h\nTimeout=60\nVar=Level unsigned 0,8\n";
    let ranges = ("timeouts-drive.dbc", dbc.as_str(), sym);
    let (_, out, err) = bound(&[ranges], &THROUGH);
    let joined = out.split_whitespace().collect::<Vec<_>>().join(" ");
    let words = "Timeouts of timeouts-drive.dbc that were not compared, because the set has no such \
        message on bus drive: BrakeState.";
    assert!(joined.contains(words), "{out}\n{err}");
}

/// The source of a made message is silent in normal operation if its timeout is shorter than the
/// longest distance of the frames that reach the port.
#[test]
fn sources_of_made_messages_have_timeouts() {
    let longer = ("timeouts-body.dbc", "Speed 22;", "Speed 23;");
    let port = |timeout: &str| {
        format!(
            "[ports.made]\nkind = \"messages\"\ndatabase = \"body\"\n[ports.made.make.Lights]\nevery = \"100ms\"\n\
             signals.Beam = {{ from = \"drive.EngineData.Speed\", overflow = \"saturate\", timeout = \"{timeout}\", \
             silent = {{ substitute = 0 }} }}\n\n[[routes]]\nname = \"dash\""
        )
    };
    let to_both = (
        "timeouts-gateway.toml",
        "\"to_body\"\n",
        "[\"to_body\", \"made\"]\n",
    );
    // A period of 20 ms, 1 ms of jitter, a bound of 436 µs, a shortest frame of 108 bits, and the
    // gateway's 100 µs: 21.32 ms.
    for (timeout, status) in [("21320us", 3), ("21321us", 0)] {
        let port = port(timeout);
        let made = (
            "timeouts-gateway.toml",
            "[[routes]]\nname = \"dash\"",
            port.as_str(),
        );
        let (found, out, err) = bound(&[longer, to_both, made], &THROUGH);
        assert_eq!(found, status, "{out}\n{err}");
        let words = "1A0 EngineData at the gateway";
        assert_eq!(err.contains(words), status == 3, "{err}");
        assert_eq!(
            out.contains("message Lights, port made"),
            status == 3,
            "{out}"
        );
    }
}

#[test]
fn mistakes_have_a_place() {
    for (from, to, words) in [
        (
            "time = \"50ms\", losses",
            "losses",
            "add `time = \"500ms\"`",
        ),
        (
            "time = \"50ms\"",
            "time = \"0ms\"",
            "a timeout of 0 is no time",
        ),
        ("losses = 1", "bus = \"boddy\"", "there is no bus `boddy`"),
        ("losses = 1", "lost = 1", "did you mean `losses`?"),
        (
            "jitter = \"1ms\"",
            "longest_period = \"10ms\"",
            "shorter than the period",
        ),
    ] {
        let (status, _, err) = bound(&[("timeouts.toml", from, to)], &[]);
        assert!(status == 2 && err.contains(words), "{words}: {err}");
        assert!(err.contains("timeouts.toml:1"), "{err}");
    }
}

/// The set of a DBC has its timeouts, and can be assessed as it is.
#[test]
fn a_dbc_gives_timeouts() {
    let dbc = root().join("examples/bound/timeouts-drive.dbc");
    let set = stdout(cangate().args(["bound", "--from-dbc"]).arg(dbc), 0);
    let line = "timeouts = [{ node = \"Engine\", time = \"60ms\" }]\n";
    assert!(set.contains(line), "{set}");
    let mut command = cangate();
    command.args(["bound", "-"]).write_stdin(set.clone());
    assert!(stdout(&mut command, 0).contains("Timeouts of receivers"));
    let mut command = cangate();
    command.args(["bound", "-"]);
    command.write_stdin(set.replace("60ms", "50ms"));
    assert!(stderr(&mut command, 3).contains("2B0 BrakeState at Engine"));
}

#[test]
fn the_page_has_the_timeouts() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = cangate();
    command.current_dir(root());
    command.args(["bound", SET, "--gateway", GATEWAY, "--report"]);
    command.arg(folder.path());
    stdout(&mut command, 3);
    let page = std::fs::read_to_string(Path::new(folder.path()).join("bound.html")).unwrap();
    assert!(
        page.contains(r#""message":"1A0 EngineData","node":"Wiper","bus":"body""#),
        "{page}"
    );
}

#[test]
fn check_names_the_command_for_timeouts() {
    let mut command = cangate();
    let out = stdout(command.arg("check").arg(root().join(GATEWAY)), 0);
    let note = "timeouts of receivers: 3 messages of the databases; `cangate bound SET.toml --gateway FILE` compares them\n";
    assert!(out.ends_with(note), "{out}");
}

/// The periods of a log are estimates: nothing is proved by them.
#[test]
fn a_log_proves_no_timeout() {
    let folder = tempfile::tempdir().unwrap();
    for name in [
        "timeouts-gateway.toml",
        "timeouts-drive.dbc",
        "timeouts-body.dbc",
    ] {
        let text = std::fs::read_to_string(root().join("examples/bound").join(name)).unwrap();
        let text = text.replace("125k", "500k");
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    let frame = |n: u32| {
        let drive = format!("(1.{:06}) drive 1A0#0011223344556677\n", n * 20_000);
        let body = format!("(1.{:06}) body 350#0011223344556677\n", n * 20_000 + 500);
        drive + &body
    };
    let log: String = (0..40).map(frame).collect();
    std::fs::write(folder.path().join("drive.log"), log).unwrap();
    let mut command = cangate();
    command.current_dir(folder.path());
    command.args(["bound", "--from-log", "drive.log"]);
    let out = stdout(command.args(["--gateway", "timeouts-gateway.toml"]), 0);
    assert!(out.contains("Left out: timeouts of receivers"), "{out}");
    assert!(!out.contains("Timeouts of receivers"), "{out}");
}

/// The timeout of an end-to-end protection is one of all receivers of the message, unless they have
/// a shorter one.
#[test]
fn the_timeout_of_a_protection_counts() {
    let from = "BA_DEF_REL_ BU_SG_REL_";
    let of = |time: u32| {
        format!(
            "BA_DEF_ BO_ \"E2ETimeout\" INT 0 65535;\nBA_ \"E2ETimeout\" BO_ 416 {time};\n{from}"
        )
    };
    let (status, out, err) = bound(&[("timeouts-body.dbc", from, &of(22))], &THROUGH);
    assert_eq!(status, 3, "{out}\n{err}");
    let both = "2 of 5 timeouts can expire in normal operation, or have no bound: 1A0 EngineData at Cluster, 1A0 \
                EngineData at Wiper";
    assert!(err.contains(both), "{err}");
    assert!(
        out.contains("(timeouts-body.dbc, line 15, E2ETimeout)"),
        "{out}"
    );
    // Zero is none.
    for time in [0, 50] {
        let (_, _, err) = bound(&[("timeouts-body.dbc", from, &of(time))], &THROUGH);
        assert!(err.contains("1 of 5 timeouts"), "{err}");
    }
}
