//! A gateway whose ports receive and transmit by io_uring, in a guest; the message where the kernel
//! has none; and the cost of each way there.

use super::script::{parts, printed};
use super::{exec, lab};
use serde_json::Value;

fn passes(kernel: &str) {
    let arguments = format!("--fast --bench timed --kernel {kernel} --timeout 300");
    let text = printed(&arguments, "uring.sh");
    let parts = parts(&text);
    let part = |title: &str| parts[title];
    let long: String = (1..=64).map(|n| format!("{n:02X}")).collect();
    assert_eq!(
        part("kinds").lines().collect::<Vec<_>>(),
        [
            "123#1122334455667788".to_owned(),
            "18FEF100#AA".to_owned(),
            "123#R4".to_owned(),
            format!("100##5{long}"),
            "7FF#".to_owned(),
        ],
        "{kernel}: {parts:?}"
    );
    // `cangen -D i` counts in the payload, little endian. The listener may lose some on a slow
    // machine; frames that the gateway sent are in its counters.
    let number = |line: &str| u32::from_str_radix(line, 16).map(u32::swap_bytes).unwrap();
    let got: Vec<u32> = part("full").lines().map(number).collect();
    assert!(got.len() > 5, "{kernel}: {got:?}");
    assert!(got.is_sorted_by(|a, b| a < b), "{kernel}: {got:?}");
    assert_eq!(
        part("again").lines().collect::<Vec<_>>(),
        ["124#01", "124#03", "124#04"],
        "{kernel}: {parts:?}"
    );
    let summary: Value = serde_json::from_str(part("summary")).unwrap();
    let port = |name: &str| {
        let ports = summary["counters"]["ports"].as_array().unwrap();
        ports.iter().find(|port| port["name"] == name).unwrap()
    };
    // Four kinds, 300, and four of which one came while b1 was down.
    let (a1, b1) = (port("a1"), port("b1"));
    assert_eq!(a1["received"], 308, "{a1}");
    assert_eq!(a1["rx"]["overrun"], 0, "{a1}");
    assert_eq!(a1["fates"]["undeliverable"], 1, "{a1}");
    assert_eq!(b1["tx"]["taken"], 307, "{b1}");
    assert_eq!(b1["tx"]["sent"], 307, "{b1}");
    // Frames that another program sent on its own interface.
    assert_eq!(b1["received"], 0, "no route asks for it: {b1}");
    assert!(b1["tx"]["stalled"].as_u64() > Some(0), "it was full: {b1}");
}

/// Every way exists on 6.1, or states the reason why not.
#[test]
#[ignore = "boots a guest"]
fn each_way_costs_something() {
    let Some(_lab) = lab() else { return };
    let mut bench = exec(
        "--timeout 300",
        "cangate bench syscalls vcan0 --frames 20 --json --virtual-time",
    );
    let output = bench.output().unwrap();
    let message = String::from_utf8_lossy(&output.stderr);
    let value: Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {message}"));
    let ways = value["ways"].as_array().unwrap();
    assert_eq!(ways.len(), 8, "{value:#}");
    for way in ways {
        let numbers = way["times_ns"].as_array().unwrap();
        assert_eq!(numbers.len(), 5, "1, 2, 5, 10, 20: {way}");
        assert!(way["refused"].is_null(), "{way}");
        assert!(way["fit"]["per_frame_ns"].as_f64() > Some(0.0), "{way}");
        // Time is instructions: the line fits, except where a call for many begins.
        assert!(way["fit"]["residual"].as_f64() < Some(0.5), "{way}");
    }
    assert_eq!(value["points"].as_array().unwrap().len(), 5);
}

#[test]
#[ignore = "boots a guest"]
fn frames_pass_by_io_uring() {
    let Some(_lab) = lab() else { return };
    passes("6.1");
}

#[test]
#[ignore = "heavy"]
fn an_old_kernel_is_named() {
    let Some(_lab) = lab() else { return };
    let gateway = "printf '[ports.vcan0]\\nkind = \"socketcan\"\\nreceive = \"io_uring\"\\n' > /tmp/g.toml; \
                   cangate run /tmp/g.toml 2>&1; cangate bench syscalls vcan0 --frames 10";
    let output = exec("--fast --kernel 5.10 --timeout 300", gateway);
    let output = { output }.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    for words in [
        "need Linux 6.0 or later, and this is 5.10",
        "receive = \"recvmmsg\"",
        "receive io_uring: not measured: ",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
}

mod long {
    use super::*;

    #[test]
    #[ignore = "heavy"]
    fn frames_pass_by_io_uring_on_a_newer_kernel() {
        let Some(_lab) = lab() else { return };
        passes("7.3");
    }
}
