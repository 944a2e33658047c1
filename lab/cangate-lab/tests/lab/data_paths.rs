//! One list of situations, each over all data paths: what they promise alike they do alike, and
//! differences are listed here and in docs/gateway-toml.md ("Where data paths differ").

use super::script::printed;
use super::waiting_lab;
use serde_json::Value;
use std::collections::BTreeMap;

/// The requested data paths, in the order of the table's columns.
const PATHS: [&str; 4] = ["none", "can-gw", "bpf", "auto"];

const REFUSED: &str = "refused";

/// The outcome of each situation: where the route runs, and which frames come out; or that the
/// start is refused.
///
/// A frame that is sent while a destination does not exist (123#0C) does not come out anywhere.
const TABLE: [(&str, [&str; 4]); 18] = [
    (
        "plain",
        [
            "process 123#01,123##5112233,123#R3",
            "can-gw 123#01,123##5112233,123#R3",
            "bpf 123#01,123##5112233,123#R3",
            "bpf 123#01,123##5112233,123#R3",
        ],
    ),
    (
        "no-fd-in",
        [
            "process 123#14",
            "can-gw 123#14",
            "bpf 123#14",
            "bpf 123#14",
        ],
    ),
    (
        "no-fd-out",
        [
            "process 123#15",
            "can-gw 123#15",
            "bpf 123#15",
            "bpf 123#15",
        ],
    ),
    // The frames that local programs see at the vxcan to which the route leads.
    ("near-end", ["process 123#11", "can-gw ", "bpf ", "bpf "]),
    (
        "near-end-echo",
        ["process 123#12", "can-gw 123#12", REFUSED, "can-gw 123#12"],
    ),
    // Into a vxcan. To a controller, auto leaves them to the process.
    (
        "error-frame",
        [
            "process ",
            REFUSED,
            "bpf 20000004#0004000000000000",
            "bpf 20000004#0004000000000000",
        ],
    ),
    (
        "error-class",
        [
            "process ",
            "can-gw 20000004#0004000000000000",
            "bpf 20000004#0004000000000000",
            "bpf 20000004#0004000000000000",
        ],
    ),
    (
        "vcan",
        ["process 123#03", "can-gw 123#03", REFUSED, "can-gw 123#03"],
    ),
    (
        "vcan-both-ways",
        ["process 123#04", "can-gw 123#04", REFUSED, "can-gw 123#04"],
    ),
    (
        "vcan-several-hops",
        ["process 123#05", REFUSED, REFUSED, "process 123#05"],
    ),
    (
        "vcan-with-echo",
        ["process 123#10", "can-gw 123#10", REFUSED, "can-gw 123#10"],
    ),
    (
        "same-number",
        [
            "process 123#06",
            "can-gw 123#06",
            "bpf 123#06",
            "bpf 123#06",
        ],
    ),
    (
        "other-namespace",
        [
            "process 123#08",
            "can-gw 123#08",
            "bpf 123#08",
            "bpf 123#08",
        ],
    ),
    (
        "absent-at-start",
        [
            "process 123#0A",
            "can-gw 123#0A",
            "bpf 123#0A",
            "can-gw 123#0A",
        ],
    ),
    // When the interface comes, the gateway moves BPF's route. Interfaces that do not exist yet,
    // auto leaves to can-gw.
    (
        "absent-vcan",
        [
            "process 123#0B",
            "can-gw 123#0B",
            "process 123#0B",
            "can-gw 123#0B",
        ],
    ),
    // An interface goes, and a vcan comes in its place.
    (
        "becomes-vcan",
        [
            "process 123#16",
            "can-gw 123#16",
            "process 123#16",
            "can-gw 123#16",
        ],
    ),
    (
        "gone",
        [
            "process 123#0D",
            "can-gw 123#0D",
            "bpf 123#0D",
            "bpf 123#0D",
        ],
    ),
    (
        "foreign-flush",
        [
            "process 123#0E,123#0F",
            "can-gw 123#0E,123#0F",
            "bpf 123#0E,123#0F",
            "bpf 123#0E,123#0F",
        ],
    ),
];

/// A line `cell SITUATION PATH …` of the script.
struct Cell {
    /// As in [`TABLE`].
    outcome: String,
    /// The reason, where the start was refused.
    why: String,
    /// Rules or programs that were put back.
    restored: u64,
    /// The rows of `cangate routes --json`.
    rows: Vec<Value>,
}

impl Cell {
    fn read(rest: &str) -> Self {
        if let Some(why) = rest.strip_prefix("refused ") {
            return Self {
                outcome: REFUSED.to_owned(),
                why: why.to_owned(),
                restored: 0,
                rows: Vec::new(),
            };
        }
        let (seen, rest) = rest.split_once(" restored ").unwrap();
        let (restored, rows) = rest.split_once(" counted ").unwrap();
        let rows: Vec<Value> = serde_json::from_str(rows).unwrap();
        let frames = seen.strip_prefix("seen ").unwrap().trim_end_matches(',');
        let path = rows[0]["data_path"].as_str().unwrap();
        let number = restored.strip_prefix("restored:").map(str::parse);
        Self {
            outcome: format!("{path} {frames}"),
            why: String::new(),
            restored: number.map_or(0, Result::unwrap),
            rows,
        }
    }

    /// Returns a number of a route, wherever it runs.
    fn count(&self, route: usize, at: &str) -> u64 {
        self.rows[route]
            .pointer(at)
            .and_then(Value::as_u64)
            .unwrap()
    }
}

fn cells(text: &str) -> BTreeMap<(&str, &str), Cell> {
    let lines = text.lines().filter_map(|line| line.strip_prefix("cell "));
    lines
        .map(|line| {
            let (situation, rest) = line.split_once(' ').unwrap();
            let (path, rest) = rest.split_once(' ').unwrap();
            ((situation, path), Cell::read(rest))
        })
        .collect()
}

fn data_paths_agree_on(kernel: &str) {
    let text = printed(
        &format!("--fast --bench none --kernel {kernel} --timeout 600"),
        &format!("data_paths.sh {}", PATHS.join(" ")),
    );
    let cells = cells(&text);
    let mut wrong = Vec::new();
    for (situation, expected) in TABLE {
        for (path, expected) in PATHS.into_iter().zip(expected) {
            let cell = cells.get(&(situation, path));
            let found = cell.map_or("nothing", |cell| &cell.outcome);
            if found != expected {
                wrong.push(format!("{situation} by {path}: {found}, not {expected}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(cells.len(), TABLE.len() * PATHS.len());
    // One rule for classic frames and one for FD frames. tcx, which later kernels have, is not
    // removed in this way.
    let clsact = kernel == "6.1";
    for path in PATHS.iter().filter(|path| ["bpf", "auto"].contains(path)) {
        let restored = cells[&("foreign-flush", *path)].restored;
        assert_eq!(restored, u64::from(clsact), "{path}");
    }
    let again = |path: &&&str| **path == "can-gw" || clsact && ["bpf", "auto"].contains(*path);
    let restored = text.matches("another program had removed").count();
    assert_eq!(restored, PATHS.iter().filter(again).count(), "{text}");
    assert!(!text.contains("`cangate reload` chooses again"), "{text}");
    assert!(!text.contains("another number"), "{text}");
    assert_counts(&text, &cells);
}

/// Checks what the gateways counted and reported, over all data paths.
fn assert_counts(text: &str, cells: &BTreeMap<(&str, &str), Cell>) {
    let cell = |situation, path| &cells[&(situation, path)];
    // Frames that this process does not send are counted, with the reason.
    for situation in ["error-frame", "error-class"] {
        assert_eq!(
            cell(situation, "none").count(0, "/count/copies/unsupported"),
            1
        );
    }
    // An FD frame is not received where the port has none; where the destination has none, all
    // but can-gw, which has no rule for it, count it.
    assert_eq!(cell("no-fd-in", "none").count(0, "/count/taken"), 1);
    assert_eq!(
        cell("no-fd-out", "none").count(0, "/count/copies/unsupported"),
        1
    );
    for path in ["bpf", "auto"] {
        assert_eq!(cell("no-fd-in", path).count(0, "/kernel/taken"), 1);
        assert_eq!(cell("no-fd-out", path).count(0, "/kernel/taken"), 2);
        assert_eq!(cell("no-fd-out", path).count(0, "/kernel/failed"), 1);
    }
    assert!(
        cell("error-frame", "can-gw")
            .why
            .contains("without a filter that names their classes")
    );
    assert!(cell("absent-at-start", "none").count(0, "/count/copies/down") > 0);
    assert!(cell("gone", "none").count(0, "/count/copies/down") > 0);
    // BPF takes the frame while it has no destination.
    assert!(cell("gone", "bpf").count(0, "/kernel/failed") > 0);
    // The rule that leads back sees frames that a vcan echoes, and stops them.
    assert_eq!(
        cell("vcan-both-ways", "can-gw").count(1, "/kernel/hop_limit"),
        1
    );
    assert_eq!(cell("vcan-both-ways", "none").count(1, "/count/taken"), 0);
    for path in ["can-gw", "auto"] {
        assert_eq!(cell("same-number", path).count(0, "/kernel/sent"), 1);
    }
    let no_echo = &cell("near-end-echo", "bpf").why;
    assert!(no_echo.contains("b0 has no echo of its own"), "{no_echo}");
    assert!(cell("vcan", "bpf").why.contains("use a vxcan"));
    assert!(
        cell("vcan-several-hops", "can-gw")
            .why
            .contains("a vcan always echoes")
    );
    assert_eq!(cell("foreign-flush", "can-gw").restored, 2);
    let moved = text.matches("in another data path now: r").count();
    assert_eq!(moved, 3, "BPF cannot send to a vcan that comes later");
}

#[test]
#[ignore = "boots a guest"]
fn they_agree_on_the_usual_kernel() {
    let Some(_lab) = waiting_lab() else { return };
    data_paths_agree_on("6.1");
}

mod long {
    use super::*;

    #[test]
    #[ignore = "boots a guest"]
    fn they_agree_on_the_newest_kernel() {
        let Some(_lab) = waiting_lab() else { return };
        data_paths_agree_on("7.3");
    }
}
