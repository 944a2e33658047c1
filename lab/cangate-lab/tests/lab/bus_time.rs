//! The kernel module's buses in a guest: compared with the model of a bus, every end of frame at
//! the same nanosecond; and under all events of an interface, a tester and a module.

use super::{exec, lab};
use bus::{Bus, BusConfig, NodeConfig, NodeEvent};
use frame::wire::BitRate;
use frame::{CanId, Nanos, flags};
use probe::traffic::TrafficPattern;
use std::path::Path;
use tester::{PlannedFrame, TestPlan};

const RATE: u32 = 1_000_000;
const DATA_RATE: u32 = 4_000_000;

fn measured(words: &str, out: &Path) -> probe::RunResults {
    let mut command = assert_cmd::Command::new(crate::program());
    command
        .args("lab measure --bench timed --frames 300 --seed 7".split(' '))
        .args(words.split(' '))
        .arg("--out")
        .arg(out);
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{words}: {text}");
    probe::results::read(out).unwrap()
}

/// Returns start and end of each frame according to the model: floods have all frames ready at
/// once.
fn model(planned: &[PlannedFrame]) -> Vec<(Nanos, Nanos)> {
    let mut bus = Bus::new(BusConfig::fd(RATE, DATA_RATE)).unwrap();
    let sender = NodeConfig {
        mailboxes: 1,
        queue: planned.len(),
        scheduled: planned.len(),
        ..NodeConfig::new("sender")
    };
    let sender = bus.attach(sender).unwrap();
    bus.attach(NodeConfig::new("receiver")).unwrap();
    for (tag, p) in (0..).zip(planned) {
        bus.send(sender, p.at, &p.frame, tag).unwrap();
    }
    let mut times = Vec::new();
    bus.run_until(10_000_000_000, |event| {
        if let NodeEvent::Frame { start, end, .. } = event {
            times.push((*start, *end));
        }
    });
    assert_eq!(times.len(), planned.len());
    times
}

#[test]
#[ignore = "boots a guest"]
fn a_guests_buses_keep_the_models_time() {
    let Some(_guest) = lab() else { return };
    let dir = tempfile::tempdir().unwrap();
    let id = CanId::from_raw(0x123);
    for (len, pattern, words) in [
        (8, TrafficPattern::Flood, "--payload 8 --traffic flood"),
        (64, TrafficPattern::Flood, "--payload 64 --traffic flood"),
        (
            8,
            TrafficPattern::Load(70),
            "--payload 8 --traffic load:70 --cpu board",
        ),
    ] {
        let fd = len > 8;
        let plan = TestPlan {
            traffic: pattern.into(),
            frames: 300,
            ids: (id, id),
            lens: len..=len,
            fd: fd.then_some(flags::BRS),
            seed: 7,
            beside: Vec::new(),
        };
        let rate = BitRate::new(RATE, fd.then_some(DATA_RATE)).unwrap();
        let planned = plan.frames(Some(rate)).unwrap();
        let results = measured(words, &dir.path().join("run.parquet"));
        let records = &results.records;
        assert_eq!(records.len(), planned.len(), "{words}");
        let model = model(&planned);
        let from_first =
            |ends: Vec<Nanos>| ends.iter().map(|end| end - ends[0]).collect::<Vec<_>>();
        let ends = records.iter().map(|r| r.incoming.unwrap().end).collect();
        let wanted = model.iter().map(|(_, end)| *end).collect();
        assert_eq!(from_first(ends), from_first(wanted), "{words}");
        // On the outgoing bus each frame takes its own time, and none begins before the previous
        // one and its intermission are over.
        let (mut free, mut seen) = (0, 0);
        for (record, (start, end)) in records.iter().zip(&model) {
            // A flood of long frames is too much for a FIFO of 64 bytes.
            let Some(out) = record.outgoing else { continue };
            seen += 1;
            assert_eq!(out.duration, end - start, "{words}");
            assert!(out.end - out.duration >= free, "{words}: {record:?}");
            free = out.end + 3_000;
        }
        assert!(seen >= 100, "{words}: {seen} came out");
    }
}

/// Interfaces go down under a flood, testers are killed, the module is removed while frames are
/// under way: the remaining parts continue to work, and the kernel reports no error.
#[test]
#[ignore = "boots a guest"]
fn what_is_taken_away_under_a_flood_does_no_harm() {
    let Some(_guest) = lab() else { return };
    let script = r#"
        set -e
        modprobe can-gw
        ip netns exec gw cangw -A -s gw0 -d gw1
        flood() { exec cangate bench --bitcan --traffic flood --json --frames "$1" > /tmp/said 2>&1; }
        no() { if "$@" 2> /dev/null; then echo "this should fail: $*"; exit 1; fi; }
        (flood 100)
        for i in 1 2 3; do
            flood 60000 & tester=$!
            sleep 0.1
            for gone in gw0 gw1; do
                ip -n gw link set $gone down
                sleep 0.02
                ip -n gw link set $gone up
            done
            sleep 0.05
            no rmmod bitcan
            kill -9 $tester
            no wait $tester
            ip netns exec gw cangw -F
            ip netns exec gw cangw -A -s gw0 -d gw1
            (flood 100)
            grep -q '"received": *100' /tmp/said
        done
        ip netns exec gw cangen gw1 -g 0 &
        ip netns exec gw cangen gw0 -g 0 &
        sleep 0.1
        rmmod bitcan
        sleep 0.1
        no test -e /dev/bitcan
        no ip -n gw link show gw0
        dmesg > /tmp/dmesg
        no grep -E "BUG|WARNING|Oops|Call Trace" /tmp/dmesg
        echo well
    "#;
    let output = exec("--bench timed", script).output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{printed}{text}");
    assert!(printed.ends_with("well\n"), "{printed}{text}");
}
