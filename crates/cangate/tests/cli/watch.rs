//! `cangate watch`: ports of a running gateway, and ports that it opens itself.

use crate::gateway::Gateway;
use crate::top::{OnTerminal, lacks_terminal_calls};
use crate::{cangate, stderr, stdout};
use serde_json::Value;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::net::UnixStream;
use std::process::{Child, ChildStdout, Command, Stdio};

const ROUTES: &str =
    "[[routes]]\nname = \"all\"\nfrom = \"in\"\nto = \"out\"\ndo = [{ id_offset = 1 }]\n";

/// `cangate watch` of a gateway, with its lines.
struct WatchLines {
    child: Child,
    lines: BufReader<ChildStdout>,
}

impl WatchLines {
    fn start(gateway: &Gateway, options: &[&str]) -> Self {
        let mut child = Command::new(crate::program())
            .arg("watch")
            .args(options)
            .arg("--socket")
            .arg(gateway.socket())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        // It says when the gateway shows it frames.
        let mut errors = BufReader::new(child.stderr.take().unwrap());
        let mut first = String::new();
        errors.read_line(&mut first).unwrap();
        assert!(first.starts_with("watching in"), "{first}");
        Self { child, lines }
    }

    /// Returns the next line without its time.
    fn next(&mut self) -> String {
        let mut line = String::new();
        self.lines.read_line(&mut line).unwrap();
        let line = line.trim_end();
        match line.split_once(") ") {
            Some((_, rest)) => rest.to_owned(),
            None => line.to_owned(),
        }
    }
}

impl Drop for WatchLines {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Feeds a frame, and returns the first line.
fn connect(gateway: &mut Gateway, watch: &mut WatchLines) -> String {
    gateway.feed(&["100#00"]);
    watch.next()
}

#[test]
fn the_ports_of_a_gateway_are_shown_at_once() {
    let mut gateway = Gateway::start(ROUTES);
    let mut watch = WatchLines::start(&gateway, &[]);
    assert_eq!(connect(&mut gateway, &mut watch), "in 100#00 R");
    assert_eq!(watch.next(), "out 101#00 T");
    gateway.feed(&["18DAF110##1AABB"]);
    assert_eq!(watch.next(), "in 18DAF110##5AABB R");
    assert_eq!(watch.next(), "out 18DAF111##5AABB T");
    // A reload that opens other ports shows these, too; it closes none of the watched ones.
    let more = "[ports.late]\nkind = \"log\"\nwrite = \"late.log\"\ninterface = \"can9\"\n";
    gateway.write_routes(&format!(
        "{more}{}",
        ROUTES.replace("\"out\"", "[\"out\", \"late\"]")
    ));
    assert!(gateway.control("reload", &[]).status.success());
    gateway.feed(&["200#02"]);
    let mut all = [watch.next(), watch.next(), watch.next()];
    all.sort();
    assert_eq!(all, ["in 200#02 R", "late 201#02 T", "out 201#02 T"]);
    gateway.signal("TERM");
    assert_eq!(watch.next(), "");
    assert!(watch.child.wait().unwrap().success());
}

#[test]
fn a_filter_and_a_database_select_and_name_frames() {
    let mut gateway = Gateway::start(ROUTES);
    let database = gateway.folder().join("body.dbc");
    let text =
        "BU_: A\nBO_ 291 EngineData: 2 A\n SG_ Speed : 0|16@1+ (0.25,0) [0|8000] \"rpm\" A\n";
    std::fs::write(&database, text).unwrap();
    let database = database.display().to_string();
    let options = [
        "--from",
        "in",
        "--filter",
        "123",
        "--filter",
        "100",
        "--database",
        &database,
        "--count",
        "2",
    ];
    let mut watch = WatchLines::start(&gateway, &options);
    assert_eq!(connect(&mut gateway, &mut watch), "in 100#00 R");
    gateway.feed(&["124#11", "123#7017"]);
    assert_eq!(watch.next(), "in 123#7017 R");
    assert_eq!(watch.next(), "# EngineData: Speed=1500 rpm");
    assert_eq!(watch.next(), "");
    assert!(watch.child.wait().unwrap().success());
    let err = stderr(
        cangate()
            .args(["watch", "--from", "inn", "--socket"])
            .arg(gateway.socket()),
        2,
    );
    assert!(err.contains("no port `inn`; it has in, out"), "{err}");
}

/// A client that does not read loses its own frames, each of which is counted; the gateway loses
/// none.
#[test]
fn a_client_that_does_not_read_loses_only_its_own_frames() {
    const FRAMES: u64 = 60_000;
    let mut gateway = Gateway::start(ROUTES);
    let mut slow = UnixStream::connect(gateway.socket()).unwrap();
    slow.write_all(b"{\"cangate\":1,\"do\":\"watch\",\"ports\":[\"in\"]}\n")
        .unwrap();
    let mut slow = BufReader::new(slow);
    let mut line = String::new();
    slow.read_line(&mut line).unwrap();
    assert_eq!(line, "{\"cangate\":1,\"ok\":{\"ports\":[\"in\"]}}\n");
    let batch = vec!["123#1122334455667788"; 1000];
    for _ in 0..FRAMES / 1000 {
        gateway.feed(&batch);
    }
    gateway.until("all frames came", |gateway| gateway.received() == FRAMES);
    let (mut seen, mut lost) = (0, 0);
    while seen + lost < FRAMES {
        line.clear();
        slow.read_line(&mut line).unwrap();
        let news: Value = serde_json::from_str(&line).unwrap();
        seen += news["ok"]["frames"].as_array().unwrap().len() as u64;
        lost = news["ok"]["lost"].as_u64().unwrap();
    }
    assert_eq!(seen + lost, FRAMES);
    assert!(lost > 0 && seen > 0, "{lost} lost of {FRAMES}");
    drop(slow);
    gateway.signal("TERM");
    let (output, written) = gateway.end();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(written.lines().count() as u64, FRAMES);
}

/// A client that watches and sends more than an inbox holds is still noticed when it goes: its
/// place is free for another one.
#[test]
fn a_watching_client_that_sends_gives_its_place_back() {
    let gateway = Gateway::start(ROUTES);
    let watch = || {
        let mut client = UnixStream::connect(gateway.socket()).unwrap();
        client
            .write_all(b"{\"cangate\":1,\"do\":\"watch\"}\n")
            .unwrap();
        let mut line = String::new();
        BufReader::new(&client).read_line(&mut line).unwrap();
        (client, line)
    };
    // The most clients that can watch.
    let mut clients: Vec<_> = (0..8).map(|_| watch()).collect();
    assert!(clients.iter().all(|(_, line)| line.contains("\"ok\"")));
    assert!(watch().1.contains("watch ports of this gateway already"));
    for (client, _) in &mut clients {
        client.write_all(&[b'x'; 200_000]).unwrap();
    }
    drop(clients);
    gateway.until("a place is free", |_| watch().1.contains("\"ok\""));
    gateway.signal("TERM");
    assert!(gateway.end().0.status.success());
}

#[test]
fn a_port_of_a_file_is_opened_here() {
    let folder = tempfile::tempdir().unwrap();
    let log = "(1.000000) can0 123#11\n(1.010000) can0 124##1AABB\n(1.020000) can0 123#22\n";
    std::fs::write(folder.path().join("drive.log"), log).unwrap();
    let file = "[ports.drive]\nkind = 'log'\nread = 'drive.log'\npace = 'fast'\n[ports.b]\nkind = 'bus'\n\
        [[routes]]\nfrom = 'drive'\nto = 'b'\n";
    std::fs::write(folder.path().join("gateway.toml"), file).unwrap();
    let watch = |more: &[&str], status| {
        let mut command = cangate();
        command.current_dir(folder.path());
        command
            .args(["watch", "--config", "gateway.toml", "drive"])
            .args(more);
        stdout(&mut command, status)
    };
    let out = watch(&[], 0);
    let frames: Vec<&str> = out
        .lines()
        .map(|line| line.split_once(") ").unwrap().1)
        .collect();
    assert_eq!(frames, ["drive 123#11", "drive 124##5AABB", "drive 123#22"]);
    assert_eq!(watch(&["--filter", "!123"], 0).lines().count(), 1);
    assert_eq!(watch(&["--count", "2"], 0).lines().count(), 2);
    for (args, words) in [
        (&["watch"][..], "no port is given"),
        (&["watch", "can0", "--filter", "12"], "three or eight"),
        (&["watch", "can0", "--database", "none.dbc"], "none.dbc"),
    ] {
        let err = stderr(cangate().args(args), 2);
        assert!(err.contains(words), "{args:?}: {err}");
    }
    let err = stderr(cangate().args(["watch", "no-such-if"]), 1);
    assert!(err.contains("no-such-if"), "{err}");
}

#[test]
fn a_terminal_gets_a_table_that_heeds_keys() {
    if lacks_terminal_calls() {
        return;
    }
    let mut gateway = Gateway::start(ROUTES);
    let socket = gateway.socket().display().to_string();
    let mut watch = OnTerminal::run(&["watch", "--socket", &socket]);
    watch.until("COUNT");
    gateway.feed(&["123#1122AB"]);
    // The terminal gets only the characters that differ from those that it has.
    watch.until("classic");
    watch.until("AB");
    watch.press(b"/124\r");
    watch.until("124");
    watch.press(b"h");
    watch.until("select a row");
    watch.press(b"hq");
    assert!(watch.end().success());
    assert!(watch.is_cooked());
}
