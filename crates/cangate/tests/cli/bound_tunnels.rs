//! `cangate bound` over networks between gateways.

use crate::{cangate, root};
use serde_json::Value;

/// Runs `cangate bound` with the files of an example, changed; returns status, output and errors.
fn bound(
    example: &str,
    ends: [&str; 2],
    changed: &[(&str, &str)],
    options: &[&str],
) -> (i32, String, String) {
    let folder = tempfile::tempdir().unwrap();
    let names = ["", ends[0], ends[1]].map(|end| match end {
        "" => format!("{example}.toml"),
        end => format!("{example}-{end}.toml"),
    });
    for (from, _) in changed {
        let texts = names
            .iter()
            .map(|name| root().join("examples/bound").join(name));
        let mut texts = texts.map(|path| std::fs::read_to_string(path).unwrap());
        assert!(texts.any(|text| text.contains(from)), "no file has {from}");
    }
    for name in &names {
        let path = root().join("examples/bound").join(name);
        let mut text = std::fs::read_to_string(path).unwrap();
        for (from, to) in changed {
            text = text.replace(from, to);
        }
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    let mut command = cangate();
    command.current_dir(folder.path());
    command.args([
        "bound",
        &names[0],
        "--gateway",
        &names[1],
        "--gateway",
        &names[2],
    ]);
    command.args(["--gateway-delay", "100us"]).args(options);
    let output = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    let status = output.status.code().unwrap();
    (status, text(output.stdout), text(output.stderr))
}

fn ethernet(changed: &[(&str, &str)], options: &[&str]) -> (i32, String, String) {
    bound("tunnel", ["tractor", "trailer"], changed, options)
}

fn radio(changed: &[(&str, &str)], options: &[&str]) -> (i32, String, String) {
    bound("radio", ["vehicle", "desk"], changed, options)
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

/// The tunnel by its first port, and the message in it by its name.
fn flow<'j>(json: &'j Value, port: &str, name: &str) -> &'j Value {
    let tunnels = json["tunnels"].as_array().unwrap();
    let tunnel = tunnels.iter().find(|t| t["ports"][0][0] == port).unwrap();
    let messages = tunnel["messages"].as_array().unwrap();
    messages.iter().find(|m| m["name"] == name).unwrap()
}

fn message<'j>(json: &'j Value, bus: &str, name: &str) -> &'j Value {
    let buses = json["buses"].as_array().unwrap();
    let bus = buses.iter().find(|b| b["name"] == bus).unwrap();
    let messages = bus["messages"].as_array().unwrap();
    messages.iter().find(|m| m["name"] == name).unwrap()
}

/// The document shows what the program prints.
fn documented(example: &str, ends: [&str; 2], out: &str) {
    let document = std::fs::read_to_string(root().join("docs/bound.md")).unwrap();
    let files = ends.map(|end| format!("--gateway examples/bound/{example}-{end}.toml"));
    let command = format!(
        "$ cangate bound examples/bound/{example}.toml {} --gateway-delay 100us\n",
        files.join(" ")
    );
    let (_, after) = document.split_once(&command).unwrap();
    let (shown, _) = after.split_once("```").unwrap();
    let name = format!("({example}.toml, line ");
    let out = out.replace(&name, &format!("(examples/bound/{example}.toml, line "));
    assert_eq!(shown, out);
}

/// The example by hand: bytes at the rate that others leave, 50 Mbit/s, which is 160 ns for each.
#[test]
fn the_parts_of_a_tunnel_are_as_by_hand() {
    let (status, out, err) = ethernet(&[], &["--json"]);
    assert_eq!(status, 0, "{err}");
    let all = json(&out);
    let urgent = flow(&all, "to_trailer", "brake demand");
    // Ethernet 38, IPv4 and UDP 28, the stream 16, and the message 24 bytes, and 20 of the lights.
    let (header, long, short) = (38 + 28 + 16, 24, 20);
    assert_eq!(
        (&urgent["bytes"], &urgent["urgent"]),
        (&long.into(), &true.into())
    );
    assert_eq!(urgent["packing_ns"], 0);
    // Two queues of 3000 bytes of others; a switch with its latency and the longest datagram, of
    // speed and lights together; the urgent datagram and that one.
    let shared = header + long + short;
    let queues = 160 * (2 * 3_000 + shared + (header + long) + shared) + 10_000;
    assert_eq!(urgent["queues_ns"], queues);
    let packed = flow(&all, "to_trailer", "speed");
    assert_eq!(packed["packing_ns"], 500_000 + 100_000);
    assert_eq!(packed["queues_ns"], queues);
    assert_eq!(packed["most_ns"], 100_000 + 600_000 + queues);
    // The bound on the next bus continues with the time of the tunnel and of the second gateway.
    let near = message(&all, "tractor", "speed")["bound"]["response_ns"]
        .as_u64()
        .unwrap();
    let far = &message(&all, "trailer", "speed")["bound"];
    let (before, jitter) = (far["before_ns"].as_u64(), far["jitter_ns"].as_u64());
    let until = before.unwrap() + jitter.unwrap();
    assert_eq!(until, near + packed["most_ns"].as_u64().unwrap() + 100_000);
    // The timeout is that of the bounds, and of the least times.
    let timeout = &all["timeouts"][0];
    let response = message(&all, "trailer", "brake demand")["bound"]["response_ns"].clone();
    assert_eq!(timeout["response_ns"], response);
    assert_eq!(timeout["can_expire"], false);
    assert!(timeout.get("conditional_on").is_none());
}

#[test]
fn the_documented_figures_are_those_of_the_program() {
    let (status, out, err) = ethernet(&[], &[]);
    assert_eq!(status, 0, "{err}");
    documented("tunnel", ["tractor", "trailer"], &out);
    let (status, out, err) = radio(&[], &[]);
    assert_eq!(status, 0, "{err}");
    documented("radio", ["vehicle", "desk"], &out);
    assert!(out.lines().all(|line| line.chars().count() <= 80), "{out}");
}

/// A time that was measured marks each figure that depends on it, and no other.
#[test]
fn a_measured_network_makes_bounds_conditional() {
    let (status, out, _) = radio(&[], &["--json"]);
    assert_eq!(status, 0);
    let all = json(&out);
    let words = serde_json::json!(["measured 61000 µs of tunnel radio"]);
    assert_eq!(message(&all, "desk", "steering")["conditional_on"], words);
    assert_eq!(all["timeouts"][0]["conditional_on"], words);
    assert!(
        message(&all, "vehicle", "steering")
            .get("conditional_on")
            .is_none()
    );
    // The clocks' error, and the gateway's time between frame and stamp.
    let steering = flow(&all, "to_desk", "steering");
    let (least, most) = (&steering["least_ns"], &steering["most_ns"]);
    assert_eq!((least, most), (&69_950_000.into(), &70_150_000.into()));
    let (_, out, _) = radio(&[("measured = ", "stated = ")], &[]);
    assert!(out.contains("the stated 61000 µs of tunnel radio"), "{out}");
    assert!(out.contains("   stated   "), "{out}");
}

/// A play-out that is too short: late frames are sent at once, or dropped, so that a timeout has no
/// bound.
#[test]
fn a_short_play_out_has_late_frames() {
    let (status, out, err) = radio(&[("70ms", "50ms")], &[]);
    assert_eq!(status, 3);
    assert!(
        out.contains("2 messages can arrive after the time of the play-out"),
        "{out}"
    );
    let out = out.replace('\n', " ");
    assert!(out.contains("port to_vehicle drops late frames"), "{out}");
    assert!(err.contains("can expire"), "{err}");
    let changed = [("70ms", "50ms"), ("late = \"expire\"", "")];
    let (status, out, _) = radio(&changed, &[]);
    // All of the network's jitter is left.
    assert_eq!(status, 3, "{out}");
    assert!(out.contains("EXPIRES"), "{out}");
}

/// The sender's own clock restores gaps, and proves nothing about the network's jitter.
#[test]
fn an_own_clock_proves_less() {
    let (_, out, _) = radio(&[("clock = \"common\"", "")], &["--json"]);
    let steering = json(&out);
    let steering = flow(&steering, "to_desk", "steering");
    // a + D - e, and A + D + g + e.
    assert_eq!(steering["least_ns"], 22_000_000 + 70_000_000 - 50_000);
    let arrival = 100_000 + 1_100_000 + 61_000_000;
    assert_eq!(steering["most_ns"], arrival + 70_000_000 + 100_000 + 50_000);
}

/// Presentation times are those of the sender: the bounds are those of the same `delay` by a common
/// clock. A sender without them leaves the network's jitter.
#[test]
fn presentation_times_are_the_senders() {
    let presented = ("delay = \"70ms\"", "delay = \"presentation\"");
    let sends = ("pack = \"1ms\"", "pack = \"1ms\"\nmax_transit = \"70ms\"");
    let (status, out, err) = radio(&[presented, sends], &["--json"]);
    assert_eq!(status, 0, "{err}");
    let all = json(&out);
    let steering = flow(&all, "to_desk", "steering");
    let (least, most) = (&steering["least_ns"], &steering["most_ns"]);
    assert_eq!((least, most), (&69_950_000.into(), &70_150_000.into()));
    let (_, out, _) = radio(&[presented], &["--json"]);
    let all = json(&out);
    let steering = flow(&all, "to_desk", "steering");
    assert_eq!(steering["least_ns"], 22_000_000);
    assert_eq!(steering["most_ns"], 100_000 + 1_100_000 + 61_000_000);
}

#[test]
fn queues_that_can_overflow_have_a_status() {
    let (status, _, err) = radio(
        &[("clock = \"common\"", "clock = \"common\"\nqueue = 3")],
        &[],
    );
    assert_eq!(status, 3);
    assert!(
        err.contains("the play-out of a port can overflow: to_vehicle; raise its `queue` to"),
        "{err}"
    );
    // A link that is too slow for the traffic has no bound, and names the reason.
    let changed = [
        ("rate = \"100M\"", "rate = \"60k\""),
        ("others = { rate = \"50M\", burst = 3000 }", ""),
    ];
    let (status, out, _) = ethernet(&changed, &[]);
    assert_eq!(status, 3);
    assert!(out.contains("No bound: the tunnel would need"), "{out}");
    // A bucket that cannot hold a datagram is named with the bytes that it needs.
    let small = "rate = \"100M\"\nbucket = { rate = \"50M\", burst = 100 }";
    let (status, out, _) = ethernet(&[("rate = \"100M\"", small)], &[]);
    assert_eq!(status, 3);
    let out = out.replace('\n', " ");
    let (_, needed) = out
        .split_once("its `bucket` holds fewer than the ")
        .unwrap();
    let (needed, _) = needed.split_once(" bytes of its longest datagram").unwrap();
    let enough = format!("rate = \"100M\"\nbucket = {{ rate = \"50M\", burst = {needed} }}");
    let (_, out, _) = ethernet(&[("rate = \"100M\"", &enough)], &[]);
    assert!(!out.contains("No bound"), "{out}");
}

/// Table and JSON have the messages in one order: the urgent ones first.
#[test]
fn urgent_messages_come_first_and_are_marked() {
    let (_, text, _) = ethernet(&[], &[]);
    let (_, table) = text.split_once("Tunnel coupling, to_trailer").unwrap();
    let rows = table
        .lines()
        .filter(|line| line.contains(" packed ") || line.contains(" urgent "));
    let shown: Vec<(&str, bool)> = rows
        .map(|row| {
            (
                row.split_whitespace().next().unwrap(),
                row.contains(" urgent "),
            )
        })
        .collect();
    let (_, out, _) = ethernet(&[], &["--json"]);
    let all = json(&out);
    let messages = all["tunnels"][0]["messages"].as_array().unwrap();
    let listed: Vec<(&str, bool)> = messages
        .iter()
        .map(|m| (m["id"].as_str().unwrap(), m["urgent"].as_bool().unwrap()))
        .collect();
    assert_eq!(shown, listed);
    assert_eq!(shown.first(), Some(&("0A0", true)));
}

/// By a common clock, the age of a frame is all of its time in the network, also without a
/// play-out.
#[test]
fn frames_that_are_too_old_by_a_common_clock_have_no_timeout() {
    let with = |age: &str| {
        let age = format!("max_age = \"{age}\"");
        radio(
            &[("delay = \"70ms\"", ""), ("late = \"expire\"", &age)],
            &[],
        )
    };
    let (status, out, err) = with("50ms");
    assert_eq!(status, 3, "{err}");
    let reason = "port to_vehicle drops old frames, and one of tunnel radio can be";
    assert!(out.replace('\n', " ").contains(reason), "{out}");
    let (_, out, _) = with("80ms");
    assert!(!out.contains("drops old frames"), "{out}");
}

/// The page has the tunnels, the part of each bound, and the marks.
#[test]
fn the_page_shows_the_tunnel() {
    let folder = tempfile::tempdir().unwrap();
    let report = folder.path().to_str().unwrap();
    let (status, _, err) = radio(&[], &["--report", report]);
    assert_eq!(status, 0, "{err}");
    let page = std::fs::read_to_string(folder.path().join("bound.html")).unwrap();
    let (_, data) = page.split_once("cangateBound(").unwrap();
    let (data, _) = data.split_once(");\n</script>").unwrap();
    let data = json(data);
    let tunnel = &data["tunnels"][0];
    assert_eq!(tunnel["title"], "Tunnel radio, to_desk to to_vehicle");
    assert_eq!(tunnel["messages"][0]["most"], 70_150_000);
    assert_eq!(tunnel["origin"], "measured");
    let desk = &data["buses"][1]["messages"];
    let steering = desk
        .as_array()
        .unwrap()
        .iter()
        .find(|m| m["name"] == "steering")
        .unwrap();
    assert_eq!(steering["conditional"], true);
    // Two gateways of 100 us, and the rest of 70.15 ms.
    assert_eq!(
        (&steering["parts"][1], &steering["parts"][2]),
        (&200_000.into(), &70_050_000.into())
    );
    let sum: u64 = steering["parts"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(Value::as_u64)
        .sum();
    assert_eq!(steering["bound"], sum);
    assert!(
        data["notes"]
            .to_string()
            .contains("A bound with a star is no proof")
    );
    assert_eq!(data["timeouts"][0]["conditional"], true);
    let made = data["made"].as_array().unwrap();
    let names: Vec<_> = made
        .iter()
        .map(|entry| entry[0].as_str().unwrap())
        .collect();
    assert_eq!(names[2..], ["Message set", "Gateway 1", "Gateway 2"]);
}

#[test]
fn mistakes_have_a_place_and_a_cure() {
    let cases: [(&[(&str, &str)], &str); 12] = [
        (
            &[("to_trailer=to_tractor", "to_trailer")],
            "names no two ports",
        ),
        (
            &[("to_trailer=to_tractor", "to_trailer=nowhere")],
            "no gateway file has a port nowhere",
        ),
        (
            &[("to_trailer=to_tractor", "to_trailer=trailer_bus")],
            "port trailer_bus is of kind \"socketcan\"",
        ),
        (
            &[
                ("to_trailer=to_tractor", "to_trailer=to_trailer2"),
                (
                    "[[routes]]\nname = \"out\"",
                    "[ports.to_trailer2]\nkind = \"ieee1722\"\nlisten = 17221\nconnect = \"192.0.2.9:17220\"\n\n[[routes]]\nname = \"out\"",
                ),
            ],
            "are of one gateway",
        ),
        (&[("rate = \"100M\"", "")], "`switches` without `rate`"),
        (
            &[(
                "rate = \"100M\"\nswitches = 1\nswitch_latency = \"10us\"\nothers = { rate = \"50M\", burst = 3000 }",
                "",
            )],
            "nothing is known of the network of [tunnels.coupling]",
        ),
        (
            &[(
                "rate = \"100M\"",
                "rate = \"100M\"\nmeasured = \"1ms\"\nstated = \"1ms\"",
            )],
            "both `measured` and `stated`",
        ),
        (
            &[("rate = \"100M\"", "rate = \"100M\"\nleast = \"1ms\"")],
            "`least` is of no longer time",
        ),
        (
            &[("[tunnels.coupling]", "[tunnel.coupling]")],
            "[tunnels.NAME]",
        ),
        (
            &[(
                "connect = \"192.0.2.1:17220\"",
                "connect = \"192.0.2.1:17220\"\ndelay = \"5ms\"",
            )],
            "add `clock_error = \"1ms\"`",
        ),
        (
            &[(
                "connect = \"192.0.2.1:17220\"",
                "connect = \"192.0.2.1:17220\"\nbus = 3",
            )],
            "they do not understand each other",
        ),
        (
            &[(
                "to_trailer=to_tractor\"",
                "to_trailer=to_tractor\", \"to_trailer=to_tractor\"",
            )],
            "a port has one other side",
        ),
    ];
    for (changed, wanted) in cases {
        let (status, out, err) = ethernet(changed, &[]);
        assert_eq!(status, 2, "{wanted}\n{out}\n{err}");
        assert!(err.contains(wanted), "{wanted}\n{err}");
    }
    for option in [
        &["--witness", "trailer:120"][..],
        &["--check", "none.parquet"],
    ] {
        let (status, _, err) = ethernet(&[], option);
        assert_eq!(status, 2, "{err}");
        assert!(err.contains("leave out the second --gateway"), "{err}");
    }
    // The set names the tunnel, and the files are missing.
    let example = root().join("examples/bound/tunnel.toml");
    let output = cangate().arg("bound").arg(&example).output().unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    assert!(
        err.contains("--gateway NEAR.toml --gateway FAR.toml"),
        "{err}"
    );
}
