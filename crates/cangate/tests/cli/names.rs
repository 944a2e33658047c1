//! Names of messages: `[databases.NAME]` of a gateway file in each command, and `--database` of
//! `convert`.

use crate::gateway::Gateway;
use crate::python_can::python_with;
use crate::{cangate, root, stderr, stdout, text};
use serde_json::Value;
use std::path::Path;

const DATABASE: &str = "VERSION \"\"\nBU_: Engine Gear Dash\n\
    BO_ 416 EngineData: 8 Engine\n SG_ Speed : 0|16@1+ (0.01,0) [0|655.35] \"km/h\" Dash\n \
    SG_ Rpm : 16|8@1+ (10,0) [0|3000] \"\" Dash\n\
    BO_ 417 GearData: 8 Gear\n SG_ Gear : 0|8@1+ (1,0) [0|7] \"\" Dash\n\
    VAL_ 417 Gear 1 \"Drive\" 2 \"Park\";\n";

const PORTS: &str = "[databases.body]\nfile = 'body.dbc'\n\
    [ports.a]\nkind = 'bus'\ndatabase = 'body'\n[ports.b]\nkind = 'bus'\n";

/// Returns a folder with `body.dbc`, and `gateway.toml` with these routes.
fn folder(routes: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("body.dbc"), DATABASE).unwrap();
    let text = format!("{PORTS}{routes}");
    std::fs::write(folder.path().join("gateway.toml"), text).unwrap();
    folder
}

fn run(folder: &Path, args: &[&str]) -> assert_cmd::Command {
    let mut command = cangate();
    command.args(args).current_dir(folder);
    command
}

const ROUTE: &str = "[[routes]]\nfrom = 'a'\nto = 'b'\nid = '1A0'\n";

/// The database is found from another folder, too.
#[test]
fn check_names_the_messages_of_each_route() {
    let folder = folder(ROUTE);
    let file = folder.path().join("gateway.toml");
    let output = cangate().arg("check").arg(&file).output().unwrap();
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{err}");
    assert!(
        out.contains("\n  messages: 2 messages of database body (body.dbc)\n"),
        "{out}"
    );
    assert!(out.ends_with("\n  messages: 1A0 EngineData\n"), "{out}");
    assert!(
        err.contains("warning: body.dbc has a contradiction"),
        "{err}"
    );
    let line = "line 5: signal Rpm of EngineData: its maximum 3000 is above 2550";
    assert!(err.contains(line), "{err}");
    assert!(err.contains("gateway.toml:2:8"), "{err}");
    // From standard input, the path starts at the working directory.
    let mut piped = run(folder.path(), &["check", "--verbose", "-"]);
    let out = stdout(piped.write_stdin(format!("{PORTS}{ROUTE}")), 0);
    let start = format!("database body: body.dbc, 2 messages\n  {line}");
    assert!(out.starts_with(&start), "{out}");
}

#[test]
fn a_broken_database_is_refused_with_its_line() {
    let folder = folder(ROUTE);
    std::fs::write(folder.path().join("body.dbc"), "VERSION \"\"\nBO_ x\n").unwrap();
    let err = stderr(&mut run(folder.path(), &["check", "gateway.toml"]), 2);
    assert!(err.contains("error: body.dbc: line 2, column "), "{err}");
    assert!(err.contains("gateway.toml:2:8"), "{err}");
}

#[test]
fn a_running_gateway_names_messages_and_survives_a_broken_database() {
    let gateway = Gateway::start("");
    let reload = |database: &str| {
        std::fs::write(gateway.folder().join("body.dbc"), database).unwrap();
        let routes = "[databases.body]\nfile = \"body.dbc\"\n[[routes]]\nname = \"one\"\n\
                      from = \"in\"\nto = \"out\"\nid = \"1A0-1AF\"\n";
        gateway.write_routes(routes);
        let file = std::fs::read_to_string(gateway.file()).unwrap();
        let named = file.replace("read = \"-\"", "read = \"-\"\ndatabase = \"body\"");
        std::fs::write(gateway.file(), named).unwrap();
        gateway.control("reload", &[])
    };
    let names = |options: &[&str]| text(&gateway.control("routes", options).stdout);
    let done = text(&reload(DATABASE).stdout);
    assert!(
        done.contains("ports: 2 kept"),
        "a name does not reopen the port: {done}"
    );
    let line = "\n  messages: 1A0 EngineData, 1A1 GearData\n";
    assert!(names(&[]).contains(line), "{}", names(&[]));
    let json: Value = serde_json::from_str(&names(&["--json"])).unwrap();
    let messages = json[0]["messages"].as_array().unwrap();
    assert_eq!(messages, &["1A0 EngineData", "1A1 GearData"]);
    let stats = text(&gateway.control("stats", &[]).stdout);
    assert!(
        stats.contains("Messages of one: 1A0 EngineData, 1A1 GearData.\n"),
        "{stats}"
    );
    assert_eq!(gateway.stats()["messages"][0]["route"], "one");

    let refused = reload("VERSION \"\"\nBO_ x\n");
    assert_eq!(refused.status.code(), Some(2));
    let err = text(&refused.stderr);
    assert!(err.contains("body.dbc: line 2, column "), "{err}");
    assert!(
        names(&[]).contains(line),
        "the running configuration stays: {}",
        names(&[])
    );

    let done = reload(&DATABASE.replace("GearData", "GearState"));
    assert_eq!(done.status.code(), Some(0), "{}", text(&done.stderr));
    assert!(names(&[]).contains("1A1 GearState"), "{}", names(&[]));
}

const SET: &str = "[buses.a]\nbitrate = '500k'\n[buses.b]\nbitrate = '500k'\n\
    [[messages]]\nbus = 'a'\nid = '1A0'\nperiod = '10ms'\nlen = 8\n\
    [[messages]]\nbus = 'a'\nid = '1A1'\nname = 'Own'\nperiod = '10ms'\nlen = 8\n";

#[test]
fn bound_takes_names_from_the_databases_of_the_gateway_file() {
    let plus_one = "[[routes]]\nfrom = 'a'\nto = 'b'\nid = '1A0'\ndo = [{ id_offset = 1 }]\n";
    let folder = folder(plus_one);
    let file = format!("{PORTS}database = 'body'\n{plus_one}");
    std::fs::write(folder.path().join("gateway.toml"), file).unwrap();
    let args = ["bound", "-", "--gateway", "gateway.toml", "--json"];
    let out = stdout(run(folder.path(), &args).write_stdin(SET), 0);
    let json: Value = serde_json::from_str(&out).unwrap();
    let names = |bus: usize| {
        let messages = json["buses"][bus]["messages"].as_array().unwrap();
        let name = |message: &Value| format!("{} {}", message["id"], message["name"]);
        let mut names: Vec<String> = messages.iter().map(name).collect();
        names.sort();
        names
    };
    assert_eq!(names(0), ["\"1A0\" \"EngineData\"", "\"1A1\" \"Own\""]);
    // The route makes another message of it.
    assert_eq!(names(1), ["\"1A1\" \"GearData\""]);
}

const LOG: &str = "\
(1.000001) can0 1A0#D2040A0000000000
(1.500000) can0 1A1#01
(2.000000) can1 1A0#00
(2.500000) can0 1A0#R8
(3.000000) can0 7FF#
(3.500000) can0 20000004#0004000000000000
";

/// The comments are those lines that `decode` prints, and the frames are as before.
#[test]
fn convert_writes_the_message_behind_each_frame() {
    let folder = folder(ROUTE);
    let output = run(
        folder.path(),
        &["convert", "-", "-", "--to", "log", "-d", "body.dbc"],
    )
    .write_stdin(LOG)
    .output()
    .unwrap();
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{err}");
    assert!(
        err.contains(": 6 frames, 3 of them with their message, "),
        "{err}"
    );
    let mut decode = run(folder.path(), &["decode", "-", "-d", "body.dbc"]);
    let decoded = stdout(decode.write_stdin(LOG), 0);
    let words = decoded
        .lines()
        .map(|line| line.splitn(3, ' ').last().unwrap());
    let comments: Vec<&str> = out
        .lines()
        .filter_map(|line| line.strip_prefix("# "))
        .collect();
    assert_eq!(comments, words.collect::<Vec<_>>());
    assert_eq!(comments[0], "EngineData: Speed=12.34 km/h, Rpm=100");
    assert_eq!(
        out.lines().nth(1),
        Some(&*format!("# {}", comments[0])),
        "behind its frame"
    );
    let again = ["convert", "-", "-", "--to", "log"];
    let plain = stdout(run(folder.path(), &again).write_stdin(&*out), 0);
    assert_eq!(
        plain,
        stdout(run(folder.path(), &again).write_stdin(LOG), 0)
    );
}

#[test]
fn a_database_can_be_for_one_interface_and_only_for_formats_with_names() {
    let folder = folder(ROUTE);
    let convert = |args: &[&str]| {
        let mut command = run(folder.path(), &["convert", "-"]);
        command.args(args).write_stdin(LOG);
        command
    };
    let out = stdout(
        &mut convert(&["-", "--to", "log", "-d", "can1=body.dbc"]),
        0,
    );
    let comments: Vec<&str> = out.lines().filter(|line| line.starts_with('#')).collect();
    assert_eq!(comments, ["# EngineData"]);
    let err = stderr(&mut convert(&["out.pcapng", "-d", "body.dbc"]), 2);
    assert!(
        err.contains("pcapng has no place for the names of messages"),
        "{err}"
    );
    assert!(err.contains("write .log or .parquet"), "{err}");
    assert!(!folder.path().join("out.pcapng").exists());
    let err = stderr(&mut convert(&["out.log", "-d", "a.dbc", "-d", "b.dbc"]), 2);
    assert!(err.contains("a.dbc"), "{err}");
    let err = stderr(
        &mut convert(&["out.log", "-d", "body.dbc", "-d", "body.dbc"]),
        2,
    );
    assert!(err.contains("have a database already"), "{err}");
    let err = stderr(&mut convert(&["out.log", "-d", "-"]), 2);
    assert!(
        err.contains("can be only one of the log and the databases"),
        "{err}"
    );
    let mut capture = run(
        folder.path(),
        &["capture", "can0", "-o", "x.pcapng", "-d", "body.dbc"],
    );
    assert!(stderr(&mut capture, 2).contains("pcapng has no place"));
}

const QUERY: &str = "import duckdb\n\
    for row in duckdb.sql(\"select message, signals['Speed'], signals['Gear'], cardinality(signals) \
    from 'out.parquet' order by time\").fetchall(): print(row)\n";

/// DuckDB reads the map of signals.
#[test]
fn parquet_has_the_message_and_a_map_of_its_signals() {
    let folder = folder(ROUTE);
    let args = ["convert", "-", "out.parquet", "--database", "body.dbc"];
    stdout(run(folder.path(), &args).write_stdin(LOG), 0);
    let Some(python) = python_with("duckdb", "duckdb") else {
        return;
    };
    let mut query = assert_cmd::Command::new(python);
    let out = stdout(query.args(["-c", QUERY]).current_dir(folder.path()), 0);
    let rows: Vec<&str> = out.lines().collect();
    assert_eq!(
        rows,
        [
            "('EngineData', 12.34, None, 2)",
            "('GearData', None, 1.0, 1)",
            "('EngineData', None, None, 0)",
            "(None, None, None, None)",
            "(None, None, None, None)",
            "(None, None, None, None)",
        ]
    );
}

/// The example with all keys, from its folder in the repository.
#[test]
fn the_example_finds_its_database() {
    let file = root().join("examples/everything.toml");
    let output = cangate().arg("check").arg(file).output().unwrap();
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{err}");
    assert!(
        out.contains("of database comfort (bound/body.dbc); node Door is here"),
        "{out}"
    );
}

/// A database that names each ID: the sentence and the report have the name behind the ID.
#[test]
fn the_demo_names_messages() {
    let both = "[[routes]]\nname = 'there'\nfrom = 'a'\nto = 'b'\n\
                [[routes]]\nname = 'back'\nfrom = 'b'\nto = 'a'\nid = '000-7FF'\n";
    let folder = folder(both);
    let messages = (0..2048).map(|id| format!("BO_ {id} M{id}: 8 Engine\n"));
    let database = format!("BU_: Engine\n{}", messages.collect::<String>());
    std::fs::write(folder.path().join("body.dbc"), database).unwrap();
    let file = format!("{PORTS}database = 'body'\n{both}");
    std::fs::write(folder.path().join("gateway.toml"), file).unwrap();
    let args = [
        "demo",
        "--config",
        "gateway.toml",
        "--seconds",
        "0.2",
        "--json",
        "--out",
        "out",
    ];
    let json: Value = serde_json::from_str(&stdout(&mut run(folder.path(), &args), 0)).unwrap();
    let sentence = json["sentence"].as_str().unwrap();
    let (_, worst) = sentence.split_once("because ID ").unwrap();
    let mut words = worst.split(' ');
    let id = u32::from_str_radix(words.next().unwrap(), 16).unwrap();
    assert_eq!(words.next(), Some(&*format!("M{id}")), "{sentence}");
    let page = std::fs::read_to_string(folder.path().join("out/report.html")).unwrap();
    assert!(
        page.contains(&format!("ID {id:03X} M{id}")),
        "the report's sentence"
    );
    assert!(
        page.contains("messages: 000 M0, 001 M1"),
        "the report's routes"
    );
}
