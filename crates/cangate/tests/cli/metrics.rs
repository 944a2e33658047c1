//! Metrics of a running gateway: by hand, by `promtool`, and scraped by Prometheus itself.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A process that is ended when this value is dropped.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts a gateway in a folder; returns the address of its metrics, too.
fn start(folder: &Path) -> (Process, String) {
    let control = folder.join("control.sock");
    let text = format!(
        "[gateway]\ncontrol = {control:?}\nmetrics = \"127.0.0.1:0\"\nrealtime = false\nlock_memory = false\n\
         [ports.in]\nkind = \"log\"\nread = \"-\"\npace = \"fast\"\n\
         [ports.out]\nkind = \"log\"\nwrite = \"out.log\"\n\
         [[routes]]\nname = \"a \\\"b\\\"\"\nfrom = \"in\"\nto = \"out\"\nid = \"100-1FF\"\n"
    );
    std::fs::write(folder.join("gateway.toml"), text).unwrap();
    let mut child = Command::new(crate::program())
        .args(["run", "gateway.toml"])
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut message = BufReader::new(child.stderr.take().unwrap());
    let mut ready = String::new();
    while !ready.contains("ready: ") {
        ready.clear();
        assert_ne!(message.read_line(&mut ready).unwrap(), 0, "it has ended");
    }
    let (_, url) = ready.trim_end().split_once("metrics at http://").unwrap();
    let address = url.strip_suffix("/metrics").unwrap().to_owned();
    (Process(child), address)
}

/// Sends a request; returns head and body of the answer.
fn ask(address: &str, request: &str) -> (String, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.to_owned(), body.to_owned())
}

/// Prometheus's own checker accepts the alerts, and they fire when they should and at no other
/// time.
#[test]
fn the_alerts_fire_when_they_should() {
    if !is_there("promtool") {
        return;
    }
    let folder = crate::root().join("packaging");
    for arguments in [
        ["check", "rules", "alerts.yml"],
        ["test", "rules", "alerts.test.yml"],
    ] {
        let output = Command::new("promtool")
            .args(arguments)
            .current_dir(&folder)
            .output()
            .unwrap();
        let message = crate::text(&output.stdout) + &crate::text(&output.stderr);
        assert!(output.status.success(), "{message}");
    }
}

/// Returns a page as soon as it has this line.
fn until(address: &str, path: &str, line: &str) -> String {
    let begun = Instant::now();
    loop {
        let (_, body) = ask(address, &format!("GET {path} HTTP/1.1\r\n\r\n"));
        if body.contains(line) {
            return body;
        }
        assert!(
            begun.elapsed() < Duration::from_secs(60),
            "no {line}: {body}"
        );
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn is_there(program: &str) -> bool {
    let there = Command::new(program).arg("--version").output().is_ok();
    if !there {
        eprintln!(
            "SKIPPED because there is no {program} on the path: `apt-get install prometheus`"
        );
    }
    there
}

fn feed(gateway: &mut Process) {
    let input = gateway.0.stdin.as_mut().unwrap();
    for id in ["100", "1FF", "200"] {
        writeln!(input, "(1.000000) can0 {id}#01").unwrap();
    }
    input.flush().unwrap();
}

#[test]
fn they_are_read_in_both_forms() {
    let folder = tempfile::tempdir().unwrap();
    let (mut gateway, address) = start(folder.path());
    feed(&mut gateway);
    let line = "cangate_port_fate_frames_total{port=\"in\",fate=\"no_route\"} 1\n";
    let text = until(&address, "/metrics", line);
    assert!(text.contains("cangate_port_fate_frames_total{port=\"in\",fate=\"routed\"} 2\n"));
    assert!(
        text.contains("cangate_route_taken_frames_total{route=\"a \\\"b\\\"\"} 2\n"),
        "{text}"
    );

    let open = "GET /metrics HTTP/1.1\r\nAccept: application/openmetrics-text\r\n\r\n";
    let (head, body) = ask(&address, open);
    assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
    assert!(
        head.contains("Content-Type: application/openmetrics-text; version=1.0.0"),
        "{head}"
    );
    assert!(body.ends_with("# EOF\n"), "{body}");
    let (head, body) = ask(&address, "HEAD /metrics HTTP/1.1\r\n\r\n");
    assert!(
        head.starts_with("HTTP/1.1 200 OK\r\n") && body.is_empty(),
        "{head}"
    );
    let (head, _) = ask(&address, "GET /other HTTP/1.1\r\n\r\n");
    assert!(head.starts_with("HTTP/1.1 404 "), "{head}");
    // Clients that send nothing, or invalid requests, do not block other clients.
    let silent = TcpStream::connect(&address).unwrap();
    let (head, _) = ask(&address, "\r\nnonsense\r\n\r\n");
    assert!(head.starts_with("HTTP/1.1 400 "), "{head}");
    drop(silent);
    // More clients than are served at once: the oldest ones are disconnected, and counted.
    let silent = [(); 70].map(|()| TcpStream::connect(&address).unwrap());
    let line = "cangate_metrics_slow_clients_total ";
    let text = until(&address, "/metrics", line);
    let (_, number) = text.split_once(&format!("\n{line}")).unwrap();
    let number = number.lines().next().unwrap();
    assert!(number.parse::<u32>().unwrap() >= 6, "{number}");
    drop(silent);
    // The time since the start, and not a time of day.
    let (_, uptime) = text.split_once("\ncangate_uptime_seconds ").unwrap();
    let uptime = uptime.lines().next().unwrap();
    assert!(uptime.parse::<f64>().unwrap() < 1e6, "{uptime}");
    // A second gateway cannot have the address.
    let other = tempfile::tempdir().unwrap();
    let file = other.path().join("gateway.toml");
    let text = format!(
        "[gateway]\nmetrics = {address:?}\ncontrol = \"{}\"\n[ports.a]\nkind = \"bus\"\n[ports.b]\nkind = \"bus\"\n[[routes]]\nfrom = \"a\"\nto = \"b\"\n",
        other.path().join("c").display()
    );
    std::fs::write(&file, text).unwrap();
    let message = crate::stderr(crate::cangate().arg("run").arg(&file), 1);
    assert!(
        message.contains(&format!("cannot serve metrics at {address}")),
        "{message}"
    );
}

#[test]
fn promtool_finds_nothing_wrong() {
    if !is_there("promtool") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (mut gateway, address) = start(folder.path());
    feed(&mut gateway);
    let text = until(&address, "/metrics", "cangate_reloads_total 0\n");
    let mut tool = Command::new("promtool")
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    tool.stdin
        .take()
        .unwrap()
        .write_all(text.as_bytes())
        .unwrap();
    let output = tool.wait_with_output().unwrap();
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && message.is_empty(),
        "{message}\n{text}"
    );
}

/// Prometheus asks for OpenMetrics, and gets the numbers.
#[test]
fn prometheus_scrapes_them() {
    if !is_there("prometheus") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (mut gateway, address) = start(folder.path());
    feed(&mut gateway);
    let config = folder.path().join("prometheus.yml");
    let text = format!(
        "scrape_configs:\n- job_name: cangate\n  scrape_interval: 200ms\n  scrape_timeout: 200ms\n  static_configs:\n  - targets: ['{address}']\n"
    );
    std::fs::write(&config, text).unwrap();
    // A port that was free a moment ago.
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let web = free.local_addr().unwrap().to_string();
    drop(free);
    let child = Command::new("prometheus")
        .arg(format!("--config.file={}", config.display()))
        .arg(format!(
            "--storage.tsdb.path={}",
            folder.path().join("data").display()
        ))
        .arg(format!("--web.listen-address={web}"))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let _prometheus = Process(child);
    let begun = Instant::now();
    while TcpStream::connect(&web).is_err() {
        assert!(
            begun.elapsed() < Duration::from_secs(60),
            "it does not listen"
        );
        std::thread::sleep(Duration::from_millis(50));
    }
    let query =
        "/api/v1/query?query=cangate_port_fate_frames_total%7Bfate=%22routed%22,port=%22in%22%7D";
    let begun = Instant::now();
    loop {
        let (_, body) = ask(
            &web,
            &format!("GET {query} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"),
        );
        if body.contains("\"2\"]") {
            break;
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "{body}");
        std::thread::sleep(Duration::from_millis(100));
    }
}
