//! Tunnels of CAN between two machines with IP stacks of their own: they repeat to the byte, and
//! what the gateways count is what happened on the links.

use crate::plans::{self, Run};
use crate::waiting_lab;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

/// The folder of the plan and of the gateways' files.
fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tunnels")
}

/// The plan with another tunnel, and with more keys of the network.
fn plan(tunnel: &str, network: &str) -> String {
    let text = fs::read_to_string(folder().join("plan.toml")).unwrap();
    let folder = folder().canonicalize().unwrap();
    let files = |side: &str| {
        let name = format!("{tunnel}-{side}.toml");
        format!("\"{name}\" = \"{}\"", folder.join(&name).display())
    };
    let files = format!("files = {{ {}, {} }}\n", files("a"), files("b"));
    let mut plan = String::new();
    for line in text.lines() {
        match line {
            _ if line.starts_with("files") => plan.push_str(&files),
            "kind = \"ethernet\"" => plan.push_str(&format!("{line}\n{network}\n")),
            _ => plan.push_str(&format!(
                "{}\n",
                line.replace("/lab/ieee1722", &format!("/lab/{tunnel}"))
            )),
        }
    }
    plan
}

fn run(plan: &str) -> Run {
    plans::run(plan, &["left:right"])
}

/// A counter that is left out while it is 0.
fn count(value: &Value) -> u64 {
    value.as_u64().unwrap_or(0)
}

#[test]
#[ignore = "boots guests"]
fn each_frame_of_a_tunnel_has_one_fate_and_the_gateways_count_it() {
    let Some(_lab) = waiting_lab() else { return };
    let first = run(&plan("ieee1722", "loss = 0.05"));
    let [sent, delivered, lost] = ["in", "delivered", "lost"].map(|word| first.matched(word));
    assert_eq!(sent, 1600);
    assert_eq!(sent, delivered + lost);
    assert!(
        (40..160).contains(&lost),
        "5 % of 1600, more or less: {lost}"
    );
    assert_eq!(first.matched("doubled") + first.matched("unexpected"), 0);

    // The sending side: each frame of the bus left in a datagram.
    let (bus, tunnel) = (first.port("a", "bus"), first.port("a", "other"));
    assert_eq!(count(&bus["received"]), sent);
    assert_eq!(count(&tunnel["tx"]["sent"]), sent);
    // The receiving side: it came out, or it is lost on the network.
    let (tunnel, datagrams) = (first.port("b", "other"), count(&tunnel["tx"]["datagrams"]));
    assert_eq!(count(&tunnel["received"]), delivered);
    assert_eq!(count(&tunnel["rx"]["lost"]), lost);
    let missing = count(&tunnel["rx"]["missing"]);
    assert_eq!(count(&tunnel["rx"]["datagrams"]) + missing, datagrams);
    assert_eq!(count(&first.port("b", "bus")["tx"]["sent"]), delivered);
    // The network lost these datagrams of the stream.
    let table = first.log("lan.csv");
    let is_lost = |line: &&str| {
        line.starts_with("a,") && line.contains(",lost,") && line.contains("aabbccddeeff0001")
    };
    assert_eq!(table.lines().filter(is_lost).count() as u64, missing);
}

mod long {
    use super::*;

    #[test]
    #[ignore = "boots guests"]
    fn a_tunnel_repeats_to_the_byte() {
        let Some(_lab) = waiting_lab() else { return };
        let plan = plan("ieee1722", "loss = 0.05");
        let [first, second] = [run(&plan), run(&plan)];
        assert_eq!(first.digest(), second.digest());
        for file in ["left.csv", "lan.csv", "right.csv", "a.out", "b.out"] {
            assert_eq!(first.log(file), second.log(file), "{file}");
        }
    }

    #[test]
    #[ignore = "boots guests"]
    fn no_tunnel_loses_a_frame_on_a_quiet_network() {
        let Some(_lab) = waiting_lab() else { return };
        for tunnel in [
            "ieee1722",
            "ieee1722-delay",
            "ieee1722-ethernet",
            "cannelloni-udp",
            "cannelloni-tcp",
            "socketcand",
            "slcan",
            "multicast",
        ] {
            let run = run(&plan(tunnel, ""));
            assert_eq!(run.matched("in"), 1600, "{tunnel}");
            assert_eq!(run.matched("delivered"), 1600, "{tunnel}");
            assert_eq!(run.matched("doubled"), 0, "{tunnel}");
            assert_eq!(run.matched("overtaken"), 0, "{tunnel}");
        }
    }

    #[test]
    #[ignore = "boots guests"]
    fn play_out_restores_order_and_gaps_that_the_network_changed() {
        let Some(_lab) = waiting_lab() else { return };
        // 4 ± 3 ms.
        let network = "latency = \"1ms\"\njitter = \"6ms\"";
        let with = run(&plan("ieee1722-delay", network));
        assert_eq!(with.matched("delivered"), 1600);
        assert_eq!(with.matched("overtaken"), 0);
        let uncertainty = count(&with.port("b", "other")["rx"]["round_trip"]) / 2;
        let error = with.at_most("error of the gaps");
        assert!(
            error <= uncertainty,
            "{error} ns, the clock's {uncertainty} ns"
        );
        // The network does change both.
        let without = run(&plan("ieee1722", network));
        assert!(without.matched("overtaken") > 100, "{}", without.out());
        assert!(without.at_most("error of the gaps") > uncertainty);
    }
}
