//! Several ports replay logs of one clock: the frames come in the order of the recording.

use port::log::{LogOrigin, LogRounds, LogSettings, ReplaySpeed};
use port::{FileOrStream, PollReceive, PortOpener, PortSettings};
use std::path::Path;

/// One recording of two buses, each request with its answer.
const DRIVE: &str = "(10.000000) can0 7E0#0210030000000000\n\
    (10.500000) can1 7E8#065003003200\n\
    (11.000000) can0 7E0#0227010000000000\n\
    (11.200000) can1 7E8#0667010102\n";

fn settings(path: &Path, interface: Option<&str>) -> LogSettings {
    LogSettings {
        read: Some(FileOrStream::File(path.to_owned())),
        interface: interface.map(str::to_owned),
        ..LogSettings::default()
    }
}

fn open(opener: &mut PortOpener, name: &str, settings: &LogSettings) -> Box<dyn PollReceive> {
    settings.open(name, opener).unwrap().0
}

/// Returns the frames of all ports with the millisecond at which each comes, in their order. The
/// ports are polled once in each millisecond, from `start` on.
fn replay(ports: &mut [Box<dyn PollReceive>], start: u64, until: u64) -> Vec<(u64, String)> {
    let mut out = Vec::new();
    for ms in start..=until {
        for port in ports.iter_mut() {
            port.receive(ms * 1_000_000, 100, &mut |received| {
                out.push((ms, received.frame.to_string()));
            })
            .unwrap();
        }
    }
    out
}

fn ids(frames: &[(u64, String)]) -> Vec<(u64, &str)> {
    frames.iter().map(|(ms, text)| (*ms, &text[..3])).collect()
}

#[test]
fn one_recording_of_two_buses_keeps_its_order() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("drive.log");
    std::fs::write(&path, DRIVE).unwrap();
    // The same by another name for the same file.
    let link = dir.path().join("link.log");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    for order in [["can0", "can1"], ["can1", "can0"]] {
        let mut opener = PortOpener::new(0, 0);
        let mut ports = vec![
            open(&mut opener, "a", &settings(&path, Some(order[0]))),
            open(&mut opener, "b", &settings(&link, Some(order[1]))),
        ];
        opener.start().unwrap();
        let found = replay(&mut ports, 7, 2000);
        let expected = [(7, "7E0"), (507, "7E8"), (1007, "7E0"), (1207, "7E8")];
        assert_eq!(ids(&found), expected, "{order:?}");
    }
}

/// The ports stay together in every round, also one whose interface has no frame at the end.
#[test]
fn a_recording_of_two_buses_is_repeated_as_one() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("drive.log");
    std::fs::write(&path, DRIVE).unwrap();
    let repeated = |interface| LogSettings {
        repeat: LogRounds::Number(2),
        pause: Some(300_000_000),
        ..settings(&path, Some(interface))
    };
    let mut opener = PortOpener::new(0, 0);
    let mut ports = vec![
        open(&mut opener, "a", &repeated("can0")),
        open(&mut opener, "b", &repeated("can1")),
    ];
    opener.start().unwrap();
    let found = replay(&mut ports, 7, 4000);
    // The recording takes 1.2 s.
    let round = |at: u64| {
        [
            (at, "7E0"),
            (at + 500, "7E8"),
            (at + 1000, "7E0"),
            (at + 1200, "7E8"),
        ]
    };
    assert_eq!(ids(&found), [round(7), round(1507)].concat());
    for port in &mut ports {
        let end = port.receive(4_001_000_000, 100, &mut |_| {}).unwrap();
        assert!(end.finished);
        assert!(port.remarks().join("\n").contains("replayed 2 times"));
    }
}

/// Stamps go on from round to round, so that a log of the result does not go back in time.
#[test]
fn stamps_go_on_in_the_next_round() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.log");
    std::fs::write(&path, "(5.0) can0 001#\nnonsense\n(5.25) can0 002#\n").unwrap();
    let endless = LogSettings {
        repeat: LogRounds::Endless,
        pause: Some(750_000_000),
        pace: ReplaySpeed::Fast,
        ..settings(&path, None)
    };
    let mut port = open(&mut PortOpener::new(0, 0), "a", &endless);
    let mut stamps = Vec::new();
    while stamps.len() < 6 {
        let take = &mut |received: port::ReceivedFrame<'_>| stamps.push(received.stamp.ns);
        assert!(!port.receive(0, 1, take).unwrap().finished);
    }
    let ms = |ms: u64| ms * 1_000_000;
    assert_eq!(stamps, [5000, 5250, 6000, 6250, 7000, 7250].map(ms));
    // A log without frames has no rounds.
    std::fs::write(&path, "# nothing\n").unwrap();
    let mut port = open(&mut PortOpener::new(0, 0), "a", &endless);
    let finished = (0..10).any(|_| port.receive(0, 1, &mut |_| {}).unwrap().finished);
    assert!(finished);
}

/// Steps back belong to the file: each port also follows those in the other port's frames.
#[test]
fn clocks_that_were_not_set_do_not_part_the_ports() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("drive.log");
    let log =
        "(1000.000) can0 001#\n(2.000) can1 002#\n(1000.100) can0 003#\n(1000.200) can1 004#\n";
    std::fs::write(&path, log).unwrap();
    let mut opener = PortOpener::new(0, 0);
    let mut ports = vec![
        open(&mut opener, "a", &settings(&path, Some("can0"))),
        open(&mut opener, "b", &settings(&path, Some("can1"))),
    ];
    opener.start().unwrap();
    let found = replay(&mut ports, 0, 1000);
    assert_eq!(
        ids(&found),
        [(0, "001"), (0, "002"), (100, "003"), (200, "004")]
    );
}

#[test]
fn two_recordings_of_the_same_time_keep_their_distance() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str, log: &str| {
        let path = dir.path().join(name);
        std::fs::write(&path, log).unwrap();
        path
    };
    let early = at(
        "a.log",
        "(1712567411.000) can0 001#\n(1712567411.300) can0 003#\n",
    );
    let late = at("b.log", "(1712567411.200) can0 002#\n");
    let other = at("c.log", "(1712999999.000) can0 004#\n");
    let replayed = |own: bool| {
        let mut opener = PortOpener::new(0, 0);
        let mut second = settings(&late, None);
        if own {
            second.origin = LogOrigin::Own;
        }
        let mut ports = vec![
            open(&mut opener, "b", &second),
            open(&mut opener, "a", &settings(&early, None)),
            open(&mut opener, "c", &settings(&other, None)),
        ];
        opener.start().unwrap();
        let found = replay(&mut ports, 0, 1000);
        let output: Vec<String> = ports.iter().flat_map(|port| port.remarks()).collect();
        (found, output)
    };
    let (found, output) = replayed(false);
    // The third one was recorded days later: it begins at once.
    let expected = [(0, "001"), (0, "004"), (200, "002"), (300, "003")];
    assert_eq!(ids(&found), expected);
    assert_eq!(output.len(), 1, "{output:?}");
    assert!(
        output[0].contains("begins 0.2 s after another log"),
        "{output:?}"
    );
    let (found, output) = replayed(true);
    assert_eq!(
        ids(&found),
        [(0, "002"), (0, "001"), (0, "004"), (300, "003")]
    );
    assert!(output.is_empty(), "{output:?}");
}

/// A port that is alone counts from the first frame that it takes.
#[test]
fn a_log_that_is_replayed_alone_begins_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("drive.log");
    std::fs::write(&path, DRIVE).unwrap();
    let mut opener = PortOpener::new(0, 0);
    let mut ports = vec![open(&mut opener, "b", &settings(&path, Some("can1")))];
    opener.start().unwrap();
    assert_eq!(
        ids(&replay(&mut ports, 0, 2000)),
        [(0, "7E8"), (700, "7E8")]
    );
}
