//! Gateways in a row, each on a machine of its own, against the bound that is computed for them.

use crate::{plans, program, waiting_lab};
use serde_json::Value;
use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The most that a gateway takes from the end of a frame until its other card has the frame, ns.
const GATEWAY: u64 = 60_000;

fn folder() -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../chain");
    folder.canonicalize().unwrap()
}

/// Returns the bound of each message on each bus, ns, by bus and ID.
fn bounds() -> HashMap<(String, u32), u64> {
    let output = Command::new(program())
        .args(["bound", "--json", "--gateway-delay"])
        .arg(format!("{GATEWAY}ns"))
        .arg("--gateway")
        .arg(folder().join("gateways.toml"))
        .arg(folder().join("set.toml"))
        .output()
        .unwrap();
    assert!(output.status.success());
    let all: Value = serde_json::from_slice(&output.stdout).unwrap();
    let mut bounds = HashMap::new();
    for bus in all["buses"].as_array().unwrap() {
        for message in bus["messages"].as_array().unwrap() {
            let id = u32::from_str_radix(message["id"].as_str().unwrap(), 16).unwrap();
            let bus = bus["name"].as_str().unwrap().to_owned();
            bounds.insert((bus, id), message["bound"]["response_ns"].as_u64().unwrap());
        }
    }
    bounds
}

/// Returns the times of the frames of a bus by their content: when the card of the machine sent
/// it, and its end of frame.
fn times(table: &str, machine: &str) -> HashMap<String, (u64, u64)> {
    let rows = table.lines().skip(1).map(|line| {
        let fields: Vec<&str> = line.split(',').collect();
        let [sender, asked, at, "sent", frame] = fields.as_slice() else {
            panic!("{line}");
        };
        let times = (asked.parse().unwrap(), at.parse().unwrap());
        (*sender == machine).then(|| ((*frame).to_owned(), times))
    });
    rows.flatten().collect()
}

mod long {
    use super::*;

    #[test]
    #[ignore = "boots guests"]
    fn frames_through_two_and_three_gateways_keep_their_bounds() {
        let Some(_lab) = waiting_lab() else { return };
        let plan = fs::read_to_string(folder().join("plan.toml")).unwrap();
        let plan = plan.replace(
            "= \"gateway-",
            &format!("= \"{}/gateway-", folder().display()),
        );
        let run = plans::run(&plan, &["first:second", "first:fourth"]);
        // The bounds rest on this.
        let own = run.at_most("end of frame to the far card");
        assert!(own <= GATEWAY, "{own} ns: {}", run.out());
        let bounds = bounds();
        let sent = times(&run.log("first.csv"), "engine");
        assert_eq!(sent.len(), 340);
        for (bus, gateway) in [
            ("second", "gateway-1"),
            ("third", "gateway-2"),
            ("fourth", "gateway-3"),
        ] {
            let arrived = times(&run.log(&format!("{bus}.csv")), gateway);
            let mut nearest = 0.0_f64;
            for (frame, (asked, _)) in &sent {
                let (_, end) = arrived[frame];
                let id = u32::from_str_radix(frame.split_once('#').unwrap().0, 16).unwrap();
                let (took, bound) = (end - asked, bounds[&(bus.to_owned(), id)]);
                assert!(
                    took <= bound,
                    "{frame} to {bus}: {took} ns, bound {bound} ns"
                );
                nearest = nearest.max(took as f64 / bound as f64);
            }
            // The traffic of each bus does delay frames: without it, they need far less.
            assert!(nearest > 0.25, "{bus}: {nearest}");
        }
    }
}
