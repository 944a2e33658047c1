//! `cangate run`, and the commands for a running gateway: `stats`, `routes`, `reload`, signals.

use crate::gateway::{Gateway, frames, row};
use crate::{cangate, stderr, stdout, text};
use serde_json::Value;
use std::path::Path;

const PASS_ALL: &str = "[[routes]]\nname = \"all\"\nfrom = \"in\"\nto = \"out\"\n";
const ONLY_123: &str = "[[routes]]\nname = \"only\"\nfrom = \"in\"\nto = \"out\"\nid = \"123\"\n";

/// Ports that replay `in.log` into `out.log`, and routes.
fn replay(folder: &Path, log: &str, routes: &str) -> assert_cmd::Command {
    std::fs::write(folder.join("in.log"), log).unwrap();
    let socket = folder.join("control.sock");
    let config = format!(
        "[gateway]\ncontrol = {socket:?}\nrealtime = false\nlock_memory = false\n\n\
         [ports.in]\nkind = \"log\"\nread = \"in.log\"\npace = \"fast\"\n\n\
         [ports.out]\nkind = \"log\"\nwrite = \"out.log\"\ninterface = \"can7\"\n\n{routes}"
    );
    std::fs::write(folder.join("gateway.toml"), config).unwrap();
    let mut command = cangate();
    command
        .current_dir(folder)
        .args(["run", "--until-end", "--json", "gateway.toml"]);
    command
}

/// Returns the counters at the end: standard output is the summary and nothing else.
fn summary(command: &mut assert_cmd::Command) -> Value {
    let summary: Value = serde_json::from_str(&stdout(command, 0)).unwrap();
    assert_eq!(summary["reason"], "finished");
    summary
}

fn text_of(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Checks that the number of received frames is the sum of all fates.
fn adds_up(port: &Value) {
    let fates = port["fates"].as_object().unwrap();
    let sum: u64 = fates.values().map(|count| count.as_u64().unwrap()).sum();
    assert_eq!(port["received"], sum, "{port}");
}

#[test]
fn standard_output_belongs_to_the_port_that_writes_to_it() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = replay(folder.path(), "(1.0) can0 123#11\n", "");
    let config = "[gateway]\ncontrol = \"CONTROL\"\nrealtime = false\nlock_memory = false\n\
                  [ports.in]\nkind = \"log\"\nread = \"in.log\"\npace = \"fast\"\n\
                  [ports.out]\nkind = \"log\"\nwrite = \"-\"\n\
                  [[routes]]\nfrom = \"in\"\nto = \"out\"\n";
    let socket = folder.path().join("control.sock").display().to_string();
    let config = config.replace("CONTROL", &socket);
    std::fs::write(folder.path().join("gateway.toml"), config).unwrap();
    let output = command.output().unwrap();
    assert!(output.status.success());
    let out = String::from_utf8(output.stdout).unwrap();
    assert_eq!(frames(&out), ["123#11"], "the log and nothing else");
    let err = String::from_utf8(output.stderr).unwrap();
    assert!(err.contains("\"reason\": \"finished\""), "{err}");
}

#[test]
fn a_gateway_runs_without_a_control_socket_that_no_file_names() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = replay(folder.path(), "(1.0) can0 123#11\n", PASS_ALL);
    let file = folder.path().join("gateway.toml");
    let config = std::fs::read_to_string(&file).unwrap();
    // No folder can be created there, not even by root.
    command.env("XDG_RUNTIME_DIR", "/proc/none");
    let without = config.lines().filter(|line| !line.starts_with("control"));
    std::fs::write(&file, without.collect::<Vec<_>>().join("\n")).unwrap();
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let err = text(&output.stderr);
    assert!(err.contains("XDG_RUNTIME_DIR"), "the user is told: {err}");
    // A path that the file names must be usable.
    std::fs::write(
        &file,
        config.replace("control = ", "control = \"/proc/none/x.sock\" #"),
    )
    .unwrap();
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
}

#[test]
fn a_log_is_routed_into_a_log() {
    let folder = tempfile::tempdir().unwrap();
    let log = "(1.000000) can0 123#11\n(1.000100) can0 124#22\n(1.000200) can1 00000123#33\n";
    let routes = "[[routes]]\nname = \"change\"\nfrom = \"in\"\nto = \"out\"\nid = \"123\"\n\
                  do = [{ set = { id = \"321\" } }]\n\n\
                  [[routes]]\nname = \"drop\"\nfrom = \"in\"\ndrop = true\nid = \"124\"\n";
    let summary = summary(&mut replay(folder.path(), log, routes));
    let port = row(&summary["counters"]["ports"], "in");
    assert_eq!(port["received"], 3);
    assert_eq!(port["fates"]["routed"], 1);
    assert_eq!(port["fates"]["dropped_by_rule"], 1);
    assert_eq!(port["fates"]["no_route"], 1);
    adds_up(port);
    let written = std::fs::read_to_string(folder.path().join("out.log")).unwrap();
    assert_eq!(frames(&written), ["321#11"]);
    assert!(written.contains(" can7 "), "{written}");
}

/// Lines that are not frames, among some that are.
const GARBAGE: &[u8] = b"(1.000000) can0 123#11\nwhat is this\n(1.000100) can0 123#2\n\
    \xFF\xFE\x00\n(1.000200) can0 123#33\n(2.0) can0 999#\n";

#[test]
fn bad_lines_of_a_log_are_left_out_and_counted() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = replay(folder.path(), "", PASS_ALL);
    std::fs::write(folder.path().join("in.log"), GARBAGE).unwrap();
    let text = stdout(command.arg("-q"), 3);
    let summary: Value = serde_json::from_str(&text).unwrap();
    let port = row(&summary["counters"]["ports"], "in");
    assert_eq!(port["received"], 2);
    assert_eq!(port["rx"]["malformed"], 4, "{port}");
    let written = std::fs::read_to_string(folder.path().join("out.log")).unwrap();
    assert_eq!(frames(&written), ["123#11", "123#33"]);
    let remarks = summary["remarks"].to_string();
    assert!(
        remarks.contains("in.log") && remarks.contains('2'),
        "{remarks}"
    );
}

/// The only input fails, and there is also a bus, which never ends: this is not a regular end of
/// the inputs.
#[test]
fn a_run_whose_input_fails_does_not_end_well() {
    let folder = tempfile::tempdir().unwrap();
    let text = format!(
        "[gateway]\nrealtime = false\ncontrol = '{}'\n\
         [ports.in]\nkind = 'log'\nread = '-'\npace = 'fast'\n\
         [ports.out]\nkind = 'bus'\n[[routes]]\nfrom = 'in'\nto = 'out'\n",
        folder.path().join("c.sock").display()
    );
    std::fs::write(folder.path().join("g.toml"), text).unwrap();
    let run = |input: &str| {
        let mut command = cangate();
        command
            .current_dir(folder.path())
            .args(["run", "--until-end", "--strict", "-q", "g.toml"]);
        command.write_stdin(input).output().unwrap()
    };
    let good = "(1.000000) can0 123#11\n";
    assert_eq!(run(good).status.code(), Some(0));
    let output = run(&format!("{good}nonsense\n{good}"));
    let message = text_of(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{message}");
    assert!(
        message.contains("ended because of ports that failed: in"),
        "{message}"
    );
}

#[test]
fn a_strict_replay_stops_at_the_first_bad_line() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = replay(folder.path(), "", PASS_ALL);
    std::fs::write(folder.path().join("in.log"), GARBAGE).unwrap();
    let output = command.arg("--strict").output().unwrap();
    assert_ne!(output.status.code(), Some(0), "{output:?}");
    let err = text(&output.stderr);
    assert!(err.contains("in.log") && err.contains('2'), "{err}");
    let written = std::fs::read_to_string(folder.path().join("out.log")).unwrap_or_default();
    assert!(frames(&written).len() <= 1, "{written}");
}

#[test]
fn the_cars_log_is_accounted_for_frame_by_frame() {
    let path = crate::root().join("../shared/data/icsim-sample-can.log");
    let Ok(log) = std::fs::read_to_string(&path) else {
        eprintln!("SKIPPED because {} is not here", path.display());
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let summary = summary(&mut replay(folder.path(), &log, PASS_ALL));
    let port = row(&summary["counters"]["ports"], "in");
    assert_eq!(port["received"], 6158);
    assert_eq!(port["fates"]["routed"], 6158);
    adds_up(port);
    let written = std::fs::read_to_string(folder.path().join("out.log")).unwrap();
    assert_eq!(frames(&written), frames(&log));
}

#[test]
fn a_running_gateway_reports_reloads_and_ends() {
    let mut gateway = Gateway::start(PASS_ALL);
    gateway.feed(&["123#11", "124#22"]);
    gateway.until("both frames were received", |gateway| {
        gateway.received() == 2
    });

    // A broken file changes nothing, and the client gets the mistakes.
    gateway.write_routes("[[routes]]\nname = \"broken\"\nfrom = \"nowhere\"\nto = \"out\"\n");
    let output = gateway.control("reload", &[]);
    assert_ne!(output.status.code(), Some(0));
    assert!(text(&output.stderr).contains("nowhere"), "{output:?}");
    gateway.feed(&["125#33"]);
    gateway.until("the old route still works", |gateway| {
        let stats = gateway.stats();
        row(&stats["routes"], "all")["taken"] == 3
    });

    gateway.write_routes(ONLY_123);
    let output = gateway.control("reload", &[]);
    assert!(output.status.success(), "{output:?}");
    gateway.feed(&["123#44", "126#55"]);
    gateway.until("the new route has its frame", |gateway| {
        let stats = gateway.stats();
        gateway.received() == 5 && row(&stats["routes"], "only")["taken"] == 1
    });
    adds_up(row(&gateway.stats()["ports"], "in"));

    let output = gateway.control("routes", &[]);
    assert!(output.status.success());
    assert!(text(&output.stdout).contains("only"), "{output:?}");

    gateway.signal("TERM");
    let (output, written) = gateway.end();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!(frames(&written), ["123#11", "124#22", "125#33", "123#44"]);
    assert!(
        text(&output.stderr).contains("only"),
        "no summary: {output:?}"
    );
}

#[test]
fn the_hangup_signal_reloads() {
    let gateway = Gateway::start(PASS_ALL);
    gateway.write_routes(ONLY_123);
    gateway.signal("HUP");
    gateway.until("it has the new route", |gateway| {
        let stats = gateway.stats();
        stats["routes"]
            .as_array()
            .unwrap()
            .iter()
            .any(|route| route["name"] == "only")
    });
    gateway.signal("INT");
    assert_eq!(gateway.end().0.status.code(), Some(0));
}

#[test]
fn the_socket_is_for_its_owner_and_goes_with_the_gateway() {
    use std::os::unix::fs::{FileTypeExt, PermissionsExt};
    let gateway = Gateway::start(PASS_ALL);
    let socket = gateway.socket();
    let metadata = std::fs::metadata(&socket).unwrap();
    assert!(metadata.file_type().is_socket());
    assert_eq!(metadata.permissions().mode() & 0o007, 0, "others may not");
    let folder = gateway.folder().to_path_buf();
    assert!(socket.starts_with(folder));
    gateway.signal("TERM");
    gateway.end();
    assert!(!socket.exists());
}

#[test]
fn nonsense_on_the_socket_harms_no_client() {
    use std::io::{Read, Write};
    use std::os::unix::net::UnixStream;
    let gateway = Gateway::start(PASS_ALL);
    for nonsense in [
        &b""[..],
        b"\n",
        b"\xFF\x00\n",
        b"{\"request\":",
        b"stats extra\n",
    ] {
        let mut stream = UnixStream::connect(gateway.socket()).unwrap();
        stream.write_all(nonsense).unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        let mut answer = Vec::new();
        // It may answer with an error or hang up.
        let _ = stream.read_to_end(&mut answer);
    }
    assert_eq!(gateway.received(), 0);
}

#[test]
fn without_a_gateway_the_user_gets_a_hint() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("none.sock");
    for command in ["stats", "routes", "reload"] {
        let err = stderr(cangate().arg(command).arg("--socket").arg(&socket), 1);
        assert!(err.contains("none.sock"), "{err}");
    }
}

/// The counts are those of the seed: the same on every machine, in every run. A program in another
/// language that follows the published generator (xoshiro256++, seeded by SplitMix64 with FNV-1a of
/// seed, port and side) gives the same counts.
#[test]
fn faults_on_purpose_repeat_and_add_up() {
    let folder = tempfile::tempdir().unwrap();
    let log: String = (0..1000)
        .map(|i| format!("({i}.000000) can0 123#{i:016X}\n"))
        .collect();
    let faults = "[ports.in.faults]\nseed = 7\nreceive = { drop = 0.1, duplicate = 0.05 }\n\
                  [ports.out.faults]\ntransmit = { drop = 0.1, duplicate = 0.1, corrupt = 0.1 }\n";
    let run = || {
        let mut command = replay(folder.path(), &log, &format!("{faults}{PASS_ALL}"));
        let summary = summary(&mut command);
        let log = std::fs::read_to_string(folder.path().join("out.log")).unwrap();
        (summary["counters"].clone(), frames(&log).join("\n"))
    };
    let (counters, sent) = run();
    let port = |name| row(&counters["ports"], name);
    let (came, went) = (port("in"), port("out"));
    let count = |port: &Value, side: &str, what: &str| port[side]["faults"][what].as_u64().unwrap();
    let came_faults = ["dropped", "duplicated"].map(|what| count(came, "rx", what));
    assert_eq!(came_faults, [98, 39]);
    let went_faults = ["dropped", "duplicated", "corrupted"].map(|what| count(went, "tx", what));
    assert_eq!(went_faults, [101, 82, 77]);
    adds_up(came);
    assert_eq!(came["received"], 1000 - came_faults[0] + came_faults[1]);
    let lines = came["received"].as_u64().unwrap() - went_faults[0] + went_faults[1];
    assert_eq!(sent.lines().count() as u64, lines);
    assert_eq!(went["tx"]["sent"], lines);
    assert_eq!(went["tx"]["lost"], went_faults[0]);
    let (again, sent_again) = run();
    assert_eq!(sent_again, sent, "the same frames are hit again");
    assert_eq!(row(&again["ports"], "in")["rx"], came["rx"]);
    assert_eq!(
        row(&again["ports"], "out")["tx"]["faults"],
        went["tx"]["faults"]
    );
    // The text output reports them, too, with a warning at the start.
    let mut command = cangate();
    command
        .current_dir(folder.path())
        .args(["run", "--until-end", "gateway.toml"]);
    let err = stderr(&mut command, 0);
    assert!(err.contains("port `in` injects faults"), "{err}");
    assert!(
        err.contains("Faults injected on port out: of frames sent, "),
        "{err}"
    );
    assert!(err.contains("All sums add up."), "{err}");
}
