//! The worked example of signals: two databases, one gateway.

use crate::{cangate, root, stderr, stdout, text};
use std::fs;
use std::path::Path;

/// Copies the databases into a folder, and returns the gateway file.
fn example(folder: &Path) -> String {
    let from = root().join("examples/signals");
    for name in ["powertrain.dbc", "cluster.dbc"] {
        fs::copy(from.join(name), folder.join(name)).unwrap();
    }
    fs::read_to_string(from.join("gateway.toml")).unwrap()
}

/// Writes the example into a folder, with logs instead of buses.
fn example_with_logs(folder: &Path) {
    let text = example(folder);
    let place = |name: &str| folder.join(name).display().to_string();
    let (input, output) = (place("in.log"), place("out.log"));
    let text = text
        .replace(
            "[ports.powertrain]\nkind = \"bus\"",
            &format!("[ports.powertrain]\nkind = \"log\"\npace = \"original\"\nread = \"{input}\""),
        )
        .replace(
            "[ports.cluster]\nkind = \"bus\"",
            &format!("[ports.cluster]\nkind = \"log\"\nwrite = \"{output}\""),
        )
        .replace("\"fast.log\"", &format!("\"{}\"", place("fast.log")));
    let text = format!("[gateway]\ncontrol = \"{}\"\n{text}", place("control.sock"));
    fs::write(folder.join("gateway.toml"), text).unwrap();
}

/// CRC8 of profile 01 for Data ID 0100: polynomial 1D, from 0, low byte of the ID first.
fn protected(counter: u8, hundredths: u16, gear: u8, coolant: u8) -> [u8; 8] {
    let [low, high] = hundredths.to_le_bytes();
    let mut data = [0, counter, low, high, gear, coolant, 0, 0];
    let crc = |sum: u8, byte: u8| {
        (0..8).fold(sum ^ byte, |sum, _| {
            if sum & 0x80 == 0 {
                sum << 1
            } else {
                sum << 1 ^ 0x1D
            }
        })
    };
    let input = [0x00, 0x01].into_iter().chain(data[1..].iter().copied());
    data[0] = input.fold(0, crc);
    data
}

fn line(milliseconds: u32, data: [u8; 8]) -> String {
    let hex: String = data.iter().map(|byte| format!("{byte:02X}")).collect();
    format!(
        "({}.{:03}000) can0 100#{hex}\n",
        milliseconds / 1000,
        milliseconds % 1000
    )
}

/// 100 km/h are 62.1 mph, 160.93 km/h are 100.0 mph; 90 degC are 194 degF. The third frame has a
/// wrong checksum; then the engine is silent, for longer than 200 ms.
#[test]
fn the_example_makes_protected_messages_in_other_units() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    example_with_logs(folder.path());
    let mut wrong = protected(2, 20_000, 3, 130);
    wrong[0] ^= 1;
    let frames = [
        line(0, protected(0, 10_000, 3, 130)),
        line(50, protected(1, 16_093, 3, 130)),
        line(100, wrong),
        line(900, protected(3, 0, 3, 130)),
    ];
    fs::write(at("in.log"), frames.concat()).unwrap();
    let err = stderr(
        cangate()
            .args(["run", "--until-end"])
            .arg(at("gateway.toml")),
        0,
    );
    let row = err
        .lines()
        .find(|line| line.contains("engine to display  "));
    let cells: Vec<&str> = row.unwrap_or_default().split_whitespace().rev().collect();
    assert_eq!(cells.get(..3), Some(&["1", "3", "4"][..]), "{err}");
    let database = root().join("examples/signals/cluster.dbc");
    let decoded = stdout(
        cangate()
            .args(["decode", "--database"])
            .arg(&database)
            .arg(at("out.log")),
        0,
    );
    let values: Vec<&str> = decoded
        .lines()
        .filter_map(|line| Some(line.split_once("Speed=")?.1))
        .collect();
    let mut different = values.clone();
    different.dedup();
    let expected = [
        "62.1 mph, SpeedInvalid=0, Coolant=194 degF",
        "100 mph, SpeedInvalid=0, Coolant=194 degF",
        "0 mph, SpeedInvalid=1, Coolant=194 degF",
    ];
    // The last frame comes at the end of the log; whether it still makes a message depends on time.
    assert_eq!(different.get(..3), Some(&expected[..]), "{decoded}");
    // A receiver accepts every message: a gateway that verifies them drops none.
    let verifier = format!(
        "[gateway]\ncontrol = \"{}\"\n[ports.in]\nkind = \"log\"\nread = \"{}\"\n[ports.out]\nkind = \"log\"\nwrite = \"{}\"\n\
         [e2e.X]\nprofile = \"P01\"\ndata_id = \"0300\"\n[[routes]]\nfrom = \"in\"\nto = \"out\"\nverify = \"X\"\n",
        at("control.sock").display(),
        at("out.log").display(),
        at("again.log").display()
    );
    fs::write(at("verify.toml"), verifier).unwrap();
    stderr(
        cangate()
            .args(["run", "--until-end"])
            .arg(at("verify.toml")),
        0,
    );
    let again = fs::read_to_string(at("again.log")).unwrap();
    assert_eq!(again.lines().count(), values.len());
    // The condition: 160.93 km/h, and the frame with the wrong checksum, which no one verifies
    // here.
    let fast = fs::read_to_string(at("fast.log")).unwrap();
    assert_eq!(fast.lines().count(), 2, "{fast}");
}

#[test]
fn the_example_has_no_warning() {
    let file = root().join("examples/signals/gateway.toml");
    assert_eq!(stderr(cangate().arg("check").arg(file), 0), "");
}

/// Five mistakes that a careful reviewer could make.
#[test]
fn check_finds_planted_mistakes() {
    for (from, to, message) in [
        (
            "protect = \"ClusterSpeed\"\n",
            "do = [{ and = { data = \"FFFF000000000000\" } }]\nverify = \"ClusterSpeed\"\n",
            "checksum",
        ),
        (
            "[[routes]]\nname = \"display\"",
            "[[routes]]\nname = \"pass\"\nfrom = \"powertrain\"\nto = \"cluster\"\nmessage = \"EngineData\"\n\
             verify = \"EngineData\"\nlimit = \"10/3s\"\n[[routes]]\nname = \"display\"",
            "receivers get the same one for ever",
        ),
        (
            "Speed = { from = \"powertrain.EngineData.VehicleSpeed\", overflow = \"saturate\", ",
            "Speed = { from = \"powertrain.EngineData.VehicleSpeed\", ",
            "VehicleSpeed can have values that Speed cannot have",
        ),
        (
            "VehicleSpeed > 130 km/h",
            "VehicleSpeed > 700 km/h",
            "never",
        ),
        ("VehicleSpeed > 130 km/h", "VehicleSpeed > 130 mph", "km/h"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let right = example(folder.path());
        assert!(right.contains(from), "{from}");
        fs::write(folder.path().join("gateway.toml"), right.replace(from, to)).unwrap();
        let mut check = cangate();
        check.arg("check").arg(folder.path().join("gateway.toml"));
        let text = text(&check.output().unwrap().stderr);
        assert!(text.contains(message), "{to}:\n{text}");
    }
}
