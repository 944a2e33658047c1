//! No wait of the laboratory outlives a signal.

use crate::place::{Place, TEST_TIMEOUT, signal};
use std::io::{Read, Write};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const MATRIX: &str = "title = \"t\"\n[defaults]\nframes = 500\n[[matrix]]\nmodify = [\"none\"]\n";

/// Another cangate prepares the cache, for ever.
#[test]
fn a_lab_command_that_waits_for_a_lock() {
    let place = Place::new("");
    let locks = place.path("cache/locks");
    std::fs::create_dir_all(&locks).unwrap();
    // flock(1) holds it as long as we do not close this standard input.
    let mut holder = Command::new("flock")
        .arg(locks.join("apt"))
        .arg("cat")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    holder.stdin.as_mut().unwrap().write_all(b"x").unwrap();
    let mut held = [0];
    holder
        .stdout
        .as_mut()
        .unwrap()
        .read_exact(&mut held)
        .unwrap();
    place.write("matrix.toml", MATRIX);
    let mut command = place.command(&["lab", "run", "matrix.toml", "--cache", "cache"]);
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    // The command reaches its wait, wherever that is; the assertion holds at every moment.
    std::thread::sleep(Duration::from_millis(200));
    assert!(child.try_wait().unwrap().is_none(), "it did not wait");
    signal(&child, "TERM");
    let started = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        assert!(started.elapsed() < TEST_TIMEOUT, "SIGTERM did not end it");
        std::thread::sleep(Duration::from_millis(10));
    };
    assert_eq!(status.code(), Some(130));
    drop(holder.stdin.take());
    holder.wait().unwrap();
}
