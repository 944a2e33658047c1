//! `cangate bound`: FD frames that a gateway splits into classic parts, and another one joins.

use crate::cangate;
use serde_json::Value;

/// A camera's bus with FD, a classic one, and the display's with FD.
const SET: &str = r#"
[buses.camera]
bitrate = "500k"
data_bitrate = "2M"

[buses.body]
bitrate = "500k"

[buses.display]
bitrate = "500k"
data_bitrate = "2M"

[nodes.to_body]
bus = "body"
mailboxes = 1

[nodes.from_body]
bus = "body"
mailboxes = 1

[[messages]]
id = "300"
name = "Lane"
bus = "camera"
node = "camera_node"
period = "20ms"
kind = "fd"
len = 24
timeouts = [{ node = "Screen", bus = "display", time = "40ms" }]

[[messages]]
id = "100"
bus = "body"
period = "10ms"
len = 8

[[messages]]
id = "7FF"
bus = "body"
period = "10ms"
len = 8
"#;

/// The gateway between the camera and the body, which splits.
const NEAR: &str = r#"
[ports.camera]
kind = "bus"
bus = "camera"
bitrate = "500k"
data_bitrate = "2M"
[ports.to_body]
kind = "bus"
bus = "body"
bitrate = "500k"
mailboxes = 1
queue = 16
[ports.parts]
kind = "split"
parts = { "300" = "700" }

[[routes]]
name = "split"
from = "camera"
to = "parts"
id = "300"
[[routes]]
name = "out"
from = "parts"
to = "to_body"
id = "700"
"#;

/// The gateway between the body and the display, which joins.
const FAR: &str = r#"
[ports.from_body]
kind = "bus"
bus = "body"
bitrate = "500k"
mailboxes = 1
[ports.display]
kind = "bus"
bus = "display"
bitrate = "500k"
data_bitrate = "2M"
[ports.joined]
kind = "split"
parts = { "300" = "700" }

[[routes]]
name = "in"
from = "from_body"
to = "joined"
id = "700"
[[routes]]
name = "join"
from = "joined"
to = "display"
id = "300"
"#;

/// Runs `cangate bound` with these files, changed; returns status, output and errors.
fn bound(changed: &[(&str, &str)], options: &[&str]) -> (i32, String, String) {
    let folder = tempfile::tempdir().unwrap();
    for (from, _) in changed {
        assert!(
            [SET, NEAR, FAR].iter().any(|text| text.contains(from)),
            "{from}"
        );
    }
    for (name, text) in [("set.toml", SET), ("near.toml", NEAR), ("far.toml", FAR)] {
        let text = changed
            .iter()
            .fold(text.to_owned(), |text, (from, to)| text.replace(from, to));
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    let mut command = cangate();
    command.current_dir(folder.path());
    command.args([
        "bound",
        "set.toml",
        "--gateway",
        "near.toml",
        "--gateway",
        "far.toml",
    ]);
    if !options.contains(&"--gateway-delay") {
        command.args(["--gateway-delay", "50us"]);
    }
    command.args(options);
    let output = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    let status = output.status.code().unwrap();
    (status, text(output.stdout), text(output.stderr))
}

fn json(changed: &[(&str, &str)]) -> (i32, Value) {
    let (status, out, err) = bound(changed, &["--json"]);
    (status, serde_json::from_str(&out).expect(&err))
}

fn message<'j>(json: &'j Value, bus: &str, id: &str) -> &'j Value {
    let buses = json["buses"].as_array().unwrap();
    let bus = buses.iter().find(|b| b["name"] == bus).unwrap();
    let messages = bus["messages"].as_array().unwrap();
    messages.iter().find(|m| m["id"] == id).unwrap()
}

fn response(json: &Value, bus: &str, id: &str) -> u64 {
    message(json, bus, id)["bound"]["response_ns"]
        .as_u64()
        .unwrap()
}

/// 24 bytes are four parts: 6, 7, 7 and 4 bytes. The last one waits for the three before it.
#[test]
fn the_bound_is_that_of_the_last_part() {
    let (status, all) = json(&[]);
    assert_eq!(status, 0, "{all}");
    let parts = message(&all, "body", "700");
    assert_eq!(
        (&parts["parts"], &parts["name"]),
        (&4.into(), &"Lane".into())
    );
    assert_eq!(parts["node"], "to_body");
    assert_eq!(
        parts["via"],
        "300 of bus camera, route split, 4 parts by port parts, route out"
    );
    let frame = |id| message(&all, "body", id)["frame_ns"].as_u64().unwrap();
    let pause = 6_000;
    let before = frame("100") + frame("7FF") + 3 * frame("700") + 5 * pause;
    // The gateway takes the frame, and then its parts.
    let expected = response(&all, "camera", "300") + 100_000 + before + frame("700");
    assert_eq!(response(&all, "body", "700"), expected);
    // A frame of lower priority waits for all parts, and for one of 100.
    let lower = response(&all, "body", "7FF");
    assert_eq!(
        lower,
        4 * frame("700") + frame("100") + 5 * pause + frame("7FF")
    );
    let joined = message(&all, "display", "300");
    assert_eq!(joined["parts"], Value::Null);
    let alone = joined["frame_ns"].as_u64().unwrap();
    assert_eq!(response(&all, "display", "300"), expected + 100_000 + alone);
    // Before the joined frame come its own, and that of the camera, at the earliest.
    let timeout = &all["timeouts"][0];
    assert!(
        timeout["longest_ns"].as_u64().unwrap() > 20_000_000,
        "{timeout}"
    );
    assert_eq!(timeout["node"], "Screen");
    let text = bound(&[], &[]).1;
    assert!(text.contains("at most 4 frames, room for 17"), "{text}");
}

/// A simulation of both gateways comes near the bound, and not above it.
#[test]
fn a_simulation_reaches_the_bound() {
    for place in ["body:700", "display:300", "body:7FF"] {
        let (status, out, err) = bound(&[], &["--witness", place, "--out", "worst.log"]);
        assert_eq!(status, 0, "{err}");
        assert!(!out.contains("EXCEEDED"), "{out}");
        let near = out.contains("reached") || out.contains(": 99") || out.contains(": 98");
        assert!(near, "{place}: {out}");
    }
    let (status, _, err) = bound(&[], &["--check", "results.parquet"]);
    assert_eq!(status, 2, "{err}");
    assert!(
        err.contains("compares one frame out with one frame in"),
        "{err}"
    );
}

/// The gateway itself, between simulated buses: no part ends later after its FD frame than the
/// bound allows, and each FD frame has all parts.
#[test]
fn a_simulated_gateway_keeps_the_bound() {
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name);
    std::fs::write(place("near.toml"), NEAR).unwrap();
    let mut lines: Vec<(u64, String)> = Vec::new();
    for k in 0..200_u64 {
        let payload: String = (0..24)
            .map(|i| format!("{:02X}", (i * 37 + k) % 256))
            .collect();
        lines.push((20_000 * k, format!("camera 300##1{payload}")));
        for half in 0..2 {
            // In other phases to the FD frame each time.
            let at = 20_000 * k + 10_000 * half + 200;
            lines.push((at + 13 * (k % 20), "body 100#0011223344556677".to_owned()));
            lines.push((at + 17 * (k % 13), "body 7FF#0011223344556677".to_owned()));
        }
    }
    lines.sort();
    let line = |(at, frame): &(u64, String)| {
        format!("({}.{:06}) {frame}\n", 1 + at / 1_000_000, at % 1_000_000)
    };
    std::fs::write(place("in.log"), lines.iter().map(line).collect::<String>()).unwrap();
    let mut command = cangate();
    command.current_dir(folder.path());
    let status = command
        .args([
            "demo",
            "--log",
            "in.log",
            "--config",
            "near.toml",
            "--out",
            "run",
        ])
        .output()
        .unwrap();
    assert!(status.status.success(), "{status:?}");
    let ends = |bus: &str, id: &str| -> Vec<u64> {
        let text = std::fs::read_to_string(place("run/buses").join(format!("{bus}.log"))).unwrap();
        let of_id = text
            .lines()
            .filter(|line| line.split(' ').nth(2).is_some_and(|f| f.starts_with(id)));
        // Times in µs.
        let stamps = of_id.filter_map(|line| line.strip_prefix('(')?.split(')').next());
        let digits = stamps.map(|stamp| stamp.replace('.', ""));
        digits
            .map(|digits| digits.parse::<u64>().unwrap() * 1000)
            .collect()
    };
    let (wholes, parts) = (ends("camera", "300#"), ends("body", "700#"));
    assert_eq!((wholes.len(), parts.len()), (200, 800));
    let (_, all) = json(&[]);
    let most = response(&all, "body", "700") - response(&all, "camera", "300");
    let latest = wholes
        .iter()
        .zip(parts.chunks(4))
        .map(|(whole, parts)| parts[3] - whole);
    let latest = latest.max().unwrap();
    let one = message(&all, "body", "700")["frame_ns"].as_u64().unwrap();
    // The first parts alone take three quarters of a frame each.
    assert!(latest <= most && latest > 3 * one, "{latest} of {most}");
}

/// Parts that wait longer than the queue, or than the timeout of the port that joins them, are
/// lost.
#[test]
fn too_short_a_queue_and_a_timeout_are_found() {
    let joins = "[ports.joined]\nkind = \"split\"";
    let short = format!("{joins}\ntimeout = \"1ms\"");
    let (status, out, err) = bound(&[(joins, &short)], &[]);
    assert_eq!(status, 3, "{out}");
    assert!(
        err.contains("timeouts can expire in normal operation, or have no bound"),
        "{err}"
    );
    assert!(
        out.contains("the port that joins them drops it after 1000 µs"),
        "{out}"
    );
    let fast = [(
        "period = \"20ms\"\nkind",
        "period = \"20ms\"\njitter = \"90ms\"\ndeadline = \"1s\"\nkind",
    )];
    let (status, _, err) = bound(&fast, &[]);
    assert_eq!(status, 3);
    assert!(
        err.contains("the queue of a port can overflow: to_body"),
        "{err}"
    );
}

/// 16 frames of the queue are enough for three FD frames of four parts within the gateway's time,
/// and not for five.
#[test]
fn a_queue_of_parts_that_can_overflow_is_found() {
    let small = (
        "kind = \"split\"\nparts = { \"300\" = \"700\" }\n\n[[routes]]\nname = \"split\"",
        "kind = \"split\"\nqueue = 16\nparts = { \"300\" = \"700\" }\n\n[[routes]]\nname = \"split\"",
    );
    let often = |distances: &str| format!("distances = {distances}\ndeadline = \"1s\"\nkind");
    for (distances, status) in [
        ("[\"0ms\", \"0ms\", \"90ms\"]", 0),
        ("[\"0ms\", \"0ms\", \"0ms\", \"0ms\", \"90ms\"]", 3),
    ] {
        let changed = [
            small,
            ("queue = 16\n[ports.parts]", "queue = 100\n[ports.parts]"),
            (
                "timeouts = [{ node = \"Screen\", bus = \"display\", time = \"40ms\" }]\n",
                "",
            ),
            ("period = \"10ms\"", "period = \"50ms\"\ndeadline = \"1s\""),
            ("period = \"20ms\"\nkind", &often(distances)),
        ];
        let (found, out, err) = bound(&changed, &["--gateway-delay", "1ms"]);
        assert_eq!(found, status, "{out}\n{err}");
        assert_eq!(
            err.contains("the queue of a port can overflow: parts"),
            status == 3,
            "{err}"
        );
    }
}

/// The parts in the set, as messages of the port that sends them, count as they are there.
#[test]
fn parts_in_the_set_replace_those_of_the_port() {
    let own = "[[messages]]\nid = \"700\"\nbus = \"body\"\nnode = \"to_body\"\ndistances = [\"0ms\", \"0ms\", \"0ms\", \
               \"15ms\"]\ndeadline = \"20ms\"\nlen = 8\n\n[[messages]]\nid = \"100\"";
    let (_, all) = json(&[("[[messages]]\nid = \"100\"", own)]);
    assert_eq!(message(&all, "body", "700")["via"], Value::Null);
    let notes = all["left_out"].to_string();
    assert!(
        notes.contains("the FD frames that port joined joins from 700"),
        "{all}"
    );
}

/// A route that takes some of the parts counts with all of them, but no timeout is proved over it.
#[test]
fn a_route_that_takes_some_parts_has_all_of_them() {
    let (status, all) = json(&[(
        "to = \"to_body\"\nid = \"700\"",
        "to = \"to_body\"\nid = \"700\"\nlength = 8",
    )]);
    assert_eq!(status, 3, "{all}");
    assert_eq!(message(&all, "body", "700")["parts"], 4);
    let why = all["timeouts"][0]["no_bound"].to_string();
    assert!(why.contains("takes only frames of some lengths"), "{why}");
}

/// A message that the gateway makes and splits is on the bus in parts, as those of its own port.
#[test]
fn a_made_message_is_split() {
    let folder = tempfile::tempdir().unwrap();
    let dbc = "VERSION \"\"\nBU_: Gateway\nBO_ 768 Lane: 24 Gateway\n SG_ Line : 0|8@1+ (1,0) [0|255] \"\" Gateway\n";
    let made = "[databases.body]\nfile = \"body.dbc\"\n[ports.made]\nkind = \"messages\"\ndatabase = \"body\"\n\
                [ports.made.make.Lane]\nevery = \"20ms\"\nsignals = { Line = 1 }\n";
    let gateway = format!(
        "{made}{}",
        NEAR.replacen("from = \"camera\"", "from = \"made\"", 1)
    );
    let of_camera = SET.find("[[messages]]").unwrap();
    let of_body = SET.find("[[messages]]\nid = \"100\"").unwrap();
    let set = format!("{}{}", &SET[..of_camera], &SET[of_body..]);
    for (name, text) in [
        ("set.toml", &*set),
        ("near.toml", &*gateway),
        ("body.dbc", dbc),
    ] {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    let mut command = cangate();
    command.current_dir(folder.path());
    command.args([
        "bound",
        "set.toml",
        "--gateway",
        "near.toml",
        "--gateway-delay",
        "50us",
        "--json",
    ]);
    let output = command.output().unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{err}");
    let all: Value = serde_json::from_slice(&output.stdout).unwrap();
    let parts = message(&all, "body", "700");
    assert_eq!(
        (&parts["parts"], &parts["node"]),
        (&4.into(), &"to_body".into())
    );
    let frame = |id| message(&all, "body", id)["frame_ns"].as_u64().unwrap();
    let before = frame("100") + frame("7FF") + 3 * frame("700") + 5 * 6_000;
    assert_eq!(
        response(&all, "body", "700"),
        100_000 + before + frame("700")
    );
    assert_eq!(all["left_out"], Value::Array(Vec::new()));
}
