//! The reports of `cangate run` about real interfaces, and the frames that the kernel's filters
//! keep from it.

use super::lab;
use super::script::{objects, parts, printed};
use serde_json::Value;

fn interface<'v>(stats: &'v Value, port: &str) -> &'v Value {
    let rows = stats["interfaces"].as_array().unwrap();
    rows.iter().find(|row| row["port"] == port).unwrap()
}

/// Returns port, state and source of each notice of an interface.
fn links(objects: &[Value]) -> Vec<[&str; 3]> {
    let links = objects.iter().filter(|line| line["event"] == "link");
    links
        .map(|line| ["port", "now", "source"].map(|key| line[key].as_str().unwrap()))
        .collect()
}

#[test]
#[ignore = "boots a guest"]
fn links_and_filtered_frames_are_reported() {
    let Some(_lab) = lab() else { return };
    let text = printed("--fast --bench none --kernel 6.1 --timeout 300", "says.sh");
    let steps = parts(&text);
    let output = |step: &str| steps[step];

    // 650 came in; routes ask for 306 of them. Elsewhere they ask only for the vcan's 124.
    let filtered = output("filtered");
    let stats = &objects(filtered)[0];
    let row = interface(stats, "in");
    assert_eq!(
        (&row["received"], &row["not_asked_for"]),
        (&650.into(), &344.into()),
        "{row}"
    );
    let row = interface(stats, "local");
    assert_eq!(
        row["not_asked_for"], 30,
        "not the 50 that the gateway sent there: {row}"
    );
    assert_eq!(interface(stats, "out")["not_asked_for"], 0);
    let words = "Port in: 344 frames not asked for (filtered by the kernel).";
    assert!(filtered.contains(words), "{filtered}");

    // Lost frames are not reported as "not asked for".
    let stats = &objects(output("lost"))[0];
    let ports = stats["ports"].as_array().unwrap();
    let port = ports.iter().find(|port| port["name"] == "in").unwrap();
    let number = |value: &Value| value.as_u64().unwrap();
    let lost = number(&port["rx"]["overrun"]);
    assert!(lost > 0, "{port}");
    assert_eq!(number(&port["received"]) + lost, 306 + 5000, "{port}");
    assert_eq!(interface(stats, "in")["not_asked_for"], 344, "{stats}");

    let sockets = output("sockets");
    assert!(!sockets.contains("never said"), "{sockets}");
    assert!(sockets.contains("status 0"), "{sockets}");
    let objects_said = objects(sockets);
    let row = interface(&objects_said[0], "in");
    assert_eq!(
        row["not_asked_for"],
        Value::Null,
        "another interface now: {row}"
    );
    assert!(
        row["not_asked_for_unknown"]
            .as_str()
            .unwrap()
            .contains("another interface")
    );
    let reported = links(&objects_said);
    assert_eq!(
        reported[..2],
        ["down", "up"].map(|now| ["in", now, "socket"]),
        "{sockets}"
    );
    // It may be seen down shortly before it is gone, and before it is up.
    let rest: Vec<[&str; 3]> = reported[2..]
        .iter()
        .filter(|link| link[1] != "down")
        .copied()
        .collect();
    assert_eq!(
        rest,
        ["gone", "up"].map(|now| ["in", now, "socket"]),
        "{sockets}"
    );
    assert_eq!(objects_said[1]["event"], "ready");

    let bpf = output("bpf");
    assert!(!bpf.contains("never said"), "{bpf}");
    let objects_said = objects(bpf);
    let row = interface(&objects_said[0], "in");
    assert_eq!(
        (&row["in_kernel"], &row["state"]),
        (&true.into(), &"up".into()),
        "{row}"
    );
    assert_eq!(row["received"], 17, "{row}");
    assert_eq!(interface(&objects_said[0], "out")["sent"], 10, "{row}");
    let down = bpf.lines().find(|line| line.starts_with(" in ")).unwrap();
    let cells: Vec<&str> = down.split_whitespace().collect();
    assert_eq!(cells[..4], ["in", "a1", "down", "17"], "{bpf}");
    let expected = ["down", "up"].map(|now| ["in", now, "netlink"]);
    assert_eq!(links(&objects_said), expected, "{bpf}");
    let taken = |line: &Value| line["event"] == "offload_taken" && line["data_path"] == "bpf";
    assert!(objects_said.iter().any(taken), "{bpf}");

    let down = output("down from the start");
    assert_eq!(
        links(&objects(down)),
        [["out", "down", "netlink"]],
        "{down}"
    );
    assert!(down.contains(" out           b1    down "), "{down}");

    let can_gw = output("can-gw");
    assert!(!can_gw.contains("never said"), "{can_gw}");
    let objects_said = objects(can_gw);
    let sides = ["in", "out"].map(|port| interface(&objects_said[0], port));
    assert_eq!(sides[0]["received"], 10, "{can_gw}");
    assert_eq!(sides[1]["sent"], 10, "{can_gw}");
    let expected = ["down", "up"].map(|now| ["out", now, "netlink"]);
    assert_eq!(links(&objects_said), expected, "{can_gw}");
}
