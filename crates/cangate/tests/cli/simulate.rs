//! A gateway file on embedded buses in place of its interfaces: `demo --config`, `run --simulate`.

use crate::{cangate, root, stderr, stdout};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Two ports on interfaces, the first one without a bit rate.
const PORTS: &str = "[ports.a]\nkind = 'socketcan'\ninterface = 'can0'\n\
                     [ports.b]\nkind = 'socketcan'\ninterface = 'can1'\nbitrate = '250k'\n";
const ROUTES: &str = "[[routes]]\nname = 'there'\nfrom = 'a'\nto = 'b'\n\
                      [[routes]]\nname = 'back'\nfrom = 'b'\nto = 'a'\nid = '7E8'\n";

/// A folder with a gateway file and a log.
struct Bench(tempfile::TempDir);

impl Bench {
    fn new(gateway: &str, log: &str) -> Self {
        let bench = Self(tempfile::tempdir().unwrap());
        std::fs::write(bench.path("g.toml"), gateway).unwrap();
        std::fs::write(bench.path("t.log"), log).unwrap();
        bench
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Returns `cangate demo` with this file and log.
    fn demo(&self, options: &[&str]) -> assert_cmd::Command {
        let mut command = cangate();
        command.current_dir(self.0.path());
        command.args(["demo", "--json", "--config", "g.toml", "--log", "t.log"]);
        command.args(options);
        command
    }

    /// Returns `cangate run --simulate` with this file.
    fn run(&self, options: &[&str]) -> assert_cmd::Command {
        let mut command = cangate();
        command.current_dir(self.0.path());
        // A socket that another test could have, too.
        command.env("XDG_RUNTIME_DIR", self.0.path());
        command.args(["run", "g.toml", "--simulate", "--json"]);
        command.args(options);
        command
    }

    /// Returns the lines of the log of a bus, without stamps and interface.
    fn bus(&self, name: &str) -> Vec<String> {
        lines(&self.path(&format!("out/buses/{name}.log")))
    }
}

/// Returns the lines of a log without stamps and interface.
fn lines(path: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(path).unwrap();
    let words = |line: &str| line.split(' ').skip(2).collect::<Vec<_>>().join(" ");
    text.lines().map(words).collect()
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// The file of docs/guide.md, as it is deployed: the test is the same in bus time and in real time.
#[test]
fn the_deployed_example_passes_its_test_in_both_kinds_of_time() {
    let folder = tempfile::tempdir().unwrap();
    let example = |name: &str| root().join("examples/ci").join(name).display().to_string();
    let options = ["--as-bus", "500k", "--out", "out"];
    let mut demo = cangate();
    demo.current_dir(folder.path());
    let (gateway, log) = (example("gateway.toml"), example("test.log"));
    demo.args(["demo", "--json", "--config", &gateway, "--log", &log]);
    let summary = json(&stdout(demo.args(options), 0));
    assert_eq!(
        (&summary["accounted"], &summary["log"]["answers"]),
        (&Value::Bool(true), &3.into())
    );
    let can0 = std::fs::read_to_string(folder.path().join("out/buses/can0.log")).unwrap();
    let sent: String = can0
        .lines()
        .filter(|line| line.ends_with('T'))
        .map(|line| format!("{line}\n"))
        .collect();
    let expected = std::fs::read_to_string(example("expected-can0.log")).unwrap();
    assert_eq!(sent, expected, "the file that the guide compares it with");
    let record = folder.path().join("out/record.log");
    assert_eq!(
        lines(&record),
        ["7E8#0341055A00000000"],
        "the log of a port is in the folder"
    );
    let seen = |bus: &str| lines(&folder.path().join(format!("out/buses/{bus}.log")));
    let in_bus_time = [seen("can0"), seen("can1")];

    let mut run = cangate();
    run.current_dir(folder.path())
        .env("XDG_RUNTIME_DIR", folder.path());
    run.args(["run", &gateway, "--simulate", "--json", "--replay", &log]);
    let output = run.args(options).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{said}");
    let summary = json(&String::from_utf8(output.stdout).unwrap());
    assert_eq!(summary["reason"], "finished");
    for words in [
        "simulated: port diagnosis: can0 is an embedded bus at 500k bit/s, by --as-bus",
        "simulated: port body: can1 is an embedded bus at 250k bit/s, as in the file",
        "simulated: `offload = \"auto\"`: this process runs the routes",
        "replay: 5 frames in the log, 5 sent on the buses",
        "replay: 3 answers came in time",
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
    assert_eq!([seen("can0"), seen("can1")], in_bus_time);
}

#[test]
fn each_obstacle_is_named_with_its_cure() {
    let more = "[ports.c]\nkind = 'cannelloni'\nlisten = 20000\nconnect = 'h:20000'\n";
    let routes = "[[routes]]\nfrom = ['a', 'b', 'c']\nto = ['a', 'b', 'c']\n";
    let bench = Bench::new(&format!("{PORTS}{more}{routes}"), "(1.0) can0 123#\n");
    for command in [&mut bench.demo(&[]), &mut bench.run(&["--replay", "t.log"])] {
        let said = stderr(command, 2);
        for words in [
            "port `a`: the file does not state the bit rate of can0: `--as-bus 500k`",
            "port `c` is of kind \"cannelloni\", whose other side is another program",
            "`--as-bus c=500k` puts a bus in its place",
        ] {
            assert!(said.contains(words), "{words}: {said}");
        }
        assert!(!said.contains("port `b`: the file"), "{said}");
    }
    let summary = json(&stdout(
        &mut bench.demo(&["--as-bus", "500k", "--as-bus", "c=1M"]),
        0,
    ));
    let buses = summary["buses"].as_array().unwrap();
    let rates: Vec<(&str, u64)> = buses
        .iter()
        .map(|bus| {
            (
                bus["name"].as_str().unwrap(),
                bus["bitrate"].as_u64().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        rates,
        [("can0", 500_000), ("can1", 250_000), ("c", 1_000_000)]
    );
    let said = stderr(
        &mut bench.demo(&["--as-bus", "500k", "--as-bus", "x=1M"]),
        2,
    );
    assert!(
        said.contains("there is no port `x`; ports: a, b, c"),
        "{said}"
    );
}

/// One bus has the name of its port, because its port has no interface; the other that of an
/// interface.
#[test]
fn two_buses_of_one_name_are_not_joined() {
    let ports = "[ports.can0]\nkind = 'slcan'\nconnect = 'h:20000'\nbitrate = 500000\n\
                 [ports.b]\nkind = 'socketcan'\ninterface = 'can0'\n";
    let routes = "[[routes]]\nfrom = 'b'\nto = 'can0'\n";
    let bench = Bench::new(&format!("{ports}{routes}"), "(1.0) can0 123#\n");
    let said = stderr(&mut bench.demo(&["--as-bus", "500k"]), 2);
    let words = "ports `can0` and `b` are on different buses, which a simulation would both name can0: give the port of \
                 this name another one";
    assert!(said.contains(words), "{said}");
}

#[test]
fn an_answer_that_does_not_come_ends_the_command() {
    let log = "(1.0) can0 123#11\nwait can1 123 5s\nwait can0 7E8 20ms\n(1.1) can0 124#22\n";
    let bench = Bench::new(&format!("{PORTS}{ROUTES}"), log);
    let options = ["--as-bus", "500k", "--out", "out"];
    let in_real_time = [&options[..], &["--replay", "t.log"]].concat();
    for command in [&mut bench.demo(&options), &mut bench.run(&in_real_time)] {
        let said = stderr(command, 1);
        let words =
            "t.log: line 3: no answer to `wait can0 7E8 20ms` came from the gateway on bus can0";
        assert!(said.contains(words), "{said}");
        assert_eq!(
            bench.bus("can1"),
            ["123#11 T"],
            "the logs show how far it came"
        );
    }
    // The same with the answer: a node on can1 gives it.
    let log = log.replace("wait can0", "(1.01) can1 7E8#33\nwait can0");
    std::fs::write(bench.path("t.log"), log).unwrap();
    stdout(&mut bench.demo(&options), 0);
    assert_eq!(bench.bus("can0"), ["123#11 R", "7E8#33 T", "124#22 R"]);
    std::fs::write(bench.path("t.log"), "(1.0) can0 123#\nwait can0 7E8\n").unwrap();
    let said = stderr(&mut bench.demo(&options), 2);
    assert!(
        said.contains("t.log: line 2: `wait` needs an interface, an ID and a time"),
        "{said}"
    );
}

#[test]
fn interfaces_of_the_log_are_buses_or_mapped() {
    let log = "(1.0) vcan7 123#11\n(1.1) can0 123#22\n(1.2) b 7E8#33\n";
    let bench = Bench::new(&format!("{PORTS}{ROUTES}"), log);
    let options = ["--as-bus", "500k", "--out", "out"];
    for command in [
        &mut bench.demo(&options),
        &mut bench.run(&[&options[..], &["--replay", "t.log"]].concat()),
    ] {
        let said = stderr(command, 2);
        let words = "t.log: line 1: no bus and no port of the gateway file is named vcan7 (buses: can0, \
                     can1): `--map vcan7=can0` puts";
        assert!(said.contains(words), "{said}");
    }
    let options = [&options[..], &["--map", "vcan7=can0"]].concat();
    stdout(&mut bench.demo(&options), 0);
    assert_eq!(bench.bus("can0"), ["123#11 R", "123#22 R", "7E8#33 T"]);
    let options = [&options[..], &["--map", "vcan7="]].concat();
    let summary = json(&stdout(&mut bench.demo(&options), 0));
    assert_eq!(
        summary["log"]["not_replayed"]["of interfaces that --map leaves out"],
        1
    );
}

#[test]
fn a_log_is_repeated_with_a_pause() {
    let bench = Bench::new(
        &format!("{PORTS}{ROUTES}"),
        "(5.0) can0 123#11\n(5.001) can1 7E8#\n",
    );
    let options = [
        "--as-bus", "500k", "--out", "out", "--loop", "3", "--pause", "10ms",
    ];
    let summary = json(&stdout(&mut bench.demo(&options), 0));
    assert_eq!(summary["frames"]["released"], 6);
    let text = std::fs::read_to_string(bench.path("out/buses/can0.log")).unwrap();
    let released = |line: &str| {
        let stamp = line.trim_start_matches('(').split(')').next().unwrap();
        (stamp.parse::<f64>().unwrap() * 1000.0) as u32
    };
    let at: Vec<u32> = text
        .lines()
        .filter(|line| line.ends_with('R'))
        .map(released)
        .collect();
    assert_eq!(at, [0, 11, 22], "a round is 1 ms, and the pause 10 ms");
    let said = stderr(
        &mut bench.demo(&["--as-bus", "500k", "--loop", "endless"]),
        2,
    );
    assert!(said.contains("--loop endless"), "{said}");
}

/// A controller with FD behind a port for classic frames does not destroy the FD frames on its bus.
#[test]
fn a_port_without_fd_leaves_fd_frames_alone() {
    let ports = "[ports.a]\nkind = 'socketcan'\ninterface = 'can0'\n\
                 [ports.b]\nkind = 'socketcan'\ninterface = 'can1'\nfd = false\n";
    let log =
        "(1.0) can0 123##1AABB\n(1.01) can0 124#11\n(1.02) can1 7E8##1CC\n(1.03) can1 7E8#22\n";
    let bench = Bench::new(&format!("{ports}{ROUTES}"), log);
    let summary = json(&stdout(
        &mut bench.demo(&["--as-bus", "500k/2M", "--out", "out"]),
        0,
    ));
    assert_eq!(summary["buses"][1]["errors"], 0);
    assert_eq!(bench.bus("can1"), ["124#11 T", "7E8##5CC R", "7E8#22 R"]);
    assert_eq!(bench.bus("can0"), ["123##5AABB R", "124#11 R", "7E8#22 T"]);
    let there = &summary["gateway"]["ports"][0];
    assert_eq!(
        there["fates"]["undeliverable"], 1,
        "the FD frame for b: {there}"
    );
}

/// Messages that the gateway makes by time are made in bus time.
#[test]
fn made_messages_and_logs_are_part_of_a_simulation() {
    let database =
        "VERSION \"\"\nBU_: N\nBO_ 291 State: 1 N\n SG_ Open : 0|8@1+ (1,0) [0|255] \"\" N\n";
    let gateway = format!(
        "[databases.d]\nfile = 'd.dbc'\n{PORTS}\
         [ports.made]\nkind = 'messages'\ndatabase = 'd'\n\
         [ports.made.make.State]\nevery = '10ms'\nsignals.Open = 7\n\
         [ports.record]\nkind = 'log'\nwrite = '/no/such/folder/r.log'\n\
         [[routes]]\nfrom = 'made'\nto = ['b', 'record']\n[[routes]]\nfrom = 'a'\nto = 'b'\n"
    );
    let bench = Bench::new(&gateway, "(1.0) can0 700#\n(1.035) can0 700#\n");
    std::fs::write(bench.path("d.dbc"), database).unwrap();
    let summary = json(&stdout(
        &mut bench.demo(&["--as-bus", "500k", "--out", "out"]),
        0,
    ));
    assert_eq!(summary["accounted"], true, "{summary}");
    assert_eq!(
        bench.bus("can1"),
        ["700# T", "123#07 T", "123#07 T", "123#07 T", "700# T"]
    );
    assert_eq!(lines(&bench.path("out/record.log")), ["123#07"; 3]);
    // Without a folder, the log is dropped and not written where the file says.
    stdout(&mut bench.demo(&["--as-bus", "500k"]), 0);
}

#[test]
fn options_without_a_simulation_are_refused() {
    let bench = Bench::new(&format!("{PORTS}{ROUTES}"), "(1.0) can0 123#\n");
    let mut command = cangate();
    command.current_dir(bench.0.path());
    let said = stderr(command.args(["run", "g.toml", "--replay", "t.log"]), 2);
    assert!(said.contains("--simulate"), "{said}");
}
