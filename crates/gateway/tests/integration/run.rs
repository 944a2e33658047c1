//! The run time on real file descriptors: reloads under load, the control socket, the end.

use crate::common::wire::{END, Next, Outside, WireSite, plan};
use crate::common::{all, route};
use engine::CounterSnapshot;
use gateway::control::{CallError, ControlRequest, request};
use gateway::run::{
    EndReason, ReloadSummary, RunError, RunPlan, RunSettings, RunSummary, supervise,
};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

const TEST_TIMEOUT: Duration = Duration::from_secs(20);

struct Running {
    outside: Outside,
    next: Next,
    socket: PathBuf,
    _folder: tempfile::TempDir,
    thread: JoinHandle<Result<RunSummary, RunError>>,
}

fn start(first: RunPlan<u32>, until_end: &[&str]) -> Running {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("gate.sock");
    let outside = Outside::default();
    for (name, _) in &first.ports {
        outside.end(name);
    }
    let next: Next = Arc::new(Mutex::new(Ok(first.clone())));
    let mut site = WireSite {
        outside: outside.clone(),
        next: Arc::clone(&next),
        unopenable: Some("nowhere".into()),
    };
    let options = RunSettings {
        control: Some(socket.clone()),
        until_end: until_end.iter().map(|&n| n.to_owned()).collect(),
        ..RunSettings::default()
    };
    let thread = std::thread::spawn(move || supervise(&mut site, first, &options, &|_| ()));
    let running = Running {
        outside,
        next,
        socket,
        _folder: folder,
        thread,
    };
    // The socket appears when the gateway is nearly up; the gateway answers when it is up.
    while !running.socket.exists() {
        assert!(!running.thread.is_finished(), "the gateway ended at once");
        std::thread::yield_now();
    }
    running
}

fn ask(socket: &Path, what: &ControlRequest) -> Result<serde_json::Value, CallError> {
    request(socket, what, TEST_TIMEOUT)
}

fn stats(socket: &Path) -> CounterSnapshot {
    let snapshot: CounterSnapshot =
        serde_json::from_value(ask(socket, &ControlRequest::Stats).unwrap()).unwrap();
    snapshot.check().unwrap();
    snapshot
}

impl Running {
    fn stop(self) -> RunSummary {
        ask(&self.socket, &ControlRequest::Shutdown).unwrap();
        let summary = self.thread.join().unwrap().unwrap();
        summary.stats.process.check().unwrap();
        assert!(
            !self.socket.exists(),
            "an orderly end leaves no socket behind"
        );
        summary
    }
}

fn send(outside: &Outside, port: &str, number: u64) {
    outside.end(port).send(&number.to_be_bytes()).unwrap();
}

fn receive(outside: &Outside, port: &str) -> u64 {
    let mut bytes = [0; 8];
    let end = outside.end(port);
    end.set_read_timeout(Some(TEST_TIMEOUT)).unwrap();
    assert_eq!(end.recv(&mut bytes).unwrap(), 8);
    u64::from_be_bytes(bytes)
}

#[test]
fn frames_pass_and_the_summary_adds_up() {
    let running = start(
        plan(&[("a", 0), ("b", 0)], all(vec![route("r", &[0], &[1])])),
        &[],
    );
    for n in 0..100 {
        send(&running.outside, "a", n);
        assert_eq!(receive(&running.outside, "b"), n);
    }
    let snapshot = stats(&running.socket);
    assert_eq!(snapshot.port("a").unwrap().received, 100);
    let summary = running.stop();
    assert_eq!(summary.reason, EndReason::Request);
    assert_eq!(
        summary.stats.process.route("r").unwrap().copies.accepted,
        100
    );
    assert_eq!(summary.stats.process.port("b").unwrap().tx.sent, 100);
}

#[test]
fn the_end_of_all_inputs_ends_the_run_where_that_is_asked_for() {
    let routes = all(vec![route("r", &[0], &[1])]);
    let running = start(plan(&[("a", 0), ("b", 0)], routes), &["a"]);
    send(&running.outside, "a", 7);
    send(&running.outside, "a", END);
    assert_eq!(receive(&running.outside, "b"), 7);
    let summary = running.thread.join().unwrap().unwrap();
    assert_eq!(summary.reason, EndReason::Finished);
    summary.stats.process.check().unwrap();
}

/// Starts a flood: a sender that keeps at most 500 frames under way, so that no queue has a reason
/// to refuse one, and a receiver that expects every number, once and in order.
fn flood(outside: &Outside, last: u64) -> (JoinHandle<()>, JoinHandle<()>, Arc<AtomicU64>) {
    let arrived = Arc::new(AtomicU64::new(0));
    let (from, to) = (outside.end("a"), outside.end("b"));
    let seen = Arc::clone(&arrived);
    let sender = std::thread::spawn(move || {
        for n in 0..last {
            while n > seen.load(Ordering::Acquire) + 500 {
                std::thread::yield_now();
            }
            from.send(&n.to_be_bytes()).unwrap();
        }
    });
    let seen = Arc::clone(&arrived);
    to.set_read_timeout(Some(TEST_TIMEOUT)).unwrap();
    let receiver = std::thread::spawn(move || {
        let mut bytes = [0; 8];
        for expected in 0..last {
            to.recv(&mut bytes).expect("a frame is missing");
            assert_eq!(u64::from_be_bytes(bytes), expected);
            seen.store(expected + 1, Ordering::Release);
        }
    });
    (sender, receiver, arrived)
}

#[test]
fn reloads_under_flood_drop_no_frame() {
    const LAST: u64 = 60_000;
    // The same two ports in another order, a third one that comes and goes, a route that keeps its
    // name and one that does not.
    let one = plan(
        &[("a", 0), ("b", 0)],
        all(vec![route("kept", &[0], &[1]), route("old", &[1], &[0])]),
    );
    let two = plan(
        &[("c", 0), ("b", 0), ("a", 0)],
        all(vec![route("new", &[0], &[1]), route("kept", &[2], &[1])]),
    );
    let running = start(one.clone(), &[]);
    let (sender, receiver, arrived) = flood(&running.outside, LAST);
    let mut reloads = 0;
    let mut before = stats(&running.socket);
    while arrived.load(Ordering::Acquire) < LAST && !receiver.is_finished() {
        let next = if reloads % 2 == 0 { &two } else { &one };
        *running.next.lock().unwrap() = Ok(next.clone());
        let done = ask(&running.socket, &ControlRequest::Reload).unwrap();
        let done: ReloadSummary = serde_json::from_value(done).unwrap();
        assert_eq!((done.continued, done.kept.len()), (1, 2));
        reloads += 1;
        let now = stats(&running.socket);
        never_less(&before, &now);
        before = now;
    }
    sender.join().unwrap();
    receiver.join().unwrap();
    let summary = running.stop();
    assert!(reloads >= 10, "only {reloads} reloads in {LAST} frames");
    assert_eq!(summary.stats.process.reloads, reloads);
    let kept = summary.stats.process.route("kept").unwrap();
    assert_eq!((kept.taken, kept.copies.accepted), (LAST, LAST));
    assert_eq!(summary.stats.process.port("b").unwrap().tx.sent, LAST);
    assert_eq!(summary.stats.process.received(), u128::from(LAST));
}

/// Checks that no counter of a port or route that is in both decreases.
fn never_less(before: &CounterSnapshot, now: &CounterSnapshot) {
    assert!(now.received() >= before.received());
    for row in &before.ports {
        if let Some(count) = now.port(&row.name) {
            assert!(count.received >= row.count.received);
            assert!(count.copies.accepted >= row.count.copies.accepted);
            assert!(count.tx.sent >= row.count.tx.sent);
        }
    }
    for row in &before.routes {
        if let Some(count) = now.route(&row.name) {
            assert!(count.taken >= row.count.taken);
        }
    }
}

#[test]
fn a_broken_reload_changes_nothing() {
    let routes = all(vec![route("r", &[0], &[1])]);
    let running = start(plan(&[("a", 0), ("b", 0)], routes.clone()), &[]);
    let works = |n| {
        send(&running.outside, "a", n);
        assert_eq!(receive(&running.outside, "b"), n);
    };
    works(1);
    let before = stats(&running.socket);
    let routes_before = ask(&running.socket, &ControlRequest::Routes).unwrap();
    let beyond = all(vec![route("r", &[0], &[9])]);
    let twins = all(vec![route("r", &[0], &[1]), route("r", &[1], &[0])]);
    let broken: [(Result<RunPlan<u32>, String>, &str); 4] = [
        (
            Err("gateway.toml:3:1: what is this?".into()),
            "what is this?",
        ),
        (Ok(plan(&[("a", 0), ("b", 0)], beyond)), "port"),
        (Ok(plan(&[("a", 0), ("b", 0)], twins)), "\"r\""),
        (
            Ok(plan(&[("a", 0), ("b", 1), ("nowhere", 0)], routes)),
            "no such interface",
        ),
    ];
    for (next, why) in broken {
        *running.next.lock().unwrap() = next;
        match ask(&running.socket, &ControlRequest::Reload) {
            Err(CallError::Refused(text)) => assert!(text.contains(why), "{text}"),
            other => panic!("{other:?}"),
        }
    }
    let mut after = stats(&running.socket);
    after.at_ns = before.at_ns;
    assert_eq!(after, before);
    assert_eq!(
        ask(&running.socket, &ControlRequest::Routes).unwrap(),
        routes_before
    );
    works(2);
    assert_eq!(running.stop().stats.process.received(), 2);
}

#[test]
fn a_changed_port_is_opened_anew_and_continues_its_counters() {
    let routes = all(vec![route("r", &[0], &[1])]);
    let running = start(plan(&[("a", 0), ("b", 0)], routes.clone()), &[]);
    send(&running.outside, "a", 1);
    assert_eq!(receive(&running.outside, "b"), 1);
    *running.next.lock().unwrap() = Ok(plan(&[("a", 0), ("b", 5)], routes));
    let done = ask(&running.socket, &ControlRequest::Reload).unwrap();
    let done: ReloadSummary = serde_json::from_value(done).unwrap();
    assert_eq!(
        (done.opened, done.closed),
        (vec!["b".to_owned()], vec!["b".to_owned()])
    );
    send(&running.outside, "a", 2);
    assert_eq!(receive(&running.outside, "b"), 2);
    let summary = running.stop();
    assert_eq!(summary.stats.process.port("b").unwrap().tx.sent, 2);
}

/// Frames that a removed port still holds are sent before it is closed.
#[test]
fn a_removed_port_sends_what_it_holds() {
    let running = start(
        plan(&[("a", 0), ("b", 0)], all(vec![route("r", &[0], &[1])])),
        &[],
    );
    // The test does not read at b, so after a few datagrams the socket is full and the port holds
    // the rest.
    let frames = 300;
    for n in 0..frames {
        send(&running.outside, "a", n);
    }
    while stats(&running.socket).received() < u128::from(frames) {}
    assert!(stats(&running.socket).port("b").unwrap().tx.held > 0);
    let end = running.outside.end("b");
    *running.next.lock().unwrap() = Ok(plan(&[("a", 0)], all(vec![])));
    let reader = std::thread::spawn(move || {
        let mut bytes = [0; 8];
        end.set_read_timeout(Some(TEST_TIMEOUT)).unwrap();
        for n in 0..frames {
            end.recv(&mut bytes).expect("a held frame is missing");
            assert_eq!(u64::from_be_bytes(bytes), n);
        }
    });
    ask(&running.socket, &ControlRequest::Reload).unwrap();
    reader.join().unwrap();
    let retired = stats(&running.socket).retired_ports.tx;
    assert_eq!((retired.sent, retired.held, retired.lost), (frames, 0, 0));
    running.stop();
}

#[test]
fn garbage_on_the_control_socket_gets_an_error_and_the_gateway_goes_on() {
    let running = start(
        plan(&[("a", 0), ("b", 0)], all(vec![route("r", &[0], &[1])])),
        &[],
    );
    let mut stream = UnixStream::connect(&running.socket).unwrap();
    stream.set_read_timeout(Some(TEST_TIMEOUT)).unwrap();
    let mut lines = BufReader::new(stream.try_clone().unwrap());
    for garbage in [
        "\n",
        "\0\0\n",
        "{}\n",
        "{\"cangate\":1,\"do\":\"fly\"}\n",
        "[[[[\n",
    ] {
        stream.write_all(garbage.as_bytes()).unwrap();
        let mut reply = String::new();
        lines.read_line(&mut reply).unwrap();
        assert!(reply.contains("\"error\""), "{garbage:?} got {reply:?}");
    }
    // The same connection is still good, and answers come one for one.
    stream
        .write_all(&ControlRequest::Ping.line().repeat(3))
        .unwrap();
    for _ in 0..3 {
        let mut reply = String::new();
        lines.read_line(&mut reply).unwrap();
        assert!(reply.contains("\"pid\""), "{reply}");
    }
    // More than the limit without a newline: an error, then the end.
    let endless = vec![b'x'; 80 * 1024];
    let mut other = UnixStream::connect(&running.socket).unwrap();
    other.set_read_timeout(Some(TEST_TIMEOUT)).unwrap();
    let _ = other.write_all(&endless);
    let mut reply = Vec::new();
    let _ = other.read_to_end(&mut reply);
    assert!(String::from_utf8_lossy(&reply).contains("longer than"));
    // A request without its newline, and the end of the stream: no answer, and no effect.
    let mut half = UnixStream::connect(&running.socket).unwrap();
    half.write_all(b"{\"cangate\":1").unwrap();
    drop(half);
    running.stop();
}

#[test]
fn too_many_clients_are_turned_away_with_a_word() {
    let running = start(
        plan(&[("a", 0), ("b", 0)], all(vec![route("r", &[0], &[1])])),
        &[],
    );
    let clients: Vec<UnixStream> = (0..40)
        .map(|_| UnixStream::connect(&running.socket).unwrap())
        .collect();
    let mut turned_away = 0;
    let mut served = 0;
    for mut client in clients.into_iter().rev() {
        client.set_read_timeout(Some(TEST_TIMEOUT)).unwrap();
        let _ = client.write_all(&ControlRequest::Ping.line());
        let mut reply = String::new();
        BufReader::new(&client).read_line(&mut reply).unwrap();
        if reply.contains("too many clients") {
            turned_away += 1;
        } else {
            assert!(reply.contains("\"pid\""), "{reply}");
            served += 1;
        }
    }
    assert_eq!((served, turned_away), (16, 24));
    running.stop();
}

#[test]
fn ports_that_cannot_be_opened_are_all_named() {
    let first = plan(
        &[("nowhere", 0), ("b", 0)],
        all(vec![route("r", &[0], &[1])]),
    );
    let mut site = WireSite {
        outside: Outside::default(),
        next: Arc::new(Mutex::new(Ok(first.clone()))),
        unopenable: Some("nowhere".into()),
    };
    let error = supervise(&mut site, first, &RunSettings::default(), &|_| ()).unwrap_err();
    assert_eq!(error.to_string(), "nowhere: there is no such interface");
}
