//! Experiments: the same bytes whatever else the host does; existing results are not made again.

use super::lab;
use assert_cmd::Command;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

fn cangate(args: &[&str]) -> Command {
    let mut command = Command::new(crate::program());
    command.args(args);
    command
}

/// Threads that keep the host busy.
struct Hog {
    stop: Arc<AtomicBool>,
    threads: Vec<std::thread::JoinHandle<()>>,
}

impl Hog {
    fn start() -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let spin = || {
            let stop = stop.clone();
            std::thread::spawn(move || {
                let mut n = 0u64;
                while !stop.load(Ordering::Relaxed) {
                    n = std::hint::black_box(n.wrapping_mul(3) + 1);
                }
            })
        };
        let threads = (0..2 * cores).map(|_| spin()).collect();
        Self { stop, threads }
    }
}

impl Drop for Hog {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

/// Returns the file of an experiment's results.
pub(crate) fn measured(words: &[&str], out: &Path) -> Vec<u8> {
    let mut args = vec!["lab", "measure", "--json", "--no-floor"];
    args.extend(["--out", out.to_str().unwrap()]);
    args.extend(words);
    let output = cangate(&args).output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{text}");
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(json["time"], "virtual");
    assert!(json["latency_ns"]["p50"].as_i64().unwrap() > 0, "{json}");
    std::fs::read(out).unwrap()
}

#[test]
#[ignore = "boots a guest"]
fn what_the_bench_costs_is_taken_off() {
    let Some(_guest) = lab() else { return };
    // FD where there is a real driver for it.
    for words in ["kvaser", "ctucan --payload 64", "timed"] {
        let args = ["lab", "measure", "--json", "--frames", "50", "--bench"];
        let output = cangate(&args).args(words.split(' ')).output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{text}");
        let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let number = |value: &serde_json::Value| value.as_i64().unwrap();
        let (p50, floor) = (&json["latency_ns"]["p50"], &json["floor_ns"]["p50"]);
        assert!(
            0 < number(floor) && number(floor) < number(p50) / 2,
            "{json}"
        );
        assert_eq!(number(&json["own_p50_ns"]), number(p50) - number(floor));
    }
}

#[test]
#[ignore = "boots a guest"]
fn controllers_are_joined_and_parted_while_they_are_down() {
    let Some(_guest) = lab() else { return };
    let script = r#"
        set -e
        say() { echo "$@" > /dev/bitcan; }
        say join gw0 gw1 2>&1 || echo up refused
        ip link set gw0 down; ip link set gw1 down
        say join gw0 gw0 2>&1 || echo itself refused
        say join gw0 nobody 2>&1 || echo nobody refused
        say part gw0 2>&1 || echo part refused
        say join gw0 gw1
        say join gw0 gw1 2>&1 || echo twice refused
        ip link set gw0 up; ip link set gw1 up
        say part gw1 2>&1 || echo part up refused
        # Its driver is out of the way: what Linux sends is dropped, and counted.
        cansend gw0 123#11 || true
        ip -s -j link show gw0 | grep -o '"dropped":[0-9]*' | tail -n 1
        ip link set gw0 down; ip link set gw1 down
        say part gw1
        cat /dev/bitcan
        ip link set gw0 up; ip link set gw1 up
        # Cut while it is up: the other end goes on existing, silently.
        ip link set gw0 down; ip link set gw1 down
        say join gw0 gw1
        ip link set gw0 up; ip link set gw1 up
        say del gw0
        cat /dev/bitcan
        ip link set gw1 down
        say part gw1
        ip link set gw1 up
        echo end
    "#;
    let output = super::exec(
        "--bench timed",
        &format!("ip netns exec gw sh -c '{}'", script.replace('\'', "'\\''")),
    )
    .output()
    .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        output.status.success(),
        "{text} {}",
        String::from_utf8_lossy(&output.stderr)
    );
    let lines: Vec<&str> = text
        .lines()
        .filter(|l| !l.contains("write error"))
        .collect();
    assert_eq!(
        lines,
        [
            "up refused",
            "itself refused",
            "nobody refused",
            "part refused",
            "twice refused",
            "part up refused",
            "\"dropped\":1",
            "gw0 bus=0 model=sja1000",
            "gw1 bus=1 model=sja1000",
            "gw1 bus=1 model=sja1000",
            "end",
        ]
    );
}

#[test]
#[ignore = "boots a guest"]
fn a_matrix_is_made_once_and_listed() {
    let Some(_guest) = lab() else { return };
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("m.toml");
    std::fs::write(&file, "[[matrix]]\nframes = 50\nseed = [1, 2]\n").unwrap();
    let out = dir.path().join("out");
    let run = || {
        let args = [
            "lab",
            "run",
            file.to_str().unwrap(),
            "--out",
            out.to_str().unwrap(),
        ];
        let output = cangate(&args).output().unwrap();
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8(output.stdout).unwrap()
    };
    // The two and their floor.
    assert!(run().contains("3 run, 0 existed already, 0 failed"));
    assert!(run().contains("0 run, 3 existed already, 0 failed"));
    let listed = cangate(&["lab", "list", out.to_str().unwrap()])
        .output()
        .unwrap();
    assert!(String::from_utf8_lossy(&listed.stdout).contains("3 results"));
}

mod long {
    use super::*;

    #[test]
    #[ignore = "boots a guest"]
    fn the_highest_rate_is_searched_for_once() {
        let Some(_guest) = lab() else { return };
        let dir = tempfile::tempdir().unwrap();
        let search = || {
            let mut args = vec![
                "lab",
                "rate",
                "--json",
                "--out",
                dir.path().to_str().unwrap(),
            ];
            args.extend("--bench timed --cpu board:4 --payload 2 --frames 400".split(' '));
            let output = cangate(&args).output().unwrap();
            let text = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(output.status.success(), "{text}");
            serde_json::from_slice::<serde_json::Value>(&output.stdout).unwrap()
        };
        let found = search();
        let rate = &found["rate"];
        assert_eq!(rate["bound"], "gateway", "{rate}");
        let number = |value: &serde_json::Value| value.as_f64().unwrap();
        let (passed, failed) = (&rate["passed"], &rate["failed"]);
        assert_eq!(passed["lost"], 0);
        assert!(number(&failed["lost"]) > 0.0 || failed["queue_grows"] == true);
        let (keeps, loses) = (
            number(&passed["frames_per_s"]),
            number(&failed["frames_per_s"]),
        );
        assert!(keeps < loses && loses < 1.02 * keeps, "{keeps} {loses}");
        assert_eq!(number(&rate["frames_per_s"]), keeps);
        // The same rate follows from the results in the folder, and nothing is run.
        let files = || std::fs::read_dir(dir.path()).unwrap().count();
        let count = files();
        assert_eq!((search(), files()), (found, count));
    }

    #[test]
    #[ignore = "boots a guest"]
    fn the_same_experiment_gives_the_same_bytes_beside_a_hog() {
        let Some(_guest) = lab() else { return };
        let dir = tempfile::tempdir().unwrap();
        let kvaser: &[&str] = &["--frames", "300"];
        let timed: &[&str] = &[
            "--frames", "300", "--bench", "timed", "--cpu", "board", "--load", "cpu",
        ];
        for words in [kvaser, timed] {
            let first = measured(words, &dir.path().join("first.parquet"));
            let hog = Hog::start();
            let second = measured(words, &dir.path().join("second.parquet"));
            drop(hog);
            assert!(first == second, "{words:?}: the two files differ");
        }
    }
}
