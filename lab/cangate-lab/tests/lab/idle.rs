//! A guest that idles most of the time is reproducible, however busy the host is.
//!
//! Without the plugin for halts (lab/guest/plugin/halt.c), QEMU's main loop could set the next
//! timer late when it checked between HLT and the accounting of its instructions: of 9 runs on a
//! host with a load of 10, 5 had another hash.

use crate::{lab, program};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The variable that makes [`sleeps`] sleep; without it, it is a test like any other.
const ASKED: &str = "CANGATE_TEST_SLEEPS";
/// Number of the guest's sleeps, and the duration of each.
const SLEEPS: u32 = 20_000;
const SLEEP: Duration = Duration::from_micros(20);
/// The text that the guest prints before the hash.
const MARK: &str = "durations ";

/// Number of runs on a busy host, after one on a host that is idle.
const BUSY_RUNS: usize = 6;
/// Processes on the host that never rest, for each of its processors.
const HOGS: usize = 3;

/// The guest's part: prints a hash of the duration of each sleep, to the nanosecond.
#[test]
#[ignore = "a guest runs it"]
fn sleeps() {
    if std::env::var_os(ASKED).is_none() {
        println!("SKIPPED because only a guest of the test beside it sleeps");
        return;
    }
    let mut hasher = DefaultHasher::new();
    for _ in 0..SLEEPS {
        let began = Instant::now();
        std::thread::sleep(SLEEP);
        began.elapsed().as_nanos().hash(&mut hasher);
    }
    println!("{MARK}{:016x}", hasher.finish());
}

/// Processes that never rest; they end when this is dropped.
struct Hogs(Vec<Child>);

impl Hogs {
    fn start() -> Self {
        let all = HOGS * std::thread::available_parallelism().map_or(1, usize::from);
        let hog = || {
            // Many short sleeps: the host's scheduler has much to decide.
            Command::new("sh")
                .args(["-c", "while :; do i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; sleep 0.001; done"])
                .stdin(Stdio::null())
                .spawn()
                .unwrap()
        };
        Self((0..all).map(|_| hog()).collect())
    }
}

impl Drop for Hogs {
    fn drop(&mut self) {
        for hog in &mut self.0 {
            hog.kill().unwrap();
            hog.wait().unwrap();
        }
    }
}

/// Boots a guest that sleeps, and returns its hash.
fn run() -> String {
    let me = std::env::current_exe().unwrap();
    let output = Command::new(program())
        .args(["lab", "exec", "--bench", "none", "--timeout", "1800"])
        .arg("--file")
        .arg(format!("{}=sleeper", me.display()))
        .args(["--", "env", &format!("{ASKED}=1"), "sleeper"])
        .args(["--ignored", "--nocapture", "--exact", "long::idle::sleeps"])
        .output()
        .unwrap();
    let out = String::from_utf8_lossy(&output.stdout);
    let hash = out.lines().find_map(|line| {
        let (_, hash) = line.split_once(MARK)?;
        Some(hash.to_owned())
    });
    hash.unwrap_or_else(|| panic!("{out}\n{}", String::from_utf8_lossy(&output.stderr)))
}

#[test]
#[ignore = "boots seven guests"]
fn an_idle_guest_repeats_on_a_busy_host() {
    let Some(_lab) = lab() else { return };
    let alone = run();
    let _hogs = Hogs::start();
    let busy: Vec<String> = (0..BUSY_RUNS).map(|_| run()).collect();
    assert!(
        busy.iter().all(|hash| *hash == alone),
        "alone {alone}, beside {busy:?}"
    );
}
