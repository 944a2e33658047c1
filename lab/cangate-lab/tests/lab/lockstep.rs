//! Several machines in one virtual time: they repeat to the byte on a busy host, and the bus that
//! they compute is the one that a slow and obvious model computes.

use crate::bus_model::{BusModel, table};
use crate::{exec, program, waiting_lab};
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// Machines over Ethernet: requests of two sizes, of which the longer ones are in two packets.
const ETHERNET: &str = r#"
[machines.client]
command = """
ping -n -i 0.003 -c 40 -s 56 server
ping -n -i 0.002 -c 20 -s 2000 server.lan
"""
[machines.server]
command = "sleep infinity"
background = true
[links.lan]
kind = "ethernet"
latency = "15us"
"#;

/// Frames of each machine on the bus.
const FRAMES: usize = 100;

/// Three machines that all send as long as they receive: most starts of frame are contended. The
/// commands are in a loop, not cangen's own, which would use the host's random numbers.
fn bus() -> String {
    let mut text = String::new();
    for (machine, id, gap) in [
        ("low", "0f0", 0.3),
        ("middle", "100", 0.4),
        ("high", "10f", 0.25),
    ] {
        text.push_str(&format!(
            "[machines.{machine}]\n\
             command = \"candump -n {} body > /tmp/seen & sleep 0.1; cangen body -g {gap} -I {id} -L i -D i -n {FRAMES}; wait; \
             cut -c 3- /tmp/seen\"\n",
            3 * FRAMES
        ));
    }
    text.push_str("[links.body]\nkind = \"can\"\nbitrate = \"500k\"\n");
    text
}

/// A run, and the folder of its logs.
pub(crate) struct Run {
    pub(crate) output: Output,
    logs: tempfile::TempDir,
}

impl Run {
    pub(crate) fn out(&self) -> String {
        String::from_utf8(self.output.stdout.clone()).unwrap()
    }

    pub(crate) fn digest(&self) -> String {
        let out = self.out();
        let line = out.lines().find_map(|line| line.strip_prefix("digest"));
        line.unwrap_or_else(|| panic!("{out}\n{}", self.err()))
            .trim()
            .to_owned()
    }

    pub(crate) fn err(&self) -> String {
        String::from_utf8_lossy(&self.output.stderr).into_owned()
    }

    pub(crate) fn log(&self, name: &str) -> String {
        fs::read_to_string(self.logs.path().join(name)).unwrap()
    }
}

fn start(plan: &str, logs: &Path) -> Child {
    let file = logs.join("plan.toml");
    fs::write(&file, plan).unwrap();
    Command::new(program())
        .args(["lab", "machines", "--timeout", "600", "--log"])
        .arg(logs)
        .arg(&file)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Runs a plan; `meanwhile` is called when all machines run.
pub(crate) fn run(plan: &str, meanwhile: impl FnOnce(&[u32], &Path)) -> Run {
    let logs = tempfile::tempdir().unwrap();
    let mut child = start(plan, logs.path());
    let machines = plan.matches("[machines.").count();
    let running = wait_for_machines(&mut child, machines);
    if let Some(running) = &running {
        meanwhile(running, logs.path());
    }
    let output = child.wait_with_output().unwrap();
    let run = Run { output, logs };
    assert!(running.is_some(), "the machines do not run: {}", run.err());
    run
}

/// Returns the processes of all machines, once the program has started them. A saved machine is a
/// single process before, so that this needs two machines.
fn wait_for_machines(child: &mut Child, machines: usize) -> Option<Vec<u32>> {
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_secs(400) {
        let all = children(child.id());
        if all.len() == machines {
            return Some(all);
        }
        if child.try_wait().unwrap().is_some() {
            return None;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    let _ = child.kill();
    None
}

fn children(process: u32) -> Vec<u32> {
    let threads = fs::read_dir(format!("/proc/{process}/task"));
    let mut all = Vec::new();
    for thread in threads.into_iter().flatten().flatten() {
        let text = fs::read_to_string(thread.path().join("children")).unwrap_or_default();
        all.extend(
            text.split_whitespace()
                .filter_map(|pid| pid.parse::<u32>().ok()),
        );
    }
    all
}

/// Processes that never rest; they end when this is dropped.
pub(crate) struct Hogs(Vec<Child>);

impl Hogs {
    pub(crate) fn start() -> Self {
        let all = std::thread::available_parallelism().map_or(1, usize::from);
        let hog = |_| {
            Command::new("sh")
                .args(["-c", "while :; do :; done"])
                .spawn()
                .unwrap()
        };
        Self((0..all).map(hog).collect())
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

/// Gives one machine less of the host's processors than the others.
pub(crate) fn make_nice(machines: &[u32], _: &Path) {
    let done = Command::new("renice")
        .args(["-n", "10", "-p", &machines[0].to_string()])
        .stdout(Stdio::null())
        .status();
    assert!(done.unwrap().success());
}

/// Compares a run with one beside the processes of `busy`.
fn machines_on_ethernet_repeat_beside(busy: impl FnOnce() -> Option<Hogs>) {
    let alone = run(ETHERNET, |_, _| {});
    assert!(
        alone.output.status.success(),
        "{}{}",
        alone.out(),
        alone.err()
    );
    let out = alone.log("client.out");
    assert!(out.contains("40 packets transmitted, 40 received"), "{out}");
    assert!(out.contains("20 packets transmitted, 20 received"), "{out}");
    // A reply is there after both ways: two lines of 100 Mbit/s and the switch, each.
    let way = Duration::from_nanos(2 * (2 * (98 + 12) * 80 + 15_000));
    let least = out.lines().find_map(|line| {
        let (_, time) = line.split_once("rtt min/avg/max/mdev = ")?;
        let (least, _) = time.split_once('/')?;
        least.parse::<f64>().ok()
    });
    assert!(least.unwrap() > way.as_secs_f64() * 1e3, "{out}");
    let _hogs = busy();
    // Another interval, and unequal shares of the host.
    let other = format!("interval = \"20us\"\n{ETHERNET}");
    let busy = run(&other, make_nice);
    assert_eq!(
        alone.digest(),
        busy.digest(),
        "{}\n{}",
        alone.out(),
        busy.out()
    );
    for file in ["client.out", "lan.csv"] {
        assert_eq!(alone.log(file), busy.log(file), "{file}");
    }
    let pcap = |run: &Run| fs::read(run.logs.path().join("lan.pcap")).unwrap();
    assert_eq!(pcap(&alone), pcap(&busy));
}

#[test]
#[ignore = "boots guests"]
fn machines_on_a_can_bus_repeat_and_their_bus_is_the_models() {
    let Some(_lab) = waiting_lab() else { return };
    let alone = run(&bus(), |_, _| {});
    assert_bus_is_the_models(&alone);
    assert_same_bus(&alone, &run_with_another_interval());
}

/// Runs the machines on a bus with another interval, and unequal shares of the host.
fn run_with_another_interval() -> Run {
    run(&format!("interval = \"40us\"\n{}", bus()), make_nice)
}

fn assert_bus_is_the_models(alone: &Run) {
    assert!(
        alone.output.status.success(),
        "{}{}",
        alone.out(),
        alone.err()
    );
    let log = table(&alone.log("body.csv"));
    assert_eq!(log.len(), 3 * FRAMES, "{}", alone.out());
    let model = BusModel {
        bit: 2000,
        data_bit: None,
    };
    let (expected, contended) = model.run(&log);
    assert_eq!(log, expected);
    assert!(
        contended > FRAMES,
        "only {contended} starts of frame were contended"
    );
    // What candump saw in each machine, its own frames included, are the frames of the bus. A
    // machine hears its own frame when its card took it, and all others in the order of the bus.
    for name in ["low", "middle", "high"] {
        let seen = alone.log(&format!("{name}.out"));
        let frame = |line: &str| {
            // `body 0F0 [3] AA BB CC`
            let words: Vec<&str> = line.split_whitespace().collect();
            format!("{}#{}", words[1], words[3..].concat())
        };
        let seen: Vec<String> = seen.lines().map(frame).collect();
        let own = |frame: &&String| {
            log.iter()
                .any(|it| it.machine == name && it.frame == **frame)
        };
        let others: Vec<&String> = seen.iter().filter(|frame| !own(frame)).collect();
        let bus = log.iter().filter(|it| it.machine != name);
        assert_eq!(
            others,
            bus.map(|it| &it.frame).collect::<Vec<_>>(),
            "{name}"
        );
        assert_eq!(seen.len(), 3 * FRAMES);
    }
}

/// Compares two runs with a bus `body` of three machines.
pub(crate) fn assert_same_bus(alone: &Run, other: &Run) {
    let both = format!("{}\n{}", alone.out(), other.out());
    assert_eq!(alone.digest(), other.digest(), "{both}");
    for file in ["body.log", "body.csv", "low.out", "middle.out", "high.out"] {
        assert_eq!(alone.log(file), other.log(file), "{file}");
    }
}

#[test]
#[ignore = "boots guests"]
fn tcpdump_reads_the_packets_with_their_times() {
    let Some(_lab) = waiting_lab() else { return };
    let run = run(ETHERNET, |_, _| {});
    assert!(run.output.status.success(), "{}{}", run.out(), run.err());
    let pcap = run.logs.path().join("lan.pcap");
    let arguments = format!("--bench none --fast --file {}", pcap.display());
    let command = "tcpdump -Z root --time-stamp-precision=nano -tt -n -r /lab/lan.pcap";
    let output = exec(&arguments, command).output().unwrap();
    let seen = String::from_utf8(output.stdout).unwrap();
    let table = run.log("lan.csv");
    let times = table.lines().skip(1).map(|line| {
        let at: u64 = line.split(',').nth(2).unwrap().parse().unwrap();
        format!("{}.{:09}", at / 1_000_000_000, at % 1_000_000_000)
    });
    let stamps = seen
        .lines()
        .map(|line| line.split(' ').next().unwrap().to_owned());
    assert_eq!(stamps.collect::<Vec<_>>(), times.collect::<Vec<_>>());
    let requests = seen
        .matches("198.18.0.1 > 198.18.0.2: ICMP echo request")
        .count();
    assert_eq!(requests, 40 + 20, "{seen}");
}

#[test]
#[ignore = "boots guests"]
fn a_machine_that_dies_ends_the_run_at_once() {
    let Some(_lab) = waiting_lab() else { return };
    let plan = ETHERNET.replace("-c 40", "-c 40000000");
    let plan = format!("limit = \"8760h\"\n{plan}");
    let dead = run(&plan, |machines, logs| {
        // They are restored, and go on: the first one prints.
        let has_printed = || fs::metadata(logs.join("client.out")).is_ok_and(|it| it.len() > 0);
        let begin = Instant::now();
        while !has_printed() && begin.elapsed() < Duration::from_secs(400) {
            std::thread::sleep(Duration::from_millis(10));
        }
        assert!(has_printed(), "the client prints nothing");
        // The second machine, by the number that its plugin has.
        let is_server = |process: &&u32| {
            let words = fs::read_to_string(format!("/proc/{process}/cmdline"));
            words.unwrap_or_default().contains(",machine=1,")
        };
        let victim = machines.iter().find(is_server).unwrap().to_string();
        let done = Command::new("kill").args(["-KILL", &victim]).status();
        assert!(done.unwrap().success());
    });
    assert_eq!(dead.output.status.code(), Some(1), "{}", dead.err());
    let err = dead.err();
    assert!(err.contains("error: machine server"), "{err}");
    assert!(err.contains("QEMU failed (signal: 9 (SIGKILL))"), "{err}");
    // What was on the link until then is in the log.
    assert!(dead.log("lan.csv").lines().count() > 1);
}

mod long {
    use super::*;

    #[test]
    #[ignore = "boots guests"]
    fn machines_on_ethernet_repeat_on_a_busy_host() {
        let Some(_lab) = waiting_lab() else { return };
        machines_on_ethernet_repeat_beside(|| Some(Hogs::start()));
    }

    /// Clocks drift by what the plan has: two machines see the same frames, one with a fast clock
    /// and one with a slow one.
    #[test]
    #[ignore = "boots guests"]
    fn clocks_drift() {
        let Some(_lab) = waiting_lab() else { return };
        let mut plan = "[links.body]\nkind = \"can\"\n[machines.node]\n\
                        command = \"sleep 0.5; cangen body -g 1000 -I 100 -L 0 -n 6\"\n"
            .to_owned();
        for (name, ppm) in [("fast", 100.0), ("slow", -33.5)] {
            plan += &format!(
                "[machines.{name}]\ndrift = {ppm}\ncommand = \"candump -t a -n 6 body\"\n"
            );
        }
        let run = run(&plan, |_, _| {});
        assert!(run.output.status.success(), "{}{}", run.out(), run.err());
        // From the first frame to the last one, µs, by a machine's clock.
        let elapsed = |machine: &str| {
            let text = run.log(&format!("{machine}.out"));
            let times = text.lines().map(|line| -> f64 {
                let (time, _) = line.trim_start_matches([' ', '(']).split_once(')').unwrap();
                time.parse().unwrap()
            });
            let times: Vec<f64> = times.collect();
            (times[5] - times[0]) * 1e6
        };
        let (fast, slow) = (elapsed("fast"), elapsed("slow"));
        assert!((5_000_000.0..5_010_000.0).contains(&slow), "{slow}");
        let expected = slow * (100.0 + 33.5) / 1e6;
        assert!((fast - slow - expected).abs() < 4.0, "{fast} {slow}");
    }

    #[test]
    #[ignore = "boots guests"]
    fn machines_on_a_can_bus_repeat_on_a_busy_host_and_without_skipping() {
        let Some(_lab) = waiting_lab() else { return };
        let alone = run(&bus(), |_, _| {});
        let unskipped = run(&format!("skip_idle = false\n{}", bus()), |_, _| {});
        assert_same_bus(&alone, &unskipped);
        let _hogs = Hogs::start();
        assert_same_bus(&alone, &run_with_another_interval());
    }

    #[test]
    #[ignore = "boots guests"]
    fn losses_and_jitter_have_a_seed() {
        let Some(_lab) = waiting_lab() else { return };
        let plan = |seed: u32| {
            let more = format!("loss = 0.2\njitter = \"300us\"\nrate = \"10M\"\nseed = {seed}\n");
            let client = "ping -n -i 0.002 -c 100 server; true";
            format!(
                "[machines.client]\ncommand = \"{client}\"\n\
                 [machines.server]\ncommand = \"sleep infinity\"\nbackground = true\n\
                 [links.lan]\nkind = \"ethernet\"\n{more}"
            )
        };
        let runs = [1, 1, 2].map(|seed| run(&plan(seed), |_, _| {}));
        let digests: Vec<String> = runs.iter().map(Run::digest).collect();
        assert_eq!(digests[0], digests[1]);
        assert_ne!(digests[0], digests[2]);
        for run in &runs {
            let rows = run.log("lan.csv").lines().count() - 1;
            let out = run.out();
            let sums = out.lines().find(|line| line.starts_with("link")).unwrap();
            let number = |after: &str| -> usize {
                let (before, _) = sums.split_once(after).unwrap();
                before.rsplit(' ').next().unwrap().parse().unwrap()
            };
            let (asked, lost) = (number(" packets from cards"), number(" lost;"));
            assert_eq!(asked, number(" forwarded") + lost, "{sums}");
            // Each packet has a row, forwarded or lost.
            assert_eq!(rows, asked, "{sums}");
            let of = |fate: &str| run.log("lan.csv").matches(fate).count();
            assert_eq!(of(",lost,"), lost, "{sums}");
            assert_eq!(of(",sent,"), number(" forwarded"), "{sums}");
            // 20 % of 180 packets, more or less.
            assert!((15..60).contains(&lost), "{sums}");
        }
    }

    #[test]
    #[ignore = "boots guests"]
    fn machines_on_ethernet_repeat() {
        let Some(_lab) = waiting_lab() else { return };
        machines_on_ethernet_repeat_beside(|| None);
    }

    #[test]
    #[ignore = "boots guests"]
    fn a_machine_without_an_end_is_named() {
        let Some(_lab) = waiting_lab() else { return };
        let plan = format!(
            "limit = \"3s\"\n{}",
            ETHERNET.replace("-c 40", "-c 40000000")
        );
        let late = run(&plan, |_, _| {});
        assert_eq!(late.output.status.code(), Some(1), "{}", late.out());
        let err = late.err();
        assert!(
            err.contains("machine client has not ended after 3 s of virtual time"),
            "{err}"
        );
        assert!(late.log("lan.csv").lines().count() > 100);
    }
}
