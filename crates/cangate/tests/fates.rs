//! One list of the reasons why a frame stops: all code and documents that name them agree.
#![allow(clippy::unwrap_used, missing_docs)]

use engine::{CounterDefinition, CounterRole, Fate, PortCount};
use gateway::notice::Notice;
use probe::Status;
use route::StopReason;
use std::collections::BTreeSet;
use std::path::Path;

fn document(name: &str) -> String {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    std::fs::read_to_string(docs.join(name)).unwrap()
}

/// Returns the rows of the table whose head begins with these cells.
fn rows(text: &str, head: &str) -> Vec<Vec<String>> {
    let mut lines = text.lines().skip_while(|line| !line.starts_with(head));
    assert!(lines.next().is_some(), "no table `{head}`");
    let cells = |line: &str| -> Vec<String> {
        let inner = line.trim().trim_matches('|');
        inner
            .split(" | ")
            .map(|cell| cell.trim().to_owned())
            .collect()
    };
    lines
        .skip(1)
        .take_while(|line| line.starts_with('|'))
        .map(cells)
        .collect()
}

/// The guide's table has every fate, in the order of the list, with its words, its key and its
/// explanation, and no other rows.
#[test]
fn the_guides_table_is_the_list() {
    let table = rows(&document("guide.md"), "| fate | in JSON | meaning |");
    let found: Vec<[&str; 3]> = table
        .iter()
        .map(|row| [&*row[0], &*row[1], &*row[2]])
        .collect();
    let keys = Fate::ALL.map(|fate| format!("`{}`", fate.key()));
    let expected: Vec<[&str; 3]> = Fate::ALL
        .iter()
        .zip(&keys)
        .map(|(fate, key)| [fate.words(), key, fate.explanation()])
        .collect();
    assert_eq!(found, expected);
}

/// The guide's table of counters has a row for each definition, and no other rows.
#[test]
fn the_guide_has_a_row_for_each_counter() {
    let row = |counter: &CounterDefinition| {
        let code = |text: &str| format!("`{text}`");
        let metric = counter
            .metric
            .and_then(|name| name.strip_prefix("cangate_port_"));
        let keys: Vec<String> = counter.key.split(" + ").map(code).collect();
        [
            keys.join(" + "),
            counter.column.unwrap_or_default().to_owned(),
            if counter.role == CounterRole::Lost {
                "loss"
            } else {
                ""
            }
            .to_owned(),
            metric.map(code).unwrap_or_default(),
            counter.help().to_owned(),
        ]
    };
    let expected: Vec<_> = PortCount::definitions().map(row).collect();
    let found = rows(&document("guide.md"), "| in JSON | column | ");
    let lines: Vec<String> = expected
        .iter()
        .map(|row| format!("| {} |", row.join(" | ")))
        .collect();
    assert!(
        found == expected,
        "the rows in docs/guide.md should be:\n{}",
        lines.join("\n")
    );
}

/// The reasons for which frames are not received have their own table.
#[test]
fn the_guide_names_what_is_not_received() {
    let table = rows(
        &document("guide.md"),
        "| not received | in JSON | meaning |",
    );
    let found: Vec<[&str; 3]> = table
        .iter()
        .map(|row| [&*row[0], &*row[1], &*row[2]])
        .collect();
    let reason = gateway::NOT_ASKED_FOR;
    let key = format!("`{}`", reason.key);
    assert_eq!(found, [[reason.words, &key, reason.explanation]]);
    let row = gateway::InterfaceRow {
        not_asked_for: Some(1),
        ..gateway::InterfaceRow::default()
    };
    let json = serde_json::to_value(row).unwrap();
    assert_eq!(json[reason.key], 1, "the key is the counter's");
    assert!(Fate::ALL.iter().all(|fate| fate.key() != reason.key));
}

/// The guide lists each event of `cangate run` by its name: first the gateway's, then those of the
/// program around it.
#[test]
fn the_guide_lists_every_event() {
    let table = rows(&document("guide.md"), "| event | it means | its fields |");
    let found: Vec<&str> = table.iter().map(|row| row[0].trim_matches('`')).collect();
    let own = ["config_warnings", "unsaid", "summary", "failed"];
    let expected: Vec<&str> = Notice::EVENTS.into_iter().chain(own).collect();
    assert_eq!(found, expected);
}

/// The results of runs have a row for each frame, with a word for its fate. The gateway's words for
/// a frame that did not get through are among these words; only "routed" is not, because a tester
/// distinguishes more cases of such a frame: delivered, lost, waiting.
#[test]
fn results_use_the_gateways_words() {
    let statuses: BTreeSet<&str> = Status::ALL.iter().map(|status| status.as_str()).collect();
    for fate in Fate::ALL {
        assert_eq!(
            statuses.contains(fate.words()),
            fate != Fate::Routed,
            "{fate}"
        );
    }
    let own = [
        "delivered",
        "lost",
        "duplicated",
        "unexpected",
        "waiting at the end",
        // Copies that queues give up: fates of copies, not of received frames.
        "displaced from a full queue",
        "expired in the queue",
    ];
    let tester = own.iter().chain(&["never on the incoming bus"]);
    let known: BTreeSet<&str> = Fate::ALL
        .iter()
        .map(|fate| fate.words())
        .chain(tester.copied())
        .collect();
    assert!(statuses.is_subset(&known), "{statuses:?}");
}

/// For each setting that stops frames, `docs/gateway-toml.md` names the key and the words of its
/// counter.
#[test]
fn the_reference_names_the_counter_of_each_setting_that_stops_frames() {
    let text = document("gateway-toml.md");
    let table = rows(&text, "| a frame is stopped by | in JSON | in tables |");
    let keys: Vec<&str> = table.iter().map(|row| row[1].trim_matches('`')).collect();
    assert_eq!(keys, StopReason::ALL.map(StopReason::key));
    let words: Vec<&str> = table.iter().map(|row| row[2].as_str()).collect();
    assert_eq!(words, StopReason::ALL.map(StopReason::words));
}
