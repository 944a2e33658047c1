//! `cangate run` with routes in the kernel, from the first frame to the remains after its end: with
//! each `offload`, in guests.

use super::lab;
use super::script::{parts, printed};

/// Returns the lines that are frames.
fn frames(step: &str) -> Vec<&str> {
    let frame = |line: &&str| {
        let id = line.split('#').next().unwrap_or_default();
        line.contains('#') && id.len() == 3 && id.chars().all(|c| c.is_ascii_hexdigit())
    };
    step.lines().filter(frame).collect()
}

/// Returns `sent` of a route, from `cangate routes --json`.
fn sent(step: &str, route: &str) -> u64 {
    let line = step.lines().rfind(|line| line.starts_with("[{"));
    let rows: serde_json::Value = serde_json::from_str(line.unwrap()).unwrap();
    let mut rows = rows.as_array().unwrap().iter();
    let row = rows.find(|row| row["name"] == route).unwrap();
    row["kernel"]["sent"].as_u64().unwrap()
}

fn lives(kernel: &str, offload: &str, place: &str) {
    let text = printed(
        &format!("--fast --bench none --kernel {kernel} --timeout 300"),
        &format!("offload.sh {offload}"),
    );
    let steps = parts(&text);
    let output = |step: &str| steps[step];
    let without = output("without clsact");
    match offload {
        "auto" => assert!(
            without.contains("plain runs in the kernel, by can-gw"),
            "{without}"
        ),
        // BPF does not need clsact there.
        "bpf" => assert!(!without.contains("not on this machine"), "{without}"),
        _ => {}
    }
    assert_eq!(
        without.contains("sch_ingress"),
        offload == "auto",
        "{without}"
    );
    assert!(
        !without.contains("clsact dev"),
        "asking leaves nothing: {without}"
    );
    for line in output("check").lines() {
        assert!(line.ends_with(place), "{line}");
    }
    let run = output("run");
    assert_eq!(frames(run), ["123#11", "200#FE", "123#33"]);
    assert_eq!((sent(run, "plain"), sent(run, "changed")), (2, 1));
    let by_bpf = place == "by BPF";
    if by_bpf {
        assert!(
            run.contains("route plain: 2 taken, 2 sent, 0 failed"),
            "{run}"
        );
        assert!(run.contains("gateway /run/g.sock, process "), "{run}");
    } else {
        assert!(run.contains("a cangate's, mark"), "{run}");
        assert!(run.contains("no cangate routes by BPF"), "{run}");
    }
    let second = output("second");
    assert!(!second.contains("status 0"), "{second}");
    assert!(second.contains("/run/g.sock"), "{second}");
    let reload = output("reload");
    assert_eq!(frames(reload), ["123#44", "300#55"]);
    // Routes that stay continue counting.
    assert_eq!((sent(reload, "plain"), sent(reload, "other")), (3, 1));
    assert_eq!(frames(output("broken")), ["123#66"], "all as before");
    // With `auto` routes move from place to place; where a place is required, some are refused and
    // nothing changes. In both cases each frame comes once.
    for (step, frame) in [
        ("moved to can-gw", "123#67"),
        ("moved to process", "123#68"),
        ("moved back", "123#69"),
    ] {
        let moved = output(step);
        assert_eq!(frames(moved), [frame], "{step}");
        if offload == "auto" {
            assert!(moved.contains("in force"), "{moved}");
            let by_can_gw = moved.contains("\"data_path\": \"can-gw\"");
            assert_eq!(by_can_gw, step == "moved to can-gw", "{moved}");
            assert!(!moved.contains("\"data_path\": \"bpf\""), "{moved}");
        }
    }
    assert_eq!(
        frames(output("gone")),
        ["123#77"],
        "back with the interface"
    );
    let killed = output("killed");
    assert_eq!(frames(killed), ["123#88"], "once");
    // A link of tcx goes with its process.
    let died = killed.contains("left there by a process that died");
    assert_eq!(died, offload == "auto", "{killed}");
    let end = output("end");
    assert!(end.contains("status 0"), "{end}");
    assert_eq!(frames(end), [""; 0], "nothing is left");
    assert!(end.contains("no rules"), "{end}");
    assert!(end.contains("no cangate routes by BPF"), "{end}");
    assert!(
        !end.contains("filter protocol"),
        "a BPF program was left: {end}"
    );
    let persist = output("persist");
    assert_eq!(
        frames(persist),
        ["123#A1", "123#A2", "123#A3"],
        "with a process, without one, and taken over; then it is gone"
    );
    assert_eq!(sent(persist, "plain"), 3, "counted all the time");
    assert_eq!(
        persist.contains("left there by --persist"),
        by_bpf,
        "{persist}"
    );
    let process = output("process");
    assert_eq!(
        frames(process),
        ["123#B1"],
        "once: what was left in the kernel is gone"
    );
    let other = output("another place");
    assert_eq!(
        frames(other),
        ["123#B2"],
        "once, though BPF leaves frames to others"
    );
    assert!(other.contains("no rules"), "{other}");
}

#[test]
#[ignore = "boots a guest"]
fn can_gw_from_start_to_end() {
    let Some(_lab) = lab() else { return };
    lives("6.1", "can-gw", "by can-gw");
}

#[test]
#[ignore = "boots a guest"]
fn bpf_from_start_to_end() {
    let Some(_lab) = lab() else { return };
    // With tcx; `auto` below with clsact.
    lives("7.3", "bpf", "by BPF");
}

#[test]
#[ignore = "boots a guest"]
fn auto_from_start_to_end() {
    let Some(_lab) = lab() else { return };
    lives("6.1", "auto", "by BPF");
}
